//===- ProgramEnvironment.h - Programs as a search sees them ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tie between the search and the compiler: a node is a program text, a step a rewrite,
// judging is Eval's. Every effect goes through the journal. Each part of the work is a class of its
// own in lib/Candidate.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_PROGRAMENVIRONMENT_H
#define KBOPT_CANDIDATE_PROGRAMENVIRONMENT_H

#include "kb-opt/Candidate/CandidateSetup.h"
#include "kb-opt/Core/Remark.h"
#include "kb-opt/Policy/Environment.h"

namespace kbopt {

class Model;

/// Thread-safe.
class ProgramEnvironment : public Environment {
public:
  /// \p model outlives it; null where none is asked.
  ProgramEnvironment(const CandidateSetup &setup, Model *model);
  ~ProgramEnvironment() override;

  NodeId root() override;
  bool measures() const override;
  double leastGain() const override;
  llvm::Expected<std::vector<Action>> actions(const NodeId &node) override;
  llvm::Expected<StepOutcome> apply(const NodeId &node, const Step &step) override;
  llvm::Expected<StepOutcome> rewrite(const NodeId &node, const Step &step) override;
  llvm::Expected<NodeJudgement> judge(const NodeId &node) override;
  llvm::Expected<NodeJudgement> confirm(const NodeId &node) override;
  llvm::Expected<NodeJudgement> examine(const NodeId &node, const NodeJudgement &judged,
                                        bool whole) override;
  bool screens() const override { return measures(); }
  llvm::Expected<NodeJudgement> screen(const NodeId &node) override;
  std::optional<double> proofSeconds() override;
  llvm::Expected<Proposal> propose(const NodeId &node, const ProposalRequest &request) override;
  Promise promise(const NodeId &node) override;
  llvm::Expected<Proposal> repair(const NodeId &node, const ProposalRequest &request,
                                  const Attempt &failed) override;
  llvm::Expected<Reflection> suggest(const SuggestionRequest &request) override;
  llvm::Expected<Reflection> reflect(const ReplayBuffer &buffer) override;

  /// With a GPU: begins to record the original, while others look what may be done to it.
  void recordEarly();
  /// With a GPU: writes and compiles the first schedules that the search is going to try, while the
  /// original is recorded. \p knowledge, which outlives it, orders them; null: the model does.
  void proposeEarly(const KnowledgeBase *knowledge);

  /// The text of a node that `apply` made.
  llvm::StringRef text(const NodeId &node);
  /// Whether some rule applies somewhere in the original, whether or not the workload launches it.
  llvm::Expected<bool> appliesAnywhere();
  /// Why passes do not apply to the original, by pass and site.
  llvm::Expected<std::vector<Remark>> missed();
  /// Why no schedule applies to \p kernel of the original; empty if one does.
  llvm::Expected<std::string> whyUnscheduled(llvm::StringRef kernel);
  /// \p node as the judge sees it.
  llvm::Expected<ProgramArtefacts> artefacts(const NodeId &node);
  /// The gates that the last `confirm` of \p node ran.
  std::vector<GateRecord> gates(const NodeId &node);
  /// What the last `confirm` of \p node measured; nothing without a GPU.
  std::optional<TimingReport> timing(const NodeId &node);

private:
  struct Parts;
  const std::unique_ptr<Parts> parts;
};

} // namespace kbopt

#endif // KBOPT_CANDIDATE_PROGRAMENVIRONMENT_H
