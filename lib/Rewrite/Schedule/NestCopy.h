//===- NestCopy.h - Raised statements in another nest -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns copying the statements of a nest into one with other dimensions, symbols and names, and
// polynomials by which expressions of both are compared.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_NESTCOPY_H
#define KBOPT_LIB_REWRITE_SCHEDULE_NESTCOPY_H

#include "kb-opt/Analysis/Poly.h"
#include "kb-opt/IR/Kb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace kbopt {

/// Expressions as polynomials over names, so that those of two nests can be compared. Divisions are
/// variables of their own.
class NamedPolys {
public:
  analysis::VarId id(llvm::StringRef name);
  /// From now on \p name is the same as \p other.
  void setSame(llvm::StringRef name, llvm::StringRef other) { ids[name] = id(other); }
  /// From now on \p name is that number.
  void setConstant(llvm::StringRef name, int64_t value) { constants[name] = value; }
  /// From now on \p name is that value.
  void setValue(llvm::StringRef name, analysis::Poly value) { values[name] = std::move(value); }
  analysis::Poly polyOf(kb::ExprAttr expr);
  /// Whether \p poly has a division that is over one of \p names.
  bool dividesAny(const analysis::Poly &poly, llvm::ArrayRef<std::string> names);
  /// Those of \p names that \p poly contains.
  std::vector<std::string> namesIn(const analysis::Poly &poly, llvm::ArrayRef<std::string> names);

private:
  analysis::Poly polyOf(mlir::AffineExpr expr, kb::ExprAttr space);
  llvm::StringMap<analysis::VarId> ids;
  llvm::StringMap<int64_t> constants;
  llvm::StringMap<analysis::Poly> values;
  struct Division {
    analysis::Poly dividend, divisor;
    unsigned kind;
    bool operator==(const Division &) const = default;
  };
  std::vector<std::pair<Division, analysis::VarId>> divisions;
  analysis::VarId next = 0;
};

/// Copies statements of one nest to the end of a block of another.
class NestCopier {
public:
  NestCopier(mlir::OpBuilder &builder, std::vector<mlir::StringAttr> nestDims,
             std::vector<mlir::StringAttr> symbols)
      : builder(builder), context(builder.getContext()), dims(std::move(nestDims)),
        symbols(std::move(symbols)) {}

  /// What each dimension of the old nest is in the new one.
  llvm::StringMap<mlir::AffineExpr> dimensions;
  /// What a symbol of the old nest ("n", "gdim.x") is in the new one; null: the one of the same
  /// name.
  std::function<mlir::AffineExpr(llvm::StringRef)> symbol = [](llvm::StringRef) {
    return mlir::AffineExpr();
  };
  /// The new name of a parameter, scalar or loop; none: it stays.
  std::function<std::optional<std::string>(llvm::StringRef)> rename = [](llvm::StringRef) {
    return std::nullopt;
  };
  /// The scalar that takes the place of \p operand, in the new nest's terms, of the old operation
  /// \p op; none: it stays.
  std::function<std::optional<std::string>(kb::OperandAttr operand, mlir::Operation *op)>
      scalarFor = [](kb::OperandAttr, mlir::Operation *) { return std::nullopt; };
  /// Called before \p op is copied.
  std::function<void(mlir::Operation *op)> before = [](mlir::Operation *) {};
  /// Called when \p op has been copied.
  std::function<void(mlir::Operation *op)> after = [](mlir::Operation *) {};
  /// Whether \p op is copied at all.
  std::function<bool(mlir::Operation *op)> keeps = [](mlir::Operation *) { return true; };

  void copy(mlir::Block &block);
  void copy(mlir::Operation *op);
  /// A new inner dimension around what is copied until `leave`; with \p runs, the condition that
  /// ends it.
  void enter(llvm::StringRef name, kb::ExprAttr extent, kb::LoopOrder order, bool team,
             llvm::StringRef oldName, llvm::StringRef runs = "");
  void leave();

  kb::ExprAttr expression(kb::ExprAttr expr);
  kb::ExprAttr expression(mlir::AffineExpr expr);
  kb::OperandAttr operand(kb::OperandAttr operand);
  std::string words(llvm::StringRef text);
  mlir::AffineExpr symbolNamed(llvm::StringRef name);
  mlir::AffineExpr dimNamed(llvm::StringRef name);

private:
  std::pair<std::string, mlir::ArrayAttr> filled(llvm::StringRef text, mlir::ArrayAttr operands,
                                                 mlir::Operation *op);
  kb::DomainAttr domain(kb::DomainAttr domain);
  mlir::AffineExpr inNewSpace(mlir::AffineExpr expr, llvm::ArrayRef<mlir::StringAttr> loops,
                              llvm::ArrayRef<mlir::StringAttr> names);

  mlir::OpBuilder &builder;
  mlir::MLIRContext *context;
  std::vector<mlir::StringAttr> dims, symbols;
  std::vector<mlir::Block *> outside;
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_NESTCOPY_H
