//===- Branches.cpp - What a program that was compiled to do so calls ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the notes of which branches of host code were taken. The calls are put into the text of a
// program before it is compiled.
//
//===----------------------------------------------------------------------===//
#include "Branches.h"
#include "Cuda.h"

#include <atomic>

using namespace kbrt;

namespace {
constexpr uint32_t mostBranches = 1 << 16;
std::atomic<bool> taken[mostBranches]; // threads may meet
} // namespace

KB_API void kbrecordTaken(unsigned number) {
  if (number < mostBranches)
    taken[number].store(true, std::memory_order_relaxed);
}

/// \p number where \p holds, else the next number. Returns \p holds.
KB_API bool kbrecordChose(unsigned number, bool holds) {
  kbrecordTaken(holds ? number : number + 1);
  return holds;
}

std::vector<uint32_t> kbrt::takenBranches() {
  std::vector<uint32_t> numbers;
  for (uint32_t number = 0; number < mostBranches; ++number)
    if (taken[number].load(std::memory_order_relaxed))
      numbers.push_back(number);
  return numbers;
}
