//===- NodeModels.h - Counters and modelled times of programs ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the CPU device's counters and the cost model say of a program: taken once per machine
// code, before it is judged, because the roofline may rule it out.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODEMODELS_H
#define KBOPT_LIB_CANDIDATE_NODEMODELS_H

#include "NodeTable.h"
#include "kb-opt/Candidate/JournaledAnswers.h"
#include "kb-opt/Candidate/SpeedRecord.h"

namespace kbopt {

/// Thread-safe.
class NodeModels {
public:
  NodeModels(const CandidateSetup &setup, JournaledAnswers &answers, NodeTable &nodes)
      : setup(setup), answers(answers), nodes(nodes) {}

  /// \p program, whose machine code and host are named by \p code; without a time if it does not
  /// run to its end on the CPU device.
  llvm::Expected<SpeedRecord> model(const ProgramArtefacts &program, const Digest &code);

private:
  llvm::Expected<SpeedRecord> compute(const ProgramArtefacts &program);
  /// Where a GPU measures: whether counting the original says that no candidate is to be counted.
  llvm::Expected<bool> isOriginalHardToCount();

  const CandidateSetup &setup;
  JournaledAnswers &answers;
  NodeTable &nodes;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODEMODELS_H
