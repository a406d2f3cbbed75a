//===- PartSums.h - A sum in parts that blocks share out --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two nests that a nest with one sum becomes where parts of each sum are points of their
// own, so that few outputs with long sums fill a chip. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_PARTSUMS_H
#define KBOPT_LIB_REWRITE_SCHEDULE_PARTSUMS_H

#include "kb-opt/IR/Kb.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// `parts` computes the parts of each sum into memory that the launch takes, and `end` adds them to
/// the given initial value and does what follows the sum:
///
///     for part, i: s = 0; for k in part: s += term(i, k); sums[part][i] = s
///     for i: s = initial; for part: s += sums[part][i]; out[i] = after(s)
///
/// ("Reduction factoring": Suriana, Adams and Kamil, Parallel Associative Reductions in Halide,
/// CGO 2017.) The order of terms changes, nothing else. The nests stand after the given one, with a
/// kernel that has the memory as one more parameter; the caller erases all of it.
struct PartSums {
  kb::KernelOp kernel;
  kb::NestOp parts, end;
  std::string memory; ///< the parameter
  std::string type;   ///< of its elements
  kb::ExprAttr count; ///< of them, over the symbols of the nests
  void erase();
};

/// \p nest with its sum in \p count parts, at least 2, which divide the length of the sum; a launch
/// tests that. An error is the reason why there are none, in the user's words.
llvm::Expected<PartSums> sumInParts(kb::NestOp nest, int64_t count);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_PARTSUMS_H
