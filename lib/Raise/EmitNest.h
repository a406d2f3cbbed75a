//===- EmitNest.h - The raised form as operations ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns printing points and statements as kb.nest. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_EMITNEST_H
#define KBOPT_LIB_RAISE_EMITNEST_H

#include "Points.h"

namespace kbopt::raise {

/// Appends the nest of \p kernel to \p builder's block; null, with a reason in \p program, where
/// something has no form in it. The nest verifies.
kb::NestOp emitNest(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions,
                    kb::KernelOp kernel, mlir::OpBuilder &builder);

/// The nest of \p program with loops that one thread runs as further dimensions, where that gives a
/// sum a second dimension or where a loop's length differs between points. Null where there is no
/// such loop or where its iterations are not proven to be independent, within about \p seconds.
kb::NestOp withLoopsAsDimensions(const ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions,
                                 kb::KernelOp kernel, mlir::OpBuilder &builder, double seconds);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_EMITNEST_H
