//===- NodeSpeeds.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeSpeeds.h"
#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "kb-opt/Candidate/Shape.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

/// Every kernel of the source that ran.
static std::map<std::string, JudgedKernel> kernelsOfSource(RewriteSession &session,
                                                           const SpeedRecord &record) {
  std::map<std::string, JudgedKernel> kernels;
  for (const KernelFact &fact : findKernels(session.parsed())) {
    double all = 0, most = 0;
    const KernelSpeed *longest = nullptr;
    std::string name;
    for (const KernelFact::Instance &instance : fact.instances) {
      const KernelSpeed *found = record.find(instance.mangledName);
      if (!found)
        continue;
      all += found->us;
      if (found->us > most) {
        most = found->us;
        longest = found;
        name = instance.mangledName;
      }
    }
    if (longest)
      kernels[fact.name] = {all, longest->metrics, shapeOf(session, name)};
  }
  return kernels;
}

/// Adds how long the kernels of \p record run, and how often, where that is known of all of them.
static void addSplit(const SpeedRecord &record, JudgedSpeed &speed) {
  double us = 0;
  uint64_t launches = 0;
  for (const auto &[name, kernel] : record.kernels) {
    if (!kernel.launches)
      return;
    us += kernel.us;
    launches += kernel.launches;
  }
  speed.kernelsUs = std::min(us, speed.us);
  speed.launches = launches;
}

llvm::Error NodeSpeeds::addKernels(const NodeId &id, const SpeedRecord &record,
                                   JudgedSpeed &speed) {
  if (const KernelSpeed *kernel = record.find(record.longest))
    speed.metrics = kernel->metrics;
  return nodes.withSession(id, [&](RewriteSession &program) -> llvm::Error {
    speed.shape = record.longest.empty() ? "" : shapeOf(program, record.longest);
    speed.kernels = kernelsOfSource(program, record);
    return llvm::Error::success();
  });
}

llvm::Expected<JudgedSpeed> NodeSpeeds::speed(const NodeId &id, const ProgramArtefacts &program,
                                              std::optional<MeasuredTime> timing) {
  auto code = setup.judge.code(program);
  if (!code)
    return code.takeError();
  auto modelled = models.model(program, nodes.codeWithHost(code->digest, id));
  if (!modelled)
    return modelled.takeError();
  if (!modelled->us && !timing)
    return llvm::make_error<ToolError>("'" + program.name +
                                           "' passes its gates but cannot be counted",
                                       std::vector<std::string>{"kb-run"}, 0, "");
  JudgedSpeed speed;
  speed.code = code->digest;
  speed.floorUs = modelled->floorUs;
  if (timing) {
    speed.us = timing->us;
    speed.modelledUs = modelled->us.value_or(0);
    auto counted = counters.counters(id, program, timing->report, *modelled);
    if (!counted)
      return counted.takeError();
    addSplit(*counted, speed);
    *modelled = measuredSpeed(std::move(*counted), *modelled, timing->us);
    speed.degraded = modelled->degraded;
  } else {
    speed.us = *modelled->us;
    addSplit(*modelled, speed);
  }
  if (llvm::Error error = addKernels(id, *modelled, speed))
    return std::move(error);
  return speed;
}
