//===- Random.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Random.h"
#include "llvm/Support/xxhash.h"
#include <cassert>
#include <cmath>
#include <numbers>

using namespace kbopt;

Random Random::fork(llvm::StringRef purpose) const {
  Random mixed(state ^ llvm::xxh3_64bits(purpose));
  return Random(mixed.next());
}

uint64_t Random::next() {
  uint64_t z = (state += step);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t Random::below(uint64_t bound) {
  assert(bound > 0 && "an empty range has no element");
  // Values under the remainder would be drawn once too often.
  uint64_t threshold = -bound % bound;
  for (;;)
    if (uint64_t value = next(); value >= threshold)
      return value % bound;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::normal() {
  double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

size_t Random::weighted(llvm::ArrayRef<double> weights) {
  double total = 0;
  for (double weight : weights)
    total += weight;
  assert(total > 0 && "all weights are zero");
  double mark = uniform() * total;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0)
      continue;
    last = i;
    if (mark < weights[i])
      return i;
    mark -= weights[i];
  }
  return last;
}
