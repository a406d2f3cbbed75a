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

/// The attempt that leads from the pipeline \p from, of \p winner, to \p to: of two steps that
/// changed the later one, with the other before it.
Attempt Explorer::tuned(const NodeId &winner, llvm::ArrayRef<Step> from, llvm::ArrayRef<Step> to,
                        const Replayed &end) const {
  const ExplorerNode &before = nodes.at(winner);
  Attempt attempt;
  attempt.phase = AttemptPhase::Tune;
  for (auto [old, changed] : llvm::zip(from, to))
    if (!(old == changed))
      attempt.before.push_back(changed);
  const Step move = attempt.before.back();
  attempt.before.pop_back();
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
  const bool isOwn = end.refused == move || llvm::is_contained(attempt.before, end.refused);
  attempt.reason = (isOwn ? "" : end.refused.text() + " behind it: ") + end.refusal.reason;
  return attempt;
}

std::vector<std::vector<Step>> Explorer::tunings(llvm::ArrayRef<Step> pipeline) const {
  constexpr size_t mostJoint = 16;
  std::vector<std::vector<Step>> tunings, joint;
  auto addJoint = [&](const std::vector<Step> &changed) {
    if (joint.size() < mostJoint && !llvm::is_contained(joint, changed))
      joint.push_back(changed);
  };
  auto rangesAt = [&](const Step &step) {
    auto found = rangesOf.find({step.pass, step.reply});
    return found == rangesOf.end() ? llvm::ArrayRef<ParameterRange>()
                                   : llvm::ArrayRef(found->second);
  };
  for (size_t i = 0; i != pipeline.size(); ++i) {
    for (Parameters &one : neighbours(pipeline[i].parameters, rangesAt(pipeline[i]))) {
      std::vector<Step> changed = pipeline.vec();
      changed[i].parameters = std::move(one);
      // Numbers of replies depend on each other, as those of two that share a block do.
      for (size_t j = i + 1; j != pipeline.size() && !changed[i].reply.empty(); ++j)
        if (!changed[j].reply.empty())
          for (Parameters &other : neighbours(changed[j].parameters, rangesAt(changed[j]))) {
            std::vector<Step> both = changed;
            both[j].parameters = std::move(other);
            addJoint(both);
          }
      if (!changed[i].reply.empty())
        for (const Parameters &other : neighbours(changed[i].parameters, rangesAt(changed[i]))) {
          const auto differs = [&](const auto &option) {
            return pipeline[i].parameters.at(option.first) != option.second;
          };
          std::vector<Step> both = changed;
          both[i].parameters = other;
          if (llvm::count_if(other, differs) == 2)
            addJoint(both);
        }
      tunings.push_back(std::move(changed));
    }
  }
  llvm::append_range(tunings, joint);
  return tunings;
}

/// Climbs from the winner's parameters: one option of one step, or else two of replies, one place
/// up or down each, as long as that is faster.
llvm::Error Explorer::tune(NodeId &winner, std::vector<Step> &pipeline) {
  std::set<std::vector<Step>> seen = {pipeline};
  for (bool climbed = true; climbed;) {
    climbed = false;
    for (std::vector<Step> &other : tunings(pipeline)) {
      if (mustEnd())
        return llvm::Error::success();
      if (!seen.insert(other).second)
        continue;
      llvm::Expected<Replayed> end = replay(other);
      if (!end)
        return end.takeError();
      if (stopped())
        return llvm::Error::success();
      Attempt attempt = tuned(winner, pipeline, other, *end);
      result.judged += attempt.judged();
      result.known += attempt.shortcut == "known";
      bool better = attempt.usable() && attempt.timeUs < attempt.parentTimeUs * (1 - leastGain());
      tell(std::move(attempt));
      if (!better)
        continue;
      winner = end->node;
      pipeline = std::move(other);
      noteBest(winner);
      climbed = true; // from the new place on, all of them once more
      break;
    }
  }
  return llvm::Error::success();
}
