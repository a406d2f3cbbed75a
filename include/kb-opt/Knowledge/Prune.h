//===- Prune.h - Smaller logs that fold to the same ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what may leave a log: lines that say again what another line says.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_PRUNE_H
#define KBOPT_KNOWLEDGE_PRUNE_H

#include "kb-opt/Knowledge/EvidenceLog.h"

namespace kbopt {

struct PrunedLog {
  std::string text;      ///< the lines that stay, as they were and in their order
  size_t attempts = 0;   ///< records that were left out: an experiment again
  size_t doubled = 0;    ///< lines that were left out: the same record again
  size_t kept = 0;       ///< records that stay
  size_t unreadable = 0; ///< lines that are no record; they stay
};

/// Leaves out attempts on the deterministic CPU device that repeat an experiment
/// and that no finding of the log rests on, and the later of two lines with one
/// id. Everything that is folded of the log is the same before and after; should
/// it not be, that is an internal error and no log.
llvm::Expected<PrunedLog> pruneLog(llvm::StringRef text, llvm::StringRef path);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_PRUNE_H
