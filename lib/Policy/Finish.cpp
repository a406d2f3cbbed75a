//===- Finish.cpp - Tuning, ablation and confirmation of the winner -------===//
#include "Parameters.h"
#include "kb-opt/Policy/Explorer.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {
/// A step whose removal costs less than this leaves.
constexpr double freeOfCost = 0.005;
/// So many leaders are offered for confirmation.
constexpr size_t mostConfirmations = 5;
} // namespace

/// Follows \p pipeline from the root and judges where it ends. Nothing if a step
/// does not apply or the end does not compile. \p counted: against the budget.
llvm::Expected<std::optional<NodeId>> Explorer::replay(llvm::ArrayRef<Move> pipeline,
                                                       bool counted) {
  NodeId at = rootId;
  Digest code = nodes.at(rootId).code;
  for (const Move &move : pipeline) {
    if (const Attempt *known = tried(at, move); known && !known->node.empty()) {
      at = known->node;
      code = nodes.at(at).code;
      continue;
    }
    llvm::Expected<MoveResult> made = environment.apply(at, move);
    if (!made)
      return made.takeError();
    if (!made->applied || !made->gate.empty())
      return std::nullopt;
    at = made->node;
    code = made->code;
  }
  if (nodes.count(at))
    return at;
  auto twin = code.empty() ? byCode.end() : byCode.find(code);
  if (twin != byCode.end()) {
    ++result.merged;
    addNode(at, code, NodeJudgement(nodes.at(twin->second).judgement), pipeline.vec(), "");
    return at;
  }
  llvm::Expected<NodeJudgement> judgement = environment.judge(at);
  if (!judgement)
    return judgement.takeError();
  result.judged += counted;
  addNode(at, code, *judgement, pipeline.vec(), "");
  return at;
}

/// Climbs from the winner's parameters: one option of one step, one place up or
/// down, as long as that is faster.
llvm::Error Explorer::tune(NodeId &winner, std::vector<Move> &pipeline) {
  std::set<std::vector<Move>> seen = {pipeline};
  for (size_t i = 0; i != pipeline.size(); ++i) {
    bool climbed = false;
    for (Parameters &parameters : neighbours(pipeline[i].parameters,
                                             rangesOf[{pipeline[i].pass, pipeline[i].reply()}])) {
      if (mustEnd())
        return llvm::Error::success();
      std::vector<Move> other = pipeline;
      other[i].parameters = std::move(parameters);
      if (!seen.insert(other).second)
        continue;
      llvm::Expected<std::optional<NodeId>> end = replay(other, /*counted=*/true);
      if (!end)
        return end.takeError();
      if (!*end)
        continue;
      const NodeJudgement &now = nodes.at(**end).judgement, &then = nodes.at(winner).judgement;
      if (now.verdict != AttemptVerdict::Correct || now.timeUs >= then.timeUs * (1 - freeOfCost))
        continue;
      winner = **end;
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

std::optional<NodeId> Explorer::judgedAlready(llvm::ArrayRef<Move> pipeline) const {
  NodeId at = rootId;
  for (const Move &move : pipeline) {
    const Attempt *known = tried(at, move);
    if (!known || !nodes.count(known->node))
      return std::nullopt;
    at = known->node;
  }
  return at;
}

/// Takes away, from the last to the first, every step without which the program
/// is as fast, until none is left to take. Where nothing may be judged any more,
/// only what the search has seen is taken.
llvm::Error Explorer::ablate(NodeId &winner, std::vector<Move> &pipeline, bool mayJudge) {
  bool skipped = false;
  for (bool changed = true; changed;) {
    changed = false;
    result.stepGains.assign(pipeline.size(), std::nullopt);
    for (size_t i = pipeline.size(); i-- > 0;) {
      if (stopped())
        return llvm::Error::success();
      std::vector<Move> shorter = pipeline;
      shorter.erase(shorter.begin() + static_cast<ptrdiff_t>(i));
      if (!mayJudge && !judgedAlready(shorter)) {
        skipped = true;
        continue;
      }
      llvm::Expected<std::optional<NodeId>> end = replay(shorter, /*counted=*/false);
      if (!end)
        return end.takeError();
      if (!*end)
        continue;
      const NodeJudgement &without = nodes.at(**end).judgement;
      const NodeJudgement &with = nodes.at(winner).judgement;
      if (without.verdict != AttemptVerdict::Correct)
        continue;
      result.stepGains[i] = without.timeUs / with.timeUs;
      if (without.timeUs > with.timeUs * (1 + freeOfCost))
        continue;
      result.ablated.push_back(pipeline[i]);
      result.stepGains.erase(result.stepGains.begin() + static_cast<ptrdiff_t>(i));
      winner = **end;
      pipeline = std::move(shorter);
      changed = true;
    }
  }
  result.ablationComplete = !skipped;
  return llvm::Error::success();
}

std::vector<Leader> Explorer::leaders() const {
  std::vector<const ExplorerNode *> faster;
  for (const auto &[id, node] : nodes)
    if (node.judgement.verdict == AttemptVerdict::Correct && node.judgement.timeUs > 0 &&
        node.judgement.timeUs < result.original.timeUs * (1 - freeOfCost))
      faster.push_back(&node);
  llvm::sort(faster, [](const ExplorerNode *a, const ExplorerNode *b) {
    return std::tuple(a->judgement.timeUs, a->pipeline.size(), a->id) <
           std::tuple(b->judgement.timeUs, b->pipeline.size(), b->id);
  });
  std::vector<Leader> leaders;
  std::set<Digest> codes;
  for (const ExplorerNode *node : faster)
    if (node->code.empty() || codes.insert(node->code).second)
      leaders.push_back({node->id, node->pipeline, node->judgement.timeUs});
  return leaders;
}

llvm::Expected<SearchResult> Explorer::finish(SearchEnd end) {
  // The last batch may have ended in the middle; it teaches all the same.
  if (reflectedUpTo != result.evidence.size())
    if (llvm::Error error = reflect())
      return std::move(error);
  result.findings = namedFindings();
  result.end = end;
  result.best = rootId;
  result.bestUs = result.original.timeUs;
  result.winner = result.original;
  std::set<Digest> refused;
  size_t confirmations = 0;
  for (const Leader &leader : leaders()) {
    NodeId winner = leader.node;
    std::vector<Move> pipeline = leader.pipeline;
    result.ablated.clear();
    result.stepGains.clear();
    result.ablationComplete = false;
    auto finished = [&](const NodeJudgement &judgement, bool confirmed) {
      result.pipeline = pipeline;
      result.stepGains.resize(pipeline.size());
      result.best = winner;
      // A confirmation measures longer than the search did.
      result.bestUs = judgement.timeUs;
      result.winner = judgement;
      result.confirmed = confirmed;
      return std::move(result);
    };
    if (stopped())
      return finished(nodes.at(winner).judgement, false);
    if (confirmations == mostConfirmations)
      break;
    llvm::Error error = llvm::Error::success();
    if (options.tune && confirmations == 0)
      error = tune(winner, pipeline);
    if (!error && options.ablate)
      error = ablate(winner, pipeline, /*mayJudge=*/end != SearchEnd::BudgetSeconds);
    if (error) {
      if (!stopped())
        return std::move(error);
      llvm::consumeError(std::move(error));
    }
    const Digest &code = nodes.at(winner).code;
    if (!code.empty() && refused.count(code))
      continue;
    ++confirmations;
    llvm::Expected<NodeJudgement> judgement = environment.confirm(winner);
    if (!judgement) {
      if (!stopped())
        return judgement.takeError();
      llvm::consumeError(judgement.takeError());
      return finished(nodes.at(winner).judgement, false);
    }
    if (judgement->verdict == AttemptVerdict::Correct)
      return finished(*judgement, true);
    // It passed the search and failed a gate of the end: say so and go on.
    refused.insert(code);
    Attempt attempt;
    attempt.move = pipeline.back();
    attempt.parent = rootId;
    attempt.node = winner;
    attempt.verdict = judgement->verdict;
    attempt.gate = judgement->gate;
    attempt.failure = judgement->failure;
    attempt.reason = "the winner was refused: " + judgement->reason;
    attempt.parentTimeUs = result.original.timeUs;
    if (observer)
      observer->attempted(attempt);
    result.attempts.push_back(std::move(attempt));
  }
  result.ablated.clear();
  result.stepGains.clear();
  return std::move(result);
}
