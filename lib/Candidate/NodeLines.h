//===- NodeLines.h - The hottest lines of programs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what roles are told of the lines that a kernel's time goes to: a GPU's samples with what
// warps wait for, or the cost model's counters by line.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODELINES_H
#define KBOPT_LIB_CANDIDATE_NODELINES_H

#include "NodeModels.h"
#include "kb-opt/Candidate/LinesRecord.h"

namespace kbopt {

/// Thread-safe.
class NodeLines {
public:
  NodeLines(const CandidateSetup &setup, JournaledAnswers &answers, NodeTable &nodes,
            NodeModels &models)
      : setup(setup), answers(answers), nodes(nodes), models(models) {}

  /// A sentence for each of the hottest lines of \p kernel; empty where they are not known.
  std::vector<std::string> hotLines(const NodeId &id, llvm::StringRef kernel);

private:
  /// Sampled where a GPU does it, else modelled.
  llvm::Expected<LinesRecord> lines(const NodeId &id);
  llvm::Expected<LinesRecord> sample(const ProgramArtefacts &program);

  const CandidateSetup &setup;
  JournaledAnswers &answers;
  NodeTable &nodes;
  NodeModels &models;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODELINES_H
