//===- Vault.h - holds the device's memory -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the memory of one screening: the inputs, the blocks that workers compute in and
// leave results in, and the original's results, which no worker ever sees. Compares
// results where they lie. Runs neither the original's code nor a candidate's: workers
// do (Screen.h), one after the other, and a spare one waits.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_VAULT_H
#define KBRUN_VAULT_H

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kbrun {

/// A program and what is asked about it: a line of `kb-run hold` (docs/JobFormat.md).
struct HoldJob {
  bool isOpen = false; ///< the original; else a candidate
  std::string id, name, image;
  std::vector<std::string> plans; ///< recording folders
  uint8_t poison = 0xCB;
  double leastLimitSeconds = 2;
  unsigned mostSamples = 8;
  double apartRatio = 1.25;
  bool isTimed = true, isFresh = false;
};

class Vault {
public:
  Vault();
  ~Vault();
  Vault(const Vault &) = delete;
  Vault &operator=(const Vault &) = delete;

  /// The answer to \p job: as docs/JobFormat.md has it, without its exit status.
  nlohmann::ordered_json answer(const HoldJob &job);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace kbrun
#endif
