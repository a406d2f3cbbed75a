//===- VaultWorkers.h - the processes of one screening -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the processes that run programs in the vault's memory: the active one and a spare,
// what they are given, and when one takes the other's place.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_VAULTWORKERS_H
#define KBRUN_VAULTWORKERS_H

#include "HeldMemory.h"
#include "WorkerProcess.h"

namespace kbrun {

class VaultWorkers {
public:
  using Json = nlohmann::ordered_json;

  /// \p memory outlives it.
  explicit VaultWorkers(HeldMemory &memory);
  /// Ends all.
  ~VaultWorkers();

  /// What each worker is given before anything else; both outlive it.
  void setOriginal(const std::string &image, const HeldProgram &program) {
    originalImage = &image;
    original = &program;
  }
  /// One with memory and the original; null and \p result if there is none. \p isFresh: one that
  /// has run no candidate.
  WorkerProcess *take(bool isFresh, Json &result);
  /// The spare takes the place of the active one. \p status says how that ended: where its last
  /// kernel may still run, its end is waited for, so that it does not write to memory of the next
  /// one.
  void drop(const std::string &status);
  /// Loads \p image, whose recordings are \p program, as side \p side of \p worker.
  WorkerProcess::Answer load(WorkerProcess &worker, size_t side, const std::string &image,
                             const HeldProgram &program);
  /// Makes the work block larger; \p worker has it mapped. On failure it may be there no more.
  bool growWork(uint64_t bytes, WorkerProcess &worker, Json &result);

private:
  void startSpare();
  bool equip(WorkerProcess &worker, Json &result);
  bool give(const std::vector<const kbrt::cuda::DeviceBlock *> &blocks, const Json &message,
            WorkerProcess &worker, Json &result);

  HeldMemory &memory;
  const std::string *originalImage = nullptr;
  const HeldProgram *original = nullptr;
  std::unique_ptr<WorkerProcess> active, spare;
  std::vector<std::unique_ptr<WorkerProcess>> ending;
};

} // namespace kbrun
#endif
