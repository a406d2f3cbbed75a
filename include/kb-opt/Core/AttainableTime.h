//===- AttainableTime.h - What no rewrite goes below ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record; Candidate/Attainable.h computes it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CORE_ATTAINABLETIME_H
#define KBOPT_CORE_ATTAINABLETIME_H

namespace kbopt {

/// The least time that a rewrite of a program can take on the chip, in microseconds, by what every
/// rewrite has to do; docs/CostModel.md gives the bound.
struct AttainableTime {
  double kernelsUs =
      0; ///< bytes that have to move, or what the given kernels need, if that is less
  double launchesUs = 0;                               ///< of one launch, where there is any
  double us() const { return kernelsUs + launchesUs; } ///< 0: unknown
};

} // namespace kbopt

#endif // KBOPT_CORE_ATTAINABLETIME_H
