//===- Finish.cpp - Ablation and confirmation of the winner ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Policy/Explorer.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

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
/// is as fast as the given winner within `leastGain`, until none is left to take. Where nothing may
/// be judged any more, only what the search has seen is taken.
llvm::Error Explorer::ablate(NodeId &winner, std::vector<Step> &pipeline, bool mayJudge) {
  bool skipped = false;
  const double mostUs = nodes.at(winner).judgement.timeUs * (1 + leastGain());
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
      if (!isUsable(nodes.at(end->node)))
        continue;
      result.stepGains[i] = without.timeUs / with.timeUs;
      if (without.timeUs > mostUs)
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

bool Explorer::isFaster(const ExplorerNode &node) const {
  return isUsable(node) &&
         node.judgement.timeUs < nodes.at(rootId).judgement.timeUs * (1 - leastGain());
}

std::vector<Leader> Explorer::leaders() const {
  std::vector<const ExplorerNode *> faster;
  for (const auto &[id, node] : nodes)
    if (isFaster(node))
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

void Explorer::keepWinner(const NodeId &node, std::vector<Step> pipeline,
                          const NodeJudgement &judgement, bool confirmed) {
  result.stepGains.resize(pipeline.size());
  result.pipeline = std::move(pipeline);
  result.best = node;
  // A confirmation measures longer than the search did.
  result.bestUs = judgement.timeUs;
  result.winner = judgement;
  result.confirmed = confirmed;
}

/// What ended because the user or the clock ended the search is no error.
llvm::Error Explorer::unlessStopped(llvm::Error error) const {
  if (!error || !stopped())
    return error;
  llvm::consumeError(std::move(error));
  return llvm::Error::success();
}

llvm::Expected<std::vector<Leader>> Explorer::withoutOneStep(llvm::ArrayRef<Step> pipeline,
                                                             bool mayJudge) {
  std::vector<Leader> shorter;
  for (size_t i = 0; i < pipeline.size() && pipeline.size() > 1 && !stopped(); ++i) {
    std::vector<Step> rest = pipeline.vec();
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(i));
    if (!mayJudge && !judgedAlready(rest))
      continue;
    llvm::Expected<Replayed> end = replay(rest);
    if (!end)
      return end.takeError();
    if (!end->node.empty() && isFaster(nodes.at(end->node)))
      shorter.push_back({end->node, std::move(rest), nodes.at(end->node).judgement.timeUs});
  }
  llvm::stable_sort(shorter, [&](const Leader &a, const Leader &b) {
    return std::pair(environment.promise(a.node), a.timeUs) <
           std::pair(environment.promise(b.node), b.timeUs);
  });
  return shorter;
}

std::optional<Leader> Explorer::nextLeader(const std::set<NodeId> &seen,
                                           llvm::ArrayRef<Leader> shorter) const {
  auto isOut = [&](const Leader &leader) {
    const ExplorerNode &node = nodes.at(leader.node);
    return seen.count(leader.node) || refusedCode.count(node.code) || !isUsable(node);
  };
  if (const auto *first = llvm::find_if_not(shorter, isOut); first != shorter.end())
    return *first;
  std::optional<Leader> next;
  for (Leader &leader : leaders()) {
    if (isOut(leader))
      continue;
    const bool isBlamed =
        llvm::any_of(leader.pipeline, [&](const Step &step) { return blamed.count(step) > 0; });
    if (!isBlamed)
      return leader;
    if (!next)
      next = std::move(leader);
  }
  return next;
}

llvm::Error Explorer::proveWinner() {
  const bool mayJudge = result.end != SearchEnd::BudgetSeconds;
  std::set<NodeId> offered;
  std::vector<Leader> shorter; // than leaders that were refused
  while (offered.size() < mostConfirmations && !stopped()) {
    std::optional<Leader> leader = nextLeader(offered, shorter);
    if (!leader)
      break;
    offered.insert(leader->node);
    NodeId winner = provenTwin(leader->node).value_or(leader->node);
    std::vector<Step> pipeline = nodes.at(winner).pipeline;
    result.ablated.clear();
    result.stepGains.clear();
    result.ablationComplete = false;
    if (options.ablate && !proofs.count(winner))
      if (llvm::Error error = unlessStopped(ablate(winner, pipeline, mayJudge)))
        return error;
    if (const Digest &code = nodes.at(winner).code; !code.empty() && refusedCode.count(code))
      continue;
    llvm::Expected<std::optional<NodeJudgement>> judgement = prove(winner);
    if (!judgement)
      return judgement.takeError();
    if (!*judgement) {
      keepWinner(winner, std::move(pipeline), nodes.at(winner).judgement, /*confirmed=*/false);
      break;
    }
    if ((*judgement)->verdict == VerdictKind::Correct) {
      keepWinner(winner, std::move(pipeline), proofs.at(winner), /*confirmed=*/true);
      return llvm::Error::success();
    }
    if (llvm::Error error = mend(leader->node))
      return error;
    llvm::Expected<std::vector<Leader>> more = withoutOneStep(pipeline, mayJudge);
    if (!more) {
      if (llvm::Error error = unlessStopped(more.takeError()))
        return error;
      continue;
    }
    llvm::append_range(shorter, std::move(*more));
  }
  if (!stopped())
    return llvm::Error::success();
  // Of what the time did not suffice for, a slower program that is proven is worth more.
  const std::vector<Leader> left = leaders();
  for (const Leader &leader : left)
    if (std::optional<NodeId> twin = provenTwin(leader.node)) {
      result.ablated.clear();
      result.stepGains.clear();
      keepWinner(*twin, nodes.at(*twin).pipeline, proofs.at(*twin), /*confirmed=*/true);
      const double fastest = left.front().timeUs;
      result.unprovenUs = fastest < leader.timeUs ? fastest : 0;
      return llvm::Error::success();
    }
  if (result.pipeline.empty() && !left.empty())
    keepWinner(left.front().node, left.front().pipeline, nodes.at(left.front().node).judgement,
               /*confirmed=*/false);
  return llvm::Error::success();
}

llvm::Error Explorer::improveWinner() {
  SearchResult proven = result; // what of it a failure puts back
  NodeId winner = result.best;
  std::vector<Step> pipeline = result.pipeline;
  if (options.tune)
    if (llvm::Error error = unlessStopped(tune(winner, pipeline)))
      return error;
  const bool isOther = winner != result.best;
  if (options.ablate && (isOther || !result.ablationComplete))
    if (llvm::Error error = unlessStopped(
            ablate(winner, pipeline, /*mayJudge=*/result.end != SearchEnd::BudgetSeconds)))
      return error;
  if (winner == result.best)
    return llvm::Error::success();
  llvm::Expected<std::optional<NodeJudgement>> judgement = prove(winner);
  if (!judgement)
    return judgement.takeError();
  if (*judgement && (*judgement)->verdict == VerdictKind::Correct) {
    keepWinner(winner, std::move(pipeline), proofs.at(winner), /*confirmed=*/true);
    return llvm::Error::success();
  }
  result.ablated = std::move(proven.ablated);
  result.stepGains = std::move(proven.stepGains);
  result.ablationComplete = proven.ablationComplete;
  return llvm::Error::success();
}

llvm::Expected<SearchResult> Explorer::finish(SearchEnd end) {
  giveUpAt(options.budgetSeconds);
  result.end = end;
  result.best = rootId;
  if (llvm::Error error = awaitOriginal())
    return std::move(error);
  result.bestUs = result.original.timeUs;
  result.winner = result.original;
  if (result.original.verdict == VerdictKind::Correct || !originalIsProven)
    if (llvm::Error error = proveWinner())
      return std::move(error);
  // A proof comes before all that could be learnt or tuned. The last batch may have ended in the
  // middle; it teaches all the same.
  const double kept = std::exchange(finalSeconds, 0);
  if (reflectedUpTo != result.evidence.size())
    if (llvm::Error error = reflect())
      return std::move(error);
  finalSeconds = kept; // for the proof of what is tuned
  if (result.confirmed && !stopped())
    if (llvm::Error error = improveWinner())
      return std::move(error);
  result.findings = namedFindings();
  if (result.pipeline.empty()) {
    double least = result.bestUs;
    for (const auto &[id, node] : nodes)
      if (isUsable(node))
        least = std::min(least, node.judgement.timeUs);
    if (least < result.bestUs * (1 - timeNoise) && least >= result.bestUs * (1 - leastGain()))
      result.leastUs = least;
    result.ablated.clear();
    result.stepGains.clear();
  }
  return std::move(result);
}
