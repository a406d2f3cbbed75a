//===- Environment.h - What a search acts upon ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface between a strategy and the world: nodes are programs,
// steps are passes with their parameters, judging is whatever Eval does. The
// engine is tested with a fake of it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_POLICY_ENVIRONMENT_H
#define KBOPT_POLICY_ENVIRONMENT_H

#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Policy/Learning.h"

namespace kbopt {

/// Of a time, so much is noise.
inline constexpr double timeNoise = 0.005;

/// What a move gave, before anything is measured.
struct StepOutcome {
  bool applied = false;
  std::string reason; ///< where not applied, or where it does not compile
  NodeId node;        ///< the new program
  /// Digest of machine code and plan; empty if unknown (then never merged).
  Digest code;
  /// Least time that the roofline allows, microseconds; 0: unknown.
  double floorUs = 0;
  /// What the cost model says of the program; 0: unknown.
  double modelledUs = 0;
  /// A gate that failed already (G0 to G3). A move that does not apply may have a
  /// `failure`, too: a reply that breaks a rule on edits.
  std::optional<GateId> gate;
  FailureClass failure = FailureClass::None;
};

/// One kernel of a judged program.
struct KernelProfile {
  double timeUs = 0; ///< over all its launches
  State state;       ///< by the rules; the search refines it
  std::string shape;
  MetricMap metrics = {}; ///< that `state` follows from
};

/// What the judge says of a node.
struct NodeJudgement {
  VerdictKind verdict = VerdictKind::Inconclusive;
  std::optional<GateId> gate;
  FailureClass failure = FailureClass::None;
  std::string reason;
  std::vector<std::string> details; ///< the facts behind the reason, a line each
  double timeUs = 0;                ///< only where correct
  /// Where `timeUs` is measured: what the cost model says; 0: nothing.
  double modelledUs = 0;
  TimeSplit split;           ///< of `timeUs`, of a program that was judged
  double floorUs = 0;        ///< of its kernels as they are, with their launches; 0: unknown
  AttainableTime attainable; ///< of the root alone
  Digest code;               ///< of machine code and plan; needed for the root alone
  State state;
  MetricMap metrics; ///< that `state` follows from
  std::vector<std::string> features;
  std::string shape; ///< of the kernel that takes most time
  /// By the name in the source, as in `Action::kernel`. A kernel that is not here
  /// has the state and shape above and is taken for the whole program.
  std::map<std::string, KernelProfile> kernels;
};

/// All calls may come from several threads at once and must be functions of
/// their arguments: a strategy relies on that to be repeatable. An `Error` is
/// a failure of the machinery and ends the search; whatever a candidate or a
/// model does wrong is a verdict.
class Environment {
public:
  virtual ~Environment();
  /// The original program.
  virtual NodeId root() = 0;
  /// Whether times are measured, so that a cost model's order of candidates is worth less than
  /// the candidates' own times.
  virtual bool measures() const { return false; }
  /// The share of a time by which another one must be less to be a gain: less is noise, or error of
  /// the model.
  virtual double leastGain() const { return timeNoise; }
  /// Passes that may apply to \p node, in a fixed order.
  virtual llvm::Expected<std::vector<Action>> actions(const NodeId &node) = 0;
  /// Rewrites and compiles; measures nothing.
  virtual llvm::Expected<StepOutcome> apply(const NodeId &node, const Step &step) = 0;
  /// `apply` for a program that only further moves are applied to: it need not be compiled, and
  /// only `StepOutcome`'s `applied`, `reason` and `node` are looked at. By default `apply`.
  virtual llvm::Expected<StepOutcome> rewrite(const NodeId &node, const Step &step) {
    return apply(node, step);
  }
  /// Runs the gates and takes the time; \p node is the root or came from
  /// `apply`.
  virtual llvm::Expected<NodeJudgement> judge(const NodeId &node) = 0;
  /// `judge` with every gate on every case, for the winner; by default the same.
  virtual llvm::Expected<NodeJudgement> confirm(const NodeId &node) { return judge(node); }
  /// Holds \p node, which passed `judge` as \p judged, against every case of G7, and, if \p whole,
  /// against G14: later steps are to build on it. By default nothing more is asked.
  virtual llvm::Expected<NodeJudgement> examine(const NodeId &node, const NodeJudgement &judged,
                                                bool whole) {
    return judged;
  }

  //===-- Screening -------------------------------------------------------===//

  /// Whether `screen` measures without proving anything. Then candidates are screened, `judge` is
  /// asked of the root alone, and leaders are confirmed while the search goes on.
  virtual bool screens() const { return false; }
  /// Times \p node beside the original and compares its results on a few inputs: `Screened`, or
  /// refused. Of the root: what is known of it before its own gates ran.
  virtual llvm::Expected<NodeJudgement> screen(const NodeId &node) { return judge(node); }
  /// What the steps that led to \p node promise together; by default every bit.
  virtual Promise promise(const NodeId &) { return Promise::Bitwise; }
  /// About how many seconds a `confirm` takes; nothing where that is not known.
  virtual std::optional<double> proofSeconds() { return std::nullopt; }

  //===-- Where a model is there; by default none is ----------------------===//

  /// Asks for a move at \p node that no rule writes. All proposals of a batch are
  /// asked for at once. By default "unavailable".
  virtual llvm::Expected<Proposal> propose(const NodeId &node, const ProposalRequest &request);
  /// A new reply in place of one that did not apply, compile or pass a gate: what the
  /// compiler or the judge said is in \p failed, whose `repair` counts the earlier
  /// ones. By default "unavailable".
  virtual llvm::Expected<Proposal> repair(const NodeId &node, const ProposalRequest &request,
                                          const Attempt &failed);
  /// What to try in a state for which nothing is known: proposals, without evidence.
  /// By default nothing.
  virtual llvm::Expected<Reflection> suggest(const SuggestionRequest &request);
  /// What a batch teaches in words. By default nothing.
  virtual llvm::Expected<Reflection> reflect(const ReplayBuffer &buffer);
};

} // namespace kbopt

#endif // KBOPT_POLICY_ENVIRONMENT_H
