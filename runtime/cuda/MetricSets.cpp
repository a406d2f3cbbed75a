//===- MetricSets.cpp - which counters to ask for -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the metric sets of docs/Measurement.md per generation of chips, as a
// table. Names are CUPTI's; checkMetrics tells which of them a chip has.
//
//===----------------------------------------------------------------------===//
#include "kbrt/CudaPlan.h"

#include <cstdlib>
#include <string_view>

using namespace kbrt;

namespace {

struct Row {
  char set;
  const char *name;
  /// A list of alternatives that takes the place of `{}` in the name.
  const char *alternatives = "";
  /// The first and last generation that has it: compute capability's major version.
  unsigned from = 8, to = 99;
};

constexpr const char *loadStore = "ld st";

constexpr Row rows[] = {
    {'A', "gpu__time_duration.sum"},
    {'A', "gpc__cycles_elapsed.max"},
    {'A', "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
    {'A', "dram__bytes_read.sum"},
    {'A', "dram__bytes_write.sum"},
    {'A', "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {'A', "smsp__warps_active.avg.per_cycle_active"},
    {'A', "smsp__warps_eligible.avg.per_cycle_active"},
    {'A', "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {'A', "smsp__inst_executed.sum"},
    {'A', "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
    {'A', "sm__cycles_active.avg"},
    {'A', "sm__cycles_active.max"},
    {'A', "lts__t_bytes.sum"},
    {'A', "l1tex__t_bytes.sum"},
    {'B', "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio",
     "barrier branch_resolving dispatch_stall drain lg_throttle long_scoreboard "
     "math_pipe_throttle membar mio_throttle misc no_instruction not_selected selected "
     "short_scoreboard sleeping tex_throttle wait"},
    {'B', "smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio", "", 8, 9},
    {'B', "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio", "", 9, 9},
    {'C', "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", loadStore},
    {'C', "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum", loadStore},
    {'C', "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.pct", loadStore},
    {'C', "l1tex__t_sector_hit_rate.pct"},
    {'C', "lts__t_sector_hit_rate.pct"},
    {'C', "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum", loadStore},
    {'C', "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", loadStore},
    {'C', "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"},
    {'C', "l1tex__t_sectors_pipe_lsu_mem_local_op_{}.sum", loadStore},
    {'C', "lts__t_sectors_op_{}.sum", "atom red"},
    {'D', "sm__inst_executed_pipe_{}.avg.pct_of_peak_sustained_active", "alu fma fp64 xu lsu"},
    {'D', "sm__pipe_{}_cycles_active.avg.pct_of_peak_sustained_active", "fma tensor"},
    {'D', "smsp__sass_thread_inst_executed_op_{}_pred_on.sum",
     "fadd fmul ffma dadd dmul dfma hadd hmul hfma integer"},
};

/// The generation behind CUPTI's name of a chip.
unsigned generationOf(std::string_view chip) {
  struct {
    std::string_view prefix;
    unsigned generation;
  } const known[] = {{"TU", 7}, {"GV", 7}, {"GA", 8}, {"AD", 8}, {"GH", 9}, {"GB", 10}};
  for (auto &[prefix, generation] : known)
    if (chip.substr(0, prefix.size()) == prefix)
      return generation;
  return 9;
}

} // namespace

std::vector<std::string> cuda::metricNames(const std::string &letters, const std::string &chip) {
  std::vector<std::string> names;
  unsigned generation = generationOf(chip);
  for (const Row &row : rows) {
    if (letters.find(row.set) == std::string::npos || generation < row.from || generation > row.to)
      continue;
    std::string name = row.name;
    size_t hole = name.find("{}");
    if (hole == std::string::npos) {
      names.push_back(name);
      continue;
    }
    std::string_view rest = row.alternatives;
    while (!rest.empty()) {
      size_t end = std::min(rest.find(' '), rest.size());
      names.push_back(name.substr(0, hole) + std::string(rest.substr(0, end)) +
                      name.substr(hole + 2));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return names;
}
