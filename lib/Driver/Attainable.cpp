//===- Attainable.cpp - What no rewrite of a program goes below -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "SearchReport.h"
#include "kb-opt/Plan/RecordedPlan.h"

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

SearchReport::Bounds SearchReport::boundsOf(const NodeJudgement &original) const {
  Bounds bounds{original.floorUs, 0, 0};
  auto folder = session.cases->original(session.cases->recorded());
  auto plan = folder ? readRecordedPlan(*folder) : llvm::Expected<RecordedPlan>(folder.takeError());
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return bounds;
  }
  bounds.launches = llvm::count_if(plan->plan.steps, [](const kbrt::Step &step) {
    return std::holds_alternative<kbrt::LaunchStep>(step);
  });
  bounds.launchesUs = static_cast<double>(bounds.launches) * chip.launchOverheadUs;
  constexpr double microseconds = 1e6;
  if (original.floorUs > 0 && chip.dramBytesPerSecond > 0)
    bounds.leastUs = std::min(
        original.floorUs, chip.launchOverheadUs + static_cast<double>(compulsoryBytes(plan->plan)) /
                                                      chip.dramBytesPerSecond * microseconds);
  return bounds;
}
