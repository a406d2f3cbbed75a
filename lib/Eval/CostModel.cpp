//===- CostModel.cpp - Modelled time, limiter and floor -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LaunchModel.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Target/LaunchCosts.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace kbopt {

StringRef toString(Limiter limiter) {
  switch (limiter) {
  case Limiter::Dram:
    return "dram";
  case Limiter::L2:
    return "l2";
  case Limiter::L1Wavefronts:
    return "l1 wavefronts";
  case Limiter::SharedWavefronts:
    return "shared wavefronts";
  case Limiter::Issue:
    return "issue";
  case Limiter::Fma:
    return "fma";
  case Limiter::Alu:
    return "alu";
  case Limiter::Xu:
    return "xu";
  case Limiter::Fp64:
    return "fp64";
  case Limiter::Half:
    return "half";
  case Limiter::Tensor:
    return "tensor";
  case Limiter::Atomics:
    return "atomics";
  case Limiter::BlockStarts:
    return "block starts";
  case Limiter::Latency:
    return "latency";
  }
  return "";
}

static double floorOf(const LaunchModel &model) {
  const kbrt::KernelCounters &c = model.counters;
  const ChipInfo &chip = model.chip;
  double seconds = 0;
  auto need = [&](double amount, double perSecond) {
    if (amount > 0 && perSecond > 0)
      seconds = std::max(seconds, amount / perSecond);
  };
  need(c.traffic.uniqueReadBytes + c.traffic.uniqueWrittenBytes, chip.dramBytesPerSecond);
  need(c.fp32Operations, 2 * chip.rate(chip.fp32PerClock));
  need(c.fp64Operations, 2 * chip.rate(chip.fp64PerClock));
  need(c.fp16Operations, 2 * chip.rate(chip.fp16PerClock));
  need(c.tensorOperations, 2 * chip.rate(chip.tensorFp16PerClock));
  return seconds * 1e6;
}

ModelledLaunch modelLaunch(const kbrt::KernelCounters &counters, const LaunchShape &shape,
                           const KernelResources *resources, const ChipInfo &chip) {
  LaunchModel model = analyseLaunch(counters, shape, resources, chip);
  ModelledLaunch result;
  result.kernel = counters.kernel;
  const double toUs = 1e6 / chip.clockHz();
  auto term = [&](Limiter limiter, double cycles) {
    if (cycles > 0)
      result.terms.push_back({limiter, cycles * toUs});
  };
  term(Limiter::Dram, model.dram);
  term(Limiter::L2, model.l2);
  double wavefronts =
      std::max(model.globalWavefronts + model.storeDrain + model.sharedWavefronts, model.lsu);
  term(model.sharedWavefronts > model.globalWavefronts ? Limiter::SharedWavefronts
                                                       : Limiter::L1Wavefronts,
       wavefronts);
  term(Limiter::Issue, model.issue);
  term(Limiter::Fma, model.fma);
  term(Limiter::Alu, model.alu);
  term(Limiter::Xu, model.xu);
  term(Limiter::Fp64, model.fp64);
  term(Limiter::Half, model.half);
  term(Limiter::Tensor, model.tensor);
  term(Limiter::Atomics, model.atomics);
  term(Limiter::BlockStarts, model.blockStarts);
  llvm::SmallVector<double> cycles;
  for (const CostTerm &each : result.terms)
    cycles.push_back(each.us / toUs);
  double work = joined(cycles);
  term(Limiter::Latency, model.latency);
  llvm::sort(result.terms, [](const CostTerm &a, const CostTerm &b) {
    return a.us != b.us ? a.us > b.us : a.limiter < b.limiter;
  });
  result.floorUs = floorOf(model);
  if (!result.terms.empty())
    result.limiter = result.terms.front().limiter;
  result.us = std::max(result.floorUs, model.interleaved(work) * toUs);
  model.cycles = result.us / toUs;
  result.waves = model.waves;
  result.occupancy = model.occupancy.fraction;
  result.occupancyLimiter = limiterName(model.occupancy.limiter).str();
  result.registersKnown = resources && resources->registers;
  result.metrics = launchMetrics(model, result.limiter, result.floorUs);
  return result;
}

/// Whether \p name is a total that adds up over launches.
static bool isTotal(StringRef name) {
  return name.ends_with(".sum") || name == "kbopt__time_us" || name == "kbopt__floor_us" ||
         name == "kbopt__launch_overhead_us" || name == "gpc__cycles_elapsed.max" ||
         name == "sm__cycles_active.avg" || name == "sm__cycles_active.max";
}

std::map<std::string, double> meanMetrics(ArrayRef<WeightedMetrics> launches) {
  std::map<std::string, double> sums, weights;
  for (const WeightedMetrics &launch : launches)
    for (const auto &[name, value] : *launch.metrics) {
      double weight = launch.repeats * (isTotal(name) ? 1 : std::max(launch.us, 1e-9));
      sums[name] += weight * value;
      weights[name] += weight;
    }
  for (auto &[name, value] : sums)
    value /= weights[name];
  return sums;
}

std::map<std::string, double> kernelMetrics(const ModelledPlan &plan, StringRef kernel) {
  std::vector<WeightedMetrics> launches;
  for (const ModelledLaunch &launch : plan.launches)
    if (launch.kernel == kernel)
      launches.push_back({&launch.metrics, launch.us, launch.repeats});
  return meanMetrics(launches);
}

RunOptions countOptions(const ChipInfo &chip) {
  RunOptions options;
  options.l1Bytes = static_cast<uint64_t>(chip.l1BytesPerSm / 2);
  options.l2Bytes = static_cast<uint64_t>(chip.l2Bytes);
  return options;
}

Expected<ModelledPlan> modelPlan(const RunResult &run, const DeviceCode &code,
                                 const ChipInfo &chip) {
  ModelledPlan plan;
  plan.chip = chip.name;
  std::map<std::string, double> time;
  for (const LaunchRecord &record : run.launches) {
    if (!record.counters)
      return make_error<ToolError>("no counters for a launch of " + record.kernel,
                                   std::vector<std::string>{"kb-run"}, 0, "",
                                   "the image was not built in count mode");
    LaunchShape shape;
    shape.blocks = uint64_t(record.grid[0]) * record.grid[1] * record.grid[2];
    shape.threadsPerBlock = record.block[0] * record.block[1] * record.block[2];
    shape.dynamicSharedBytes = record.dynamicSharedBytes;
    ModelledLaunch launch = modelLaunch(*record.counters, shape, code.find(record.kernel), chip);
    launch.kernel = record.kernel;
    launch.repeats = record.repeats;
    plan.us += (launch.us + chip.launchOverheadUs) * launch.repeats;
    plan.floorUs += (launch.floorUs + chip.launchOverheadUs) * launch.repeats;
    time[record.kernel] += launch.us * launch.repeats;
    plan.launches.push_back(std::move(launch));
  }
  std::vector<WeightedMetrics> all;
  for (const ModelledLaunch &launch : plan.launches)
    all.push_back({&launch.metrics, launch.us, launch.repeats});
  plan.metrics = meanMetrics(all);
  double longest = -1;
  for (const auto &[kernel, us] : time)
    if (us > longest) {
      longest = us;
      plan.longestKernel = kernel;
    }
  double worst = -1;
  for (const ModelledLaunch &launch : plan.launches)
    if (launch.kernel == plan.longestKernel && launch.us > worst) {
      worst = launch.us;
      plan.limiter = launch.limiter;
    }
  return plan;
}

json::Value toJSON(const ModelledPlan &plan) {
  json::Array launches;
  for (const ModelledLaunch &launch : plan.launches) {
    json::Array terms;
    for (const CostTerm &term : launch.terms)
      terms.push_back(json::Object{{"limiter", toString(term.limiter)}, {"us", term.us}});
    json::Object metrics;
    for (const auto &[name, value] : launch.metrics)
      metrics[name] = value;
    launches.push_back(json::Object{{"kernel", launch.kernel},
                                    {"modelledUs", launch.us},
                                    {"repeats", launch.repeats},
                                    {"floorUs", launch.floorUs},
                                    {"limiter", toString(launch.limiter)},
                                    {"waves", launch.waves},
                                    {"occupancy", launch.occupancy},
                                    {"occupancyLimiter", launch.occupancyLimiter},
                                    {"registersKnown", launch.registersKnown},
                                    {"terms", std::move(terms)},
                                    {"metrics", std::move(metrics)}});
  }
  return json::Object{{"chip", plan.chip},
                      {"modelledUs", plan.us},
                      {"floorUs", plan.floorUs},
                      {"limiter", toString(plan.limiter)},
                      {"longestKernel", plan.longestKernel},
                      {"launches", std::move(launches)}};
}

} // namespace kbopt
