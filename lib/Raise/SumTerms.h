//===- SumTerms.h - The term of a sum as products ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading the expression that a kb.reduce adds as products of factors, those that vary with
// the loop apart from those that do not. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_SUMTERMS_H
#define KBOPT_LIB_RAISE_SUMTERMS_H

#include "NestSpace.h"
#include "Terms.h"
#include <set>

namespace kbopt::raise {

/// What stands for `t == j ? 1 : 0` in a term.
inline constexpr char indicator[] = "@";

struct Factor {
  TermRef term;
  bool divides = false;
};

struct Product {
  bool isNegative = false;
  bool isPoint = false;                ///< has the factor `indicator`
  std::vector<Factor> inside, outside; ///< that vary with the loop; that do not
};

/// A sum as \p over forms it. Texts in it have one numbering of holes, that of `operands`.
class SumReader {
public:
  /// \p sunk: dimensions of points on which no factor inside may depend; \p dependent: scalars that
  /// depend on them.
  SumReader(kb::NestOp nest, kb::OverOp over, std::set<std::string> sunk,
            std::set<std::string> dependent)
      : nest(nest), over(over), space(nest), sunk(std::move(sunk)),
        dependent(std::move(dependent)) {}

  /// The term that \p reduce adds to a variable of type \p type as products; nothing if it is
  /// something else.
  std::optional<std::vector<Product>> read(kb::ReduceOp reduce, llvm::StringRef type);

  /// Of a hole "$3".
  kb::OperandAttr operand(llvm::StringRef hole) const;
  /// \p term where the loop's index is `point()` and no scalar of the loop is known; null if there
  /// is no such term.
  TermRef atPoint(const TermRef &term);
  /// The index at which the indicator is 1; null if there is none.
  mlir::AffineExpr point() const { return pointIndex; }
  /// Whether the value of \p term changes with the loop.
  bool isInside(const Term &term) const;
  const NestSpace &nestSpace() const { return space; }
  /// Whether \p term has type `type`, or is an integer number.
  bool isReal(const Term &term) const;
  /// \p term for dimensions \p dims, with the loop's index at \p values; its holes number \p table.
  /// Null if it cannot stand there.
  TermRef placed(const TermRef &term, NestSpace::Dims dims, std::vector<kb::OperandAttr> &table,
                 const NestSpace::Values &values = {}) const;
  TermRef extentTerm(); ///< how many terms there are

private:
  enum class Type { Real, Number, Other };
  Type typeOf(const Term &term) const;
  TermRef withOwnHoles(const TermRef &term, mlir::ArrayAttr operands);
  TermRef withIndicator(const TermRef &term);
  TermRef inlined(const TermRef &term, bool all);
  kb::LetOp letInside(llvm::StringRef name) const;
  bool isSunk(const Term &term) const;
  bool isMixed(const Term &term) const;
  bool usesLoop(kb::OperandAttr operand) const;
  bool usesSunk(kb::OperandAttr operand) const;
  std::optional<std::vector<Product>> expand(const TermRef &term);
  std::optional<std::vector<Product>> single(const TermRef &term, bool divides = false);
  std::optional<std::vector<Product>> times(const TermRef &left, const TermRef &right);
  bool setPoint(const Term &condition);

  mutable kb::NestOp nest; // MLIR's handles have no const access
  mutable kb::OverOp over;
  NestSpace space;
  std::set<std::string> sunk, dependent;
  std::string type;
  std::vector<kb::OperandAttr> operands;
  mlir::AffineExpr pointIndex;
};

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_SUMTERMS_H
