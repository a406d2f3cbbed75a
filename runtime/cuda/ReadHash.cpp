//===- ReadHash.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ReadHash.h"

#include <cstdio>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

uint64_t saltOf(uint64_t row) { return row * 7919; }

/// Buffers lie at multiples of 512; of variables nothing is known.
bool isInWords(const Plan &plan, const Region &region) {
  return plan.buffers[region.at.buffer].kind != BufferKind::Symbol && region.at.offset % 4 == 0 &&
         region.width % 4 == 0 && region.pitch % 4 == 0;
}

} // namespace

uint64_t kbrt::cuda::hashOfReads(const Plan &plan, std::string_view observables) {
  uint64_t sum = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    auto *step = std::get_if<ReadStep>(&plan.steps[i]);
    if (!step || step->observable + step->from.bytes() > observables.size())
      continue;
    uint64_t hash = 0;
    for (uint64_t row = 0; row < step->from.height; ++row)
      hash += contentHash(
          observables.substr(step->observable + row * step->from.width, step->from.width),
          saltOf(row), isInWords(plan, step->from));
    sum += shareOfRead(hash, i);
  }
  return sum;
}

void kbrt::cuda::addReadHash(HelperKernels &helpers, const Plan &plan, uint64_t from,
                             const Region &region, unsigned slot) {
  for (uint64_t row = 0; row < region.height; ++row)
    helpers.hash(from + row * region.pitch, region.width, saltOf(row), slot,
                 isInWords(plan, region));
}

uint64_t kbrt::cuda::shareOfRead(uint64_t hash, size_t step) {
  uint64_t x = hash ^ ((step + 1) * 0x9e3779b97f4a7c15);
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 32);
}

void kbrt::cuda::addContentHash(HelperKernels &helpers, const Plan &plan, uint64_t from,
                                const Region &region, uint64_t salt, unsigned slot) {
  const bool inWords = isInWords(plan, region);
  if (region.pitch == region.width || region.height == 1)
    return helpers.hash(from, region.bytes(), salt, slot, inWords);
  // An element's place counts from the salt on.
  const uint64_t elements = region.width / (inWords ? 4 : 1);
  for (uint64_t row = 0; row < region.height; ++row)
    helpers.hash(from + row * region.pitch, region.width, salt + row * elements, slot, inWords);
}

std::string kbrt::cuda::contentDigest(uint64_t first, uint64_t second, uint64_t bytes) {
  char text[64];
  snprintf(text, sizeof text, "%016llx%016llx-%llu", static_cast<unsigned long long>(first),
           static_cast<unsigned long long>(second), static_cast<unsigned long long>(bytes));
  return text;
}
