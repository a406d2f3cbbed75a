//===- Attempt.h - What can be done to a program ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the words of a search: an action is a pass that applies somewhere, a step
// is an action with its parameters, an attempt is what became of a step.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_POLICY_ATTEMPT_H
#define KBOPT_POLICY_ATTEMPT_H

#include "kb-opt/Core/NestFacts.h"
#include "kb-opt/Core/Step.h"
#include "kb-opt/Knowledge/Evidence.h"

namespace kbopt {

/// Digest of a program's text and workload.
using NodeId = Digest;

/// Values that one option of a pass may take, in their natural order
/// (neighbours in the list are neighbours in effect).
struct ParameterRange {
  std::string name;
  std::vector<std::string> values;
  std::string defaultValue; ///< one of `values`
};

/// A pass that says it applies to a kernel of a node.
struct Action {
  std::string pass;
  std::string kernel; ///< empty: the whole program
  unsigned site = 0;  ///< 0: all sites in the kernel
  std::vector<ParameterRange> ranges;
  /// No rule writes it: a model must be asked first (`Environment::propose`). A pass
  /// with both forms is two actions.
  bool assisted = false;
  /// Its steps carry out this reply with other numbers (`Proposal::ranges`); such
  /// actions are made by the search itself.
  std::string reply = {};
  /// Its only range lists whole schedules, most promising first, which the search tries
  /// together before anything else (Sketches.h).
  bool sketch = false;
  /// It changes the schedule of a raised kernel, as sketches do.
  bool composes = false;
  /// Findings about programs name its pass.
  bool isNamed = false;
  /// Its pass's rule is an example of such a kernel.
  bool isRecipe = false;
  /// Of a sketch: what its schedules are judged by.
  NestFacts facts = {};

  Step step(std::map<std::string, std::string> parameters = {}) const;
};

struct NodeJudgement;

/// What an attempt was for.
enum class AttemptPhase {
  Sketch, ///< one of the schedules that are tried before anything else
  Search,
  Tune,   ///< the winner with other parameters of one step
  Confirm ///< a winner that the final check refused
};
/// "sketch", "search", "tune", "confirm".
llvm::StringRef phaseName(AttemptPhase phase);

/// One attempt, for people and for tests.
struct Attempt {
  AttemptPhase phase = AttemptPhase::Search;
  unsigned trajectory = 0;       ///< from 1; 0: at the end, with the winner
  Step step;                     ///< Tune: the step that changed; the others are the winner's
  std::vector<Step> before = {}; ///< ExplorerRequest::before, those that applied
  /// `node` empty if nothing was made or it was dropped. Tune: the parent is the winner.
  NodeId parent, node;
  VerdictKind verdict = VerdictKind::NotApplied;
  std::optional<GateId> gate;
  FailureClass failure = FailureClass::None;
  std::string reason;
  std::vector<std::string> details;            ///< NodeJudgement's
  double timeUs = 0, parentTimeUs = 0;         ///< `timeUs` only where usable
  double modelledUs = 0, parentModelledUs = 0; ///< NodeJudgement::modelledUs, likewise
  double predictedGain = 0;                    ///< logarithmic, of the kernel
  std::string primary, secondary;              ///< the state of the kernel before
  /// How it was answered without measuring: "" (measured), "identical" (machine
  /// code seen before), "known" (program seen before), "roofline" and "outranked" (dropped).
  std::string shortcut;
  /// From 1: a model was asked, so many times by now for this action at this place;
  /// 0: no model was asked. A refused proposal has a step without a reply.
  unsigned ask = 0;
  std::string drawn;   ///< the pass that was asked for, where the answer is another one
  unsigned repair = 0; ///< from 1: the reply of a debugger to the attempt before
  /// Why a debugger holds that `gate` is wrong. The attempt is refused all the same, but it is no
  /// evidence about its pass.
  std::string dispute = {};
  uint64_t tokens = 0;        ///< of the replies to this very attempt
  std::optional<double> cost; ///< US dollars; nothing: unknown, or no model was asked

  /// Whether it was asked for and no proposal came: it never was a program.
  bool isRefusedProposal() const { return ask && step.reply.empty(); }
  bool correct() const { return verdict == VerdictKind::Correct; }
  /// Whether its program is one to go on from: correct, or screened and not refused since.
  bool usable() const { return correct() || verdict == VerdictKind::Screened; }
  /// Whether it counts as a candidate that was judged.
  bool judged() const {
    return phase != AttemptPhase::Confirm && shortcut.empty() && !node.empty();
  }
  /// Takes verdict, gate, words and, where usable, times.
  void setVerdict(const NodeJudgement &judgement);
  /// Logarithm of parent's over own time; 0 where not usable.
  double gain() const;
  /// "correct", the kind of failure ("compile", "correctness", "malformed", …), or
  /// the verdict where there is no kind.
  std::string word() const;
  /// `before` and `step` as a pipeline writes them.
  std::string text() const;
};

} // namespace kbopt

#endif // KBOPT_POLICY_ATTEMPT_H
