//===- StepCompiler.h - Machine code of new programs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is learnt of a rewritten program before anything is measured: whether it compiles, its
// machine code, its modelled time, and whether the workload takes what it adds.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_STEPCOMPILER_H
#define KBOPT_LIB_CANDIDATE_STEPCOMPILER_H

#include "NodeJudgements.h"
#include "NodeLaunches.h"
#include "NodeModels.h"

namespace kbopt {

/// Thread-safe.
class StepCompiler {
public:
  StepCompiler(const CandidateSetup &setup, NodeTable &nodes, NodeLaunches &launches,
               NodeModels &models, NodeJudgements &judgements)
      : setup(setup), nodes(nodes), launches(launches), models(models), judgements(judgements) {}

  /// \p candidate, which a step made of \p before, with what its machine code tells.
  llvm::Expected<StepOutcome> compile(const NodeId &before, StepOutcome candidate);

private:
  const CandidateSetup &setup;
  NodeTable &nodes;
  NodeLaunches &launches;
  NodeModels &models;
  NodeJudgements &judgements;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_STEPCOMPILER_H
