//===- Vault.cpp - holds the device's memory ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Vault.h"
#include "VaultAnswer.h"
#include "VaultRuns.h"
#include "VaultWorkers.h"
#include "Watch.h"

#ifdef KBRUN_HAS_CUDA
#include <algorithm>

namespace kbrun {

using namespace kbrt::cuda;
using Json = nlohmann::ordered_json;

namespace {

/// A candidate is ended after so many times the original's time.
constexpr double limitFactor = 20;
/// The original may take as long as any other run of it.
constexpr double originalSeconds = 60;
/// A candidate that takes down so many workers is answered instead of tried again.
constexpr unsigned mostAttempts = 2;

} // namespace

struct Vault::State {
  State() { memory.open(noDevice); } // while workers get ready
  Json answer(const HoldJob &job);

private:
  void open(const HoldJob &job, Json &result);
  void screen(const HoldJob &job, Json &result);
  enum class Outcome {
    Answered,
    NoWorker,  ///< the machine's fault
    WorkerGone ///< which may be the candidate's doing
  };
  Outcome screenOnce(const HoldJob &job, Json &result);
  /// False where a run ended badly, nothing where results could not be compared; \p result says it.
  std::optional<bool> runCandidate(WorkerProcess &worker, const HoldJob &job, Json &result);
  bool isAlike(const HeldProgram &candidate, Json &result) const;
  bool load(const HoldJob &job, HeldProgram &program, Json &result);
  bool fill(Json &result);
  /// Makes room for the work of \p candidate; nothing where there is some.
  std::optional<Outcome> growFor(const HeldProgram &candidate, WorkerProcess &worker, Json &result);
  /// Adds what the block of results holds to `matches` of \p set.
  bool compare(size_t set, Json &result);

  double limitFor(const HoldJob &job) const {
    return std::max(limitFactor * slowestSeconds, job.leastLimitSeconds);
  }
  static uint8_t poisonOf(const HoldJob &job, size_t set) {
    return set % 2 ? static_cast<uint8_t>(~job.poison) : job.poison;
  }
  static void keepFacts(const Json &said, Json &result) {
    result["launches"] = said["launches"];
    result["peakDeviceBytes"] = said["peakDeviceBytes"];
  }

  HeldMemory memory;
  VaultWorkers workers{memory};
  Problem noDevice; ///< why there is none
  bool isOpen = false;
  HoldJob original;
  HeldProgram program;
  double slowestSeconds = 0; ///< of the original on any set
};

bool Vault::State::load(const HoldJob &job, HeldProgram &into, Json &result) {
  Watch watch(result, "load");
  std::string error;
  if (!into.load(job.plans, error))
    setStatus(result, "environment", error);
  return error.empty();
}

bool Vault::State::fill(Json &result) {
  Watch watch(result, "upload");
  Problem problem = noDevice;
  if (!problem && memory.allocate(original.name, program, problem))
    memory.fillInputs(program, problem);
  if (problem)
    setStatus(result, problem);
  return !problem;
}

bool Vault::State::compare(size_t set, Json &result) {
  Watch watch(result, "compare");
  Problem problem;
  memory.compare(set, result["matches"][set], problem);
  if (problem)
    setStatus(result, problem);
  return !problem;
}

void Vault::State::open(const HoldJob &job, Json &result) {
  if (!original.plans.empty())
    return setStatus(result, "usage", "a vault holds one program, and this one has one");
  original = job;
  workers.setOriginal(original.image, program);
  if (!load(job, program, result) || !fill(result))
    return;
  WorkerProcess *worker = workers.take(false, result);
  if (!worker)
    return;
  for (size_t set = 0; set < program.sets.size(); ++set)
    for (bool isSecond : {false, true}) {
      Json said;
      if (!runProgram(*worker, {0, set, poisonOf(job, set + isSecond), originalSeconds}, result,
                      said))
        return workers.drop(result["status"]);
      slowestSeconds = std::max(slowestSeconds, said.value("seconds", 0.0));
      if (set == 0 && !isSecond)
        keepFacts(said, result);
      Problem problem;
      if (!isSecond && !memory.keepReferences(program.sets[set], problem))
        return setStatus(result, problem);
      if (isSecond && !compare(set, result))
        return;
    }
  if (job.isTimed && !timePrograms(*worker, job, false, originalSeconds, result))
    return workers.drop(result["status"]);
  isOpen = true;
  setStatus(result, "ok", "");
}

bool Vault::State::isAlike(const HeldProgram &candidate, Json &result) const {
  std::optional<size_t> set;
  const std::string why = whyUnlike(program, candidate, set);
  if (why.empty())
    return true;
  setStatus(result, set ? "unsupported" : "usage", why);
  if (set)
    result["set"] = *set;
  return false;
}

std::optional<Vault::State::Outcome> Vault::State::growFor(const HeldProgram &candidate,
                                                           WorkerProcess &worker, Json &result) {
  uint64_t workBytes = 0;
  for (const HeldSet &each : candidate.sets)
    workBytes = std::max(workBytes, each.places.workBytes);
  if (workBytes <= memory.work()->bytes() || workers.growWork(workBytes, worker, result))
    return std::nullopt;
  isOpen &= memory.work() != nullptr;
  if (result["status"] == "out-of-memory") // the candidate's doing
    return Outcome::Answered;
  workers.drop("environment");
  return Outcome::NoWorker;
}

std::optional<bool> Vault::State::runCandidate(WorkerProcess &worker, const HoldJob &job,
                                               Json &result) {
  const double limit = limitFor(job);
  for (size_t set = 0; set < program.sets.size(); ++set) {
    Json said;
    if (!runProgram(worker, {1, set, poisonOf(job, set), limit}, result, said))
      return false;
    if (set == 0)
      keepFacts(said, result);
    if (!compare(set, result))
      return std::nullopt;
  }
  if (!job.isTimed)
    return true;
  if (!timePrograms(worker, job, true, limit, result))
    return false;
  // What its last timed execution left is looked at, too.
  return compare(0, result) ? std::optional(true) : std::nullopt;
}

Vault::State::Outcome Vault::State::screenOnce(const HoldJob &job, Json &result) {
  HeldProgram candidate;
  if (!load(job, candidate, result) || !isAlike(candidate, result))
    return Outcome::Answered;
  WorkerProcess *worker = workers.take(job.isFresh, result);
  if (!worker)
    return Outcome::NoWorker;
  if (std::optional<Outcome> noRoom = growFor(candidate, *worker, result))
    return *noRoom;
  ++worker->candidates;
  WorkerProcess::Answer loaded = workers.load(*worker, 1, job.image, candidate);
  std::optional<bool> isGood = false;
  if (loaded.status() == "ok")
    isGood = runCandidate(*worker, job, result);
  else
    setStatusAsSaid(result, loaded.status(), loaded.json);
  if (!isGood)
    return Outcome::Answered;
  if (*isGood) {
    setStatus(result, "ok", "");
    return Outcome::Answered;
  }
  workers.drop(result["status"]);
  return result["status"] == "crash" || result["status"] == "environment" ? Outcome::WorkerGone
                                                                          : Outcome::Answered;
}

void Vault::State::screen(const HoldJob &job, Json &result) {
  if (!isOpen)
    return setStatus(result, "usage", "no program is open");
  const Json empty = result;
  Outcome outcome = Outcome::Answered;
  for (unsigned attempt = 1; attempt <= mostAttempts && isOpen; ++attempt) {
    result = empty;
    outcome = screenOnce(job, result);
    if (outcome == Outcome::Answered)
      return;
  }
  if (outcome == Outcome::NoWorker) {
    result["status"] = "environment";
    return;
  }
  const std::string message = result.value("message", "");
  if (result["status"] == "crash")
    result["message"] = "the candidate took down " + std::to_string(mostAttempts) +
                        " processes; the last one: " + message;
  else // whatever it is, the original ran on this device
    setStatus(result, "lost", message, result.value("note", ""));
}

Json Vault::State::answer(const HoldJob &job) {
  Json result = {{"version", 1}, {"status", "environment"}, {"message", ""}};
  if (!job.id.empty())
    result["id"] = job.id;
  result["matches"] = Json::array();
  result["launches"] = Json::array();
  for (const char *figure : {"set", "originalUs", "candidateUs", "samples", "peakDeviceBytes"})
    result[figure] = 0;
  result["seconds"] = Json::object();
  if (job.isOpen)
    open(job, result);
  else
    screen(job, result);
  if (result["status"] != "ok") {
    result["matches"] = Json::array();
    result["launches"] = Json::array();
    for (const char *figure : {"originalUs", "candidateUs", "samples"})
      result[figure] = 0;
  }
  return result;
}

Vault::Vault() : state(std::make_unique<State>()) {}
Vault::~Vault() = default;
Json Vault::answer(const HoldJob &job) { return state->answer(job); }

} // namespace kbrun
#endif
