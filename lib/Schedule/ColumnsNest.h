//===- ColumnsNest.h - A nest as columns of a matrix ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the `columns` sketch finds in a nest: the dimension that lanes run along, and the loops
// whose iterations the rest of a block shares. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_COLUMNSNEST_H
#define KBOPT_LIB_SCHEDULE_COLUMNSNEST_H

#include "LaneLoop.h"

namespace kbopt {

/// The condition around everything that a point of \p nest does, the same for all threads of a
/// column; null if there is none.
kb::WhenOp columnGuard(kb::NestOp nest);
/// What a point of \p nest does, inside that condition.
mlir::Block &columnBody(kb::NestOp nest);

/// The innermost loop of a chain that starts at \p top: what is around it runs scalars and nothing
/// else.
kb::OverOp sharedLoop(kb::OverOp top);

/// The dimension of \p nest along which most bytes that its loops load are neighbours; empty if
/// there is none.
std::string columnDim(kb::NestOp nest);

/// Empty if the loops of \p nest can be shared out below columns; otherwise why not.
std::string whyNotColumns(kb::NestOp nest);

/// How many columns a thread can take at once, given \p sizes.
int64_t columnVector(kb::NestOp nest, const llvm::StringMap<int64_t> &sizes);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_COLUMNSNEST_H
