//===- ElementBody.h - Code that runs once per element -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns recognising the three shapes of code that vectorize-loads handles, and
// which arrays of such code can be moved several elements at a time.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_VECTORIZELOADS_ELEMENTBODY_H
#define KBOPT_PASSES_VECTORIZELOADS_ELEMENTBODY_H

#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Coverage.h"

namespace kbopt::vectorize {

enum class Shape {
  Guarded,    ///< one element per thread, behind `if (i < n)`
  GridStride, ///< for (i = thread; i < n; i += threads)
  Serial,     ///< for (k = 0; k < n; ++k) in one thread
};

/// One array that is accessed at consecutive elements.
struct VectorArray {
  const clang::VarDecl *base = nullptr;
  clang::QualType element; ///< canonical, unqualified
  unsigned bytes = 0;      ///< per element
  /// The accesses to replace; all have the same index.
  std::vector<const clang::ArraySubscriptExpr *> accesses;
  bool loaded = false;
  bool stored = false;
};

/// Code that runs for elements `index` in [0, count).
struct ElementBody {
  Shape shape;
  const clang::Stmt *statement = nullptr; ///< what is rewritten, with `last` if set
  const clang::Stmt *last = nullptr;      ///< end of the range after an early return
  std::vector<const clang::Stmt *> body;
  const clang::VarDecl *index = nullptr;
  const clang::Expr *count = nullptr;
  const clang::Expr *begin = nullptr;               ///< GridStride
  const clang::Expr *step = nullptr;                ///< GridStride
  std::vector<const clang::Expr *> otherConditions; ///< Guarded
  bool earlyReturn = false;                         ///< Guarded
  std::vector<VectorArray> arrays;
  /// Why it cannot be done; then nothing else need be set.
  std::string obstacle;
};

/// The shape of \p site and its arrays, at most \p width elements wide.
ElementBody analyse(const PassContext &context, const Site &site, unsigned width);

/// Elements per vector that fit 16 bytes for every array: at most \p width.
unsigned lanesOf(const ElementBody &element, unsigned width);

/// `float4`; empty if CUDA has no such type.
std::string vectorType(clang::QualType element, unsigned lanes);

} // namespace kbopt::vectorize

#endif // KBOPT_PASSES_VECTORIZELOADS_ELEMENTBODY_H
