//===- Learning.h - What a batch teaches in words ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the replay buffer and the three roles that read it (KernelBlaster, section
// 3): policy evaluation, performance-gap analysis, parameter update. What they say
// becomes lessons and states that rest on evidence of the run; numbers are learnt
// from the evidence alone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_POLICY_LEARNING_H
#define KBOPT_POLICY_LEARNING_H

#include "kb-opt/LLM/Model.h"
#include "kb-opt/Policy/Proposal.h"

namespace kbopt {

/// Longest text of a lesson or a reason that is taken from a role.
inline constexpr size_t longestLesson = 240;

/// One attempt as the roles see it.
struct ReplaySample {
  std::string name;        ///< "e1", …: of the run, the same in every batch
  Evidence record;         ///< predicted, achieved and credited gain; state; verdict
  MetricMap before, after; ///< of the kernel, where known
  std::string summary =
      {}; ///< what the model's reply says that it did; empty: no reply, or unknown
};

struct ReplayBuffer {
  unsigned batch = 0; ///< from 1
  std::vector<ReplaySample> samples;
  std::vector<Finding> lessons;    ///< of earlier batches of this run
  std::vector<std::string> states; ///< that rules and earlier runs name
  std::vector<std::string> passes; ///< that applied somewhere in this run, sorted
};

/// What the roles made of a batch. Everything in it was checked.
struct Reflection {
  /// Lessons, states and proposals. Their evidence has the names of the replay buffer
  /// ("e3"); in the result of a search it has the ids of the records.
  std::vector<Finding> findings;
  /// What went wrong with failed samples, in words that other failures share.
  std::map<std::string, std::string> causes;
  std::vector<std::string> refused; ///< what was not taken, and why
  /// Why there is nothing.
  FailureClass failure = FailureClass::None;
  uint64_t tokens = 0;
  std::optional<double> cost;
};

/// Asks evaluator, gap analyst and updater about \p buffer, each with what the one
/// before found. Replies that are no use are said in `failure`; errors are those of
/// the provider that the user has to mend.
llvm::Expected<Reflection> reflectWith(Model &model, const ReplayBuffer &buffer);

/// Why \p finding cannot be taken, in words; empty: it can. Its text must be one short
/// line without a figure that its samples do not have. A lesson cites samples of
/// \p buffer of the state and the pass that it names; a state has a new name, a parent
/// that rules know, and a condition that holds for each sample that it cites; a
/// proposal names a state and a pass of the buffer.
std::string refusalOf(const Finding &finding, const ReplayBuffer &buffer);

/// Longest cause of a failure: as long as what folding makes of a reason.
inline constexpr size_t longestCause = 72;
/// Why \p cause cannot be filed with the sample \p name: it is of no failure, too long, or
/// has a figure that the sample has not. Empty: it can.
std::string refusalOfCause(llvm::StringRef name, llvm::StringRef cause, const ReplayBuffer &buffer);

/// Asks the state role which passes to try first in a state for which nothing is
/// known: at most three proposals.
llvm::Expected<Reflection> suggestWith(Model &model, const SuggestionRequest &request);

} // namespace kbopt

#endif // KBOPT_POLICY_LEARNING_H
