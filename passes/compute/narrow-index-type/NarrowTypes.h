//===- NarrowTypes.h - Which integers of a kernel can get 32 bits -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the choice of declarations and casts that become int for one launch, and the proof
// that no expression changes its value: by the types that the arithmetic gets
// then, and by bounds that the host can promise.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_NARROWINDEXTYPE_NARROWTYPES_H
#define KBOPT_PASSES_NARROWINDEXTYPE_NARROWTYPES_H

#include "kb-opt/Rewrite/IndexBounds.h"

namespace kbopt {

class NarrowTypes {
public:
  NarrowTypes(const PassContext &context, const KernelView &kernel, const LaunchFact &launch);

  /// Why nothing can be narrowed; empty if something can.
  const std::string &obstacle() const { return why; }
  /// What the host must test.
  const std::string &condition() const { return test; }
  /// The types, as written, that become int; in source order.
  llvm::ArrayRef<clang::SourceRange> types() const { return ranges; }

private:
  /// What the type of an integer expression is afterwards.
  enum class Kind { Signed, Unsigned, Wide };

  bool isWide(clang::QualType type) const;
  bool isBounded(const clang::Expr *expr) const;
  Kind kindOf(const clang::Expr *expr) const;
  /// The wide type that decides the type of \p expr afterwards; null if there is none.
  clang::QualType wideTypeOf(const clang::Expr *expr) const;
  bool mentionsNarrow(const clang::Expr *expr) const;
  void choose();
  void check(const clang::Stmt *node, IndexBounds &bounds);
  void checkBinary(const clang::BinaryOperator *binary, IndexBounds &bounds);
  void stop(const clang::Expr *expr, llvm::StringRef reason);

  const PassContext *context;
  const KernelView *kernel;
  const LaunchFact *launch;
  std::set<const clang::VarDecl *> narrow;
  std::set<const clang::Expr *> narrowCasts;
  std::set<const clang::Expr *> subscripts;
  std::vector<clang::SourceRange> ranges;
  std::string why, test;
};

} // namespace kbopt

#endif // KBOPT_PASSES_NARROWINDEXTYPE_NARROWTYPES_H
