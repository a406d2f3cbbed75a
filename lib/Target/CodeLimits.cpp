//===- CodeLimits.cpp - What code for an architecture may use -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Target/CodeLimits.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

/// Bytes of shared memory that a block may ask for, by compute capability (CUDA C++ Programming
/// Guide, technical specifications).
static std::optional<double> sharedBytesOf(unsigned capability) {
  constexpr std::pair<unsigned, double> known[] = {
      {70, 96 * 1024},   {72, 96 * 1024},   {75, 64 * 1024},  {80, 163 * 1024},
      {86, 99 * 1024},   {87, 163 * 1024},  {89, 99 * 1024},  {90, 227 * 1024},
      {100, 227 * 1024}, {103, 227 * 1024}, {120, 99 * 1024}, {121, 99 * 1024}};
  const auto *found =
      llvm::find_if(known, [&](const auto &each) { return each.first == capability; });
  return found == std::end(known) ? std::nullopt : std::optional(found->second);
}

ChipInfo kbopt::limitedTo(ChipInfo chip, llvm::StringRef arch, bool isOnly) {
  unsigned capability = 0;
  chip.isOwnArch = isOnly && arch == chip.arch() + "a";
  if (!arch.consume_front("sm_") || arch.consumeInteger(10, capability) || arch.size() > 1 ||
      capability == 10u * chip.computeMajor + chip.computeMinor)
    return chip;
  if (capability < 10u * chip.computeMajor + chip.computeMinor) {
    chip.computeMajor = capability / 10;
    chip.computeMinor = capability % 10;
  }
  chip.sharedBytesPerBlockOptIn = std::min(
      chip.sharedBytesPerBlockOptIn, sharedBytesOf(capability).value_or(chip.sharedBytesPerBlock));
  return chip;
}
