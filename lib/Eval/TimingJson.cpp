//===- TimingJson.cpp - Times of a GPU as JSON ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/Verdict.h"

using namespace llvm;

namespace kbopt {
namespace {

constexpr RunStatus statuses[] = {RunStatus::Ok,          RunStatus::Fault,
                                  RunStatus::Timeout,     RunStatus::OutOfMemory,
                                  RunStatus::Unsupported, RunStatus::Lost};
constexpr TimingDecision decisions[] = {TimingDecision::Faster, TimingDecision::Slower,
                                        TimingDecision::Inconclusive};

/// The value of \p values that \p text names.
template <typename T, size_t N>
bool parse(const T (&values)[N], StringRef text, T &result, json::Path path) {
  for (T value : values)
    if (toString(value) == text) {
      result = value;
      return true;
    }
  path.report("unknown name");
  return false;
}

json::Value json(const TimingSummary &summary) {
  return json::Object{{"samples", summary.samples},
                      {"minUs", summary.minUs},
                      {"medianUs", summary.medianUs},
                      {"q3Us", summary.q3Us},
                      {"relativeDeviation", summary.relativeDeviation}};
}

json::Value json(const TimingSeries &series) {
  return json::Object{{"baseline", json(series.baseline)},
                      {"candidate", json(series.candidate)},
                      {"decision", toString(series.decision)},
                      {"reason", series.reason},
                      {"ratio", series.ratio},
                      {"ratioLowerBound", series.ratioLowerBound},
                      {"stop", series.stop},
                      {"discardedShare", series.discardedShare}};
}

json::Value json(const GpuFacts &facts) {
  return json::Object{{"name", facts.name},
                      {"arch", facts.arch},
                      {"driver", facts.driver},
                      {"multiprocessors", facts.multiprocessors},
                      {"l2Bytes", facts.l2Bytes},
                      {"memoryBytes", facts.memoryBytes},
                      {"noise", json::Array(facts.noise)}};
}

} // namespace

// Found by json::ObjectMapper.
static bool fromJSON(const json::Value &value, TimingSummary &summary, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("samples", summary.samples) && map.map("minUs", summary.minUs) &&
         map.map("medianUs", summary.medianUs) && map.map("q3Us", summary.q3Us) &&
         map.map("relativeDeviation", summary.relativeDeviation);
}

static bool fromJSON(const json::Value &value, TimingSeries &series, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string decision;
  return map && map.map("baseline", series.baseline) && map.map("candidate", series.candidate) &&
         map.map("decision", decision) &&
         parse(decisions, decision, series.decision, path.field("decision")) &&
         map.map("reason", series.reason) && map.map("ratio", series.ratio) &&
         map.map("ratioLowerBound", series.ratioLowerBound) && map.map("stop", series.stop) &&
         map.map("discardedShare", series.discardedShare);
}

static bool fromJSON(const json::Value &value, GpuFacts &facts, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", facts.name) && map.map("arch", facts.arch) &&
         map.map("driver", facts.driver) && map.map("multiprocessors", facts.multiprocessors) &&
         map.map("l2Bytes", facts.l2Bytes) && map.map("memoryBytes", facts.memoryBytes) &&
         map.map("noise", facts.noise);
}

json::Value toJSON(const TimingReport &report) {
  json::Object object{{"status", toString(report.status)},
                      {"message", report.message},
                      {"cold", json(report.cold)},
                      {"outputsChecked", report.outputsChecked},
                      {"outputsDifferent", report.outputsDifferent},
                      {"device", json(report.device)}};
  if (report.hot)
    object["hot"] = json(*report.hot);
  auto put = [&](StringRef key, const std::optional<double> &us) {
    if (us)
      object[key] = *us;
  };
  put("emptyKernelUs", report.emptyKernelUs);
  put("batchedBaselineUs", report.batchedBaselineUs);
  put("batchedCandidateUs", report.batchedCandidateUs);
  return object;
}

bool fromJSON(const json::Value &value, TimingReport &report, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string status;
  return map && map.map("status", status) &&
         parse(statuses, status, report.status, path.field("status")) &&
         map.map("message", report.message) && map.map("cold", report.cold) &&
         map.map("hot", report.hot) && map.map("emptyKernelUs", report.emptyKernelUs) &&
         map.map("batchedBaselineUs", report.batchedBaselineUs) &&
         map.map("batchedCandidateUs", report.batchedCandidateUs) &&
         map.map("outputsChecked", report.outputsChecked) &&
         map.map("outputsDifferent", report.outputsDifferent) && map.map("device", report.device);
}

} // namespace kbopt
