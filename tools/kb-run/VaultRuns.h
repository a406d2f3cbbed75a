//===- VaultRuns.h - runs of programs in the vault's memory ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the questions that make a worker run or time a program, and what its answers are
// called in the vault's own (docs/JobFormat.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_VAULTRUNS_H
#define KBRUN_VAULTRUNS_H

#include "Vault.h"
#include "WorkerProcess.h"

namespace kbrun {

/// One run of a loaded program.
struct VaultRun {
  size_t side = 0; ///< 0: the original; 1: the candidate
  size_t set = 0;  ///< of inputs
  uint8_t poison = 0;
  double limitSeconds = 0;
};

/// False: \p result says what became of it. \p said: the worker's answer.
bool runProgram(WorkerProcess &worker, const VaultRun &run, nlohmann::ordered_json &result,
                nlohmann::ordered_json &said);

/// Times the original as \p job asks, beside it a candidate where there is one; each execution may
/// take \p limitSeconds. False: \p result says what became of it.
bool timePrograms(WorkerProcess &worker, const HoldJob &job, bool hasCandidate, double limitSeconds,
                  nlohmann::ordered_json &result);

} // namespace kbrun
#endif
