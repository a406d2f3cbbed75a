//===- Breaks.h - Loops that a break ends -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding loops whose flag can be printed as a break. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_BREAKS_H
#define KBOPT_LIB_SCHEDULE_BREAKS_H

#include "kb-opt/IR/Kb.h"

namespace kbopt {

/// Whether \p op clears the flag \p flag.
bool clears(mlir::Operation *op, llvm::StringRef flag);

/// Whether nothing is done in an iteration of \p over once the flag that ends it is cleared, so
/// that one thread may leave it by a break there.
bool endsByBreak(kb::OverOp over);

/// Whether \p when ends with a break from a loop with the flag \p flag, for which endsByBreak
/// holds; what follows it needs no condition then.
bool alwaysBreaks(kb::WhenOp when, llvm::StringRef flag);

/// Whether \p op only declares the flag of the loop that follows, which a break ends.
bool declaresBreak(mlir::Operation *op);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_BREAKS_H
