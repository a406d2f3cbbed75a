//===- NodeJudgements.h - What the judge says of programs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the judgements of programs in a search: of the original, of candidates in the search, and of
// those that are to be kept.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODEJUDGEMENTS_H
#define KBOPT_LIB_CANDIDATE_NODEJUDGEMENTS_H

#include "NodeSpeeds.h"
#include "kb-opt/Candidate/JournaledGates.h"

namespace kbopt {

/// Thread-safe.
class NodeJudgements {
public:
  NodeJudgements(const CandidateSetup &setup, JournaledAnswers &answers, NodeTable &nodes,
                 NodeSpeeds &speeds);

  llvm::Expected<NodeJudgement> judge(const NodeId &id, JudgeEffort effort);
  /// Environment::examine.
  llvm::Expected<NodeJudgement> examine(const NodeId &id, const NodeJudgement &judged, bool whole);
  /// Whether the search has judged \p id, in this run or an earlier one.
  llvm::Expected<bool> isJudged(const NodeId &id) {
    return answers.has(searched, answers.request({id}));
  }

  /// The gates that the last final check of \p id ran.
  std::vector<GateRecord> gates(const NodeId &id);
  /// What the last final check of \p id measured; nothing without a GPU.
  std::optional<TimingReport> timing(const NodeId &id);

private:
  /// The kinds of the journal's answers.
  static constexpr llvm::StringLiteral searched = "judge", confirmed = "confirm";

  llvm::Expected<JudgementRecord> ask(const NodeId &id, JudgeEffort effort);
  llvm::Expected<JudgementRecord> compute(const NodeId &id, JudgeEffort effort);
  llvm::Expected<Verdict> judgeOriginal(const ProgramArtefacts &program);
  llvm::Expected<Verdict> judgeCandidate(const NodeId &id, const ProgramArtefacts &program,
                                         JudgeEffort effort);
  llvm::Expected<Verdict> computeExamination(const NodeId &id, bool whole);
  /// Of the original, whose floor is \p floorUs.
  llvm::Expected<AttainableTime> attainable(double floorUs);
  /// The time that \p timing stands for in the search.
  llvm::Expected<double> acceptedUs(const NodeId &id, const TimingReport &timing);

  struct Confirmation {
    std::vector<GateRecord> gates;
    std::optional<TimingReport> timing;
  };

  const CandidateSetup &setup;
  JournaledAnswers &answers;
  NodeTable &nodes;
  NodeSpeeds &speeds;
  JournaledGates originalGates; ///< what the judge keeps of the original
  std::mutex mutex;             ///< of `confirmations`
  std::map<NodeId, Confirmation> confirmations;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODEJUDGEMENTS_H
