//===- Tune.cpp - The winner with other parameters -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the climb from the winner's parameters, and the way of a whole pipeline
// through programs that the search may not have seen.
//
//===----------------------------------------------------------------------===//
#include "Parameters.h"
#include "kb-opt/Policy/Explorer.h"

using namespace kbopt;

/// Follows \p pipeline from the root and judges where it ends. What ends while the
/// user ends the search leads nowhere.
llvm::Expected<Explorer::Replayed> Explorer::replay(llvm::ArrayRef<Step> pipeline) {
  Replayed end;
  NodeId at = rootId;
  Digest code = nodes.at(rootId).code;
  for (const Step &move : pipeline) {
    if (const Attempt *known = tried(at, move); known && !known->node.empty()) {
      at = known->node;
      code = nodes.at(at).code;
      continue;
    }
    llvm::Expected<StepOutcome> made = environment.apply(at, move);
    if (!made)
      return made.takeError();
    if (stopped())
      return Replayed();
    if (!made->applied || made->gate) {
      end.refusal = std::move(*made);
      end.refused = move;
      return end;
    }
    at = made->node;
    code = made->code;
  }
  end.node = at;
  if (nodes.count(at)) {
    end.shortcut = "known";
    return end;
  }
  if (auto twin = code.empty() ? byCode.end() : byCode.find(code); twin != byCode.end()) {
    end.shortcut = "identical";
    ++result.merged;
    addNode(at, code, NodeJudgement(nodes.at(twin->second).judgement), pipeline.vec(), "");
    return end;
  }
  llvm::Expected<NodeJudgement> judgement =
      environment.screens() ? environment.screen(at) : environment.judge(at);
  if (!judgement)
    return judgement.takeError();
  result.screened += environment.screens();
  // It may be that of a process killed for it.
  if (stopped())
    return Replayed();
  addNode(at, code, *judgement, pipeline.vec(), "");
  return end;
}

/// The attempt for \p winner with \p move in place of its step of that pass.
Attempt Explorer::tuned(const NodeId &winner, const Step &move, const Replayed &end) const {
  const ExplorerNode &before = nodes.at(winner);
  Attempt attempt;
  attempt.phase = AttemptPhase::Tune;
  attempt.step = move;
  attempt.parent = winner;
  attempt.parentTimeUs = before.judgement.timeUs;
  attempt.parentModelledUs = before.judgement.modelledUs;
  const State &state = before.stateOf(move.kernel);
  attempt.primary = state.fullName();
  attempt.secondary = state.secondary;
  attempt.shortcut = end.shortcut;
  attempt.node = end.node;
  if (!end.node.empty()) {
    attempt.setVerdict(nodes.at(end.node).judgement);
    return attempt;
  }
  attempt.verdict = end.refusal.applied ? VerdictKind::Incorrect : VerdictKind::NotApplied;
  attempt.gate = end.refusal.gate;
  attempt.failure = end.refusal.failure;
  attempt.reason =
      (end.refused == move ? "" : end.refused.text() + " behind it: ") + end.refusal.reason;
  return attempt;
}

/// Climbs from the winner's parameters: one option of one step, one place up or
/// down, as long as that is faster.
llvm::Error Explorer::tune(NodeId &winner, std::vector<Step> &pipeline) {
  std::set<std::vector<Step>> seen = {pipeline};
  for (size_t i = 0; i != pipeline.size(); ++i) {
    bool climbed = false;
    for (Parameters &parameters :
         neighbours(pipeline[i].parameters, rangesOf[{pipeline[i].pass, pipeline[i].reply}])) {
      if (mustEnd())
        return llvm::Error::success();
      std::vector<Step> other = pipeline;
      other[i].parameters = std::move(parameters);
      if (!seen.insert(other).second)
        continue;
      llvm::Expected<Replayed> end = replay(other);
      if (!end)
        return end.takeError();
      if (stopped())
        return llvm::Error::success();
      Attempt attempt = tuned(winner, other[i], *end);
      result.judged += attempt.judged();
      result.known += attempt.shortcut == "known";
      bool better = attempt.usable() && attempt.timeUs < attempt.parentTimeUs * (1 - leastGain());
      tell(std::move(attempt));
      if (!better)
        continue;
      winner = end->node;
      pipeline = std::move(other);
      climbed = true;
      noteBest(winner);
      break;
    }
    // From the new place on, this step and those before it once more.
    if (climbed)
      i = static_cast<size_t>(-1);
  }
  return llvm::Error::success();
}
