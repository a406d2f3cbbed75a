//===- MetricLabels.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "MetricLabels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

const std::vector<MetricSection> &kbopt::metricSections() {
  static const std::vector<MetricSection> table = {
      {"Speed Of Light",
       {{"Duration", "us", "gpu__time_duration.sum", 1e-3},
        {"DRAM Throughput", "%", "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
        {"Issue Slots Busy", "%", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
        {"FMA Pipe", "%", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"},
        {"ALU Pipe", "%", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"},
        {"LSU Pipe", "%", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"},
        {"FP64 Pipe", "%", "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active"},
        {"Tensor Pipe", "%", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"}}},
      {"Launch And Occupancy",
       {{"Waves Per SM", "", "kbopt__waves"},
        {"Registers Per Thread", "", "kbopt__registers"},
        {"Theoretical Occupancy", "%", "kbopt__occupancy", 100},
        {"Achieved Occupancy", "%", "sm__warps_active.avg.pct_of_peak_sustained_active"},
        {"Threads Per Instruction", "",
         "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"}}},
      {"Memory Workload",
       {{"DRAM Read", "KB", "dram__bytes_read.sum", 1e-3},
        {"DRAM Written", "KB", "dram__bytes_write.sum", 1e-3},
        {"L1/TEX Hit Rate", "%", "l1tex__t_sector_hit_rate.pct"},
        {"L2 Hit Rate", "%", "lts__t_sector_hit_rate.pct"},
        {"Global Load Sectors", "", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
        {"Global Load Requests", "", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
        {"Global Load Bytes Used", "%",
         "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"},
        {"Global Store Bytes Used", "%",
         "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"},
        {"Shared Load Bank Conflicts", "",
         "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"},
        {"Shared Store Bank Conflicts", "",
         "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"},
        {"Local Load Sectors", "", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"}}}};
  return table;
}

constexpr llvm::StringLiteral stallPrefix = "smsp__average_warps_issue_stalled_";
constexpr llvm::StringLiteral stallSuffix = "_per_issue_active.ratio";

/// "Stall Long Scoreboard", as Nsight Compute writes it.
static std::string stallLabel(llvm::StringRef name) {
  std::string label = "Stall ";
  bool start = true;
  for (char c : name) {
    label += c == '_' ? ' ' : start ? llvm::toUpper(c) : c;
    start = c == '_';
  }
  return label;
}

std::vector<std::pair<std::string, double>>
kbopt::warpStalls(const std::map<std::string, double> &metrics) {
  std::vector<std::pair<std::string, double>> stalls;
  double sum = 0;
  for (const auto &[name, value] : metrics) {
    llvm::StringRef rest = name;
    if (!rest.consume_front(stallPrefix) || !rest.consume_back(stallSuffix))
      continue;
    sum += value;
    stalls.emplace_back(stallLabel(rest), value);
  }
  llvm::erase_if(stalls,
                 [&](const auto &stall) { return !(sum > 0) || stall.second < 0.02 * sum; });
  llvm::sort(stalls, [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return stalls;
}

std::string kbopt::shownMetric(double value) {
  if (value != 0 && std::abs(value) < 0.01)
    return llvm::formatv("{0:e2}", value).str();
  return llvm::formatv("{0:f2}", value).str();
}
