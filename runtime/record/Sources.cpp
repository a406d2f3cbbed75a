//===- Sources.cpp - Other numbers from generators --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the functions of the C library that give random numbers, defined once more: where the
// program is to have other numbers than usual, each is another one of the same range. The
// recorder's library comes before the C library's.
//
//===----------------------------------------------------------------------===//
#include "Cuda.h"
#include "Settings.h"

#include <cstdlib>
#include <dlfcn.h>

namespace {

bool areOther() {
  static const bool others = !kbrt::recorderSetting("SOURCES").empty();
  return others;
}

/// The C library's own function \p name.
template <typename Function> Function *find(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

/// Another number of the same 31 bits: each stands for one.
long other(long number) { return areOther() ? number ^ 0x2f6b1c53 : number; }

/// Another number of [0, 1).
double other(double number) {
  if (!areOther())
    return number;
  number += 0.381966011250105; // 2 minus the golden ratio
  return number < 1 ? number : number - 1;
}

} // namespace

KB_API int rand() {
  static auto *own = find<int()>("rand");
  return static_cast<int>(other(long{own()}));
}
KB_API int rand_r(unsigned *seed) {
  static auto *own = find<int(unsigned *)>("rand_r");
  return static_cast<int>(other(long{own(seed)}));
}
KB_API long random() {
  static auto *own = find<long()>("random");
  return other(own());
}
KB_API long lrand48() {
  static auto *own = find<long()>("lrand48");
  return other(own());
}
KB_API double drand48() {
  static auto *own = find<double()>("drand48");
  return other(own());
}
KB_API double erand48(unsigned short state[3]) {
  static auto *own = find<double(unsigned short *)>("erand48");
  return other(own(state));
}

/// What a generator that the program brings along starts from.
KB_API unsigned long kbrecordSeed(unsigned long seed) {
  constexpr unsigned long step = 7919; // a prime
  return areOther() ? seed + step : seed;
}
