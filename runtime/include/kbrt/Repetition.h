//===- Repetition.h - Steps that a plan does again and again -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns where a plan repeats itself: programs that time themselves launch the same
// kernels on the same memory hundreds of times. Whether the later times change
// anything is for a device to find out: where memory is the same after a period as
// before it, every further period leaves it so, and need not be executed.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_REPETITION_H
#define KBRT_REPETITION_H

#include "kbrt/Plan.h"

namespace kbrt {

/// The `period` steps from `begin` on, `count` times in a row.
struct Repetition {
  size_t begin = 0, period = 0, count = 0;

  size_t end() const { return begin + period * count; }
  bool operator==(const Repetition &) const = default;
};

/// The repetitions of \p plan that have at least three periods with a launch or a matrix product in
/// each, in order and without overlap: those first that save most. Steps are equal if they do the
/// same to the same memory with the same bytes of data.bin; memory that comes and goes belongs to
/// none. Quadratic in the longest period looked for (512 steps), linear in the steps.
std::vector<Repetition> findRepetitions(const Plan &plan);

} // namespace kbrt

#endif // KBRT_REPETITION_H
