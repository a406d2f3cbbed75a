//===- Proposal.h - Asking a model for a move -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a search tells an environment that asks a model, and what it gets
// back. Asking is separate from applying: a proposal ends in a move that names a
// reply, and applying that move is a function of its arguments as any other.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_POLICY_PROPOSAL_H
#define KBOPT_POLICY_PROPOSAL_H

#include "kb-opt/Core/AttainableTime.h"
#include "kb-opt/Knowledge/Prompt.h"
#include "kb-opt/LLM/Model.h"
#include "kb-opt/Policy/Attempt.h"

namespace kbopt {

/// One of the fastest programs so far.
struct Leader {
  NodeId node;
  std::vector<Step> pipeline;
  double timeUs = 0;
};

/// What the time of a program goes to.
struct TimeSplit {
  uint64_t launches = 0; ///< 0: the split is unknown
  double launchesUs = 0; ///< what it takes to launch them
  double kernelsUs = 0;  ///< in which kernels run
  double hostUs = 0;     ///< the rest: copies, and waiting for the host
};

/// What one role is shown of the search: rebuilt for every question (STARK,
/// section 4.4), at most `SearchOptions::windowNodes` programs together, drawn at
/// random where there are more.
struct ContextWindow {
  std::vector<Attempt> attempts; ///< oldest first
  std::vector<Leader> leaders;   ///< fastest first
};

/// One question. A function of what the search had seen when the batch began: the
/// same seed and the same replies give the same questions with any `-j`.
struct ProposalRequest {
  Action action; ///< drawn by predicted gain
  unsigned trajectory = 0;
  /// From 1: of this action at this node. Questions that are equal otherwise want
  /// different answers (ModelRequest::sample).
  unsigned ask = 1;
  /// The baseline without team and memory: one role (`ModelRole::Minimal`), the whole
  /// kernel in, the whole kernel out.
  bool minimal = false;
  StepRoles roles = StepRoles::Compose; ///< that answer, where `minimal` does not say it
  /// False: nothing that a profile says may be shown; the fields below that come of
  /// one are empty.
  bool profile = true;

  State state; ///< of the kernel
  MetricMap metrics;
  std::string shape;
  std::vector<std::string> features;
  double timeUs = 0, originalUs = 0; ///< of the program
  AttainableTime attainable;         ///< of the original
  TimeSplit split;                   ///< of `timeUs`
  double share = 1;                  ///< of the time of all kernels that the kernel takes
  NodeId original;                   ///< the program that the search began with
  std::vector<Step> pipeline;        ///< from there to the node
  Prediction prediction;

  /// All attempts of this action at this node, oldest first: not to be repeated.
  std::vector<Attempt> here;
  /// The best whole schedules of the kernel that were tried, fastest first.
  std::vector<Attempt> schedules;
  /// The last reply for a kernel of this shape that failed, or made its program slower.
  std::optional<Attempt> contrast;
  /// The node's children and two leaders; its children and its siblings' children;
  /// its children, which are the siblings of what is to be repaired.
  ContextWindow planner, coder, debugger;

  /// Of the state, the best entries of passes that may be chosen; and of the action's pass alone,
  /// with one worked example. Lessons of this run are in both. Empty without memory.
  PromptKnowledge knowledge, ofPass;
};

/// What asking gave.
struct Proposal {
  /// With its reply and the default values of `ranges` as its parameters; of the
  /// action's pass and kernel, or of another assisted action at the node where the
  /// planner prefers that. Nothing where there is none.
  std::optional<Step> step;
  /// Numbers that the reply leaves to the tuner.
  std::vector<ParameterRange> ranges;
  /// Why there is no move.
  FailureClass failure = FailureClass::None;
  std::string reason; ///< one line of words
  uint64_t tokens = 0;
  std::optional<double> cost = std::nullopt; ///< US dollars; nothing: unknown
  /// What the planner chose or the reply says that it is, where that is not the action's pass and
  /// kernel: what then fails is no failure of the action. Where nothing was chosen, a decline is of
  /// all that may be asked about the kernel.
  std::optional<Step> chosen = std::nullopt;
  /// Passes that do not fit the kernel as it is, in the planner's words: they are asked for no more
  /// at the node. That is no evidence about them.
  std::vector<std::string> unfit = {};
  /// Of a debugger: why it holds that the gate which refused the attempt is wrong. There is no step
  /// then, and the attempt stays refused.
  std::string dispute = {};
};

/// A state for which nothing is known to try.
struct SuggestionRequest {
  NodeId node;
  std::string kernel;
  State state;
  MetricMap metrics;
  std::string shape;
  std::vector<std::string> passes; ///< that apply, sorted
};

} // namespace kbopt

#endif // KBOPT_POLICY_PROPOSAL_H
