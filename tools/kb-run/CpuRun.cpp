//===- CpuRun.cpp - a job on the CPU device -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Run.h"

#ifdef KBRUN_HAS_CPU
#include "kbrt/Coverage.h"
#include <nlohmann/json.hpp>

namespace kbrun {

using namespace kbrt;
using Json = nlohmann::ordered_json;

namespace {

Json launchJson(const Plan &plan, const PlanLaunch &launch) {
  const auto &step = std::get<LaunchStep>(plan.steps[launch.step]);
  Json o = {{"step", launch.step},
            {"repeats", launch.repeats},
            {"kernel", step.kernel},
            {"grid", {step.grid.x, step.grid.y, step.grid.z}},
            {"block", {step.block.x, step.block.y, step.block.z}},
            {"dynamicSharedBytes", step.sharedBytes}};
  o.update(Json::parse(toJson(launch.result)));
  return o;
}

Json coverageJson(const Coverage &coverage) {
  return {{"reached", coverage.reached}, {"unreached", coverage.unreached}};
}

Json nearJson(const std::vector<NearPlace> &places) {
  Json all = Json::array();
  for (const NearPlace &place : places)
    all.push_back({place.position.first, place.position.second, place.branches, place.distance,
                   place.left, place.right});
  return all;
}

bool hasErrors(const PlanResult &result) {
  for (const Finding &finding : result.findings)
    if (finding.severity == Severity::Error)
      return true;
  for (const PlanLaunch &launch : result.launches)
    for (const Finding &finding : launch.result.findings)
      if (finding.severity == Severity::Error)
        return true;
  return false;
}

} // namespace

Outcome runOnCpu(const Job &job, Progress &progress) {
  Inputs inputs;
  std::string error;
  auto environment = [&] {
    return Outcome{exitEnvironment, plainResult(job.id, "environment", error, "", nullptr)};
  };
  if (!inputs.load(job.subject, job.blobs, job.overrides, error))
    return environment();
  std::unique_ptr<Image> image = Image::load(job.subject.image, error);
  if (!image)
    return environment();
  if (job.mode && *job.mode != image->getMode()) {
    error = job.subject.image + ": the image is built for mode " + toString(image->getMode()) +
            ", the job asks for " + toString(*job.mode);
    return environment();
  }
  const Plan &plan = inputs.plan;
  PlanOptions options = job.options;
  options.inputs = inputs.payloads;
  // Standard output may be the result's.
  options.launch.print = [](std::string_view text) { fwrite(text.data(), 1, text.size(), stderr); };
  track(plan, progress, options.inputs);

  PlanResult first = executePlan(plan, *image, options);
  Json repetitions = {{"count", 1}, {"identical", true}};
  std::string status = toString(first.status), message = first.message;
  for (uint32_t i = 1; i < job.repetitions && first.status == LaunchStatus::Ok; ++i) {
    progress.repetition = i;
    if (job.varySeed)
      options.launch.seed = job.options.launch.seed + i;
    PlanResult again = executePlan(plan, *image, options);
    repetitions["count"] = i + 1;
    if (again.status != LaunchStatus::Ok) {
      status = toString(again.status);
      message = "repetition " + std::to_string(i) + ": " + again.message;
      first.status = again.status;
      break;
    }
    if (again.observables != first.observables) {
      repetitions["identical"] = false;
      repetitions["firstDifference"] = {{"repetition", i}};
      if (auto difference = firstDifference(plan, first.observables, again.observables)) {
        repetitions["firstDifference"]["read"] = difference->first;
        repetitions["firstDifference"]["step"] = difference->second;
      }
      break;
    }
  }

  Json result = {{"version", 1},
                 {"status", status},
                 {"message", message},
                 {"mode", toString(image->getMode())}};
  if (!job.id.empty())
    result["id"] = job.id;
  result["launches"] = Json::array();
  for (const PlanLaunch &launch : first.launches)
    result["launches"].push_back(launchJson(plan, launch));
  for (const Finding &finding : first.findings)
    result["findings"].push_back(Json::parse(toJson(finding)));
  if (!first.orderUnknown.empty())
    result["orderUnknown"] = first.orderUnknown;
  result["observables"] = {{"bytes", first.observables.size()},
                           {"expectedBytes", observableBytes(plan)},
                           {"digest", digestOf(first.observables)}};
  result["repetitions"] = repetitions;
  if (image->getMode() == ImageMode::Check || image->getMode() == ImageMode::Search)
    result["coverage"] = coverageJson(coverageOf(*image));
  if (image->getMode() == ImageMode::Search)
    result["near"] = nearJson(nearPlaces(*image));
  result["peakDeviceBytes"] = first.peakDeviceBytes;
  result["wallSeconds"] = first.wallSeconds;
  result["processorSeconds"] = first.processorSeconds;
  if (!writeOutputs(job, first.observables, error))
    return environment();
  bool isClean =
      first.status == LaunchStatus::Ok && !hasErrors(first) && repetitions["identical"] == true;
  return {isClean ? exitOk : exitDiagnostics,
          result.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

} // namespace kbrun
#endif
