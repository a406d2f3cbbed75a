//===- NodeCounters.h - What a GPU's counters say of programs ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns when the counters of a GPU are read, and what stands in their place where they are not.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODECOUNTERS_H
#define KBOPT_LIB_CANDIDATE_NODECOUNTERS_H

#include "NodeTable.h"
#include "kb-opt/Candidate/JournaledAnswers.h"
#include "kb-opt/Candidate/SpeedRecord.h"
#include <atomic>

namespace kbopt {

/// Only with a GPU. Thread-safe.
class NodeCounters {
public:
  NodeCounters(const CandidateSetup &setup, JournaledAnswers &answers, NodeTable &nodes)
      : setup(setup), answers(answers), nodes(nodes) {}

  /// Counters of \p id, whose program was timed as \p timing and \p modelled. A program that is no
  /// faster than the fastest one so far is seldom gone on from, and reading its counters takes
  /// longer than measuring, and no other process may use the device meanwhile: what is known
  /// without them. So where the time of a candidate is up.
  llvm::Expected<SpeedRecord> counters(const NodeId &id, const ProgramArtefacts &program,
                                       const TimingReport &timing, const SpeedRecord &modelled);

private:
  /// Counters of \p program, whose machine code and host are named by \p code, with the reason in
  /// `degraded` if there are none.
  llvm::Expected<SpeedRecord> read(const NodeId &id, const ProgramArtefacts &program,
                                   const Digest &code);
  llvm::Expected<SpeedRecord> compute(const NodeId &id, const ProgramArtefacts &program);
  /// Where the shares of the kernels are not \p modelled, they are the original's; with \p why.
  llvm::Expected<SpeedRecord> withoutReading(const SpeedRecord &modelled, const std::string &why);
  /// Whether the original takes more times as long (\p ratio) as any program before this one.
  bool isFastest(double ratio);

  const CandidateSetup &setup;
  JournaledAnswers &answers;
  NodeTable &nodes;
  std::mutex mutex;     ///< of `bestRatio`
  double bestRatio = 1; ///< original's time over that of the fastest program measured so far
  std::atomic<double> lastSeconds = 0; ///< that reading counters took
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODECOUNTERS_H
