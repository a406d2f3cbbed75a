//===- GpuRecords.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "GpuRecords.h"
#include "../JobResult.h"
#include <cmath>

using namespace llvm;

namespace kbopt {
namespace {

std::string text(const json::Object &object, StringRef key) {
  return object.getString(key).value_or("").str();
}

uint64_t whole(const json::Object &object, StringRef key) {
  return static_cast<uint64_t>(std::max<int64_t>(0, object.getInteger(key).value_or(0)));
}

/// A number that figures rest on.
bool readNumber(const json::Object &object, StringLiteral key, double &into, json::Path path) {
  std::optional<double> number = object.getNumber(key);
  if (!number || !std::isfinite(*number)) {
    path.field(key).report("expected a number");
    return false;
  }
  into = *number;
  return true;
}

const json::Object *object(const json::Object &in, StringLiteral key, json::Path path) {
  const json::Object *found = in.getObject(key);
  if (!found)
    path.field(key).report("expected an object");
  return found;
}

bool readSummary(const json::Object &series, StringLiteral key, TimingSummary &summary,
                 json::Path path) {
  const json::Object *found = object(series, key, path);
  if (!found)
    return false;
  json::Path at = path.field(key);
  double count = 0;
  if (!readNumber(*found, "count", count, at) || !readNumber(*found, "minUs", summary.minUs, at) ||
      !readNumber(*found, "medianUs", summary.medianUs, at) ||
      !readNumber(*found, "q3Us", summary.q3Us, at) ||
      !readNumber(*found, "relativeDeviation", summary.relativeDeviation, at))
    return false;
  summary.samples = static_cast<unsigned>(count);
  if (summary.samples && summary.medianUs <= 0) {
    at.field("medianUs").report("expected a time");
    return false;
  }
  return true;
}

bool readSeries(const json::Object &timing, StringLiteral key, TimingSeries &series,
                json::Path path) {
  const json::Object *found = object(timing, key, path);
  if (!found)
    return false;
  json::Path at = path.field(key);
  series.stop = text(*found, "stop");
  if (!readNumber(*found, "discardedShare", series.discardedShare, at) ||
      !readSummary(*found, "candidate", series.candidate, at) ||
      !readSummary(*found, "baseline", series.baseline, at))
    return false;
  const json::Object *decision = object(*found, "decision", at);
  if (!decision)
    return false;
  std::string comparison = text(*decision, "comparison");
  bool known = false;
  for (TimingDecision each :
       {TimingDecision::Faster, TimingDecision::Slower, TimingDecision::Inconclusive})
    if (comparison == toString(each)) {
      series.decision = each;
      known = true;
    }
  if (!known) {
    at.field("decision").field("comparison").report("expected faster, slower or inconclusive");
    return false;
  }
  series.reason = text(*decision, "reason");
  return readNumber(*decision, "ratio", series.ratio, at.field("decision")) &&
         readNumber(*decision, "lower", series.ratioLowerBound, at.field("decision"));
}

/// Why a part is less than what was asked; "" if it is whole.
std::string degraded(const json::Object &part) {
  std::string why = text(part, "degraded");
  return why.empty() && part.getBoolean("isDegraded").value_or(false)
             ? "the device does not say why"
             : why;
}

void readLines(const json::Object &profile, GpuProfile &into) {
  into.noLines = text(profile, "noLines");
  const json::Object *kernels = profile.getObject("lines");
  if (!kernels)
    return;
  for (const auto &[kernel, value] : *kernels) {
    std::vector<SampledLine> &lines = into.lines[kernel.str()];
    const json::Array *list = value.getAsArray();
    for (const json::Value &entry : list ? *list : json::Array()) {
      const json::Object *line = entry.getAsObject();
      if (!line)
        continue;
      SampledLine sampled;
      sampled.file = text(*line, "file");
      sampled.line = static_cast<unsigned>(whole(*line, "line"));
      sampled.samples = whole(*line, "samples");
      if (const json::Object *stalls = line->getObject("stalls"))
        for (const auto &[reason, count] : *stalls)
          sampled.stalls[reason.str()] = static_cast<uint64_t>(count.getAsInteger().value_or(0));
      lines.push_back(std::move(sampled));
    }
    llvm::sort(lines, [](const SampledLine &a, const SampledLine &b) {
      return std::tie(b.samples, a.file, a.line) < std::tie(a.samples, b.file, b.line);
    });
  }
}

} // namespace

bool fromJSON(const json::Value &value, GpuFacts &facts, json::Path path) {
  const json::Object *device = value.getAsObject();
  if (!device || !device->getString("name") || !device->getString("arch")) {
    path.report("expected a device with name and arch");
    return false;
  }
  facts.name = text(*device, "name");
  facts.arch = text(*device, "arch");
  facts.driver = text(*device, "driver");
  facts.count = std::max(1u, static_cast<unsigned>(whole(*device, "count")));
  facts.multiprocessors = static_cast<unsigned>(whole(*device, "multiprocessors"));
  facts.l2Bytes = whole(*device, "l2Bytes");
  facts.memoryBytes = whole(*device, "memoryBytes");
  facts.noise.clear();
  if (const json::Array *noise = device->getArray("noise"))
    for (const json::Value &sentence : *noise)
      if (std::optional<StringRef> words = sentence.getAsString())
        facts.noise.push_back(words->str());
  return true;
}

bool readTiming(const json::Object &result, TimingReport &report, json::Path path) {
  const json::Object *timing = object(result, "timing", path);
  if (!timing)
    return false;
  json::Path at = path.field("timing");
  if (const json::Value *device = result.get("device"))
    if (!fromJSON(*device, report.device, path.field("device")))
      return false;
  if (!readSeries(*timing, "cold", report.cold, at))
    return false;
  if (timing->getObject("hot") && !readSeries(*timing, "hot", report.hot.emplace(), at))
    return false;
  report.emptyKernelUs = timing->getNumber("emptyKernelUs");
  if (const json::Object *batched = timing->getObject("batchedUs")) {
    report.batchedBaselineUs = batched->getNumber("baseline");
    report.batchedCandidateUs = batched->getNumber("candidate");
  }
  const json::Object *outputs = object(*timing, "outputs", at);
  const json::Object *own = outputs ? object(*outputs, "candidate", at.field("outputs")) : nullptr;
  if (!own)
    return false;
  report.outputsChecked = whole(*own, "checked");
  report.outputsDifferent = whole(*own, "different");
  return true;
}

bool readProfile(const json::Object &result, GpuProfile &into, json::Path path) {
  const json::Object *profile = object(result, "profile", path);
  if (!profile)
    return false;
  into.degraded = degraded(*profile);
  std::map<int64_t, size_t> byStep;
  if (const json::Array *launches = result.getArray("launches"))
    for (const json::Value &value : *launches)
      if (const json::Object *launch = value.getAsObject()) {
        byStep[launch->getInteger("step").value_or(-1)] = into.launches.size();
        LaunchMetrics &entry = into.launches.emplace_back();
        entry.kernel = text(*launch, "kernel");
        readDim(*launch, "grid", entry.grid);
        readDim(*launch, "block", entry.block);
        entry.dynamicSharedBytes = whole(*launch, "dynamicSharedBytes");
        entry.us = 1e6 * launch->getNumber("wallSeconds").value_or(0);
      }
  if (const json::Array *launches = profile->getArray("launches"))
    for (const json::Value &value : *launches) {
      const json::Object *launch = value.getAsObject();
      std::optional<int64_t> step = launch ? launch->getInteger("step") : std::nullopt;
      if (!step) {
        path.field("profile").field("launches").report("a launch without its step");
        return false;
      }
      auto found = byStep.find(*step);
      if (found == byStep.end()) // a repetition of an earlier step, which stands for it
        continue;
      LaunchMetrics &entry = into.launches[found->second];
      if (const json::Object *metrics = launch->getObject("metrics"))
        for (const auto &[name, metric] : *metrics)
          if (std::optional<double> number = metric.getAsNumber(); number && std::isfinite(*number))
            entry.metrics[name.str()] = *number;
      auto duration = entry.metrics.find("gpu__time_duration.sum");
      if (duration != entry.metrics.end())
        entry.us = duration->second * 1e-3;
    }
  readLines(*profile, into);
  return true;
}

bool readAudit(const json::Object &result, ExecutionAudit &into, json::Path path) {
  const json::Object *audit = object(result, "audit", path);
  if (!audit)
    return false;
  into.degraded = degraded(*audit);
  const json::Array *launches = audit->getArray("launches");
  if (!launches && into.degraded.empty()) {
    path.field("audit").field("launches").report("expected an array");
    return false;
  }
  for (const json::Value &value : launches ? *launches : json::Array())
    if (const json::Object *launch = value.getAsObject()) {
      TracedLaunch &entry = into.launches.emplace_back();
      entry.kernel = text(*launch, "kernel");
      readDim(*launch, "grid", entry.grid);
      readDim(*launch, "block", entry.block);
      entry.dynamicSharedBytes = whole(*launch, "dynamicSharedBytes");
      entry.stream = static_cast<unsigned>(whole(*launch, "stream"));
    }
  into.changedAfterReturn = audit->getBoolean("changedAfterReturn").value_or(false);
  return true;
}

bool readSanitizer(const json::Object &result, SanitizerReport &into, json::Path path) {
  const json::Object *sanitizer = object(result, "sanitizer", path);
  if (!sanitizer)
    return false;
  into.degraded = degraded(*sanitizer);
  const json::Array *findings = sanitizer->getArray("findings");
  if (!findings && into.degraded.empty()) {
    path.field("sanitizer").field("findings").report("expected an array");
    return false;
  }
  for (const json::Value &value : findings ? *findings : json::Array())
    if (const json::Object *finding = value.getAsObject()) {
      DeviceFinding &entry = into.findings.emplace_back();
      entry.kind = text(*finding, "kind");
      entry.kernel = text(*finding, "kernel");
      entry.file = text(*finding, "file");
      entry.line = static_cast<unsigned>(whole(*finding, "line"));
      entry.text = text(*finding, "text");
    }
  return true;
}

} // namespace kbopt
