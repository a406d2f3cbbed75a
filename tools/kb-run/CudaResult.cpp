//===- CudaResult.cpp - what was found on a CUDA device, as JSON ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "CudaResult.h"

#ifdef KBRUN_HAS_CUDA
#include <cmath>
#include <nlohmann/json.hpp>

namespace kbrun {

using namespace kbrt;
using namespace kbrt::cuda;
using Json = nlohmann::ordered_json;

namespace {

Json extent(const Dim3 &size) { return {size.x, size.y, size.z}; }

Json readingJson(const DeviceReading &reading) {
  Json o = {{"smMHz", reading.smMHz}, {"memoryMHz", reading.memoryMHz}};
  o["celsius"] = reading.celsius >= 0 ? Json(reading.celsius) : Json(nullptr);
  o["watts"] = reading.watts >= 0 ? Json(reading.watts) : Json(nullptr);
  o["utilisationPercent"] =
      reading.utilisationPercent >= 0 ? Json(reading.utilisationPercent) : Json(nullptr);
  o["otherProcesses"] = reading.otherProcesses;
  o["eccErrors"] = reading.eccErrors ? Json(*reading.eccErrors) : Json(nullptr);
  o["clockReasons"] = reading.clockReasons ? Json(*reading.clockReasons) : Json(nullptr);
  return o;
}

Json summaryJson(const Summary &summary) {
  return {{"count", summary.count}, {"minUs", summary.min},
          {"q1Us", summary.q1},     {"medianUs", summary.median},
          {"q3Us", summary.q3},     {"maxUs", summary.max},
          {"meanUs", summary.mean}, {"relativeDeviation", summary.relativeDeviation()}};
}

double rounded(double value, double step) { return std::round(value / step) * step; }

Json seriesJson(const TimingResult::Series &series, bool hasBaseline) {
  Json o = {{"stop", toString(series.stop)},
            {"seconds", series.seconds},
            {"usualMHz", series.clocks.usualMHz},
            {"discardedShare", series.clocks.discardedShare},
            {"candidate", summaryJson(series.candidate)}};
  if (hasBaseline) {
    o["baseline"] = summaryJson(series.baseline);
    o["decision"] = {{"comparison", toString(series.decision.comparison)},
                     {"ratio", series.decision.ratio},
                     {"lower", series.decision.lower},
                     {"upper", series.decision.upper},
                     {"reason", series.decision.reason}};
  }
  // Columns: thousands of samples make long files.
  Json samples = {{"block", Json::array()},
                  {"candidate", Json::array()},
                  {"us", Json::array()},
                  {"smMHz", Json::array()},
                  {"kept", Json::array()}};
  for (size_t i = 0; i < series.samples.size(); ++i) {
    const TimedSample &sample = series.samples[i];
    samples["block"].push_back(sample.block);
    samples["candidate"].push_back(sample.candidate ? 1 : 0);
    samples["us"].push_back(rounded(sample.us, 1e-3));
    samples["smMHz"].push_back(rounded(sample.smMHz, 1));
    samples["kept"].push_back(series.clocks.keep.size() > i && series.clocks.keep[i] ? 1 : 0);
  }
  o["samples"] = samples;
  return o;
}

} // namespace

Json deviceJson(const Device &device, const DeviceReading &reading) {
  const DeviceFacts &facts = device.getFacts();
  Json o = {{"kind", "cuda"},
            {"index", facts.index},
            {"count", facts.count},
            {"name", facts.name},
            {"arch", facts.arch()},
            {"uuid", facts.uuid},
            {"pciBusId", facts.pciBusId},
            {"driver", facts.driver},
            {"cudaVersion", facts.cudaVersion},
            {"multiprocessors", facts.multiprocessors},
            {"maxSmMHz", facts.maxSmMHz},
            {"l2Bytes", facts.l2Bytes},
            {"memoryBytes", facts.memoryBytes},
            {"freeBytes", facts.freeBytes},
            {"ecc", facts.ecc}};
  o["before"] = readingJson(reading);
  o["noise"] = device.noise(reading);
  return o;
}

Json kernelsJson(const Plan &plan, LoadedImage &image) {
  Json list = Json::array();
  std::vector<const LaunchStep *> seen;
  for (const Step &step : plan.steps) {
    auto *launch = std::get_if<LaunchStep>(&step);
    if (!launch)
      continue;
    bool isKnown = false;
    for (const LaunchStep *other : seen)
      isKnown |= other->kernel == launch->kernel && other->block == launch->block &&
                 other->sharedBytes == launch->sharedBytes;
    std::optional<KernelFacts> facts = isKnown ? std::nullopt : image.kernelFacts(launch->kernel);
    if (!facts)
      continue;
    seen.push_back(launch);
    list.push_back(
        {{"kernel", launch->kernel},
         {"block", extent(launch->block)},
         {"dynamicSharedBytes", launch->sharedBytes},
         {"registers", facts->registers},
         {"localBytes", facts->localBytes},
         {"staticSharedBytes", facts->staticSharedBytes},
         {"maxThreads", facts->maxThreads},
         {"binaryVersion", facts->binaryVersion},
         {"blocksPerMultiprocessor",
          image.blocksPerMultiprocessor(
              launch->kernel, static_cast<unsigned>(launch->block.count()), launch->sharedBytes)}});
  }
  return list;
}

Json findingJson(const RunFinding &finding) {
  Json o = {{"kind", finding.kind},       {"severity", "error"},      {"kernel", finding.kernel},
            {"message", finding.message}, {"buffer", finding.buffer}, {"offset", finding.offset}};
  if (finding.before)
    o["before"] = true;
  return o;
}

Json launchesJson(const Plan &plan, const RunResult &run) {
  Json list = Json::array();
  for (const RunLaunch &launch : run.launches) {
    const auto &step = std::get<LaunchStep>(plan.steps[launch.step]);
    list.push_back({{"step", launch.step},
                    {"repeats", launch.repeats},
                    {"kernel", step.kernel},
                    {"grid", extent(step.grid)},
                    {"block", extent(step.block)},
                    {"dynamicSharedBytes", step.sharedBytes},
                    {"status", "ok"},
                    {"message", ""},
                    {"wallSeconds", launch.us * 1e-6},
                    {"findings", Json::array()},
                    {"notes", Json::array()}});
  }
  return list;
}

Json timingJson(const TimingResult &timing, bool hasBaseline) {
  Json o = {{"status", toString(timing.status)},
            {"message", timing.message},
            {"instances", timing.instances},
            {"emptiesL2", timing.emptiesL2}};
  o["cold"] = seriesJson(timing.cold, hasBaseline);
  if (!timing.hot.samples.empty())
    o["hot"] = seriesJson(timing.hot, hasBaseline);
  auto outputs = [](const TimedOutputs &outputs) {
    return Json{{"checked", outputs.checked}, {"different", outputs.different}};
  };
  o["outputs"] = {{"candidate", outputs(timing.outputs[1])}};
  if (hasBaseline)
    o["outputs"]["baseline"] = outputs(timing.outputs[0]);
  if (timing.eventPairUs)
    o["eventPairUs"] = *timing.eventPairUs;
  if (timing.emptyKernelUs) {
    o["emptyKernelUs"] = *timing.emptyKernelUs;
    Json batched = Json::object();
    if (timing.batchedUs[0])
      batched["baseline"] = *timing.batchedUs[0];
    if (timing.batchedUs[1])
      batched["candidate"] = *timing.batchedUs[1];
    o["batchedUs"] = batched;
  }
  o["before"] = readingJson(timing.before);
  o["after"] = readingJson(timing.after);
  o["notes"] = timing.notes;
  return o;
}

Json profileJson(const Plan &plan, const ProfileResult &profile) {
  Json o = {{"status", toString(profile.status)},
            {"message", profile.message},
            {"chip", profile.chip},
            {"passes", profile.passes},
            {"isDegraded", !profile.degraded.empty()},
            {"degraded", profile.degraded},
            {"unknownMetrics", profile.unknownMetrics}};
  o["launches"] = Json::array();
  for (const LaunchProfile &launch : profile.launches) {
    const auto &step = std::get<LaunchStep>(plan.steps[launch.step]);
    Json entry = {{"step", launch.step},
                  {"kernel", step.kernel},
                  {"grid", extent(step.grid)},
                  {"block", extent(step.block)},
                  {"dynamicSharedBytes", step.sharedBytes}};
    if (launch.us)
      entry["us"] = *launch.us;
    entry["metrics"] = launch.metrics;
    o["launches"].push_back(entry);
  }
  return o;
}

void addLines(Json &profile, const LineSamples &samples) {
  if (!samples.noLines.empty())
    profile["noLines"] = samples.noLines;
  Json kernels = Json::object();
  for (const auto &[kernel, lines] : samples.lines)
    for (const SampledLine &line : lines)
      kernels[kernel].push_back({{"file", line.file},
                                 {"line", line.line},
                                 {"samples", line.samples},
                                 {"stalls", line.stalls}});
  profile["lines"] = kernels;
  profile["droppedSamples"] = samples.dropped;
}

Json auditJson(const AuditResult &audit) {
  Json o = {{"status", toString(audit.status)}, {"message", audit.message}};
  if (!audit.degraded.empty())
    o["degraded"] = audit.degraded;
  o["launches"] = Json::array();
  for (const TracedLaunch &launch : audit.launches)
    o["launches"].push_back({{"kernel", launch.kernel},
                             {"grid", extent(launch.grid)},
                             {"block", extent(launch.block)},
                             {"dynamicSharedBytes", launch.dynamicSharedBytes},
                             {"stream", launch.stream}});
  o["copies"] = audit.copies;
  o["fills"] = audit.fills;
  o["changedAfterReturn"] = audit.changedAfterReturn;
  return o;
}

Json sanitizerJson(const SanitizerReport &report) {
  Json o = Json::object();
  if (!report.degraded.empty())
    o["degraded"] = report.degraded;
  o["findings"] = Json::array();
  for (const SanitizerFinding &finding : report.findings)
    o["findings"].push_back({{"kind", finding.tool},
                             {"kernel", finding.kernel},
                             {"file", finding.file},
                             {"line", finding.line},
                             {"text", finding.text},
                             {"count", finding.count}});
  return o;
}

} // namespace kbrun
#endif
