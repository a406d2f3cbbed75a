//===- NodeCounters.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeCounters.h"
#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Interrupt.h"

using namespace kbopt;

/// Counters are read where the time budget leaves so many seconds, and so many times what the last
/// reading took: a proof must not be lost for them.
static constexpr double leastSeconds = 2, timesTheLast = 2;

bool NodeCounters::isFastest(double ratio) {
  std::lock_guard<std::mutex> lock(mutex);
  if (ratio <= bestRatio)
    return false;
  bestRatio = ratio;
  return true;
}

llvm::Expected<SpeedRecord> NodeCounters::counters(const NodeId &id,
                                                   const ProgramArtefacts &program,
                                                   const TimingReport &timing,
                                                   const SpeedRecord &modelled) {
  if (id != nodes.root() &&
      !(timing.cold.decision == TimingDecision::Faster && isFastest(timing.cold.ratio)))
    return withoutReading(modelled, "another program is as fast: its counters are not read");
  const std::string noTime = "the time budget leaves no time to read counters";
  if (id != nodes.root() &&
      setup.judge.secondsLeft() < std::max(leastSeconds, timesTheLast * lastSeconds))
    return withoutReading(modelled, noTime);
  auto code = setup.judge.code(program);
  if (!code)
    return code.takeError();
  auto counted = read(id, program, nodes.codeWithHost(code->digest, id));
  if (counted || id == nodes.root() || !isTimeUp())
    return counted;
  llvm::consumeError(counted.takeError());
  return withoutReading(modelled, noTime);
}

llvm::Expected<SpeedRecord> NodeCounters::withoutReading(const SpeedRecord &modelled,
                                                         const std::string &why) {
  SpeedRecord record;
  if (modelled.kernels.size() == 1) {
    record.longest = modelled.kernels.begin()->first;
    record.kernels[record.longest].us = 1;
  } else {
    auto code = setup.judge.code(setup.original);
    if (!code)
      return code.takeError();
    auto own = read(nodes.root(), setup.original, nodes.codeWithHost(code->digest, nodes.root()));
    if (!own)
      return own.takeError();
    record = std::move(*own);
    for (auto &[name, kernel] : record.kernels)
      kernel.launches = 0; // those of another program
  }
  record.degraded = why;
  return record;
}

llvm::Expected<SpeedRecord> NodeCounters::read(const NodeId &id, const ProgramArtefacts &program,
                                               const Digest &code) {
  return answers.ask<SpeedRecord>("counters", answers.request({code}),
                                  [&] { return compute(id, program); });
}

llvm::Expected<SpeedRecord> NodeCounters::compute(const NodeId &id,
                                                  const ProgramArtefacts &program) {
  TimedPart timed(&setup.tools.timings, "effects", "counters of the GPU");
  const double begin = realClock().monotonicSeconds();
  GpuProfile profile;
  if (id == nodes.root()) {
    auto own = setup.judge.originalProfile();
    if (!own)
      return own.takeError();
    profile = *own;
  } else {
    auto code = setup.judge.code(program);
    if (!code)
      return code.takeError();
    auto plan = setup.cases.candidate(program, setup.cases.recorded());
    if (!plan)
      return plan.takeError();
    auto taken = setup.gpu->profile({code->cubinPath, *plan}, "ABCD", /*sampleLines=*/false);
    if (!taken)
      return taken.takeError();
    profile = std::move(*taken);
  }
  lastSeconds = realClock().monotonicSeconds() - begin;
  // It ran before: what the profiler does to it is not its fault.
  if (profile.status != RunStatus::Ok && profile.degraded.empty())
    profile.degraded = "profiling ended with: " + profile.message;
  if (id == nodes.root() && !profile.degraded.empty())
    setup.tools.progress.line("gpu: no counters, so that states are modelled: " + profile.degraded);
  return countersOf(profile);
}
