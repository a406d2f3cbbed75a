//===- VaultWorkers.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifdef KBRUN_HAS_CUDA
#include "VaultWorkers.h"
#include "VaultAnswer.h"

#include <unistd.h>

namespace kbrun {

using namespace kbrt::cuda;

namespace {

/// To load machine code, or to map memory.
constexpr double loadSeconds = 60;
/// A worker is replaced after so many candidates.
constexpr unsigned mostCandidates = 16;

} // namespace

VaultWorkers::VaultWorkers(HeldMemory &memory) : memory(memory) {
  startSpare();
  startSpare();
}

VaultWorkers::~VaultWorkers() {
  for (auto &each : ending)
    each->stop();
}

void VaultWorkers::startSpare() {
  if (!active)
    active = WorkerProcess::start();
  else if (!spare)
    spare = WorkerProcess::start();
}

void VaultWorkers::drop(const std::string &status) {
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

WorkerProcess *VaultWorkers::take(bool isFresh, Json &result) {
  if (active && (active->candidates >= mostCandidates || (isFresh && active->candidates)))
    drop("ok");
  startSpare();
  startSpare();
  if (!active) {
    setStatus(result, "environment", "cannot start a process");
    return nullptr;
  }
  if (active->isEquipped || equip(*active, result))
    return active.get();
  drop("environment");
  return nullptr;
}

bool VaultWorkers::equip(WorkerProcess &worker, Json &result) {
  const WorkerProcess::Answer &ready = worker.whetherReady();
  if (ready.status() != "ok") {
    setStatusAsSaid(result, "environment", ready.json);
    return false;
  }
  Json map = {{"do", "map"}, {"bytes", Json::array()}};
  for (const DeviceBlock *block : memory.lentBlocks())
    map["bytes"].push_back(block->bytes());
  if (!give(memory.lentBlocks(), map, worker, result))
    return false;
  WorkerProcess::Answer loaded = load(worker, 0, *originalImage, *original);
  worker.isEquipped = loaded.status() == "ok";
  if (!worker.isEquipped)
    setStatusAsSaid(result, loaded.status(), loaded.json);
  return worker.isEquipped;
}

WorkerProcess::Answer VaultWorkers::load(WorkerProcess &worker, size_t side,
                                         const std::string &image, const HeldProgram &program) {
  return worker.ask({{"do", "load"},
                     {"side", side},
                     {"image", image},
                     {"plans", program.folders()},
                     {"inputs", memory.inputPlaces()}},
                    loadSeconds);
}

bool VaultWorkers::give(const std::vector<const DeviceBlock *> &blocks, const Json &message,
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

bool VaultWorkers::growWork(uint64_t bytes, WorkerProcess &worker, Json &result) {
  WorkerProcess::Answer unmapped = worker.ask(Json::object({{"do", "unmapWork"}}), loadSeconds);
  if (unmapped.status() != "ok") {
    setStatus(result, "environment", unmapped.json.value("message", ""));
    return false;
  }
  Problem problem;
  memory.growWork(bytes, problem);
  if (!memory.work()) {
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

} // namespace kbrun
#endif
