//===- ShownMetrics.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ShownMetrics.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace kbopt;

static constexpr size_t mostShown = 10;

namespace {
/// One figure of the rules' (`StateRules::figures`) in words.
struct ShownMetric {
  llvm::StringRef figure;
  double scale;
  llvm::StringRef words; ///< after the number
  llvm::StringRef state; ///< in which it comes first
};
} // namespace

/// Its percentages are of what the hardware can do, unless they say of what.
static constexpr ShownMetric table[] = {
    {"sector_use", 1, "% of the bytes of each sector used", "uncoalesced_access"},
    {"sectors_per_request", 1, "sectors per request", "uncoalesced_access"},
    {"kbopt__ideal_sectors_per_request", 1, "would suffice", "uncoalesced_access"},
    {"l1tex__t_sector_hit_rate.pct", 1, "% hits in L1", "cache_inefficient"},
    {"lts__t_sector_hit_rate.pct", 1, "% hits in L2", "cache_inefficient"},
    {"conflict_share", 100, "% of shared-memory wavefronts are conflicts", "shared_bank_conflicts"},
    {"pipe_useful", 1, "% busy arithmetic pipe", "compute_throughput_saturated"},
    {"pipe_other", 1, "% busy other pipe", "instruction_mix_suboptimal"},
    {"threads_per_instruction", 1, "of 32 threads work in an instruction",
     "thread_divergence_high"},
    {"local_share", 100, "% of sectors are local memory", "low_occupancy_register_pressure"},
    {"atomic_share", 100, "% of L2 sectors are atomics", "synchronization_bound"},
    {"barrier_share", 100, "% of stalls wait at barriers", "synchronization_bound"},
    {"waves", 1, "waves of blocks", "insufficient_parallelism"},
    {"kbopt__launch_overhead_us", 1, "us to launch", "launch_overhead_dominant"},
    {"duration_us", 1, "us", ""},
    {"kbopt__floor_us", 1, "us at the roofline", ""},
    {"kbopt__registers", 1, "registers a thread", ""},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", 1, "% of an SM's warps active", ""},
    {"dram", 1, "% busy DRAM", ""},
    {"l1", 1, "% busy load-store pipe", ""},
    {"active", 100, "% of cycles issue", ""},
    {"long_share", 100, "% of stalls wait for global memory", ""},
    {"short_share", 100, "% of stalls wait for shared memory", ""},
    {"lg_share", 100, "% of stalls wait for the queue to memory", ""},
    {"math_share", 100, "% of stalls wait for arithmetic", ""},
};

std::vector<std::string> kbopt::shownMetrics(const State &state, const MetricMap &metrics) {
  MetricMap figures = StateRules::builtin().figures(metrics);
  std::vector<std::string> lines;
  auto add = [&](const ShownMetric &metric) {
    auto found = figures.find(metric.figure.str());
    if (lines.size() == mostShown || found == figures.end() || !std::isfinite(found->second) ||
        found->second == 0)
      return;
    std::string &line = lines.emplace_back();
    llvm::raw_string_ostream(line)
        << llvm::format("%.3g", metric.scale * found->second) << " " << metric.words;
  };
  for (const ShownMetric &metric : table)
    if (!metric.state.empty() && (metric.state == state.primary || metric.state == state.secondary))
      add(metric);
  for (const ShownMetric &metric : table)
    if (metric.state.empty())
      add(metric);
  return lines;
}
