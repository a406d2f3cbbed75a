//===- Packs.h - Elements of one thread that lie side by side ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how elements that a body names one by one, x[4 * i] to x[4 * i + 3], are moved by one access
// of up to 16 bytes, as a float4 of the author's. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_PACKS_H
#define KBOPT_LIB_SCHEDULE_PACKS_H

#include "LaneLoop.h"

namespace kbopt {

/// The packs of \p body, a loop over \p dim: their elements can all be loaded before the body, and
/// stored after it. Elements that \p others hold are in none. Adds what the launch must satisfy to
/// \p needs.
std::vector<Stream> packsOf(CudaText &text, mlir::Block &body, llvm::ArrayRef<Stream> others,
                            llvm::StringRef dim, Needs &needs);

/// The part of a pack of \p streams that is \p operand: "xs[2]"; empty if it is in none.
std::string partOf(CudaText &text, llvm::ArrayRef<Stream> streams, kb::OperandAttr operand,
                   llvm::StringRef dim);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_PACKS_H
