//===- PartSums.h - A sum in parts that blocks share out --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the nests that a nest with sums becomes where parts of each sum are points of their own, so
// that few outputs with long sums fill a chip. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_PARTSUMS_H
#define KBOPT_LIB_REWRITE_SCHEDULE_PARTSUMS_H

#include "kb-opt/IR/Kb.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// Where a sum is the only loop of a point, the first nest computes parts of it into memory that
/// the launch takes, and the second one adds them to the given initial value and does what follows:
///
///     for part, i: s = 0; for k in part: s += term(i, k); memory[part][i] = s
///     for i: s = initial; for part: s += memory[part][i]; out[i] = after(s)
///
/// ("Reduction factoring": Suriana, Adams and Kamil, Parallel Associative Reductions in Halide,
/// CGO 2017.) Where a point forms several sums one after the other, or goes through its row again,
/// as a softmax does, each sum has two nests, of which the second one stores it. A last nest does
/// the rest, with a point for each iteration of the loop that ends it.
///
/// The order of terms changes, nothing else. The nests stand after the given one, with a kernel
/// that has the memory as one more parameter; the caller erases all of it.
struct PartSums {
  kb::KernelOp kernel;
  std::vector<kb::NestOp> nests; ///< in the order in which they run; the first forms parts
  /// Whether nest \p number forms parts, as the first one does.
  bool formsParts(size_t number) const { return number % 2 == 0 && number + 1 < nests.size(); }
  std::string memory; ///< the parameter
  std::string type;   ///< of its elements
  kb::ExprAttr count; ///< of them, over the symbols of the nests
  void erase();
};

/// \p nest with each sum in \p count parts, at least 2, which divide the length of the sum; a
/// launch tests that. An error is the reason why there are none, in the user's words.
llvm::Expected<PartSums> sumInParts(kb::NestOp nest, int64_t count);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_PARTSUMS_H
