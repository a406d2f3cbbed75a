//===- Explorer.cpp - Programs that were seen, and what is kept of them ---===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Policy/Explorer.h"
#include "Prover.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace kbopt;

ExplorerRequest kbopt::earlyRequest(const NodeId &parent, llvm::ArrayRef<Step> steps,
                                    AttemptPhase phase) {
  ExplorerRequest request{parent, steps.back()};
  request.before = steps.drop_back().vec();
  request.phase = phase;
  request.trajectory = 1;
  return request;
}

std::vector<std::string> ExplorerNode::predecessors(llvm::StringRef kernel) const {
  std::vector<std::string> passes;
  for (const Step &move : pipeline)
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
  double all = 0;
  for (const auto &entry : judgement.kernels)
    all += entry.second.timeUs;
  if (kernel.empty() || all <= 0)
    return 1;
  auto found = judgement.kernels.find(kernel);
  return found == judgement.kernels.end() ? 0 : found->second.timeUs / all;
}

double kbopt::programGain(double kernelGain, double share) {
  return -std::log1p(share * std::expm1(-kernelGain));
}

/// Time in \p program of \p kernel and of all kernels that \p other does not have.
static double touchedUs(const NodeJudgement &program, const NodeJudgement &other,
                        const std::string &kernel) {
  double us = 0;
  for (const auto &[name, profile] : program.kernels)
    if (name == kernel || !other.kernels.count(name))
      us += profile.timeUs;
  return us;
}

/// Logarithmic gain between two programs of a step on \p kernel, over the kernels that it touched:
/// that one, those that it took in or put an end to, and those that it made. A kernel that does the
/// work of two takes longer than the one that had its name. Nothing where their times are not
/// known.
static std::optional<double> touchedGain(const NodeJudgement &before, const NodeJudgement &after,
                                         const std::string &kernel) {
  const double then = touchedUs(before, after, kernel), now = touchedUs(after, before, kernel);
  if (!before.kernels.count(kernel) || then <= 0 || now <= 0)
    return std::nullopt;
  return std::log(then / now);
}

Explorer::Explorer(Environment &environment, const KnowledgeBase &knowledge,
                   const SearchOptions &options, Clock &clock, SearchObserver *observer)
    : environment(environment), options(options),
      initial(options.memory ? knowledge : knowledge.withoutEvidence()), believed(initial),
      clock(clock), observer(observer) {}

Explorer::~Explorer() = default;

NodeJudgement Explorer::refined(NodeJudgement judgement) const {
  auto refine = [&](State &state, const MetricMap &metrics) {
    State found = believed.classify(metrics);
    if (found.primary == state.primary)
      state.refinement = found.refinement;
  };
  if (!believed.folded().words.states.empty()) {
    refine(judgement.state, judgement.metrics);
    for (auto &[name, kernel] : judgement.kernels)
      refine(kernel.state, kernel.metrics);
  }
  return judgement;
}

NodeJudgement Explorer::seen(NodeJudgement judgement) const {
  if (options.profile)
    return refined(std::move(judgement));
  judgement.state = State();
  judgement.metrics.clear();
  judgement.kernels.clear();
  judgement.split = TimeSplit();
  judgement.floorUs = 0;
  return judgement;
}

/// The final check takes about so many times what looking at the original takes (seven programs on
/// an H200: 0.7 to 5 times), and at most this share of the budget is kept for it.
static constexpr double finalChecks = 2, mostForFinal = 0.4;
/// Of what the budget leaves, where the environment says what a proof takes.
static constexpr double mostForProof = 0.5;

void Explorer::tellIfNoProofFits(double taken) {
  const std::optional<double> needed = environment.proofSeconds();
  const double left = options.budgetSeconds - taken;
  if (options.budgetSeconds > 0 && needed && *needed > left && observer && !toldNoProofFits) {
    observer->proofDoesNotFit(*needed, std::max(0.0, left));
    toldNoProofFits = true;
  }
}

void Explorer::keepForProof(double taken) {
  const double left = options.budgetSeconds - taken;
  const std::optional<double> needed = environment.proofSeconds();
  finalSeconds = std::max(0.0, needed ? std::min(*needed, mostForProof * left)
                                      : std::min(finalChecks * taken, mostForFinal * left));
  tellIfNoProofFits(taken);
  // What is kept for the final check is not spent by a candidate in the middle of its gates. A
  // screened one takes no longer than it is worth, and proofs run beside it.
  giveUpAt(options.budgetSeconds - (environment.screens() ? 0 : finalSeconds));
}

llvm::Expected<bool> Explorer::start() {
  startSeconds = clock.monotonicSeconds();
  rootId = environment.root();
  tellIfNoProofFits(0); // the original may take all of the time
  const bool isScreened = environment.screens();
  llvm::Expected<NodeJudgement> judgement =
      isScreened ? environment.screen(rootId) : environment.judge(rootId);
  if (!judgement)
    return judgement.takeError();
  result.timeline.original = clock.monotonicSeconds();
  result.original = refined(*judgement);
  result.best = bestNode = originId = rootId;
  addNode(rootId, judgement->code, *judgement, {}, "");
  best = judgement->timeUs;
  keepForProof(clock.monotonicSeconds() - startSeconds);
  if (observer)
    observer->started(result.original);
  if (!isUsable(nodes.at(rootId)))
    return false;
  if (isScreened) {
    originalProver = std::make_unique<Prover>(environment);
    prover = std::make_unique<Prover>(environment);
    originalIsProven = false;
    originalProver->begin(rootId, /*isOriginal=*/true);
  }
  return true;
}

void Explorer::giveUpAt(double seconds) {
  if (options.budgetSeconds > 0 && options.giveUpAfter)
    options.giveUpAfter(std::max(0.0, startSeconds + seconds - clock.monotonicSeconds()));
}

std::optional<SearchEnd> Explorer::mustEnd() {
  if (outOfTime()) // work that the clock stops looks interrupted
    return SearchEnd::BudgetSeconds;
  if (stopped())
    return SearchEnd::Interrupted;
  if (result.original.verdict != VerdictKind::Correct && originalIsProven)
    return SearchEnd::NothingLeft;
  if (candidatesSpent || candidatesLeft() == 0)
    return SearchEnd::BudgetCandidates;
  return std::nullopt;
}

llvm::Error Explorer::keepCandidates() {
  if (!options.budgetCandidates || !options.sketches || !mayAsk() || mustEnd())
    return llvm::Error::success();
  llvm::Expected<llvm::ArrayRef<Action>> found = actions(originId);
  if (!found)
    return found.takeError();
  if (llvm::any_of(*found, [](const Action &action) { return action.assisted; }))
    keptCandidates = (options.budgetCandidates + 1) / 2;
  return llvm::Error::success();
}

void Explorer::releaseCandidates() {
  if (keptCandidates)
    candidatesSpent = false; // what was dropped had its half
  keptCandidates = 0;
}

llvm::Expected<llvm::ArrayRef<Action>> Explorer::actions(const NodeId &id) {
  ExplorerNode &node = nodes.at(id);
  if (!node.actions) {
    llvm::Expected<std::vector<Action>> found = environment.actions(id);
    if (!found)
      return found.takeError();
    node.actions = std::move(*found);
    if (options.memory)
      llvm::for_each(*node.actions, [&](Action &action) { rank(action); });
    for (const Action &action : *node.actions)
      rangesOf.try_emplace({action.pass, ""}, action.ranges);
    llvm::append_range(*node.actions, node.offered);
    if (llvm::Error error = suggestFor(node))
      return std::move(error);
  }
  return llvm::ArrayRef<Action>(*node.actions);
}

void Explorer::rank(Action &action) const {
  if (!action.sketch || action.ranges.empty())
    return;
  ParameterRange &range = action.ranges.front();
  range.values = believed.orderSchedules(action.facts, range.values);
  if (!range.values.empty())
    range.defaultValue = range.values.front();
}

const NestFacts *Explorer::factsOf(const ExplorerNode &node, const Step &step) const {
  if (!step.reply.empty())
    return nullptr;
  auto isOfNest = [&](const Action &action) {
    return action.sketch && action.pass == step.pass && action.kernel == step.kernel &&
           !action.facts.figures.empty();
  };
  auto leavesNest = [&](const Step &each) {
    return each.pass == step.pass || (!each.kernel.empty() && each.kernel != step.kernel);
  };
  for (const ExplorerNode *at = &node;;) {
    if (at->actions)
      if (auto found = llvm::find_if(*at->actions, isOfNest); found != at->actions->end())
        return &found->facts;
    auto before = nodes.find(at->parent);
    if (before == nodes.end() || before->second.pipeline.size() > at->pipeline.size())
      return nullptr;
    auto steps = llvm::ArrayRef(at->pipeline).drop_front(before->second.pipeline.size());
    if (!llvm::all_of(steps, leavesNest))
      return nullptr;
    at = &before->second;
  }
}

llvm::Expected<std::vector<Action>> Explorer::actionsAfter(const NodeId &id,
                                                           llvm::ArrayRef<Step> moves) {
  NodeId at = id;
  for (const Step &move : moves) {
    llvm::Expected<StepOutcome> made = environment.rewrite(at, move);
    if (!made)
      return made.takeError();
    if (made->applied && !made->gate)
      at = made->node;
  }
  return environment.actions(at);
}

const Attempt *Explorer::tried(const NodeId &parent, const Step &move) const {
  auto found = triedAt.find({parent, move});
  return found == triedAt.end() ? nullptr : &result.attempts[found->second];
}

void Explorer::addNode(const NodeId &id, const Digest &code, const NodeJudgement &judgement,
                       std::vector<Step> pipeline, const NodeId &parent) {
  nodes.try_emplace(id, ExplorerNode{id,
                                     code,
                                     completed(seen(judgement), parent),
                                     std::move(pipeline),
                                     parent,
                                     std::nullopt,
                                     {}});
  if (!code.empty())
    byCode.try_emplace(code, id);
}

void Explorer::noteBest(const NodeId &id) {
  const ExplorerNode &node = nodes.at(id);
  if (!isUsable(node) || node.judgement.timeUs > best * (1 - leastImprovement))
    return;
  const double now = clock.monotonicSeconds();
  best = node.judgement.timeUs;
  if (standingUs == 0 || best < standingUs / clearlyBetter) {
    standingUs = best;
    bestSince = now;
  }
  bestNode = id;
  if (!result.timeline.leader)
    result.timeline.leader = now;
  if (observer)
    observer->improved(best, node.pipeline);
}

void Explorer::tell(Attempt attempt) {
  result.attempts.push_back(std::move(attempt));
  if (observer)
    observer->attempted(result.attempts.back());
}

void Explorer::record(const Attempt &attempt, const Digest &code) {
  // What was not measured says nothing about the pass; nor does a silent provider, a model that saw
  // no use, nor the gain of several moves about one of them.
  if (attempt.shortcut == "roofline" || attempt.shortcut == "known" ||
      attempt.shortcut == "outranked" || attempt.failure == FailureClass::Unavailable ||
      attempt.failure == FailureClass::Declined || !attempt.before.empty())
    return;
  const ExplorerNode &parent = nodes.at(attempt.parent);
  Evidence e;
  e.primary = attempt.primary;
  e.secondary = attempt.secondary;
  e.features = parent.judgement.features;
  e.shape = parent.shapeOf(attempt.step.kernel);
  e.pass = attempt.step.pass;
  e.parameters = attempt.step.parameters;
  e.reply = attempt.step.reply;
  if (auto role = replyRoles.find(e.reply); role != replyRoles.end())
    e.role = roleName(role->second).str();
  e.tokens = attempt.tokens;
  e.cost = attempt.cost;
  std::vector<std::string> before = parent.predecessors(attempt.step.kernel);
  e.predecessor = before.empty() ? "" : before.back();
  e.chip = initial.chip().name;
  e.device = initial.device();
  e.verdict = attempt.verdict;
  e.gate = attempt.gate;
  e.failure = attempt.failure;
  e.reason = attempt.reason;
  e.predictedGain = attempt.predictedGain;
  if (attempt.usable())
    e.achievedGain = e.creditGain =
        touchedGain(parent.judgement, nodes.at(attempt.node).judgement, attempt.step.kernel)
            .value_or(attempt.gain());
  if (const NestFacts *facts = factsOf(parent, attempt.step))
    for (const auto &[name, value] : attempt.step.parameters)
      if (auto estimate = facts->estimatesUs.find(value); estimate != facts->estimatesUs.end()) {
        e.nest = facts->figures;
        e.estimatedUs = estimate->second;
      }
  if (attempt.usable() && attempt.modelledUs > 0 && attempt.parentModelledUs > 0)
    e.modelledGain = std::log(attempt.parentModelledUs / attempt.modelledUs);
  e.program = options.program;
  e.before = parent.code;
  e.after = code;
  e.versions = options.versions;
  e.time = clock.timestamp();
  if (attempt.usable())
    evidenceAt[{attempt.parent, attempt.step}] = result.evidence.size();
  attemptOf.push_back(result.attempts.size() - 1);
  result.evidence.push_back(std::move(e));
}
