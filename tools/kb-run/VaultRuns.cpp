//===- VaultRuns.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifdef KBRUN_HAS_CUDA
#include "VaultRuns.h"
#include "VaultAnswer.h"
#include "Watch.h"

#include <algorithm>

namespace kbrun {

using Json = nlohmann::ordered_json;

namespace {

/// Beyond a limit that a worker keeps by itself, to load machine code and to wipe memory.
constexpr double graceSeconds = 5;

/// Whatever else the device and the host do only lengthens a sample.
double leastOf(const std::vector<double> &values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

} // namespace

bool runProgram(WorkerProcess &worker, const VaultRun &run, Json &result, Json &said) {
  Watch watch(result, "run");
  WorkerProcess::Answer answer = worker.ask({{"do", "run"},
                                             {"side", run.side},
                                             {"set", run.set},
                                             {"poison", run.poison},
                                             {"seconds", run.limitSeconds}},
                                            run.limitSeconds + graceSeconds);
  const std::string status = answer.status();
  said = std::move(answer.json);
  if (status == "ok" && said["findings"].empty())
    return true;
  if (status != "ok")
    setStatusAsSaid(result, status, said);
  else
    setStatus(result, "fault",
              "writes outside its buffers: " + said["findings"][0].get<std::string>());
  result["set"] = run.set;
  return false;
}

bool timePrograms(WorkerProcess &worker, const HoldJob &job, bool hasCandidate, double limitSeconds,
                  Json &result) {
  Watch watch(result, "time");
  WorkerProcess::Answer answer =
      worker.ask({{"do", "time"},
                  {"hasCandidate", hasCandidate},
                  {"poison", job.poison},
                  {"seconds", limitSeconds},
                  {"mostPairs", job.mostSamples},
                  {"apartRatio", job.apartRatio}},
                 (2 * job.mostSamples + 6) * limitSeconds + graceSeconds);
  const std::string status = answer.status();
  if (status != "ok") {
    const bool isOriginals = answer.json.value("isOriginals", false) && hasCandidate;
    setStatus(result, isOriginals ? "environment" : status,
              (isOriginals ? "timing of the original: " : "timing: ") +
                  answer.json.value("message", ""),
              answer.json.value("note", ""));
    result["set"] = 0;
    return false;
  }
  const auto originals = answer.json["original"].get<std::vector<double>>(),
             candidates = answer.json["candidate"].get<std::vector<double>>();
  result["originalUs"] = leastOf(originals);
  result["candidateUs"] = leastOf(candidates);
  result["samples"] = hasCandidate ? candidates.size() : originals.size();
  return true;
}

} // namespace kbrun
#endif
