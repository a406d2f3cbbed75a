//===- NoVault.cpp - a kb-run without CUDA --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRUN_HAS_CUDA
#include "Vault.h"

#include <nlohmann/json.hpp>

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
