//===- NodeModels.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeModels.h"
#include "kb-opt/Candidate/HotLines.h"

using namespace kbopt;

/// The hottest lines of \p kernel (mangled), a sentence each.
static std::vector<std::string> hottestLines(const InputFile &input, const RunResult &counted,
                                             const ModelledPlan &plan, llvm::StringRef kernel) {
  std::vector<const LaunchRecord *> records;
  const ModelledLaunch *longest = nullptr;
  for (size_t i = 0; i < plan.launches.size(); ++i)
    if (plan.launches[i].kernel == kernel) {
      records.push_back(&counted.launches[i]);
      if (!longest || plan.launches[i].us > longest->us)
        longest = &plan.launches[i];
    }
  return sentencesForModel(input, hotLines(input, records, longest->limiter),
                           measureOf(longest->limiter));
}

llvm::Expected<SpeedRecord> NodeModels::compute(const ProgramArtefacts &program) {
  TimedPart timed(&setup.tools.timings, "effects", "counters and model");
  auto counted = setup.judge.count(program, countOptions(setup.chip));
  if (!counted)
    return counted.takeError();
  SpeedRecord record;
  if (counted->status != RunStatus::Ok)
    return record;
  auto code = setup.judge.code(program);
  if (!code)
    return code.takeError();
  auto modelled = modelPlan(*counted, *code, setup.chip);
  if (!modelled)
    return modelled.takeError();
  record.us = modelled->us;
  record.seconds = counted->wallSeconds;
  record.floorUs = modelled->floorUs;
  record.longest = modelled->longestKernel;
  for (const ModelledLaunch &launch : modelled->launches) {
    record.kernels[launch.kernel].us += launch.us * launch.repeats;
    record.kernels[launch.kernel].launches += launch.repeats;
  }
  for (auto &[kernel, speed] : record.kernels) {
    speed.metrics = kernelMetrics(*modelled, kernel);
    speed.lines = hottestLines(setup.tools.input, *counted, *modelled, kernel);
  }
  return record;
}

llvm::Expected<bool> NodeModels::isOriginalHardToCount() {
  /// In seconds.
  constexpr double longCount = 0.5;
  auto code = setup.judge.code(setup.original);
  if (!code)
    return code.takeError();
  auto own = model(setup.original, nodes.codeWithHost(code->digest, nodes.root()));
  if (!own)
    return own.takeError();
  return !own->us || own->seconds > longCount;
}

llvm::Expected<SpeedRecord> NodeModels::model(const ProgramArtefacts &program, const Digest &code) {
  // What the CPU device cannot do with the original, or not soon, it is not asked for again.
  if (setup.gpu && program.text != setup.original.text) {
    auto isHard = isOriginalHardToCount();
    if (!isHard)
      return isHard.takeError();
    if (*isHard)
      return SpeedRecord();
  }
  return answers.ask<SpeedRecord>("count", answers.request({code}),
                                  [&] { return compute(program); });
}
