//===- Statements.h - Statements of a nest for one thread -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns printing the operations of a kb.nest as one thread runs them, loops included. What a team
// of threads does together is not known here. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_STATEMENTS_H
#define KBOPT_LIB_SCHEDULE_STATEMENTS_H

#include "CudaText.h"

namespace kbopt {

/// Prints to \p code. An operand for which `replaced` has a text is written as that, be it loaded
/// or stored.
struct StatementPrinter {
  CudaText &text;
  CodeLines &code;
  std::function<std::string(kb::OperandAttr)> replaced = [](kb::OperandAttr) { return ""; };
  /// Variables that stand in for those that a kb.reduce names.
  std::map<std::string, std::string> partial = {};
  /// Prints an atomic in another way; false where it is to be printed as it is.
  std::function<bool(kb::StoreOp)> atomics = {};
  /// Prints a loop in another way; false where it is to be printed as it is.
  std::function<bool(kb::OverOp)> loops = {};
  /// The flag of the loop that is printed, where a break stands for clearing it.
  std::string leaves = {};
  /// Whether a store goes to its target, whatever stands for that where it is loaded.
  std::function<bool(kb::OperandAttr)> staysInMemory = [](kb::OperandAttr) { return false; };

  void print(mlir::Block &block);
  void print(mlir::Operation *op);
  /// The statement of \p store, without the end of its line.
  std::string store(kb::StoreOp store);
  /// `sum += x[i]`, or what combines \p name with \p term otherwise.
  void combine(kb::ReduceOp reduce, llvm::StringRef name, llvm::StringRef term);

private:
  void over(kb::OverOp over);
  /// Of a condition after which the loop is left, what its variable is computed from.
  std::string conditionOf(kb::WhenOp when);
};

/// The head of \p over as a loop of one thread: `for (int i = 0; i < n && runs; ++i)`, or without
/// the flag where a break ends it.
std::string loopHead(CudaText &text, kb::OverOp over, bool asksFlag = true);

/// Whether a printed text of \p block needs the value of \p dim by name: offsets along it count
/// unless
/// \p replaced has a text for them.
bool usesDim(mlir::Block &block, llvm::StringRef dim,
             llvm::function_ref<bool(kb::OperandAttr)> isReplaced);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_STATEMENTS_H
