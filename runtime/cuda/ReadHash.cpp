//===- ReadHash.cpp -------------------------------------------------------===//
#include "ReadHash.h"

#include <cstdio>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

uint64_t saltOf(size_t step, uint64_t row) { return (uint64_t(step) << 24) + row * 7919; }

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
    for (uint64_t row = 0; row < step->from.height; ++row)
      sum += contentHash(
          observables.substr(step->observable + row * step->from.width, step->from.width),
          saltOf(i, row), isInWords(plan, step->from));
  }
  return sum;
}

void kbrt::cuda::addReadHash(HelperKernels &helpers, const Plan &plan, size_t step, uint64_t from,
                             const Region &region, unsigned slot) {
  for (uint64_t row = 0; row < region.height; ++row)
    helpers.hash(from + row * region.pitch, region.width, saltOf(step, row), slot,
                 isInWords(plan, region));
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
