//===- Choice.cpp - Weights and parameters of the next step ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Policy/Choice.h"
#include "Parameters.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace kbopt;

namespace {

/// Keeps every pass that applies in the draw: about a gain of 2 %.
constexpr double leastWeight = 0.02;
/// The same where a model is to be asked, which costs more than trying a rule.
constexpr double leastAskedWeight = 0.005;
/// Of the weight per parameters of the same action tried at the same node.
constexpr double repeatShare = 0.5;
/// Of the weight per failure at other nodes that no success made up for.
constexpr double failureShare = 0.6;
/// Of the weight of a step that, together with others, gained less than `leastTogether`, and of one
/// that changes a schedule where whole schedules have been tried.
constexpr double idleShare = 0.25, leastTogether = 0.01;
/// Of the weight of a step that the counters say nothing can be gained by.
constexpr double pointlessShare = 0.1;
/// A known step is followed if it makes the program slower by 10 % at most.
constexpr double worstFollowed = -0.1;
/// Nothing is left to win below this time over the least one.
constexpr double leastHeadroom = 1.02;
/// A model is asked where more than this is left: a question costs more than a try of a rule.
constexpr double leastAskedHeadroom = 1.1;
/// What a step hands on to the one before it.
constexpr double creditDiscount = 0.5;

/// "factor=4 width=2" as parameters of \p action; nothing if it has other ones.
std::optional<Parameters> parse(llvm::StringRef text, const Action &action) {
  Parameters result;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [name, value] = word.split('=');
    auto range = llvm::find_if(action.ranges,
                               [&, n = name](const ParameterRange &r) { return r.name == n; });
    if (range == action.ranges.end() || !llvm::is_contained(range->values, value))
      return std::nullopt;
    result[name.str()] = value.str();
  }
  if (result.size() != action.ranges.size())
    return std::nullopt;
  return result;
}

/// What this search has seen of an action.
struct Experience {
  int here = 0;                  ///< tries at the node
  int elsewhere = 0;             ///< tries at other nodes
  int failures = 0;              ///< of those, what failed less what was correct
  double gains = 0;              ///< of those, sum over the correct ones
  const Attempt *best = nullptr; ///< correct at the node and worth following
  /// It brought next to nothing with others here, made no other machine code somewhere, or sketches
  /// did its work.
  bool idle = false;
};

/// Whether \p attempt is several moves, \p action among them.
bool isAmong(const Attempt &attempt, const Action &action) {
  auto isIt = [&](const Step &move) { return isOf(move, /*asked=*/false, action); };
  return !attempt.before.empty() && (isIt(attempt.step) || llvm::any_of(attempt.before, isIt));
}

Experience experienceOf(const Explorer &explorer, const ExplorerNode &node, const Action &action) {
  Experience seen;
  for (const Attempt &attempt : explorer.attempts()) {
    if (attempt.parent == node.id && attempt.usable() && isAmong(attempt, action))
      seen.idle |= attempt.gain() < leastTogether;
    seen.idle |= action.composes && attempt.phase == AttemptPhase::Sketch &&
                 attempt.step.kernel == action.kernel;
    if (attempt.trajectory == 0 || !attempt.before.empty() || !attempt.dispute.empty() ||
        !isOf(attempt.step, attempt.ask, action))
      continue;
    seen.idle |= attempt.shortcut == "identical" && attempt.gain() == 0;
    if (attempt.parent != node.id) {
      // A search without memory takes nothing along to another program. Nor does it matter there
      // that a model saw no use here.
      if (!explorer.settings().memory || attempt.failure == FailureClass::Declined)
        continue;
      ++seen.elsewhere;
      seen.failures += attempt.usable() ? -1 : 1;
      seen.gains += attempt.gain();
      continue;
    }
    // The debugger's attempts belong to the proposal.
    seen.here += attempt.repair == 0;
    if (attempt.usable() && !attempt.node.empty() && attempt.gain() >= worstFollowed &&
        (!seen.best || attempt.gain() > seen.best->gain()))
      seen.best = &attempt;
  }
  return seen;
}

/// Parameters of \p action that gained most in this search, at any node.
std::optional<Parameters> bestOfSearch(const Explorer &explorer, const Action &action) {
  const Attempt *best = nullptr;
  for (const Attempt &attempt : explorer.attempts())
    if (attempt.usable() && isOf(attempt.step, /*asked=*/false, action) &&
        (!best || attempt.gain() > best->gain()))
      best = &attempt;
  if (!best)
    return std::nullopt;
  Parameters parameters = best->step.parameters;
  return parameters;
}

/// How many times as fast as \p node a program can be; NaN: unknown.
double headroomOf(const Explorer &explorer, const ExplorerNode &node) {
  const NodeJudgement &judgement = node.judgement;
  const double attainable = explorer.attainable().us(),
               least = attainable > 0 ? attainable : judgement.floorUs;
  return least > 0 ? judgement.timeUs / least : judgement.state.headroom;
}

/// What \p action offers next: untried parameters, or one more question. The weight
/// is the caller's.
std::optional<StepOption> nextOf(const Explorer &explorer, const ExplorerNode &node,
                                 const Action &action, const Planned &planned) {
  StepOption option;
  if (action.assisted) {
    option.ask = explorer.asks(node.id, action) + planned.count(node.id, action) + 1;
    if (!explorer.mayAsk() || option.ask > explorer.settings().asks ||
        explorer.isDeclined(node.id, action.kernel) ||
        headroomOf(explorer, node) < leastAskedHeadroom)
      return std::nullopt;
    option.step = action.step();
    return option;
  }
  std::optional<Parameters> next = nextParameters(explorer, node, action, planned);
  if (!next)
    return std::nullopt;
  option.step = action.step(std::move(*next));
  return option;
}

} // namespace

bool kbopt::isOf(const Step &move, bool asked, const Action &action) {
  return move.pass == action.pass && move.kernel == action.kernel && move.site == action.site &&
         asked == action.assisted && (asked || move.reply == action.reply);
}

unsigned Planned::countAt(const NodeId &node) const {
  return static_cast<unsigned>(
      llvm::count_if(requests, [&](const auto &request) { return std::get<0>(request) == node; }));
}

unsigned Planned::count(const NodeId &node, const Action &action) const {
  return static_cast<unsigned>(llvm::count_if(requests, [&](const auto &request) {
    const auto &[at, move, ask] = request;
    return at == node && isOf(move, ask, action);
  }));
}

std::optional<Parameters> kbopt::nextParameters(const Explorer &explorer, const ExplorerNode &node,
                                                const Action &action, const Planned &planned) {
  Parameters defaults;
  for (const ParameterRange &range : action.ranges)
    defaults[range.name] = range.defaultValue;
  std::vector<Parameters> order;
  std::vector<std::string> known = explorer.knowledge().knownParameters(
      node.stateOf(action.kernel), action.pass, node.shapeOf(action.kernel));
  if (!known.empty())
    if (std::optional<Parameters> parameters = parse(known.front(), action))
      order.push_back(std::move(*parameters));
  order.push_back(defaults);
  Parameters centre = bestOfSearch(explorer, action).value_or(defaults);
  order.push_back(centre);
  for (Parameters &next : neighbours(centre, action.ranges))
    order.push_back(std::move(next));
  for (Parameters &parameters : order) {
    Step move = action.step(parameters);
    if (!explorer.tried(node.id, move) && !planned.has(node.id, move))
      return std::move(parameters);
  }
  return std::nullopt;
}

std::vector<StepOption> kbopt::stepOptions(const Explorer &explorer, const ExplorerNode &node,
                                           llvm::ArrayRef<Action> actions, const Planned &planned) {
  std::vector<StepOption> options;
  for (const Action &action : actions) {
    if (action.sketch)
      continue; // tried before anything else
    Prediction prediction =
        explorer.knowledge().predict(node.stateOf(action.kernel), action.pass,
                                     node.predecessors(action.kernel), node.shapeOf(action.kernel));
    if (prediction.success == 0)
      continue; // excluded by an earlier step
    double share = node.shareOf(action.kernel);
    Experience seen = experienceOf(explorer, node, action);
    int here = seen.here + static_cast<int>(planned.count(node.id, action));
    // This very program tells more than the knowledge base does.
    double value = (programGain(prediction.value, share) + seen.gains) / (1 + seen.elsewhere);
    bool pointless = !action.assisted &&
                     explorer.knowledge().isPointless(action.pass, node.metricsOf(action.kernel));
    if (std::optional<StepOption> next = nextOf(explorer, node, action, planned)) {
      double least = action.assisted ? leastAskedWeight : leastWeight;
      next->weight = (least * share + std::max(0.0, value)) * std::pow(repeatShare, here) *
                     std::pow(failureShare, std::max(0, seen.failures)) *
                     (seen.idle ? idleShare : 1) * (pointless ? pointlessShare : 1);
      next->predictedGain = prediction.logGain;
      options.push_back(std::move(*next));
    }
    if (seen.best)
      options.push_back({seen.best->step, leastWeight + std::max(0.0, seen.best->gain()),
                         seen.best->gain(), false});
  }
  return options;
}

bool kbopt::isAtFloor(const Explorer &explorer, const ExplorerNode &node) {
  return headroomOf(explorer, node) < leastHeadroom; // NaN, unknown, is not less
}

llvm::Expected<std::vector<StepOption>> kbopt::freshSteps(Explorer &explorer, const NodeId &id,
                                                          const Planned &planned) {
  const ExplorerNode &node = explorer.node(id);
  if (isAtFloor(explorer, node))
    return std::vector<StepOption>();
  llvm::Expected<llvm::ArrayRef<Action>> actions = explorer.actions(id);
  if (!actions)
    return actions.takeError();
  std::vector<StepOption> moves = stepOptions(explorer, node, *actions, planned);
  llvm::erase_if(moves,
                 [](const StepOption &option) { return !option.fresh || !(option.weight > 0); });
  return moves;
}

const StepOption &kbopt::drawn(llvm::ArrayRef<StepOption> moves, Random &random) {
  std::vector<double> weights;
  for (const StepOption &option : moves)
    weights.push_back(option.weight);
  return moves[random.weighted(weights)];
}

void kbopt::giveCredit(Explorer &explorer, llvm::ArrayRef<Attempt> steps) {
  double later = 0;
  for (const Attempt &step : llvm::reverse(steps)) {
    explorer.credit(step.parent, step.step, later);
    later = creditDiscount * std::max(0.0, step.gain() + later);
  }
}
