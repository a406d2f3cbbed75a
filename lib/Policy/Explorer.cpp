//===- Explorer.cpp - Batches, merging, pruning, records ------------------===//
#include "Pending.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kbopt;

namespace {
/// Less is noise (EVALUATION: centres must differ by 0.5 %).
constexpr double leastImprovement = 0.005;
} // namespace

std::vector<std::string> ExplorerNode::predecessors(llvm::StringRef kernel) const {
  std::vector<std::string> passes;
  for (const Move &move : pipeline)
    if (kernel.empty() || move.kernel.empty() || move.kernel == kernel)
      passes.push_back(move.pass);
  return passes;
}

const State &ExplorerNode::stateOf(const std::string &kernel) const {
  auto found = judgement.kernels.find(kernel);
  return found == judgement.kernels.end() ? judgement.state : found->second.state;
}

const std::string &ExplorerNode::shapeOf(const std::string &kernel) const {
  auto found = judgement.kernels.find(kernel);
  return found == judgement.kernels.end() ? judgement.shape : found->second.shape;
}

const MetricMap &ExplorerNode::metricsOf(const std::string &kernel) const {
  auto found = judgement.kernels.find(kernel);
  return found == judgement.kernels.end() ? judgement.metrics : found->second.metrics;
}

double ExplorerNode::shareOf(const std::string &kernel) const {
  auto found = judgement.kernels.find(kernel);
  double all = 0;
  for (const auto &entry : judgement.kernels)
    all += entry.second.timeUs;
  return found == judgement.kernels.end() || all <= 0 ? 1 : found->second.timeUs / all;
}

double kbopt::programGain(double kernelGain, double share) {
  return -std::log1p(share * std::expm1(-kernelGain));
}

/// Logarithmic gain of \p kernel alone between two programs, where both know it.
static std::optional<double> kernelGain(const NodeJudgement &before, const NodeJudgement &after,
                                        const std::string &kernel) {
  auto then = before.kernels.find(kernel), now = after.kernels.find(kernel);
  if (then == before.kernels.end() || now == after.kernels.end() || then->second.timeUs <= 0 ||
      now->second.timeUs <= 0)
    return std::nullopt;
  return std::log(then->second.timeUs / now->second.timeUs);
}

/// Nothing is known to a search without memory, not even the seed.
static KnowledgeBase knownAtFirst(const KnowledgeBase &knowledge, bool memory) {
  static const Catalogue nothing;
  return memory ? knowledge : KnowledgeBase(knowledge.chip(), knowledge.device(), nothing);
}

Explorer::Explorer(Environment &environment, const KnowledgeBase &knowledge,
                   const SearchOptions &options, Clock &clock, SearchObserver *observer)
    : environment(environment), options(options), initial(knownAtFirst(knowledge, options.memory)),
      believed(initial), clock(clock), observer(observer) {}

NodeJudgement Explorer::seen(NodeJudgement judgement) const {
  if (options.profile) {
    // A state that somebody discovered refines that of the rules.
    auto refine = [&](State &state, const MetricMap &metrics) {
      State refined = believed.classify(metrics);
      if (refined.primary == state.primary)
        state.refinement = refined.refinement;
    };
    if (!believed.folded().words.states.empty()) {
      refine(judgement.state, judgement.metrics);
      for (auto &[name, kernel] : judgement.kernels)
        refine(kernel.state, kernel.metrics);
    }
    return judgement;
  }
  judgement.state = State();
  judgement.metrics.clear();
  judgement.kernels.clear();
  judgement.floorUs = 0;
  return judgement;
}

llvm::Expected<bool> Explorer::start() {
  startSeconds = clock.monotonicSeconds();
  rootId = environment.root();
  llvm::Expected<NodeJudgement> judgement = environment.judge(rootId);
  if (!judgement)
    return judgement.takeError();
  result.original = *judgement;
  result.best = bestNode = rootId;
  addNode(rootId, judgement->code, *judgement, {}, "");
  best = judgement->timeUs;
  if (observer)
    observer->started(*judgement);
  return judgement->verdict == AttemptVerdict::Correct && best > 0;
}

std::optional<SearchEnd> Explorer::mustEnd() {
  if (stopped())
    return SearchEnd::Interrupted;
  if (outOfTime())
    return SearchEnd::BudgetSeconds;
  if (candidatesSpent || (options.budgetCandidates && result.judged >= options.budgetCandidates))
    return SearchEnd::BudgetCandidates;
  return std::nullopt;
}

llvm::Expected<llvm::ArrayRef<Action>> Explorer::actions(const NodeId &id) {
  ExplorerNode &node = nodes.at(id);
  if (!node.actions) {
    llvm::Expected<std::vector<Action>> found = environment.actions(id);
    if (!found)
      return found.takeError();
    node.actions = std::move(*found);
    for (const Action &action : *node.actions)
      rangesOf.try_emplace({action.pass, ""}, action.ranges);
    llvm::append_range(*node.actions, node.offered);
    if (llvm::Error error = suggestFor(node))
      return std::move(error);
  }
  return llvm::ArrayRef<Action>(*node.actions);
}

const Attempt *Explorer::tried(const NodeId &parent, const Move &move) const {
  auto found = triedAt.find({parent, move});
  return found == triedAt.end() ? nullptr : &result.attempts[found->second];
}

llvm::Error Explorer::applyAll(std::vector<Pending> &pending) {
  std::vector<Pending *> open;
  std::set<std::pair<NodeId, Move>> seen;
  for (Pending &entry : pending) {
    if (entry.isSettled())
      continue;
    std::pair<NodeId, Move> key(entry.request.parent, entry.request.move);
    if (triedAt.count(key) || !seen.insert(key).second)
      entry.fate = Pending::Fate::Repeat;
    else
      open.push_back(&entry);
  }
  return inParallel<Pending>(options.jobs, open, [&](Pending &entry) -> llvm::Error {
    if (stopped() || outOfTime())
      return llvm::Error::success();
    return keepUnlessStopped(environment.apply(entry.request.parent, entry.request.move),
                             [&](MoveResult made) {
                               entry.made = std::move(made);
                               entry.applied = true;
                             });
  });
}

/// Decides what an applied move still needs; the order of calls decides which of
/// two equal candidates is measured.
void Explorer::settle(Pending &entry, std::set<NodeId> &coming,
                      std::map<Digest, NodeId> &comingCode, uint64_t open) {
  const MoveResult &made = entry.made;
  auto sameCode = byCode.find(made.code);
  auto codeToCome = comingCode.find(made.code);
  if (!made.applied || !made.gate.empty()) {
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
  } else if (options.budgetCandidates && result.judged + open >= options.budgetCandidates) {
    entry.fate = Pending::Fate::Dropped;
    candidatesSpent = true;
    return;
  } else {
    entry.fate = Pending::Fate::Judge;
    if (!made.code.empty())
      comingCode[made.code] = made.node;
  }
  coming.insert(made.node);
}

llvm::Error Explorer::judgeAll(std::vector<Pending> &pending) {
  std::set<NodeId> coming;
  std::map<Digest, NodeId> comingCode;
  std::vector<Pending *> open;
  for (Pending &entry : pending) {
    if (entry.isSettled())
      continue;
    if (!entry.applied) {
      entry.fate = Pending::Fate::Dropped;
      continue;
    }
    settle(entry, coming, comingCode, open.size());
    if (entry.fate == Pending::Fate::Judge)
      open.push_back(&entry);
  }
  llvm::Error error = inParallel<Pending>(options.jobs, open, [&](Pending &entry) -> llvm::Error {
    if (stopped() || outOfTime())
      return llvm::Error::success();
    return keepUnlessStopped(environment.judge(entry.made.node), [&](NodeJudgement judgement) {
      entry.judgement = std::move(judgement);
    });
  });
  result.judged +=
      llvm::count_if(open, [](const Pending *entry) { return entry->judgement.has_value(); });
  return error;
}

void Explorer::addNode(const NodeId &id, const Digest &code, const NodeJudgement &judgement,
                       std::vector<Move> pipeline, const NodeId &parent) {
  nodes.try_emplace(id, ExplorerNode{id, code, seen(judgement), std::move(pipeline), parent,
                                     std::nullopt, {}});
  if (!code.empty())
    byCode.try_emplace(code, id);
}

void Explorer::noteBest(const NodeId &id) {
  const ExplorerNode &node = nodes.at(id);
  if (node.judgement.verdict != AttemptVerdict::Correct || node.judgement.timeUs <= 0 ||
      node.judgement.timeUs > best * (1 - leastImprovement))
    return;
  best = node.judgement.timeUs;
  bestNode = id;
  if (observer)
    observer->improved(best, node.pipeline);
}

/// The attempt for one request whose predecessors in the batch are resolved.
Attempt Explorer::resolve(const Pending &pending) {
  const ExplorerRequest &request = pending.request;
  const ExplorerNode &parent = nodes.at(request.parent);
  Attempt attempt;
  attempt.trajectory = request.trajectory;
  attempt.move = request.move;
  attempt.parent = request.parent;
  attempt.parentTimeUs = parent.judgement.timeUs;
  attempt.parentModelledUs = parent.judgement.modelledUs;
  attempt.predictedGain = request.predictedGain;
  attempt.ask = request.ask;
  attempt.repair = pending.repair;
  if (pending.proposal) {
    attempt.tokens = pending.proposal->tokens;
    attempt.cost = pending.proposal->cost;
  }
  const State &state = parent.stateOf(request.move.kernel);
  attempt.primary = state.fullName();
  attempt.secondary = state.secondary;

  // By value: the table of nodes grows here.
  auto take = [&](NodeJudgement judgement) {
    attempt.node = pending.made.node;
    attempt.verdict = judgement.verdict;
    attempt.gate = judgement.gate;
    attempt.failure = judgement.failure;
    attempt.reason = judgement.reason;
    bool correct = judgement.verdict == AttemptVerdict::Correct;
    attempt.timeUs = correct ? judgement.timeUs : 0;
    attempt.modelledUs = correct ? judgement.modelledUs : 0;
    std::vector<Move> pipeline = parent.pipeline;
    pipeline.push_back(request.move);
    addNode(attempt.node, pending.made.code, judgement, std::move(pipeline), parent.id);
  };
  switch (pending.fate) {
  case Pending::Fate::NoMove:
    attempt.verdict = AttemptVerdict::NotApplied;
    attempt.failure = pending.proposal->failure;
    attempt.reason = pending.proposal->reason;
    break;
  case Pending::Fate::Failed:
    attempt.verdict = pending.made.applied ? AttemptVerdict::Incorrect : AttemptVerdict::NotApplied;
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
    attempt.verdict = AttemptVerdict::Inconclusive;
    attempt.reason = llvm::formatv("not measured: the roofline allows no less than {0:f2} us, and "
                                   "{1:f2} us is reached already",
                                   pending.made.floorUs, best);
    break;
  default:
    take(*pending.judgement);
    break;
  }
  return attempt;
}

void Explorer::record(const Attempt &attempt, const Digest &code) {
  // What was not measured says nothing about the pass; nor does a silent provider.
  if (attempt.shortcut == "roofline" || attempt.shortcut == "known" ||
      attempt.failure == "unavailable")
    return;
  const ExplorerNode &parent = nodes.at(attempt.parent);
  Evidence e;
  e.primary = attempt.primary;
  e.secondary = attempt.secondary;
  e.features = parent.judgement.features;
  e.shape = parent.shapeOf(attempt.move.kernel);
  e.pass = attempt.move.pass;
  e.parameters = attempt.move.parameters;
  e.parameters.erase(replyOption.str());
  e.reply = attempt.move.reply();
  if (auto role = replyRoles.find(e.reply); role != replyRoles.end())
    e.role = roleName(role->second).str();
  e.tokens = attempt.tokens;
  e.cost = attempt.cost;
  std::vector<std::string> before = parent.predecessors(attempt.move.kernel);
  e.predecessor = before.empty() ? "" : before.back();
  e.chip = initial.chip().name;
  e.device = initial.device();
  e.verdict = attempt.verdict;
  e.gate = attempt.gate;
  e.failure = attempt.failure;
  e.reason = attempt.reason;
  e.predictedGain = attempt.predictedGain;
  if (attempt.correct())
    e.achievedGain = e.creditGain =
        kernelGain(parent.judgement, nodes.at(attempt.node).judgement, attempt.move.kernel)
            .value_or(attempt.gain());
  e.program = options.program;
  e.before = parent.code;
  e.after = code;
  e.versions = options.versions;
  e.time = clock.timestamp();
  if (attempt.correct())
    evidenceAt[{attempt.parent, attempt.move}] = result.evidence.size();
  attemptOf.push_back(result.attempts.size() - 1);
  result.evidence.push_back(std::move(e));
}

/// Applies and judges what has a move, and keeps all of it in order.
llvm::Expected<std::vector<Attempt>> Explorer::carryOut(std::vector<Pending> &pending) {
  if (llvm::Error error = applyAll(pending))
    return std::move(error);
  if (llvm::Error error = judgeAll(pending))
    return std::move(error);
  std::vector<Attempt> attempts;
  for (const Pending &entry : pending) {
    // What was cut short takes all behind it along.
    if (entry.fate == Pending::Fate::Dropped ||
        (entry.fate == Pending::Fate::Judge && !entry.judgement))
      break;
    std::pair<NodeId, Move> key(entry.request.parent, entry.request.move);
    if (entry.fate == Pending::Fate::Repeat) {
      Attempt again = result.attempts[triedAt.at(key)];
      again.trajectory = entry.request.trajectory;
      again.shortcut = "known";
      attempts.push_back(std::move(again));
      continue;
    }
    Attempt attempt = resolve(entry);
    attempts.push_back(attempt);
    if (attempt.failure == "budget")
      continue; // nobody was asked
    if (entry.fate != Pending::Fate::NoMove)
      triedAt[key] = result.attempts.size();
    result.attempts.push_back(attempt);
    record(attempt, entry.made.code);
    if (observer)
      observer->attempted(attempt);
    if (!attempt.node.empty())
      noteBest(attempt.node);
    if (entry.proposal)
      offer(attempt, entry.proposal->ranges);
  }
  return attempts;
}

llvm::Expected<std::vector<Attempt>>
Explorer::evaluate(llvm::ArrayRef<ExplorerRequest> requests) {
  std::vector<Pending> pending(requests.size());
  for (auto [entry, request] : llvm::zip(pending, requests))
    entry.request = request;
  if (llvm::Error error = askAll(pending))
    return std::move(error);
  llvm::Expected<std::vector<Attempt>> attempts = carryOut(pending);
  if (!attempts)
    return attempts.takeError();
  for (unsigned repair = 1; repair <= options.repairs && !mustEnd(); ++repair) {
    std::vector<Pending> broken;
    std::vector<size_t> places;
    for (auto [place, attempt] : llvm::enumerate(*attempts))
      if (isRepairable(requests[place], attempt)) {
        broken.emplace_back();
        broken.back().request = requests[place];
        broken.back().repair = repair;
        broken.back().failed = attempt;
        places.push_back(place);
      }
    if (broken.empty())
      break;
    if (llvm::Error error = askAll(broken))
      return std::move(error);
    llvm::Expected<std::vector<Attempt>> repaired = carryOut(broken);
    if (!repaired)
      return repaired.takeError();
    for (auto [place, attempt] : llvm::zip(places, *repaired))
      if (attempt.failure != "budget")
        (*attempts)[place] = attempt;
  }
  return attempts;
}
