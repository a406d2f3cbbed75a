//===- NodeSites.h - What may be done to a program --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the actions that passes offer at a program, and why they offer none.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODESITES_H
#define KBOPT_LIB_CANDIDATE_NODESITES_H

#include "NodeLaunches.h"
#include "kb-opt/Candidate/JournaledAnswers.h"
#include "kb-opt/Candidate/SiteRecord.h"

namespace kbopt {

/// Thread-safe.
class NodeSites {
public:
  /// \p assisted: a model may be asked where no rule rewrites.
  NodeSites(const CandidateSetup &setup, JournaledAnswers &answers, NodeTable &nodes,
            NodeLaunches &launches, bool assisted)
      : setup(setup), answers(answers), nodes(nodes), launches(launches), assisted(assisted) {}

  llvm::Expected<std::vector<Action>> actions(const NodeId &id);
  /// Whether some rule applies somewhere in the original, whether or not the workload launches it.
  llvm::Expected<bool> appliesAnywhere();
  /// Why passes do not apply to the original, by pass and site.
  llvm::Expected<std::vector<Remark>> missed();
  /// Why no schedule applies to \p kernel of the original; empty if one does.
  llvm::Expected<std::string> whyUnscheduled(llvm::StringRef kernel);

private:
  llvm::Expected<std::vector<SiteRecord>> compute(const NodeId &id);
  /// Those of rules at the original.
  llvm::Expected<std::vector<Opportunity>> opportunities();

  const CandidateSetup &setup;
  JournaledAnswers &answers;
  NodeTable &nodes;
  NodeLaunches &launches;
  const bool assisted;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODESITES_H
