//===- NodeSpeeds.h - How fast correct programs are -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the join of what is modelled and what a GPU measures of a program, by kernel of its source.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODESPEEDS_H
#define KBOPT_LIB_CANDIDATE_NODESPEEDS_H

#include "NodeCounters.h"
#include "NodeModels.h"
#include "kb-opt/Candidate/JudgementRecord.h"

namespace kbopt {

/// Thread-safe.
class NodeSpeeds {
public:
  NodeSpeeds(const CandidateSetup &setup, NodeTable &nodes, NodeModels &models,
             NodeCounters &counters)
      : setup(setup), nodes(nodes), models(models), counters(counters) {}

  struct MeasuredTime {
    const TimingReport &report;
    double us; ///< what the report stands for in the search
  };
  /// Times and metrics of \p program, which is that of \p id and correct: measured where \p timing
  /// is, else modelled.
  llvm::Expected<JudgedSpeed> speed(const NodeId &id, const ProgramArtefacts &program,
                                    std::optional<MeasuredTime> timing);

private:
  /// Adds shapes and the kernels of the source, by the kernels (mangled) in \p record.
  llvm::Error addKernels(const NodeId &id, const SpeedRecord &record, JudgedSpeed &speed);

  const CandidateSetup &setup;
  NodeTable &nodes;
  NodeModels &models;
  NodeCounters &counters;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODESPEEDS_H
