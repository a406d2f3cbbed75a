//===- VaultAnswer.h - how a job of the vault ended --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the words in which an answer of `kb-run hold` says how a job ended
// (docs/JobFormat.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_VAULTANSWER_H
#define KBRUN_VAULTANSWER_H

#include "kbrt/CudaScreen.h"
#include <nlohmann/json.hpp>

namespace kbrun {

inline void setStatus(nlohmann::ordered_json &result, const std::string &status,
                      const std::string &message, const std::string &note = "") {
  result["status"] = status;
  result["message"] = message;
  if (!note.empty())
    result["note"] = note;
}

inline void setStatus(nlohmann::ordered_json &result, const kbrt::cuda::Problem &problem) {
  setStatus(result, toString(problem.status), problem.message, problem.note);
}

/// \p status with the words of a worker.
inline void setStatusAsSaid(nlohmann::ordered_json &result, const std::string &status,
                            const nlohmann::ordered_json &said) {
  setStatus(result, status, said.value("message", ""), said.value("note", ""));
}

} // namespace kbrun
#endif
