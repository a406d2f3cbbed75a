//===- EarlyWork.h - What is begun before it is asked for -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the threads that do what a search with a GPU is going to need, while it still looks at the
// original.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_EARLYWORK_H
#define KBOPT_LIB_CANDIDATE_EARLYWORK_H

#include "NodeScreening.h"
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include <future>

namespace kbopt {

/// Its end waits for its threads. An error in them is reported to the next caller.
class EarlyWork {
public:
  EarlyWork(const CandidateSetup &setup, NodeTable &nodes, NodeScreening &screening)
      : setup(setup), nodes(nodes), screening(screening) {}

  /// Begins to record the original.
  void record();
  /// Writes and compiles the first schedules that the search is going to try, and screens them once
  /// the program has read a result, where it then computes on the host. \p knowledge orders them
  /// and outlives this; null: the model does. What is recorded meanwhile may still change a choice;
  /// then this was in vain.
  void propose(const KnowledgeBase *knowledge);

private:
  std::vector<EarlyCandidate> candidates(const KnowledgeBase *knowledge);

  const CandidateSetup &setup;
  NodeTable &nodes;
  NodeScreening &screening;
  std::promise<std::string> drafted; ///< the folder; empty: the recording has ended without one
  std::atomic<bool> isDrafted = false;
  std::future<void> recording, proposals;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_EARLYWORK_H
