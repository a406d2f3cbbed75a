//===- Proofs.cpp - What is proven, and what is refused then ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a search does with proofs: which leader is proven beside it, and what becomes of a
// program that a proof refuses.
//
//===----------------------------------------------------------------------===//
#include "Pending.h"
#include "Prover.h"

using namespace kbopt;

/// A leader is worth a proof beside the search from this gain on, once none was better by
/// `clearlyBetter` for so many seconds: the next ones come quickly at first.
static constexpr double leastProofRatio = 1.1, leaderStands = 3;

/// With less than so many proofs' time left nothing else is done while one runs.
static constexpr double pressedFrom = 2;

bool Explorer::isUsable(const ExplorerNode &node) {
  const VerdictKind verdict = node.judgement.verdict;
  return (verdict == VerdictKind::Correct || verdict == VerdictKind::Screened) &&
         node.judgement.timeUs > 0;
}

/// Takes from \p from what \p judgement, of a program that was screened alone, does not tell:
/// states and metrics.
static void inherit(NodeJudgement &judgement, const NodeJudgement &from) {
  if (judgement.state.primary != unknownState)
    return;
  judgement.state = from.state;
  judgement.metrics = from.metrics;
  judgement.features = from.features;
  if (judgement.shape.empty())
    judgement.shape = from.shape;
  for (auto &[name, kernel] : judgement.kernels) {
    auto same = from.kernels.find(name);
    const bool isKnown = same != from.kernels.end();
    kernel.state = isKnown ? same->second.state : from.state;
    kernel.metrics = isKnown ? same->second.metrics : from.metrics;
    if (kernel.shape.empty())
      kernel.shape = isKnown ? same->second.shape : from.shape;
  }
}

NodeJudgement Explorer::completed(NodeJudgement judgement, const NodeId &parent) const {
  if (judgement.verdict == VerdictKind::Screened && nodes.count(parent))
    inherit(judgement, nodes.at(parent).judgement);
  return judgement;
}

void Explorer::takeOriginal(NodeJudgement judged) {
  originalIsProven = true;
  result.original = refined(std::move(judged));
  if (result.original.verdict != VerdictKind::Correct)
    return;
  if (observer)
    observer->examined(result.original);
  // Candidates were timed beside it as it was screened: that time stays.
  ExplorerNode &root = nodes.at(rootId);
  const double us = root.judgement.timeUs, scale = us / result.original.timeUs;
  root.judgement = seen(result.original);
  root.judgement.timeUs = us;
  for (auto &[name, kernel] : root.judgement.kernels)
    kernel.timeUs *= scale;
  for (auto &[id, node] : nodes)
    if (node.judgement.verdict == VerdictKind::Screened)
      inherit(node.judgement, root.judgement);
  // What was tried before is filed under the states that are known now.
  for (auto [record, index] : llvm::zip(result.evidence, attemptOf)) {
    Attempt &attempt = result.attempts[index];
    if (record.primary != unknownState)
      continue;
    const ExplorerNode &parent = nodes.at(attempt.parent);
    const State &state = parent.stateOf(attempt.step.kernel);
    record.primary = attempt.primary = state.fullName();
    record.secondary = attempt.secondary = state.secondary;
    record.features = parent.judgement.features;
    record.shape = parent.shapeOf(attempt.step.kernel);
  }
}

void Explorer::refute(const NodeId &node, const NodeJudgement &judgement) {
  ExplorerNode &refused = nodes.at(node);
  refused.judgement.verdict = judgement.verdict;
  refused.judgement.gate = judgement.gate;
  refused.judgement.failure = judgement.failure;
  refused.judgement.reason = judgement.reason;
  refused.judgement.details = judgement.details;
  for (auto [index, attempt] : llvm::enumerate(result.attempts))
    if (attempt.node == node && attempt.phase != AttemptPhase::Confirm)
      attempt.setVerdict(refused.judgement);
  for (auto [record, attempt] : llvm::zip(result.evidence, attemptOf))
    if (result.attempts[attempt].node == node) {
      record.verdict = judgement.verdict;
      record.gate = judgement.gate;
      record.failure = judgement.failure;
      record.reason = judgement.reason;
      record.achievedGain = record.creditGain = record.modelledGain = std::nullopt;
    }
  if (bestNode != node)
    return;
  bestNode = rootId;
  for (const auto &[id, other] : nodes)
    if (isUsable(other) && other.judgement.timeUs < nodes.at(bestNode).judgement.timeUs)
      bestNode = id;
  best = nodes.at(bestNode).judgement.timeUs; // which stood all the while: its proof begins at once
  if (isBelow(originId, node))
    originId = bestNode;
}

void Explorer::settleProof(const NodeId &node, const NodeJudgement &judgement) {
  const std::vector<Step> pipeline = nodes.at(node).pipeline;
  if (judgement.verdict == VerdictKind::Correct) {
    if (!result.timeline.proof)
      result.timeline.proof = clock.monotonicSeconds();
    ++result.proven;
    proofs[node] = refined(judgement);
    // The step that led here is a success; those before it stay screened, on a proven way.
    for (Attempt &attempt : result.attempts)
      if (attempt.node == node && attempt.verdict == VerdictKind::Screened)
        attempt.verdict = VerdictKind::Correct;
    for (auto [record, attempt] : llvm::zip(result.evidence, attemptOf))
      if (result.attempts[attempt].node == node && record.verdict == VerdictKind::Screened)
        record.verdict = VerdictKind::Correct;
    if (observer)
      observer->proven(judgement.timeUs, pipeline);
    return;
  }
  // It passed the search and failed a gate of the end: say so and go on.
  ++result.refused[toString(judgement.gate).str()];
  refusedCode.insert(nodes.at(node).code);
  if (!pipeline.empty())
    blamed.insert(pipeline.back());
  Attempt attempt;
  attempt.phase = AttemptPhase::Confirm;
  attempt.step = pipeline.empty() ? Step() : pipeline.back();
  attempt.parent = rootId;
  attempt.node = node;
  attempt.verdict = judgement.verdict;
  attempt.gate = judgement.gate;
  attempt.failure = judgement.failure;
  attempt.reason = "the winner was refused: " + judgement.reason;
  attempt.parentTimeUs = result.original.timeUs;
  refute(node, judgement);
  tell(std::move(attempt));
}

std::optional<NodeId> Explorer::provenTwin(const NodeId &node) const {
  if (proofs.count(node))
    return node;
  const Digest &code = nodes.at(node).code;
  for (const auto &[proven, judgement] : proofs)
    if (!code.empty() && nodes.at(proven).code == code)
      return proven;
  return std::nullopt;
}

llvm::Error Explorer::takeProof() {
  // Nothing is called correct before the original is.
  if (llvm::Error error = awaitOriginal())
    return error;
  const NodeId node = prover->node();
  return keepUnlessStopped(prover->take(), [&](NodeJudgement judgement) {
    if (originalIsProven && result.original.verdict == VerdictKind::Correct)
      settleProof(node, judgement);
  });
}

llvm::Error Explorer::reviewProofs() {
  if (!prover)
    return llvm::Error::success();
  if (originalProver->isDone())
    if (llvm::Error error = awaitOriginal())
      return error;
  if (prover->isDone() && originalIsProven)
    if (llvm::Error error = takeProof())
      return error;
  if (prover->isRunning() || stopped() || outOfTime() || bestNode == rootId ||
      provenTwin(bestNode) || nodes.at(rootId).judgement.timeUs < best * leastProofRatio ||
      clock.monotonicSeconds() - bestSince < leaderStands)
    return llvm::Error::success();
  prover->begin(bestNode, /*isOriginal=*/false);
  return llvm::Error::success();
}

llvm::Error Explorer::makeWayForProof() {
  constexpr std::chrono::milliseconds step{50};
  // A proof that another one would have to follow, if this one fails, has no time to lose: further
  // candidates would take its cores and its turns on the device.
  while (prover && prover->isRunning() && options.budgetSeconds > 0 && !stopped() && !outOfTime() &&
         secondsLeft() < pressedFrom * finalSeconds)
    if (prover->waitFor(step))
      return reviewProofs();
  return llvm::Error::success();
}

llvm::Error Explorer::awaitOriginal() {
  if (!originalProver || !originalProver->isRunning())
    return llvm::Error::success();
  return keepUnlessStopped(originalProver->take(),
                           [&](NodeJudgement judgement) { takeOriginal(std::move(judgement)); });
}

llvm::Expected<std::optional<NodeJudgement>> Explorer::prove(const NodeId &node) {
  if (llvm::Error error = awaitOriginal())
    return std::move(error);
  if (prover && prover->isRunning())
    if (llvm::Error error = takeProof())
      return std::move(error);
  if (auto known = proofs.find(node); known != proofs.end())
    return std::optional<NodeJudgement>(known->second);
  if (!isUsable(nodes.at(node))) // its proof ended just now
    return std::optional<NodeJudgement>(nodes.at(node).judgement);
  std::optional<NodeJudgement> said;
  if (stopped() || !originalIsProven)
    return said;
  llvm::Error error = keepUnlessStopped(environment.confirm(node), [&](NodeJudgement judgement) {
    settleProof(node, judgement);
    said = std::move(judgement);
  });
  if (error)
    return std::move(error);
  return said;
}

llvm::Error Explorer::mend(const NodeId &node) {
  for (const Attempt &attempt : llvm::reverse(result.attempts)) {
    if (attempt.node != node || attempt.phase == AttemptPhase::Confirm)
      continue;
    ExplorerRequest request{attempt.parent,
                            {attempt.drawn.empty() ? attempt.step.pass : attempt.drawn,
                             attempt.step.kernel,
                             attempt.step.site,
                             {}},
                            attempt.predictedGain,
                            attempt.trajectory,
                            attempt.ask};
    std::vector<Attempt> refused{attempt};
    return repairAll({request}, refused);
  }
  return llvm::Error::success();
}
