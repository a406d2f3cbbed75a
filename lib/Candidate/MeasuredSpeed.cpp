//===- MeasuredSpeed.cpp --------------------------------------------------===//
#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

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
  std::vector<WeightedMetrics> launches;
};

} // namespace

json::Object kbopt::countersJson(const GpuProfile &profile) {
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
    if (!launch.metrics.empty())
      sum.launches.push_back({&launch.metrics, launch.us, 1});
  }
  json::Object kernels;
  std::string longest;
  double most = -1;
  for (const auto &[kernel, sum] : sums) {
    if (sum.us > most) {
      most = sum.us;
      longest = kernel;
    }
    json::Object metrics;
    for (const auto &[name, value] : meanMetrics(sum.launches))
      metrics[name] = value;
    kernels[kernel] = json::Object{{"us", sum.us}, {"metrics", std::move(metrics)}};
  }
  return json::Object{
      {"longest", longest}, {"degraded", profile.degraded}, {"kernels", std::move(kernels)}};
}

bool kbopt::isStaticMetric(llvm::StringRef metric) {
  return metric.starts_with("kbopt__") && metric != "kbopt__time_us";
}

json::Object kbopt::measuredSpeed(json::Object measured, json::Object modelled, double programUs) {
  bool degraded = !measured.getString("degraded").value_or("").empty();
  json::Object *kernels = measured.getObject("kernels");
  const json::Object *others = modelled.getObject("kernels");
  double all = 0;
  for (auto &[name, value] : *kernels)
    all += value.getAsObject()->getNumber("us").value_or(0);
  for (auto &[name, value] : *kernels) {
    json::Object &kernel = *value.getAsObject();
    json::Object &metrics = *kernel.getObject("metrics");
    const json::Object *model = others ? others->getObject(name) : nullptr;
    for (const auto &[metric, figure] : model ? *model->getObject("metrics") : json::Object())
      if (degraded || isStaticMetric(metric))
        metrics.try_emplace(metric, figure);
    if (all > 0)
      kernel["us"] = programUs * kernel.getNumber("us").value_or(0) / all;
  }
  return measured;
}

llvm::Expected<double> ProgramEnvironment::acceptedUs(const NodeId &id,
                                                      const TimingReport &timing) {
  if (id == rootNode)
    return timing.cold.baseline.medianUs;
  auto root = judgeWith(rootNode, JudgeEffort::Search);
  if (!root)
    return root.takeError();
  return kbopt::acceptedUs(timing.cold, root->timeUs);
}

llvm::Expected<json::Value> ProgramEnvironment::computeCounters(const NodeId &id,
                                                                const ProgramArtefacts &program) {
  TimedPart timed(&tools.timings, "effects", "counters of the GPU");
  GpuProfile profile;
  if (id == rootNode) {
    auto own = judgeOf.originalProfile();
    if (!own)
      return own.takeError();
    profile = *own;
  } else {
    auto code = judgeOf.code(program);
    if (!code)
      return code.takeError();
    auto plan = cases.candidate(program, cases.recorded());
    if (!plan)
      return plan.takeError();
    auto taken = gpu->profile({code->cubinPath, *plan}, "ABCD", /*sampleLines=*/false);
    if (!taken)
      return taken.takeError();
    profile = std::move(*taken);
  }
  // It ran before: what the profiler does to it is not its fault.
  if (profile.status != RunStatus::Ok && profile.degraded.empty())
    profile.degraded = "profiling ended with: " + profile.message;
  if (id == rootNode && !profile.degraded.empty())
    tools.progress.line("gpu: no counters, so that states are modelled: " + profile.degraded);
  return json::Value(countersJson(profile));
}

llvm::Expected<json::Object> ProgramEnvironment::counters(const NodeId &id,
                                                          const ProgramArtefacts &program,
                                                          const Digest &code) {
  auto answer = answered("counters", request({code}), [&] { return computeCounters(id, program); });
  if (!answer)
    return answer.takeError();
  return std::move(*answer->getAsObject());
}
