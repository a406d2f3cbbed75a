//===- MeasuredSpeed.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "kb-opt/Eval/CostModel.h"

using namespace kbopt;

double kbopt::acceptedUs(const TimingSeries &cold, double originalUs) {
  double us = cold.ratio > 0 ? originalUs / cold.ratio : originalUs;
  return cold.decision == TimingDecision::Faster ? us : std::max(us, originalUs);
}

namespace {

/// What makes two launches alike.
using LaunchKey =
    std::tuple<std::string, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t>;

LaunchKey keyOf(const LaunchMetrics &launch) {
  return {launch.kernel,   launch.grid[0],  launch.grid[1],  launch.grid[2],
          launch.block[0], launch.block[1], launch.block[2], launch.dynamicSharedBytes};
}

struct KernelSums {
  double us = 0;
  uint64_t count = 0;
  std::vector<WeightedMetrics> launches;
};

} // namespace

SpeedRecord kbopt::countersOf(const GpuProfile &profile) {
  std::map<LaunchKey, std::pair<double, unsigned>> measured;
  for (const LaunchMetrics &launch : profile.launches)
    if (!launch.metrics.empty()) {
      auto &[us, count] = measured[keyOf(launch)];
      us += launch.us;
      ++count;
    }
  std::map<std::string, KernelSums> sums;
  for (const LaunchMetrics &launch : profile.launches) {
    KernelSums &sum = sums[launch.kernel];
    auto like = launch.metrics.empty() ? measured.find(keyOf(launch)) : measured.end();
    sum.us += like == measured.end() ? launch.us : like->second.first / like->second.second;
    ++sum.count;
    if (!launch.metrics.empty())
      sum.launches.push_back({&launch.metrics, launch.us, 1});
  }
  SpeedRecord record;
  record.degraded = profile.degraded;
  double most = -1;
  for (const auto &[kernel, sum] : sums) {
    if (sum.us > most) {
      most = sum.us;
      record.longest = kernel;
    }
    record.kernels[kernel] = {sum.us, meanMetrics(sum.launches)};
    record.kernels[kernel].launches = sum.count;
  }
  return record;
}

bool kbopt::isStaticMetric(llvm::StringRef metric) {
  return metric.starts_with("kbopt__") && metric != "kbopt__time_us";
}

SpeedRecord kbopt::measuredSpeed(SpeedRecord measured, const SpeedRecord &modelled,
                                 double programUs) {
  const bool isDegraded = !measured.degraded.empty();
  double all = 0;
  for (const auto &[name, kernel] : measured.kernels)
    all += kernel.us;
  for (auto &[name, kernel] : measured.kernels) {
    if (const KernelSpeed *model = modelled.find(name))
      for (const auto &[metric, figure] : model->metrics)
        if (isDegraded || isStaticMetric(metric))
          kernel.metrics.try_emplace(metric, figure);
    if (all > 0)
      kernel.us = programUs * kernel.us / all;
  }
  return measured;
}
