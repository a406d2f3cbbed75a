//===- Choice.cpp - Weights and parameters of the next step ---------------===//
#include "kb-opt/Policy/Choice.h"
#include "Parameters.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace kbopt;

namespace {

/// Keeps every pass that applies in the draw: about a gain of 2 %.
constexpr double leastWeight = 0.02;
/// Of the weight per parameters of the same action tried at the same node.
constexpr double repeatShare = 0.5;
/// Of the weight per failure at other nodes that no success made up for.
constexpr double failureShare = 0.6;
/// A known step is followed if it makes the program slower by 10 % at most.
constexpr double worstFollowed = -0.1;

bool sameAction(const Move &move, const Action &action) {
  return move.pass == action.pass && move.kernel == action.kernel && move.site == action.site;
}

Move moveOf(const Action &action, Parameters parameters) {
  return {action.pass, action.kernel, action.site, std::move(parameters)};
}

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
};

Experience experienceOf(const Explorer &explorer, const ExplorerNode &node, const Action &action) {
  Experience seen;
  for (const Attempt &attempt : explorer.attempts()) {
    if (attempt.trajectory == 0 || !sameAction(attempt.move, action))
      continue;
    if (attempt.parent != node.id) {
      ++seen.elsewhere;
      seen.failures += attempt.correct() ? -1 : 1;
      seen.gains += attempt.gain();
      continue;
    }
    ++seen.here;
    if (attempt.correct() && !attempt.node.empty() && attempt.gain() >= worstFollowed &&
        (!seen.best || attempt.gain() > seen.best->gain()))
      seen.best = &attempt;
  }
  return seen;
}

/// Parameters of \p action that gained most in this search, at any node.
std::optional<Parameters> bestOfSearch(const Explorer &explorer, const Action &action) {
  const Attempt *best = nullptr;
  for (const Attempt &attempt : explorer.attempts())
    if (attempt.correct() && sameAction(attempt.move, action) &&
        (!best || attempt.gain() > best->gain()))
      best = &attempt;
  if (!best)
    return std::nullopt;
  return best->move.parameters;
}

} // namespace

std::optional<Parameters> kbopt::nextParameters(const Explorer &explorer, const ExplorerNode &node,
                                                const Action &action,
                                                const KnowledgeBase &knowledge,
                                                const std::set<std::pair<NodeId, Move>> &planned) {
  Parameters defaults;
  for (const ParameterRange &range : action.ranges)
    defaults[range.name] = range.defaultValue;
  std::vector<Parameters> order;
  std::vector<std::string> known =
      knowledge.knownParameters(node.stateOf(action.kernel), action.pass);
  if (!known.empty())
    if (std::optional<Parameters> parameters = parse(known.front(), action))
      order.push_back(std::move(*parameters));
  order.push_back(defaults);
  Parameters centre = bestOfSearch(explorer, action).value_or(defaults);
  order.push_back(centre);
  for (Parameters &next : neighbours(centre, action.ranges))
    order.push_back(std::move(next));
  for (Parameters &parameters : order) {
    Move move = moveOf(action, parameters);
    if (!explorer.tried(node.id, move) && !planned.count({node.id, move}))
      return std::move(parameters);
  }
  return std::nullopt;
}

std::vector<MoveOption> kbopt::movesOf(const Explorer &explorer, const ExplorerNode &node,
                                       llvm::ArrayRef<Action> actions,
                                       const KnowledgeBase &knowledge,
                                       const std::set<std::pair<NodeId, Move>> &planned) {
  std::vector<MoveOption> options;
  for (const Action &action : actions) {
    Prediction prediction =
        knowledge.predict(node.stateOf(action.kernel), action.pass,
                          node.predecessors(action.kernel), node.shapeOf(action.kernel));
    if (prediction.success == 0)
      continue; // excluded by an earlier step
    double share = node.shareOf(action.kernel);
    Experience seen = experienceOf(explorer, node, action);
    for (const auto &[at, move] : planned)
      seen.here += at == node.id && sameAction(move, action);
    // This very program tells more than the knowledge base does.
    double value = (programGain(prediction.value, share) + seen.gains) / (1 + seen.elsewhere);
    double weight = (leastWeight * share + std::max(0.0, value)) *
                    std::pow(repeatShare, seen.here) *
                    std::pow(failureShare, std::max(0, seen.failures));
    if (std::optional<Parameters> next = nextParameters(explorer, node, action, knowledge, planned))
      options.push_back({moveOf(action, std::move(*next)), weight, prediction.logGain, true});
    if (seen.best)
      options.push_back({seen.best->move, leastWeight + std::max(0.0, seen.best->gain()),
                         seen.best->gain(), false});
  }
  return options;
}
