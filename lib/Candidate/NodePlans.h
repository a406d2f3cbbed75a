//===- NodePlans.h - What the hosts of nodes ask of the device --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the plans of programs in a search: derived from the original's where that is certain, else
// recorded.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODEPLANS_H
#define KBOPT_LIB_CANDIDATE_NODEPLANS_H

#include "NodeTable.h"

namespace kbopt {

/// Thread-safe.
class NodePlans {
public:
  NodePlans(const CandidateSetup &setup, NodeTable &nodes) : setup(setup), nodes(nodes) {}

  /// The folder of the plan of \p program, which is that of \p id, on \p test.
  llvm::Expected<std::string> folder(const NodeId &id, const ProgramArtefacts &program,
                                     const TestCase &test);

private:
  /// The same where it follows from the original's: no host is run for it. Empty where it does not.
  llvm::Expected<std::string> mappedFolder(const NodeId &id, const TestCase &test);
  llvm::Expected<std::string> mapPlan(const NodeId &id, const TestCase &test);

  const CandidateSetup &setup;
  NodeTable &nodes;
  OnceMap<std::pair<NodeId, std::string>, std::string> mapped; ///< mappedFolder, by case
};

/// The plan in \p folder. Errors: StoreError.
llvm::Expected<kbrt::Plan> readPlanFrom(const std::string &folder);

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODEPLANS_H
