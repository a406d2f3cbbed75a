//===- Phases.h - Points by the phase of a stride ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the change of dimensions under which a transposed convolution is a convolution for each
// phase of its stride. Works on kb.nest alone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_RAISE_PHASES_H
#define KBOPT_RAISE_PHASES_H

#include "kb-opt/IR/Kb.h"
#include "llvm/Support/Error.h"
#include <map>
#include <set>
#include <string>

namespace kbopt {

/// A copy of \p nest, put after it, whose points are taken apart: where lengths, conditions or
/// places of the terms of its sums depend on `i mod s`, the dimension i becomes its phase `i mod
/// s`, an outer dimension, and its step `i / s`. Sums are as long as that of the longest phase, and
/// a condition leaves out the terms that others do not have. What each point does stays in order.
///
/// Parameters in \p fixed, by name, have these values: numbers stand in their place, and a launch
/// is required to have them. With a stride of one there is one phase, and no dimension is taken
/// apart.
///
/// An error is the reason why nothing can be taken apart, in the user's words. The caller erases
/// the copy.
llvm::Expected<kb::NestOp> splitPhases(kb::NestOp nest,
                                       const std::map<std::string, int64_t> &fixed = {});

/// The parameters, by name, that say which phases \p nest has, and how long the sums of each are:
/// strides, paddings, lengths of windows. Empty where these are constants, or there are none.
std::set<std::string> phaseParameters(kb::NestOp nest);

} // namespace kbopt

#endif // KBOPT_RAISE_PHASES_H
