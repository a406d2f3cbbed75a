//===- Finish.cpp - Ablation and confirmation of the winner ---------------===//
#include "kb-opt/Policy/Explorer.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

/// A step whose removal costs less than this leaves.
static constexpr double freeOfCost = 0.005;
/// So many leaders are offered for confirmation.
static constexpr size_t mostConfirmations = 5;

std::optional<NodeId> Explorer::judgedAlready(llvm::ArrayRef<Step> pipeline) const {
  NodeId at = rootId;
  for (const Step &move : pipeline) {
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
llvm::Error Explorer::ablate(NodeId &winner, std::vector<Step> &pipeline, bool mayJudge) {
  bool skipped = false;
  for (bool changed = true; changed;) {
    changed = false;
    result.stepGains.assign(pipeline.size(), std::nullopt);
    for (size_t i = pipeline.size(); i-- > 0;) {
      if (stopped())
        return llvm::Error::success();
      std::vector<Step> shorter = pipeline;
      shorter.erase(shorter.begin() + static_cast<ptrdiff_t>(i));
      if (!mayJudge && !judgedAlready(shorter)) {
        skipped = true;
        continue;
      }
      llvm::Expected<Replayed> end = replay(shorter);
      if (!end)
        return end.takeError();
      if (end->node.empty())
        continue;
      const NodeJudgement &without = nodes.at(end->node).judgement;
      const NodeJudgement &with = nodes.at(winner).judgement;
      if (without.verdict != VerdictKind::Correct)
        continue;
      result.stepGains[i] = without.timeUs / with.timeUs;
      if (without.timeUs > with.timeUs * (1 + freeOfCost))
        continue;
      result.ablated.push_back(pipeline[i]);
      result.stepGains.erase(result.stepGains.begin() + static_cast<ptrdiff_t>(i));
      winner = end->node;
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
    if (node.judgement.verdict == VerdictKind::Correct && node.judgement.timeUs > 0 &&
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
  giveUpAt(options.budgetSeconds);
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
    std::vector<Step> pipeline = leader.pipeline;
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
    if (judgement->verdict == VerdictKind::Correct)
      return finished(refined(std::move(*judgement)), true);
    // It passed the search and failed a gate of the end: say so and go on.
    refused.insert(code);
    Attempt attempt;
    attempt.phase = AttemptPhase::Confirm;
    attempt.step = pipeline.back();
    attempt.parent = rootId;
    attempt.node = winner;
    attempt.verdict = judgement->verdict;
    attempt.gate = judgement->gate;
    attempt.failure = judgement->failure;
    attempt.reason = "the winner was refused: " + judgement->reason;
    attempt.parentTimeUs = result.original.timeUs;
    tell(std::move(attempt));
  }
  result.ablated.clear();
  result.stepGains.clear();
  return std::move(result);
}
