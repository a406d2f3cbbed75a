//===- ProfileMeasured.cpp - Kernels by a GPU's counters ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProfileParts.h"
#include "kb-opt/Candidate/HotLines.h"
#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

namespace {

/// Units whose use Nsight Compute calls throughput. Below 60 % of all of them a kernel
/// waits rather than works (its rule "latency issue").
std::string limiterOf(const std::map<std::string, double> &metrics) {
  constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> units[] = {
      {"dram", "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
      {"l1 wavefronts", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"},
      {"issue", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
      {"fma", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"},
      {"alu", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"},
      {"xu", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"},
      {"lsu", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"},
      {"fp64", "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active"},
      {"tensor", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"}};
  double most = -1;
  llvm::StringRef busiest;
  for (const auto &[name, metric] : units) {
    auto found = metrics.find(metric.str());
    if (found != metrics.end() && found->second > most) {
      most = found->second;
      busiest = name;
    }
  }
  if (most < 0)
    return "";
  return most < 60 ? "latency" : busiest.str();
}

/// The longest launch of \p kernel; null if there is none.
const LaunchMetrics *longestLaunch(const GpuProfile &profile, llvm::StringRef kernel) {
  const LaunchMetrics *longest = nullptr;
  for (const LaunchMetrics &launch : profile.launches)
    if (launch.kernel == kernel && (!longest || launch.us > longest->us))
      longest = &launch;
  return longest;
}

} // namespace

std::vector<ProfiledKernel> kbopt::measuredKernels(const Context &context,
                                                   const ParsedProgram &program,
                                                   const GpuProfile &profile,
                                                   const CountedProgram *counted,
                                                   const KernelFiles &files) {
  const SpeedRecord counters = countersOf(profile);
  std::vector<ProfiledKernel> kernels;
  for (const NamedKernel &named : namedKernels(program, files)) {
    ProfiledKernel kernel;
    KernelPage &page = kernel.page;
    page.kernel = named.name;
    double most = -1;
    for (const std::string &instance : named.instances) {
      const KernelSpeed *found = counters.find(instance);
      if (!found)
        continue;
      page.us += found->us;
      page.launches +=
          static_cast<unsigned>(llvm::count_if(profile.launches, [&](const LaunchMetrics &launch) {
            return launch.kernel == instance;
          }));
      if (counted)
        for (const ModelledLaunch &launch : counted->plan.launches)
          if (launch.kernel == instance)
            page.floorUs += launch.floorUs * launch.repeats;
      if (found->us > most) {
        most = found->us;
        kernel.longest = instance;
      }
    }
    const LaunchMetrics *launch = longestLaunch(profile, kernel.longest);
    if (!launch)
      continue;
    page.launch = launchText(launch->grid, launch->block);
    page.metrics = counters.find(kernel.longest)->metrics;
    // The limiter is of what was measured alone; degraded, it is unknown.
    page.limiter = limiterOf(page.metrics);
    if (counted)
      for (const auto &[name, value] : kernelMetrics(counted->plan, kernel.longest))
        if (isStaticMetric(name))
          page.metrics.try_emplace(name, value);
    page.measure = sampleMeasure.str();
    page.lines = sampledLines({context.command, context.text}, profile, kernel.longest);
    kernels.push_back(std::move(kernel));
  }
  llvm::sort(kernels, [](const ProfiledKernel &a, const ProfiledKernel &b) {
    return std::tie(b.page.us, a.page.kernel) < std::tie(a.page.us, b.page.kernel);
  });
  return kernels;
}
