//===- Batch.cpp - Requests that are tried together ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way of a batch: applied in parallel, settled in order (merging, roofline,
// budget), judged in parallel, resolved in order, repaired.
//
//===----------------------------------------------------------------------===//
#include "Pending.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

/// Makes the moves of \p entry one after the other, without those that do not apply.
llvm::Error Explorer::applyMoves(Pending &entry) {
  NodeId at = entry.request.parent, last = at;
  std::vector<Step> all = entry.request.before, applied;
  all.push_back(entry.request.step);
  for (const Step &move : all) {
    if (stopped() || outOfTime())
      return llvm::Error::success();
    bool isAlone = all.size() == 1;
    if (llvm::Error error =
            keepUnlessStopped(isAlone ? environment.apply(at, move) : environment.rewrite(at, move),
                              [&](StepOutcome made) {
                                if (made.applied && !made.gate) {
                                  last = std::exchange(at, made.node);
                                  applied.push_back(move);
                                }
                                entry.made = std::move(made);
                                entry.applied = isAlone;
                              }))
      return error;
  }
  if (all.size() == 1 || stopped())
    return llvm::Error::success();
  if (applied.empty()) {
    entry.applied = true;
    return llvm::Error::success();
  }
  entry.request.step = applied.back();
  applied.pop_back();
  entry.before = std::move(applied);
  return keepUnlessStopped(environment.apply(last, entry.request.step), [&](StepOutcome made) {
    entry.made = std::move(made);
    entry.applied = true;
  });
}

llvm::Error Explorer::applyAll(std::vector<Pending> &pending) {
  std::vector<Pending *> open;
  std::set<std::pair<NodeId, Step>> seen;
  for (Pending &entry : pending) {
    if (entry.isSettled())
      continue;
    std::pair<NodeId, Step> key(entry.request.parent, entry.request.step);
    if (entry.request.before.empty() && (triedAt.count(key) || !seen.insert(key).second))
      entry.fate = Pending::Fate::Repeat;
    else
      open.push_back(&entry);
  }
  const bool screensAtOnce = environment.screens() && open.size() <= candidatesLeft();
  return inParallel<Pending>(options.jobs, open, [&](Pending &entry) -> llvm::Error {
    if (llvm::Error error = applyMoves(entry))
      return error;
    return screensAtOnce ? screenAtOnce(entry) : llvm::Error::success();
  });
}

llvm::Error Explorer::screenAtOnce(Pending &entry) {
  const StepOutcome &made = entry.made;
  if (!entry.applied || !made.applied || made.gate || nodes.count(made.node) ||
      byCode.count(made.code) || stopped() || outOfTime())
    return llvm::Error::success();
  return keepUnlessStopped(environment.screen(made.node), [&](NodeJudgement judgement) {
    entry.judgement = std::move(judgement);
  });
}

/// Decides what an applied move still needs; the order of calls decides which of
/// two equal candidates is measured.
void Explorer::settle(Pending &entry, std::set<NodeId> &coming,
                      std::map<Digest, NodeId> &comingCode, Room room) {
  const StepOutcome &made = entry.made;
  auto sameCode = byCode.find(made.code);
  auto codeToCome = comingCode.find(made.code);
  if (!made.applied || made.gate) {
    entry.fate = Pending::Fate::Failed;
    return;
  }
  if (nodes.count(made.node) || coming.count(made.node)) {
    entry.fate = Pending::Fate::Known;
    entry.twin = made.node;
    return;
  }
  if (!made.code.empty() && (sameCode != byCode.end() || codeToCome != comingCode.end())) {
    entry.fate = Pending::Fate::Identical;
    entry.twin = sameCode != byCode.end() ? sameCode->second : codeToCome->second;
  } else if (options.profile && made.floorUs > 0 && made.floorUs >= best) {
    entry.fate = Pending::Fate::Roofline;
    return;
  } else if (room == Room::None) {
    entry.fate = Pending::Fate::Dropped;
    candidatesSpent = true;
    return;
  } else if (room == Room::ForReplies && !entry.proposal) {
    entry.fate = Pending::Fate::GaveWay;
    return;
  } else {
    entry.fate = Pending::Fate::Judge;
    if (!made.code.empty())
      comingCode[made.code] = made.node;
  }
  coming.insert(made.node);
}

/// Leaves the \p mostJudged entries of \p open that the cost model ranks first; of those it knows
/// nothing of, the earlier ones. What waits for the judgement of another one goes with it.
void Explorer::outrank(std::vector<Pending> &pending, std::vector<Pending *> &open,
                       size_t mostJudged) {
  if (open.size() <= mostJudged)
    return;
  std::vector<Pending *> ranked = open;
  llvm::stable_sort(ranked, [](const Pending *a, const Pending *b) {
    return a->made.modelledUs > 0 && b->made.modelledUs > 0 &&
           a->made.modelledUs < b->made.modelledUs;
  });
  std::set<NodeId> left;
  for (Pending *entry : llvm::drop_begin(ranked, mostJudged)) {
    entry->fate = Pending::Fate::Outranked;
    left.insert(entry->made.node);
  }
  llvm::erase_if(open,
                 [](const Pending *entry) { return entry->fate == Pending::Fate::Outranked; });
  for (Pending &entry : pending)
    if (left.count(entry.twin))
      entry.fate = Pending::Fate::Outranked;
}

llvm::Error Explorer::judgeAll(std::vector<Pending> &pending, size_t mostJudged) {
  // Where the model ranks, it also says which of them the budget is spent on.
  const uint64_t left = candidatesLeft();
  const bool isRanked = mostJudged > 0;
  std::set<NodeId> coming;
  std::map<Digest, NodeId> comingCode;
  std::vector<Pending *> open;
  uint64_t paid = llvm::count_if(pending, [](const Pending &entry) { return entry.isPaid(); });
  for (Pending &entry : pending) {
    if (entry.isSettled())
      continue;
    if (!entry.applied) {
      entry.fate = Pending::Fate::Dropped;
      continue;
    }
    const Room room = isRanked || open.size() + paid < left ? Room::ForAll
                      : open.size() < left                  ? Room::ForReplies
                                                            : Room::None;
    paid -= entry.isPaid();
    settle(entry, coming, comingCode, room);
    if (entry.fate == Pending::Fate::Judge)
      open.push_back(&entry);
  }
  if (isRanked)
    outrank(pending, open, std::min<uint64_t>(mostJudged, left));
  llvm::Error error = inParallel<Pending>(options.jobs, open, [&](Pending &entry) -> llvm::Error {
    if (entry.judgement || stopped() || outOfTime())
      return llvm::Error::success();
    const NodeId &node = entry.made.node;
    return keepUnlessStopped(
        environment.screens() ? environment.screen(node) : environment.judge(node),
        [&](NodeJudgement judgement) { entry.judgement = std::move(judgement); });
  });
  if (error)
    return error;
  const size_t judged =
      llvm::count_if(open, [](const Pending *entry) { return entry->judgement.has_value(); });
  result.judged += judged;
  result.screened +=
      environment.screens() ? judged : llvm::count_if(pending, [](const Pending &entry) {
        return entry.applied && entry.made.modelledUs > 0;
      });
  if (judged && !result.timeline.candidate)
    result.timeline.candidate = clock.monotonicSeconds();
  return examineBest(open);
}

llvm::Error Explorer::examineBest(llvm::ArrayRef<Pending *> open) {
  if (environment.screens()) // proofs say it
    return llvm::Error::success();
  std::vector<Pending *> faster;
  for (Pending *entry : open)
    if (entry->judgement && entry->judgement->verdict == VerdictKind::Correct &&
        entry->judgement->timeUs < best * (1 - leastImprovement))
      faster.push_back(entry);
  llvm::sort(faster, [](const Pending *a, const Pending *b) {
    return std::tie(a->judgement->timeUs, a->made.node) <
           std::tie(b->judgement->timeUs, b->made.node);
  });
  for (Pending *entry : faster) {
    if (stopped() || outOfTime())
      return llvm::Error::success();
    if (llvm::Error error = keepUnlessStopped(
            environment.examine(entry->made.node, *entry->judgement,
                                /*whole=*/!succeeded.count(entry->request.trajectory)),
            [&](NodeJudgement judgement) { entry->judgement = std::move(judgement); }))
      return error;
    if (entry->judgement->verdict != VerdictKind::Correct)
      continue;
    succeeded.insert(entry->request.trajectory);
    break;
  }
  return llvm::Error::success();
}

/// The attempt for one request whose predecessors in the batch are resolved.
Attempt Explorer::resolve(const Pending &pending) {
  const ExplorerRequest &request = pending.request;
  const ExplorerNode &parent = nodes.at(request.parent);
  Attempt attempt;
  attempt.phase = request.phase;
  attempt.trajectory = request.trajectory;
  attempt.step = request.step;
  attempt.before = pending.before;
  attempt.parent = request.parent;
  attempt.parentTimeUs = parent.judgement.timeUs;
  attempt.parentModelledUs = parent.judgement.modelledUs;
  attempt.predictedGain = request.predictedGain;
  attempt.ask = request.ask;
  attempt.drawn = pending.drawn;
  attempt.repair = pending.repair;
  if (pending.proposal) {
    attempt.tokens = pending.proposal->tokens;
    attempt.cost = pending.proposal->cost;
  }
  const State &state = parent.stateOf(request.step.kernel);
  attempt.primary = state.fullName();
  attempt.secondary = state.secondary;

  // By value: the table of nodes grows here.
  auto take = [&](NodeJudgement judgement) {
    attempt.node = pending.made.node;
    attempt.setVerdict(judgement);
    std::vector<Step> pipeline = parent.pipeline;
    llvm::append_range(pipeline, pending.before);
    pipeline.push_back(request.step);
    addNode(attempt.node, pending.made.code, judgement, std::move(pipeline), parent.id);
  };
  switch (pending.fate) {
  case Pending::Fate::NoMove:
    attempt.verdict = VerdictKind::NotApplied;
    attempt.failure = pending.proposal->failure;
    attempt.reason = pending.proposal->reason;
    break;
  case Pending::Fate::Failed:
    attempt.verdict = pending.made.applied ? VerdictKind::Incorrect : VerdictKind::NotApplied;
    attempt.gate = pending.made.gate;
    attempt.failure = pending.made.failure;
    attempt.reason = pending.made.reason;
    break;
  case Pending::Fate::Known:
    attempt.shortcut = "known";
    ++result.known;
    take(nodes.at(pending.twin).judgement);
    break;
  case Pending::Fate::Identical:
    attempt.shortcut = "identical";
    ++result.merged;
    take(nodes.at(pending.twin).judgement);
    break;
  case Pending::Fate::Roofline:
    attempt.shortcut = "roofline";
    ++result.pruned;
    attempt.verdict = VerdictKind::Inconclusive;
    attempt.reason = llvm::formatv("not measured: the roofline allows no less than {0:f2} us, and "
                                   "{1:f2} us is reached already",
                                   pending.made.floorUs, best);
    break;
  case Pending::Fate::Outranked:
  case Pending::Fate::GaveWay:
    attempt.shortcut = "outranked";
    attempt.verdict = VerdictKind::Inconclusive;
    attempt.reason = pending.fate == Pending::Fate::GaveWay
                         ? "not measured: the candidates that are left are a model's replies"
                         : "not measured: the cost model ranks enough others before it";
    break;
  default:
    take(*pending.judgement);
    break;
  }
  return attempt;
}

/// Applies and judges what has a move, and keeps all of it in order.
llvm::Expected<std::vector<Attempt>> Explorer::carryOut(std::vector<Pending> &pending,
                                                        size_t mostJudged) {
  if (llvm::Error error = applyAll(pending))
    return std::move(error);
  if (llvm::Error error = judgeAll(pending, mostJudged))
    return std::move(error);
  std::vector<Attempt> attempts;
  for (const Pending &entry : pending) {
    // What was cut short takes all behind it along.
    if (entry.fate == Pending::Fate::Dropped ||
        (entry.fate == Pending::Fate::Judge && !entry.judgement))
      break;
    if (entry.fate == Pending::Fate::Disputed) {
      attempts.push_back(result.attempts[triedAt.at({entry.failed.parent, entry.failed.step})]);
      continue;
    }
    std::pair<NodeId, Step> key(entry.request.parent, entry.request.step);
    if (entry.fate == Pending::Fate::Repeat) {
      Attempt again = result.attempts[triedAt.at(key)];
      again.trajectory = entry.request.trajectory;
      again.shortcut = "known";
      attempts.push_back(std::move(again));
      continue;
    }
    Attempt attempt = resolve(entry);
    attempts.push_back(attempt);
    if (attempt.failure == FailureClass::Budget)
      continue; // no model was asked
    if (entry.fate != Pending::Fate::NoMove && entry.fate != Pending::Fate::GaveWay &&
        attempt.before.empty())
      triedAt[key] = result.attempts.size();
    if (attempt.verdict == VerdictKind::Incorrect && attempt.gate)
      ++result.refused[toString(attempt.gate).str()];
    tell(attempt);
    if (attempt.failure != FailureClass::Idle) // it says nothing about the pass
      record(attempt, entry.made.code);
    if (!attempt.node.empty())
      noteBest(attempt.node);
    if (entry.proposal)
      offer(attempt, entry.proposal->ranges);
  }
  return attempts;
}

size_t Explorer::judgeable(llvm::ArrayRef<ExplorerRequest> requests) const {
  uint64_t questions = 0;
  for (auto [place, request] : llvm::enumerate(requests))
    if (request.ask && ++questions > candidatesLeft())
      return place;
  return requests.size();
}

llvm::Expected<std::vector<Attempt>> Explorer::evaluate(llvm::ArrayRef<ExplorerRequest> requests,
                                                        size_t mostJudged) {
  // What is applied is compiled and modelled, which may take longer than to judge the few that the
  // budget leaves.
  constexpr uint64_t modelledForOne = 4;
  if (options.budgetCandidates)
    requests = requests.take_front(std::min<uint64_t>(
        requests.size(), modelledForOne * std::max<uint64_t>(candidatesLeft(), 1)));
  if (llvm::Error error = reviewProofs())
    return std::move(error);
  requests = requests.take_front(judgeable(requests));
  std::vector<Pending> pending(requests.size());
  for (auto [entry, request] : llvm::zip(pending, requests))
    entry.request = request;
  if (llvm::Error error = askAll(pending))
    return std::move(error);
  llvm::Expected<std::vector<Attempt>> attempts = carryOut(pending, mostJudged);
  if (!attempts)
    return attempts.takeError();
  if (llvm::Error error = repairAll(requests, *attempts))
    return std::move(error);
  if (llvm::Error error = reviewProofs())
    return std::move(error);
  if (llvm::Error error = makeWayForProof())
    return std::move(error);
  return attempts;
}

llvm::Error Explorer::repairAll(llvm::ArrayRef<ExplorerRequest> requests,
                                std::vector<Attempt> &attempts) {
  for (unsigned round = 0; round != options.repairs && !mustEnd(); ++round) {
    std::vector<Pending> broken;
    std::vector<size_t> places;
    for (auto [place, attempt] : llvm::enumerate(attempts))
      if (attempt.repair == round && broken.size() < candidatesLeft() &&
          isRepairable(requests[place], attempt)) {
        broken.emplace_back();
        broken.back().request = requests[place];
        broken.back().repair = round + 1;
        broken.back().failed = attempt;
        places.push_back(place);
      }
    if (broken.empty())
      continue;
    if (llvm::Error error = askAll(broken))
      return error;
    llvm::Expected<std::vector<Attempt>> repaired = carryOut(broken, 0);
    if (!repaired)
      return repaired.takeError();
    for (auto [place, attempt] : llvm::zip(places, *repaired))
      if (attempt.failure != FailureClass::Budget)
        attempts[place] = attempt;
  }
  return llvm::Error::success();
}
