//===- EarlyWork.h - What is begun before it is asked for -------*- C++ -*-===//
//
// Owns the threads that do what a search with a GPU is going to need, while it still looks at the
// original.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_EARLYWORK_H
#define KBOPT_LIB_CANDIDATE_EARLYWORK_H

#include "NodeTable.h"
#include <future>

namespace kbopt {

/// Its end waits for its threads. What goes wrong in them is told to who asks next.
class EarlyWork {
public:
  EarlyWork(const CandidateSetup &setup, NodeTable &nodes) : setup(setup), nodes(nodes) {}

  /// Begins to record the original.
  void record();
  /// Writes and compiles the first schedules that the search is going to try. What is recorded
  /// meanwhile may still change a choice; then this was in vain.
  void propose();

private:
  std::vector<ProgramArtefacts> candidates();

  const CandidateSetup &setup;
  NodeTable &nodes;
  std::future<void> recording, proposals;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_EARLYWORK_H
