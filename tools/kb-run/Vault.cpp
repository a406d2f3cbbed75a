//===- Vault.cpp - who holds the device's memory --------------------------===//
#include "Vault.h"
#include "HeldMemory.h"
#include "Watch.h"
#include "WorkerProcess.h"

#ifdef KBRUN_HAS_CUDA
#include <algorithm>
#include <chrono>
#include <unistd.h>

namespace kbrun {

using namespace kbrt;
using namespace kbrt::cuda;
using Json = nlohmann::ordered_json;

namespace {

/// A candidate is ended after so many times the original's time.
constexpr double limitFactor = 20;
/// The original may take as long as any other run of it.
constexpr double originalSeconds = 60;
/// Beyond a limit that a worker keeps by itself, to load machine code and to wipe memory.
constexpr double graceSeconds = 5;
/// To load machine code, or to map memory.
constexpr double loadSeconds = 60;
/// A worker is replaced after so many candidates.
constexpr unsigned mostCandidates = 16;
/// A candidate that takes down so many workers is answered instead of tried again.
constexpr unsigned mostAttempts = 2;
/// Whatever else the device and the host do only lengthens a sample.
double leastOf(const std::vector<double> &values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

void setStatus(Json &result, const std::string &status, const std::string &message,
               const std::string &note = "") {
  result["status"] = status;
  result["message"] = message;
  if (!note.empty())
    result["note"] = note;
}

void setStatus(Json &result, const Problem &problem) {
  setStatus(result, toString(problem.status), problem.message, problem.note);
}

} // namespace

struct Vault::State {
  State() {
    startSpare();
    startSpare();
    memory.open(noDevice); // while others get the program ready
  }
  ~State() {
    for (auto &each : ending)
      each->stop();
  }

  Json answer(const HoldJob &job);

  // Memory.
  bool load(const HoldJob &job, HeldProgram &program, Json &result);
  bool fill(Json &result);
  /// Makes the work block larger; \p worker has it mapped.
  bool grow(uint64_t bytes, WorkerProcess &worker, Json &result);
  bool give(const std::vector<const DeviceBlock *> &blocks, const Json &message,
            WorkerProcess &worker, Json &result);
  /// Adds what the block of results holds to `matches` of \p set.
  bool compare(size_t set, Json &result);

  // Workers.
  void startSpare();
  /// One with memory and the original; null and \p result if there is none.
  WorkerProcess *takeWorker(bool isFresh, Json &result);
  bool equip(WorkerProcess &worker, Json &result);
  /// The spare takes the place of the active one. \p status says how that ended: where its last
  /// kernel may still run, its end is waited for, so that nobody writes to memory of the next one.
  void dropWorker(const std::string &status = "ok");

  // Programs.
  void open(const HoldJob &job, Json &result);
  void screen(const HoldJob &job, Json &result);
  enum class Outcome {
    Answered,
    NoWorker,  ///< the machine's fault
    WorkerGone ///< which may be the candidate's doing
  };
  Outcome screenOnce(const HoldJob &job, Json &result);
  bool isAlike(const HeldProgram &candidate, Json &result) const;
  /// Runs side \p side on \p set. False: `result` says what became of it.
  bool run(WorkerProcess &worker, size_t side, size_t set, uint8_t poison, double limit,
           Json &result, Json &said);
  bool time(WorkerProcess &worker, const HoldJob &job, bool hasCandidate, double limit,
            Json &result);
  double limitFor(const HoldJob &job) const {
    return std::max(limitFactor * slowestSeconds, job.leastLimitSeconds);
  }
  static uint8_t poisonOf(const HoldJob &job, size_t set) {
    return set % 2 ? static_cast<uint8_t>(~job.poison) : job.poison;
  }

  HeldMemory memory;
  Problem noDevice; ///< why there is none
  std::unique_ptr<WorkerProcess> active, spare;
  std::vector<std::unique_ptr<WorkerProcess>> ending;

  bool isOpen = false;
  HoldJob original;
  HeldProgram program;
  double slowestSeconds = 0; ///< of the original on any set
};

void Vault::State::startSpare() {
  if (!active)
    active = WorkerProcess::start();
  else if (!spare)
    spare = WorkerProcess::start();
}

void Vault::State::dropWorker(const std::string &status) {
  if (active) {
    active->stop();
    if (status == "timeout" || status == "environment")
      active->waitForEnd();
    ending.push_back(std::move(active));
  }
  std::erase_if(ending, [](auto &each) { return each->hasEnded(); });
  active = std::move(spare);
  startSpare();
}

bool Vault::State::give(const std::vector<const DeviceBlock *> &blocks, const Json &message,
                        WorkerProcess &worker, Json &result) {
  std::vector<int> descriptors;
  Problem problem;
  for (const DeviceBlock *block : blocks)
    if (!problem)
      descriptors.push_back(block->share(problem));
  WorkerProcess::Answer answer;
  if (!problem)
    answer = worker.ask(message, loadSeconds, descriptors);
  for (int each : descriptors)
    if (each >= 0)
      close(each);
  if (problem)
    setStatus(result, problem);
  else if (answer.status() != "ok")
    setStatus(result, "environment", "a worker: " + answer.json.value("message", ""),
              answer.json.value("note", ""));
  return !problem && answer.status() == "ok";
}

WorkerProcess *Vault::State::takeWorker(bool isFresh, Json &result) {
  if (active && (active->candidates >= mostCandidates || (isFresh && active->candidates)))
    dropWorker();
  startSpare();
  startSpare();
  if (!active) {
    setStatus(result, "environment", "cannot start a process");
    return nullptr;
  }
  if (active->isEquipped || equip(*active, result))
    return active.get();
  dropWorker("environment");
  return nullptr;
}

bool Vault::State::equip(WorkerProcess &worker, Json &result) {
  const WorkerProcess::Answer &ready = worker.whetherReady();
  if (ready.status() != "ok") {
    setStatus(result, "environment", ready.json.value("message", ""), ready.json.value("note", ""));
    return false;
  }
  Json map = {{"do", "map"}, {"bytes", Json::array()}};
  for (const DeviceBlock *block : memory.lentBlocks())
    map["bytes"].push_back(block->bytes());
  if (!give(memory.lentBlocks(), map, worker, result))
    return false;
  WorkerProcess::Answer loaded = worker.ask({{"do", "load"},
                                             {"side", 0},
                                             {"image", original.image},
                                             {"plans", program.folders()},
                                             {"inputs", memory.inputPlaces()}},
                                            loadSeconds);
  worker.isEquipped = loaded.status() == "ok";
  if (!worker.isEquipped)
    setStatus(result, loaded.status(), loaded.json.value("message", ""),
              loaded.json.value("note", ""));
  return worker.isEquipped;
}

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

bool Vault::State::grow(uint64_t bytes, WorkerProcess &worker, Json &result) {
  WorkerProcess::Answer unmapped = worker.ask(Json::object({{"do", "unmapWork"}}), loadSeconds);
  if (unmapped.status() != "ok") {
    setStatus(result, "environment", unmapped.json.value("message", ""));
    return false;
  }
  Problem problem;
  memory.growWork(bytes, problem);
  if (!memory.work()) {
    isOpen = false;
    setStatus(result, "environment", problem.message, problem.note);
    return false;
  }
  if (!give({memory.work()}, {{"do", "mapWork"}, {"bytes", memory.work()->bytes()}}, worker,
            result))
    return false;
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

bool Vault::State::run(WorkerProcess &worker, size_t side, size_t set, uint8_t poison, double limit,
                       Json &result, Json &said) {
  Watch watch(result, "run");
  WorkerProcess::Answer answer = worker.ask(
      {{"do", "run"}, {"side", side}, {"set", set}, {"poison", poison}, {"seconds", limit}},
      limit + graceSeconds);
  const std::string status = answer.status();
  said = std::move(answer.json);
  if (status != "ok") {
    setStatus(result, status, said.value("message", ""), said.value("note", ""));
  } else if (!said["findings"].empty()) {
    setStatus(result, "fault",
              "writes outside its buffers: " + said["findings"][0].get<std::string>());
  } else {
    return true;
  }
  result["set"] = set;
  return false;
}

bool Vault::State::time(WorkerProcess &worker, const HoldJob &job, bool hasCandidate, double limit,
                        Json &result) {
  Watch watch(result, "time");
  WorkerProcess::Answer answer = worker.ask({{"do", "time"},
                                             {"hasCandidate", hasCandidate},
                                             {"poison", job.poison},
                                             {"seconds", limit},
                                             {"mostPairs", job.mostSamples},
                                             {"apartRatio", job.apartRatio}},
                                            (2 * job.mostSamples + 6) * limit + graceSeconds);
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

void Vault::State::open(const HoldJob &job, Json &result) {
  if (!original.plans.empty())
    return setStatus(result, "usage", "a vault holds one program, and this one has one");
  original = job;
  if (!load(job, program, result) || !fill(result))
    return;
  WorkerProcess *worker = takeWorker(false, result);
  if (!worker)
    return;
  for (size_t set = 0; set < program.sets.size(); ++set)
    for (bool isSecond : {false, true}) {
      Json said;
      const uint8_t poison = poisonOf(job, set + isSecond);
      if (!run(*worker, 0, set, poison, originalSeconds, result, said))
        return dropWorker(result["status"]);
      slowestSeconds = std::max(slowestSeconds, said.value("seconds", 0.0));
      if (set == 0 && !isSecond) {
        result["launches"] = said["launches"];
        result["peakDeviceBytes"] = said["peakDeviceBytes"];
      }
      Problem problem;
      if (!isSecond && !memory.keepReferences(program.sets[set], problem))
        return setStatus(result, problem);
      if (isSecond && !compare(set, result))
        return;
    }
  if (job.isTimed && !time(*worker, job, false, originalSeconds, result))
    return dropWorker(result["status"]);
  isOpen = true;
  setStatus(result, "ok", "");
}

bool Vault::State::isAlike(const HeldProgram &candidate, Json &result) const {
  if (candidate.sets.size() != program.sets.size()) {
    setStatus(result, "usage",
              "plans: are " + std::to_string(candidate.sets.size()) + ", the original has " +
                  std::to_string(program.sets.size()));
    return false;
  }
  for (size_t set = 0; set < program.sets.size(); ++set)
    if (std::string why = whyUnlike(program.sets[set], candidate.sets[set]); !why.empty()) {
      setStatus(result, "unsupported", why);
      result["set"] = set;
      return false;
    }
  return true;
}

Vault::State::Outcome Vault::State::screenOnce(const HoldJob &job, Json &result) {
  HeldProgram candidate;
  if (!load(job, candidate, result) || !isAlike(candidate, result))
    return Outcome::Answered;
  WorkerProcess *worker = takeWorker(job.isFresh, result);
  if (!worker)
    return Outcome::NoWorker;
  uint64_t workBytes = 0;
  for (const HeldSet &each : candidate.sets)
    workBytes = std::max(workBytes, each.places.workBytes);
  if (workBytes > memory.work()->bytes() && !grow(workBytes, *worker, result)) {
    const bool isCandidates = result["status"] == "out-of-memory";
    if (!isCandidates)
      dropWorker("environment");
    return isCandidates ? Outcome::Answered : Outcome::NoWorker;
  }
  const double limit = limitFor(job);
  ++worker->candidates;
  WorkerProcess::Answer loaded = worker->ask({{"do", "load"},
                                              {"side", 1},
                                              {"image", job.image},
                                              {"plans", candidate.folders()},
                                              {"inputs", memory.inputPlaces()}},
                                             loadSeconds);
  bool isGood = loaded.status() == "ok";
  if (!isGood)
    setStatus(result, loaded.status(), loaded.json.value("message", ""),
              loaded.json.value("note", ""));
  for (size_t set = 0; set < program.sets.size() && isGood; ++set) {
    Json said;
    isGood = run(*worker, 1, set, poisonOf(job, set), limit, result, said);
    if (isGood && set == 0) {
      result["launches"] = said["launches"];
      result["peakDeviceBytes"] = said["peakDeviceBytes"];
    }
    if (isGood && !compare(set, result))
      return Outcome::Answered;
  }
  // What its last timed execution left is looked at, too.
  if (isGood && job.isTimed) {
    isGood = time(*worker, job, true, limit, result);
    if (isGood && !compare(0, result))
      return Outcome::Answered;
  }
  if (isGood) {
    setStatus(result, "ok", "");
    return Outcome::Answered;
  }
  dropWorker(result["status"]);
  return result["status"] == "crash" || result["status"] == "environment" ? Outcome::WorkerGone
                                                                          : Outcome::Answered;
}

void Vault::State::screen(const HoldJob &job, Json &result) {
  if (!isOpen)
    return setStatus(result, "usage", "no program is open");
  const Json empty = result;
  Outcome outcome = Outcome::Answered;
  for (unsigned attempt = 1; attempt <= mostAttempts; ++attempt) {
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

#else

namespace kbrun {

struct Vault::State {};
Vault::Vault() = default;
Vault::~Vault() = default;
nlohmann::ordered_json Vault::answer(const HoldJob &) {
  return {{"version", 1},
          {"status", "environment"},
          {"message", "this kb-run was built without CUDA"},
          {"note", "configure the build where the headers of a CUDA toolkit of version 12.6 or "
                   "later are found (CUDA_PATH)"}};
}

} // namespace kbrun
#endif
