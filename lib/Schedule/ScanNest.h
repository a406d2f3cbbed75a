//===- ScanNest.h - Loops that carry a sum from one to the next -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the `scan` sketch finds in a nest: the dimension along which a value grows, its terms,
// and what each element does with the value so far. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_SCANNEST_H
#define KBOPT_LIB_SCHEDULE_SCANNEST_H

#include "Points.h"

namespace kbopt {

/// A scalar that each element combines with a term of its own, for the elements after it.
struct CarriedValue {
  std::string name, type;
  std::string combine;  ///< "%a + %b", as in kb.reduce
  std::string identity; ///< its neutral element
};

/// A nest that computes, for each row, what the elements up to each one have together:
///
///     s = 0; for (j < n) { s += x[j]; y[j] = s; }               a loop that carries `s`, or
///     for all t: { s = 0; for (j <= t) s += x[j]; y[t] = s; }   a sum over what comes before
struct ScanNest {
  Box rows;
  llvm::StringRef dim; ///< along which the value grows
  kb::ExprAttr extent;
  /// The name of `dim` inside the terms, which differs in a sum over what comes before.
  llvm::StringRef termDim;
  mlir::Block *block = nullptr;                   ///< that `body` stands in
  llvm::SmallVector<mlir::Operation *> before;    ///< done once for each row
  llvm::SmallVector<mlir::Operation *> body;      ///< done for each element, in order
  llvm::SmallVector<mlir::Operation *> after;     ///< done once for each row
  llvm::SmallPtrSet<mlir::Operation *, 4> grows;  ///< those of `body` that combine
  llvm::SmallPtrSet<mlir::Operation *, 8> needed; ///< those of `body` that terms need
  std::vector<CarriedValue> carried;
  /// Only where it holds, an element is done; where it does not, it holds for none after that.
  /// Null: everywhere.
  kb::DomainAttr guard;
  /// The value before an element lacks its own term, and the last element has none.
  bool isExclusiveSum = false;

  explicit ScanNest(kb::NestOp nest);
  /// Empty if \p nest is of the class; otherwise why not.
  std::string whyNot() const { return reason; }
  bool isExact() const; ///< its values are integers

  /// What every element stores, of the type of the one carried value: where a value may wait until
  /// the element is computed. Null if there is none.
  kb::OperandAttr slot;
  /// Why there is none; empty if there is one.
  std::string whyNoSlot() const;

private:
  kb::NestOp nest;
  mlir::Block *top = nullptr; ///< that the loop stands in
  std::string reason;

  std::string find();
  std::string findLoop(kb::OverOp over);
  std::string findSum(kb::OverOp over);
  std::string findNeeded();
  std::string checkMemory();
  void findSlot();
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_SCANNEST_H
