//===- Random.h - Repeatable random numbers ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the generator behind every draw, so that a seed gives the same run with
// any standard library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_RANDOM_H
#define KBOPT_SUPPORT_RANDOM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace kbopt {

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  /// A stream of its own for \p purpose, independent of draws made elsewhere.
  Random fork(llvm::StringRef purpose) const;

  uint64_t next();
  /// As if `next` had been called \p draws times.
  void skip(uint64_t draws) { state += draws * step; }
  /// Uniform in [0, bound); \p bound > 0.
  uint64_t below(uint64_t bound);
  /// Uniform in [0, 1).
  double uniform();
  /// Standard normal (Box-Muller).
  double normal();
  /// An index drawn in proportion to \p weights (non-negative, not all zero).
  size_t weighted(llvm::ArrayRef<double> weights);

private:
  static constexpr uint64_t step = 0x9e3779b97f4a7c15u;
  uint64_t state;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_RANDOM_H
