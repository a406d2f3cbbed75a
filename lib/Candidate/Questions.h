//===- Questions.h - What a search asks a model -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the questions that a search asks a model about its programs.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_QUESTIONS_H
#define KBOPT_LIB_CANDIDATE_QUESTIONS_H

#include "NodeTable.h"
#include "kb-opt/Agents/Assistant.h"

namespace kbopt {

/// What the planner may choose of \p actions, those of a program, for the kernel of \p request: the
/// drawn one first, then the pass that fits any change, those that the knowledge base would try in
/// this state, and the kernel's schedules.
std::vector<Action> choicesFor(const ProposalRequest &request, llvm::ArrayRef<Action> actions);

/// Thread-safe.
class Questions {
public:
  /// All outlive it.
  Questions(const CandidateSetup &setup, NodeTable &nodes, ShownPrograms &programs,
            ReplyStore &replies, Model &model);

  /// \p actions: all of \p id.
  llvm::Expected<Proposal> propose(const NodeId &id, const ProposalRequest &request,
                                   llvm::ArrayRef<Action> actions);
  llvm::Expected<Proposal> repair(const NodeId &id, const ProposalRequest &request,
                                  const Attempt &failed) {
    return assistant.repair(id, request, failed);
  }
  llvm::Expected<Reflection> suggest(const SuggestionRequest &request) {
    return suggestWith(model, request);
  }
  llvm::Expected<Reflection> reflect(const ReplayBuffer &buffer);
  /// \p judgement of \p id, unless the verifier rejects what a model wrote.
  llvm::Expected<NodeJudgement> verify(const NodeId &id, NodeJudgement judgement);

private:
  NodeTable &nodes;
  ReplyStore &replies;
  Model &model;
  Assistant assistant;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_QUESTIONS_H
