//===- Answers.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Answers.h"
#include "kb-opt/Policy/Choice.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {

/// A kernel that takes less of the program's time is left as it is.
constexpr double leastShare = 0.02;
/// Of the time that a state costs; a pass that is expected to take less away is one of many.
constexpr double leastRemoved = 0.1;
/// Candidates that are judged at most, and the part of a budget that they may take.
constexpr uint64_t mostJudged = 4, budgetPart = 4;
/// Those that are compiled and modelled for one that is judged.
constexpr uint64_t modelledForOne = 2;

/// What \p action, a rule's, is expected to take away of what its kernel waits for: of the primary
/// state, or a part of that for the secondary one. Of a recipe all: it was made for such a kernel.
double removedBy(const Explorer &explorer, const ExplorerNode &node, const Action &action) {
  constexpr double secondaryShare = 0.5;
  if (action.isRecipe)
    return 1;
  const Optimization *pass = explorer.knowledge().catalogue().find(action.pass);
  const State &state = node.stateOf(action.kernel);
  auto removes = [&](llvm::StringRef name) {
    const StateAnswer *answer = pass ? pass->answerTo(name) : nullptr;
    return answer ? answer->removes : 0;
  };
  return std::max(removes(state.primary), secondaryShare * removes(state.secondary));
}

std::vector<Action> answersAt(const Explorer &explorer, const ExplorerNode &node,
                              llvm::ArrayRef<Action> actions) {
  std::vector<std::pair<double, Action>> ranked;
  std::set<std::pair<std::string, std::string>> seen; ///< pass and kernel
  for (const Action &action : actions) {
    const double removed = removedBy(explorer, node, action), share = node.shareOf(action.kernel);
    if (action.assisted || action.sketch || action.composes || share < leastShare ||
        (!action.isNamed && removed < leastRemoved) ||
        explorer.knowledge().isPointless(action.pass, node.metricsOf(action.kernel)) ||
        !seen.insert({action.pass, action.kernel}).second)
      continue;
    ranked.push_back({removed * share, action});
  }
  llvm::stable_sort(ranked, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<Action> chosen;
  for (auto &[removed, action] : ranked)
    chosen.push_back(action);
  return chosen;
}

/// How many are judged.
uint64_t judgedAt(const Explorer &explorer) {
  const uint64_t budget = explorer.settings().budgetCandidates;
  return budget ? std::min(mostJudged, budget / budgetPart) : mostJudged;
}

} // namespace

llvm::Expected<std::optional<Leader>> kbopt::tryAnswers(Explorer &explorer) {
  const ExplorerNode &node = explorer.node(explorer.origin());
  const uint64_t most = judgedAt(explorer);
  if (!explorer.settings().answers || !most || explorer.mustEnd() || isAtFloor(explorer, node))
    return std::nullopt;
  llvm::Expected<llvm::ArrayRef<Action>> actions = explorer.actions(node.id);
  if (!actions)
    return actions.takeError();
  std::vector<ExplorerRequest> requests;
  for (const Action &action : answersAt(explorer, node, *actions))
    if (auto parameters = nextParameters(explorer, node, action, {}))
      requests.push_back(
          earlyRequest(node.id, action.step(std::move(*parameters)), AttemptPhase::Sketch));
  if (requests.size() > most * modelledForOne)
    requests.resize(most * modelledForOne);
  llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests, most);
  if (!attempts)
    return attempts.takeError();
  std::optional<Leader> best;
  double least = node.judgement.timeUs * (1 - explorer.leastGain());
  for (const Attempt &attempt : *attempts)
    if (attempt.usable() && !attempt.node.empty() && attempt.timeUs < least) {
      least = attempt.timeUs;
      best = Leader{attempt.node, {attempt.step}, attempt.timeUs};
    }
  return best;
}

llvm::Expected<NodeId> kbopt::joinAnswer(Explorer &explorer, const NodeId &start,
                                         const Leader &answer, const NodeId &scheduled) {
  auto timeOf = [&](const NodeId &id) { return explorer.node(id).judgement.timeUs; };
  NodeId best = timeOf(answer.node) < timeOf(scheduled) ? answer.node : scheduled;
  const Step &own = answer.pipeline.front();
  std::vector<Step> others;
  for (const Step &step : llvm::ArrayRef(explorer.node(scheduled).pipeline)
                              .drop_front(explorer.node(start).pipeline.size()))
    if (step.kernel != own.kernel)
      others.push_back(step);
  if (others.empty() || explorer.mustEnd())
    return best;
  llvm::Expected<std::vector<Attempt>> attempts =
      explorer.evaluate({earlyRequest(answer.node, others, AttemptPhase::Sketch)});
  if (!attempts)
    return attempts.takeError();
  for (const Attempt &attempt : *attempts)
    if (attempt.usable() && !attempt.node.empty() && attempt.timeUs < timeOf(best))
      best = attempt.node;
  return best;
}
