//===- Screen.cpp - a process that runs candidates ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Screen.h"
#include "Link.h"
#include "Run.h"
#include "kbrt/Turn.h"

#ifdef KBRUN_HAS_CUDA
#include "kbrt/CudaScreen.h"
#include <chrono>
#include <csignal>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace kbrun {

using namespace kbrt;
using namespace kbrt::cuda;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

Json answerOf(const Problem &problem) {
  return {
      {"status", toString(problem.status)}, {"message", problem.message}, {"note", problem.note}};
}

Problem environment(const std::string &message) { return {LaunchStatus::Environment, message, ""}; }

class Worker {
public:
  Worker(Link &link, Progress &progress) : link(link), progress(progress) {}
  int run();

private:
  /// Machine code with its plans, one for each set of inputs.
  struct Side {
    std::unique_ptr<LoadedImage> image;
    std::vector<std::unique_ptr<Inputs>> inputs;
    std::vector<PlanPlaces> places;
    std::vector<std::vector<uint64_t>> uploads; ///< places in the block of inputs
    /// Of the recorded plan, once it has run.
    std::optional<std::vector<RestingRepetition>> resting;
  };

  Json answer(const Json &message);
  Json map(const Json &message);
  Json mapWork(const Json &message);
  Json load(const Json &message);
  Json execute(const Json &message);
  Json time(const Json &message);
  RunResult runOnce(Side &side, size_t set, uint8_t poison, double seconds);
  LentMemory memoryOf(const Side &side, size_t set) const;
  void wait(void (Turn::*how)());

  Link &link;
  Progress &progress;
  std::unique_ptr<Device> device;
  std::optional<Turn> turn;
  Clock::time_point turnBegan;
  double waitedSeconds = 0;
  std::unique_ptr<LentBlocks> blocks;
  Side sides[2];
};

void Worker::wait(void (Turn::*how)()) {
  auto before = Clock::now();
  progress.isWaiting = true;
  ((*turn).*how)();
  progress.isWaiting = false;
  turnBegan = Clock::now();
  waitedSeconds += std::chrono::duration<double>(turnBegan - before).count();
}

Json Worker::map(const Json &message) {
  std::vector<int> descriptors = link.takeDescriptors();
  const auto bytes = message.at("bytes").get<std::array<uint64_t, LentBlocks::blocks>>();
  Problem problem;
  blocks = LentBlocks::reserve(*device, bytes, problem);
  for (size_t i = 0; i < descriptors.size() && i < bytes.size() && !problem; ++i)
    blocks->map(static_cast<LentBlocks::Block>(i), descriptors[i], bytes[i], problem);
  for (int each : descriptors)
    close(each);
  if (!problem && descriptors.size() != bytes.size())
    problem = environment("descriptors of lent memory did not arrive");
  return answerOf(problem);
}

Json Worker::mapWork(const Json &message) {
  std::vector<int> descriptors = link.takeDescriptors();
  Problem problem;
  if (descriptors.size() == 1)
    blocks->map(LentBlocks::Work, descriptors[0], message.at("bytes").get<uint64_t>(), problem);
  else
    problem = environment("the descriptor of lent memory did not arrive");
  for (int each : descriptors)
    close(each);
  return answerOf(problem);
}

Json Worker::load(const Json &message) {
  Side &side = sides[message.at("side").get<size_t>()];
  side = {};
  const auto path = message.at("image").get<std::string>();
  std::string error;
  std::optional<std::string> bytes = readFile(path, error);
  if (!bytes)
    return answerOf(environment(error));
  for (const Json &folder : message.at("plans")) {
    side.inputs.push_back(std::make_unique<Inputs>());
    if (!side.inputs.back()->load({folder.get<std::string>(), "", ""}, "", {}, error))
      return answerOf(environment(error));
    side.places.push_back(PlanPlaces::of(side.inputs.back()->plan));
  }
  message.at("inputs").get_to(side.uploads);
  Problem problem;
  side.image = LoadedImage::load(*device, std::move(*bytes), path, problem);
  return answerOf(problem);
}

LentMemory Worker::memoryOf(const Side &side, size_t set) const {
  LentMemory memory;
  memory.work = blocks->address(LentBlocks::Work);
  memory.workBytes = blocks->bytes(LentBlocks::Work);
  memory.results = blocks->address(LentBlocks::Results);
  memory.resultBytes = blocks->bytes(LentBlocks::Results);
  memory.reads = side.places[set].reads;
  const uint64_t first = blocks->address(LentBlocks::Inputs);
  size_t number = 0;
  const Plan &plan = side.inputs[set]->plan;
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (std::holds_alternative<UploadStep>(plan.steps[i]))
      memory.uploads[i] = first + side.uploads[set].at(number++);
  return memory;
}

RunResult Worker::runOnce(Side &side, size_t set, uint8_t poison, double seconds) {
  LentMemory memory = memoryOf(side, set);
  RunOptions options;
  options.poison = poison;
  options.wallSeconds = seconds;
  options.checkConstInputs = false; // a candidate may write to what it read to its end
  options.memory = &memory;
  options.begins = [this] { wait(&Turn::sharedOn); };
  options.ends = [this] { turn->leave(); };
  PlanInputs payloads = side.inputs[set]->payloads;
  track(side.inputs[set]->plan, progress, payloads);
  RunResult run =
      cuda::execute(*device, {side.image.get(), &side.inputs[set]->plan, &payloads}, options);
  progress.kernel[0] = 0;
  turn->leave(); // a launch that failed did not
  if (set == 0 && run.status == LaunchStatus::Ok)
    side.resting = run.resting;
  return run;
}

Json Worker::execute(const Json &message) {
  Side &side = sides[message.at("side").get<size_t>()];
  const auto set = message.at("set").get<size_t>();
  waitedSeconds = 0;
  auto begin = Clock::now();
  RunResult run =
      runOnce(side, set, message.at("poison").get<uint8_t>(), message.at("seconds").get<double>());
  std::chrono::duration<double> passed = Clock::now() - begin;
  Json json = answerOf({run.status, run.message, run.note});
  json["seconds"] = passed.count() - waitedSeconds;
  json["peakDeviceBytes"] = run.peakDeviceBytes;
  json["launches"] = Json::array();
  for (const RunLaunch &launch : run.launches)
    json["launches"].push_back(
        {{"kernel", std::get<LaunchStep>(side.inputs[set]->plan.steps[launch.step]).kernel},
         {"us", launch.us * static_cast<double>(launch.repeats)}});
  json["findings"] = Json::array();
  for (const RunFinding &finding : run.findings)
    json["findings"].push_back(finding.message);
  return json;
}

Json Worker::time(const Json &message) {
  TurnsOptions options;
  options.poison = message.at("poison").get<uint8_t>();
  options.wallSeconds = message.at("seconds").get<double>();
  options.mostPairs = message.at("mostPairs").get<unsigned>();
  options.apartRatio = message.at("apartRatio").get<double>();
  options.begins = [this] { wait(&Turn::alone); };
  options.between = [this] {
    if (Clock::now() - turnBegan > Turn::longest)
      wait(&Turn::alone); // behind those that came in the meantime
  };
  options.ends = [this] { turn->leave(); };
  LentMemory memories[2];
  Subject subjects[2];
  const size_t count = message.at("hasCandidate").get<bool>() ? 2 : 1;
  for (size_t i = 0; i < count; ++i) {
    if (!sides[i].resting) { // the original in a new process
      RunResult run = runOnce(sides[i], 0, options.poison, options.wallSeconds);
      if (run.status != LaunchStatus::Ok) {
        Json json = answerOf({run.status, run.message, run.note});
        json["isOriginals"] = i == 0;
        return json;
      }
    }
    memories[i] = memoryOf(sides[i], 0);
    subjects[i] = {sides[i].image.get(), &sides[i].inputs[0]->plan, &sides[i].inputs[0]->payloads,
                   *sides[i].resting};
  }
  TurnsResult times =
      timeInTurns(*device, subjects[0], memories[0], subjects[1], memories[1], options);
  Json json = answerOf({times.status, times.message, times.note});
  json["original"] = times.originalUs;
  json["candidate"] = times.candidateUs;
  json["isOriginals"] = times.isOriginals;
  return json;
}

Json Worker::answer(const Json &message) {
  const auto what = message.at("do").get<std::string>();
  if (what == "map")
    return map(message);
  if (what == "mapWork")
    return mapWork(message);
  if (what == "unmapWork") {
    blocks->unmap(LentBlocks::Work);
    return answerOf({});
  }
  if (what == "load")
    return load(message);
  if (what == "run")
    return execute(message);
  if (what == "time")
    return time(message);
  return answerOf(environment("'" + what + "' is nothing that a worker does"));
}

int Worker::run() {
  Problem problem;
  device = Device::open({0, ""}, problem);
  if (device) {
    warmUp(*device);
    turn.emplace(device->getFacts().uuid);
  }
  if (!link.send(answerOf(problem)) || !device)
    return exitEnvironment;
  Json message;
  while (link.receive(message, -1) == Link::Received::Message) {
    Json reply;
    try {
      reply = answer(message);
    } catch (const std::exception &e) {
      reply = answerOf(environment(e.what()));
    }
    fflush(nullptr);
    if (!link.send(reply))
      break;
  }
  // No destructors: a kernel that went wrong may have damaged what they would touch.
  _exit(exitOk);
}

} // namespace

int screenWorker() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  void *shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, workerProgress, 0);
  if (shared == MAP_FAILED) {
    fprintf(stderr, "kb-run: error: screen is started by 'kb-run hold', not by hand\n");
    return exitUsage;
  }
  Link link(workerSocket);
  return Worker(link, *static_cast<Progress *>(shared)).run();
}

} // namespace kbrun

#else

namespace kbrun {
int screenWorker() { return exitEnvironment; }
} // namespace kbrun
#endif
