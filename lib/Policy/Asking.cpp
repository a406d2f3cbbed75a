//===- Asking.cpp - Proposals and repairs ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Pending.h"
#include "kb-opt/Support/Random.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

/// So many entries of the knowledge base are shown.
static constexpr unsigned mostEntries = 4;
/// A provider that gave no reply so often in a row is asked no more.
static constexpr unsigned mostSilences = 3;

unsigned Explorer::asks(const NodeId &node, const Action &action) const {
  auto found = asked.find({node, action.pass, action.kernel, action.site});
  return found == asked.end() ? 0 : found->second;
}

bool Explorer::isRepairable(const ExplorerRequest &request, const Attempt &attempt) {
  return attempt.ask && !request.minimal && !attempt.step.reply.empty() &&
         attempt.shortcut.empty() && attempt.dispute.empty() &&
         (attempt.verdict == VerdictKind::Incorrect || attempt.verdict == VerdictKind::NotApplied);
}

//===-- What is told ------------------------------------------------------===//

std::vector<Attempt> Explorer::childrenOf(const NodeId &id) const {
  std::vector<Attempt> children;
  for (const Attempt &attempt : result.attempts)
    if (attempt.trajectory && attempt.parent == id && attempt.failure != FailureClass::Unavailable)
      children.push_back(attempt);
  return children;
}

bool Explorer::isBelow(const NodeId &id, const NodeId &above) const {
  for (NodeId at = id; !at.empty(); at = nodes.at(at).parent)
    if (at == above)
      return true;
  return false;
}

/// All of it where it is small enough, else a draw that depends on \p purpose alone.
ContextWindow Explorer::window(std::vector<Attempt> attempts, std::vector<Leader> leaders,
                               const std::string &purpose) const {
  Random random = Random(options.seed).fork("window " + purpose);
  while (attempts.size() + leaders.size() > options.windowNodes) {
    size_t out = random.below(attempts.size() + leaders.size());
    if (out < attempts.size())
      attempts.erase(attempts.begin() + static_cast<ptrdiff_t>(out));
    else
      leaders.erase(leaders.begin() + static_cast<ptrdiff_t>(out - attempts.size()));
  }
  return {std::move(attempts), std::move(leaders)};
}

static Action actionOf(const ExplorerNode &node, const Step &move) {
  if (node.actions)
    for (const Action &action : *node.actions)
      if (action.assisted && action.pass == move.pass && action.kernel == move.kernel &&
          action.site == move.site)
        return action;
  return {move.pass, move.kernel, move.site, {}, /*assisted=*/true};
}

/// What a planner may choose for \p kernel; nothing where the node's actions are not known.
static std::optional<std::set<std::string>> choicesOf(const ExplorerNode &node,
                                                      const std::string &kernel) {
  if (!node.actions)
    return std::nullopt;
  std::set<std::string> choices;
  for (const Action &action : *node.actions)
    if (action.assisted && action.kernel == kernel)
      choices.insert(action.pass);
  return choices;
}

std::vector<Attempt> Explorer::bestSchedules(const ExplorerNode &node,
                                             const std::string &kernel) const {
  constexpr size_t most = 4;
  std::set<std::string> sketches; ///< passes
  if (node.actions)
    for (const Action &action : *node.actions)
      if (action.sketch && action.kernel == kernel)
        sketches.insert(action.pass);
  std::map<std::map<std::string, std::string>, const Attempt *> fastest; ///< by parameters
  for (const Attempt &attempt : result.attempts)
    if (attempt.usable() && attempt.before.empty() && attempt.step.kernel == kernel &&
        sketches.count(attempt.step.pass))
      if (const Attempt *&best = fastest[attempt.step.parameters];
          !best || attempt.timeUs < best->timeUs)
        best = &attempt;
  std::vector<Attempt> schedules;
  for (const auto &[parameters, attempt] : fastest)
    schedules.push_back(*attempt);
  llvm::stable_sort(schedules,
                    [](const Attempt &a, const Attempt &b) { return a.timeUs < b.timeUs; });
  schedules.resize(std::min(most, schedules.size()));
  return schedules;
}

std::optional<Attempt> Explorer::contrastTo(const ExplorerNode &node,
                                            const std::string &kernel) const {
  for (const Attempt &attempt : llvm::reverse(result.attempts)) {
    const bool isWorse = attempt.usable() ? attempt.gain() < 0 : !attempt.reason.empty();
    if (attempt.phase == AttemptPhase::Search && !attempt.step.reply.empty() && isWorse &&
        attempt.dispute.empty() && attempt.verdict != VerdictKind::Inconclusive &&
        (options.memory || attempt.parent == node.id) &&
        nodes.at(attempt.parent).shapeOf(attempt.step.kernel) == node.shapeOf(kernel))
      return attempt;
  }
  return std::nullopt;
}

ProposalRequest Explorer::question(const ExplorerRequest &request, unsigned repair) const {
  const ExplorerNode &node = nodes.at(request.parent);
  const std::string &kernel = request.step.kernel;
  ProposalRequest question;
  question.action = actionOf(node, request.step);
  question.trajectory = request.trajectory;
  question.ask = request.ask;
  question.minimal = request.minimal;
  question.roles = options.roles;
  question.profile = options.profile;
  question.state = node.stateOf(kernel);
  question.metrics = node.metricsOf(kernel);
  question.shape = node.shapeOf(kernel);
  question.features = node.judgement.features;
  question.timeUs = node.judgement.timeUs;
  question.originalUs = result.original.timeUs;
  question.attainable = attainable();
  question.split = node.judgement.split;
  question.share = node.shareOf(kernel);
  question.original = rootId;
  question.pipeline = node.pipeline;
  std::vector<Attempt> children = childrenOf(node.id);
  for (const Attempt &attempt : children)
    if (attempt.ask && attempt.step.pass == request.step.pass && attempt.step.kernel == kernel &&
        attempt.step.site == request.step.site)
      question.here.push_back(attempt);
  if (request.minimal)
    return question;
  question.schedules = bestSchedules(node, kernel);
  question.contrast = contrastTo(node, kernel);

  std::vector<Leader> others;
  for (Leader &leader : leaders())
    if (others.size() < options.leaders && !isBelow(leader.node, node.id))
      others.push_back(std::move(leader));
  std::vector<Attempt> kin = children;
  if (!node.parent.empty())
    for (const Attempt &sibling : childrenOf(node.parent))
      if (!sibling.node.empty() && sibling.node != node.id)
        llvm::append_range(kin, childrenOf(sibling.node));
  std::string purpose = node.id + " " + question.action.pass + " " + kernel + " " +
                        std::to_string(request.ask) + " " + std::to_string(repair);
  question.planner = window(children, std::move(others), "planner " + purpose);
  question.coder = window(std::move(kin), {}, "coder " + purpose);
  question.debugger = window(std::move(children), {}, "debugger " + purpose);

  question.prediction = believed.predict(question.state, request.step.pass,
                                         node.predecessors(kernel), question.shape);
  if (!options.memory)
    return question;
  std::vector<std::string> before = node.predecessors(kernel);
  std::optional<std::set<std::string>> choices = choicesOf(node, kernel);
  question.knowledge = retrieveForPrompt(believed, question.state, "", mostEntries, question.shape,
                                         before, choices ? &*choices : nullptr);
  question.ofPass =
      retrieveForPrompt(believed, question.state, request.step.pass, 1, question.shape, before);
  return question;
}

//===-- Asking ------------------------------------------------------------===//

/// \p step before there was a reply to it.
static Step proposalOf(const Step &step) { return {step.pass, step.kernel, step.site, {}}; }

/// Counts what a reply took; the first refusal of a budget is the last question.
void Explorer::note(const Proposal &proposal) {
  if (proposal.failure == FailureClass::Budget) {
    if (result.modelEnd.empty())
      result.modelEnd = proposal.reason;
    return;
  }
  silences = proposal.failure == FailureClass::Unavailable ? silences + 1 : 0;
  if (silences == mostSilences && result.modelEnd.empty())
    result.modelEnd = proposal.reason;
  ++result.asked;
  result.tokens += proposal.tokens;
  result.cost += proposal.cost.value_or(0);
  result.costKnown &= proposal.cost || proposal.tokens == 0;
}

/// Gets a move for every entry that needs a model, all at once. Entries that were
/// not reached in time are dropped.
llvm::Error Explorer::askAll(std::vector<Pending> &pending) {
  std::vector<Pending *> open;
  std::map<const Pending *, ProposalRequest> questions;
  for (Pending &entry : pending) {
    if (!entry.request.ask)
      continue;
    unsigned &count = asked[{entry.request.parent, entry.request.step.pass,
                             entry.request.step.kernel, entry.request.step.site}];
    count = std::max(count, entry.request.ask);
    if (!mayAsk()) {
      entry.proposal = Proposal{{}, {}, FailureClass::Budget, result.modelEnd};
    } else {
      open.push_back(&entry);
      questions[&entry] = question(entry.request, entry.repair);
    }
  }
  llvm::Error error = inParallel<Pending>(
      std::max<unsigned>(1, open.size()), open, [&](Pending &entry) -> llvm::Error {
        if (stopped() || outOfTime())
          return llvm::Error::success();
        const ProposalRequest &question = questions.at(&entry);
        llvm::Expected<Proposal> proposal =
            entry.repair ? environment.repair(entry.request.parent, question, entry.failed)
                         : environment.propose(entry.request.parent, question);
        return keepUnlessStopped(std::move(proposal),
                                 [&](Proposal made) { entry.proposal = std::move(made); });
      });
  if (error)
    return error;
  for (Pending &entry : pending) {
    if (!entry.request.ask)
      continue;
    if (!entry.proposal) {
      entry.fate = Pending::Fate::Dropped;
      continue;
    }
    Proposal &proposal = *entry.proposal;
    note(proposal);
    if (observer && questions.count(&entry))
      observer->asked(questions.at(&entry), entry.repair, proposal);
    if (proposal.failure == FailureClass::Declined && !proposal.chosen && !entry.repair)
      declinedAt.insert({entry.request.parent, entry.request.step.kernel});
    if (entry.repair && !proposal.dispute.empty()) {
      dispute(entry.failed, proposal);
      entry.fate = Pending::Fate::Disputed;
      continue;
    }
    for (const std::string &pass : proposal.unfit)
      asked[{entry.request.parent, pass, entry.request.step.kernel, entry.request.step.site}] =
          options.asks;
    std::optional<Step> made = proposal.step ? proposal.step : proposal.chosen;
    if (!made && entry.repair) // it is still the same change
      made = proposalOf(entry.failed.step);
    if (made &&
        (made->pass != entry.request.step.pass || made->kernel != entry.request.step.kernel)) {
      // The planner knew better than the draw.
      const ExplorerNode &node = nodes.at(entry.request.parent);
      entry.request.predictedGain =
          believed
              .predict(node.stateOf(made->kernel), made->pass, node.predecessors(made->kernel),
                       node.shapeOf(made->kernel))
              .logGain;
    }
    if (made && made->pass != entry.request.step.pass)
      entry.drawn = entry.request.step.pass;
    if (made)
      entry.request.step = *made;
    if (!proposal.step) {
      entry.fate = Pending::Fate::NoMove;
      continue;
    }
    if (!proposal.step->reply.empty())
      replyRoles.try_emplace(proposal.step->reply, entry.request.minimal ? ModelRole::Minimal
                                                   : entry.repair        ? ModelRole::Debugger
                                                   : options.roles == StepRoles::PlanCode
                                                       ? ModelRole::Coder
                                                       : ModelRole::Compose);
  }
  return llvm::Error::success();
}

/// From now on the numbers of a reply that has proven itself are there to be tuned.
void Explorer::offer(const Attempt &attempt, const std::vector<ParameterRange> &ranges) {
  if (!attempt.usable() || ranges.empty())
    return;
  const Step &move = attempt.step;
  Action action{move.pass, move.kernel, move.site, ranges, /*assisted=*/false, move.reply};
  rangesOf.try_emplace({move.pass, move.reply}, ranges);
  ExplorerNode &node = nodes.at(attempt.parent);
  if (node.actions)
    node.actions->push_back(action);
  node.offered.push_back(std::move(action));
}
