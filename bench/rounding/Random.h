//===- Random.h - The draws of the programs in this folder ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the generator of lib/Support/Random.cpp for programs that are built without the libraries.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_BENCH_ROUNDING_RANDOM_H
#define KBOPT_BENCH_ROUNDING_RANDOM_H

#include <cmath>
#include <cstdint>
#include <numbers>

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double normal() {
    double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
};

#endif // KBOPT_BENCH_ROUNDING_RANDOM_H
