//===- Attainable.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/Attainable.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace kbopt;

/// The bytes that the device must read or write whatever the kernels are: each upload and each
/// result once.
static uint64_t compulsoryBytes(const kbrt::Plan &plan) {
  std::set<uint64_t> uploads;
  std::set<std::tuple<uint32_t, uint64_t, uint64_t>> results;
  uint64_t bytes = 0;
  for (const kbrt::Step &step : plan.steps)
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step)) {
      if (uploads.insert(upload->data).second)
        bytes += upload->to.bytes();
    } else if (const auto *read = std::get_if<kbrt::ReadStep>(&step)) {
      const kbrt::Region &from = read->from;
      if (results.insert({from.at.buffer, from.at.offset, from.bytes()}).second)
        bytes += from.bytes();
    }
  return bytes;
}

AttainableTime kbopt::attainableTime(const kbrt::Plan &plan, double floorUs, const ChipInfo &chip) {
  if (floorUs <= 0 || chip.dramBytesPerSecond <= 0)
    return {};
  constexpr double microseconds = 1e6;
  const size_t launches = llvm::count_if(plan.steps, [](const kbrt::Step &step) {
    return std::holds_alternative<kbrt::LaunchStep>(step);
  });
  const double given = floorUs - double(launches) * chip.launchOverheadUs,
               moved = double(compulsoryBytes(plan)) / chip.dramBytesPerSecond * microseconds;
  return {std::max(0.0, std::min(given, moved)), launches ? chip.launchOverheadUs : 0};
}
