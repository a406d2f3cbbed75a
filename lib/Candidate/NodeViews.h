//===- NodeViews.h - Programs as a model sees them --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what roles are shown of a program in a search.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODEVIEWS_H
#define KBOPT_LIB_CANDIDATE_NODEVIEWS_H

#include "NodeLines.h"
#include "NodePlans.h"
#include "kb-opt/Agents/Assistant.h"

namespace kbopt {

/// Thread-safe.
class NodeViews : public ShownPrograms {
public:
  NodeViews(const CandidateSetup &setup, NodeTable &nodes, NodePlans &plans, NodeLines &lines)
      : setup(setup), nodes(nodes), plans(plans), lines(lines) {}

  std::string shownText(const NodeId &id) override;
  llvm::Error withProgram(const NodeId &id,
                          llvm::function_ref<llvm::Error(RewriteSession &)> look) override {
    return nodes.withSession(id, look);
  }
  std::vector<std::string> hotLines(const NodeId &id, llvm::StringRef kernel) override {
    return lines.hotLines(id, kernel);
  }
  std::vector<std::string> launches(const NodeId &id) override;
  std::vector<std::string> failingCase(const Attempt &failed) override;
  std::string generatedCode(const NodeId &id, llvm::StringRef kernel) override;

private:
  const CandidateSetup &setup;
  NodeTable &nodes;
  NodePlans &plans;
  NodeLines &lines;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODEVIEWS_H
