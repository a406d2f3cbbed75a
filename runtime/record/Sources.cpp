//===- Sources.cpp - Other numbers from generators --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the functions of the C library that give random numbers, defined once more: where the
// program is to have other numbers than usual, each is another one of the same range. The
// recorder's library comes before the C library's.
//
//===----------------------------------------------------------------------===//
#include "Callers.h"
#include "Cuda.h"
#include "Settings.h"

#include <cstdlib>

namespace {

/// Another number of the same 31 bits: each stands for one.
long other(long number) { return kbrt::givesOtherNumbers() ? number ^ 0x2f6b1c53 : number; }

/// Another number of [0, 1).
double other(double number) {
  if (!kbrt::givesOtherNumbers())
    return number;
  number += 0.381966011250105; // 2 minus the golden ratio
  return number < 1 ? number : number - 1;
}

} // namespace

KB_API int rand() {
  static auto *own = kbrt::ownFunction<int()>("rand");
  return static_cast<int>(other(long{own()}));
}
KB_API int rand_r(unsigned *seed) {
  static auto *own = kbrt::ownFunction<int(unsigned *)>("rand_r");
  return static_cast<int>(other(long{own(seed)}));
}
KB_API long random() {
  static auto *own = kbrt::ownFunction<long()>("random");
  return other(own());
}
KB_API long lrand48() {
  static auto *own = kbrt::ownFunction<long()>("lrand48");
  return other(own());
}
KB_API double drand48() {
  static auto *own = kbrt::ownFunction<double()>("drand48");
  return other(own());
}
KB_API double erand48(unsigned short state[3]) {
  static auto *own = kbrt::ownFunction<double(unsigned short *)>("erand48");
  return other(own(state));
}

/// What a generator that the program brings along starts from.
KB_API unsigned long kbrecordSeed(unsigned long seed) {
  constexpr unsigned long step = 7919; // a prime
  return kbrt::givesOtherNumbers() ? seed + step : seed;
}
