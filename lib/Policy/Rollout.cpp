//===- Rollout.cpp --------------------------------------------------------===//
#include "Rollout.h"
#include "kb-opt/Policy/Choice.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {

/// What a step hands on to the one before it.
constexpr double creditDiscount = 0.5;
/// A correct step that makes the program slower by more is not gone on from.
constexpr double slowestFollowed = 1.1;
/// Nothing is left to win below this time over the roofline floor.
constexpr double leastHeadroom = 1.02;

struct Trajectory {
  unsigned number;
  Random random;
  NodeId at;
  std::vector<Attempt> steps; ///< those it moved along
  std::set<NodeId> visited;
};

class Rollout {
public:
  Rollout(Explorer &explorer, const SearchOptions &options, const KnowledgeBase &knowledge)
      : explorer(explorer), options(options), knowledge(knowledge) {}

  llvm::Expected<SearchEnd> run() {
    for (unsigned first = 1; first <= options.trajectories; first += batchSize()) {
      llvm::Expected<std::optional<SearchEnd>> end =
          runBatch(first, std::min(first + batchSize(), options.trajectories + 1));
      if (!end)
        return end.takeError();
      if (*end)
        return **end;
      if (exhausted.count(explorer.root()))
        return SearchEnd::NothingLeft;
      knowledge = explorer.learnt();
    }
    return SearchEnd::Done;
  }

private:
  unsigned batchSize() const { return std::max(1u, options.batch); }

  llvm::Expected<std::optional<SearchEnd>> runBatch(unsigned first, unsigned last) {
    std::vector<Trajectory> batch;
    for (unsigned number = first; number != last; ++number)
      batch.push_back({number,
                       Random(options.seed).fork("trajectory " + std::to_string(number)),
                       explorer.root(),
                       {},
                       {explorer.root()}});
    std::optional<SearchEnd> end;
    for (unsigned step = 0; step != options.steps && !end; ++step) {
      if ((end = explorer.mustEnd()))
        break;
      llvm::Expected<bool> more = advance(batch);
      if (!more)
        return more.takeError();
      if (!*more)
        break;
    }
    for (const Trajectory &trajectory : batch)
      giveCredit(trajectory);
    return end ? end : explorer.mustEnd();
  }

  /// Draws one new move for each trajectory, tries them together, moves on. False
  /// when there is none.
  llvm::Expected<bool> advance(std::vector<Trajectory> &batch) {
    std::vector<ExplorerRequest> requests;
    std::vector<Trajectory *> askers;
    std::set<std::pair<NodeId, Move>> planned;
    for (Trajectory &trajectory : batch) {
      llvm::Expected<std::optional<ExplorerRequest>> request = draw(trajectory, planned);
      if (!request)
        return request.takeError();
      if (!*request)
        continue;
      planned.insert({(*request)->parent, (*request)->move});
      requests.push_back(std::move(**request));
      askers.push_back(&trajectory);
    }
    if (requests.empty())
      return false;
    llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests);
    if (!attempts)
      return attempts.takeError();
    for (auto [trajectory, attempt] : llvm::zip(askers, *attempts))
      if (attempt.correct() && !attempt.node.empty() &&
          attempt.timeUs <= slowestFollowed * attempt.parentTimeUs &&
          !trajectory->visited.count(attempt.node))
        follow(*trajectory, attempt);
    return true;
  }

  void follow(Trajectory &trajectory, const Attempt &attempt) {
    trajectory.at = attempt.node;
    trajectory.visited.insert(attempt.node);
    trajectory.steps.push_back(attempt);
  }

  void restart(Trajectory &trajectory) {
    giveCredit(trajectory);
    trajectory.steps.clear();
    trajectory.at = explorer.root();
    trajectory.visited = {explorer.root()};
  }

  /// Draws until a move comes up that is new at its place; known ones are followed
  /// on the way at no cost. Where nothing is open any more the trajectory starts
  /// again at the root. Nothing when the root has nothing open either.
  llvm::Expected<std::optional<ExplorerRequest>>
  draw(Trajectory &trajectory, const std::set<std::pair<NodeId, Move>> &planned) {
    for (;;) {
      llvm::Expected<std::vector<MoveOption>> moves = open(trajectory, planned);
      if (!moves)
        return moves.takeError();
      if (moves->empty()) {
        // Another trajectory of the batch may just be opening something here.
        auto first = planned.lower_bound({trajectory.at, Move()});
        bool busy = first != planned.end() && first->first == trajectory.at;
        if (!busy)
          exhausted.insert(trajectory.at);
        if (busy || trajectory.at == explorer.root())
          return std::nullopt;
        restart(trajectory);
        continue;
      }
      std::vector<double> weights;
      for (const MoveOption &option : *moves)
        weights.push_back(option.weight);
      const MoveOption &chosen = (*moves)[trajectory.random.weighted(weights)];
      if (chosen.fresh)
        return ExplorerRequest{trajectory.at, chosen.move, chosen.predictedGain, trajectory.number};
      follow(trajectory, *explorer.tried(trajectory.at, chosen.move));
    }
  }

  /// What can be drawn where \p trajectory is: not in a circle, and nothing that
  /// leads only to what is done.
  llvm::Expected<std::vector<MoveOption>> open(const Trajectory &trajectory,
                                               const std::set<std::pair<NodeId, Move>> &planned) {
    const ExplorerNode &node = explorer.node(trajectory.at);
    const NodeJudgement &judgement = node.judgement;
    double headroom =
        judgement.floorUs > 0 ? judgement.timeUs / judgement.floorUs : judgement.state.headroom;
    // NaN, unknown, is not less.
    if (headroom < leastHeadroom)
      return std::vector<MoveOption>();
    llvm::Expected<llvm::ArrayRef<Action>> actions = explorer.actions(node.id);
    if (!actions)
      return actions.takeError();
    std::vector<MoveOption> moves = movesOf(explorer, node, *actions, knowledge, planned);
    llvm::erase_if(moves, [&](const MoveOption &option) {
      const Attempt *known = option.fresh ? nullptr : explorer.tried(node.id, option.move);
      return !(option.weight > 0) ||
             (known && (trajectory.visited.count(known->node) || exhausted.count(known->node)));
    });
    return moves;
  }

  /// Own gain of each step and the discounted gains behind it. A later step that
  /// lost time takes nothing from an earlier one: it need not be kept.
  void giveCredit(const Trajectory &trajectory) {
    double later = 0;
    for (const Attempt &step : llvm::reverse(trajectory.steps)) {
      explorer.credit(step.parent, step.move, later);
      later = creditDiscount * std::max(0.0, step.gain() + later);
    }
  }

  Explorer &explorer;
  const SearchOptions &options;
  KnowledgeBase knowledge;
  /// Nodes with nothing left to try behind them.
  std::set<NodeId> exhausted;
};

} // namespace

llvm::Expected<SearchResult> RolloutStrategy::run(Environment &environment,
                                                  const KnowledgeBase &knowledge,
                                                  const SearchOptions &options, Clock &clock,
                                                  SearchObserver *observer) {
  Explorer explorer(environment, knowledge, options, clock, observer);
  llvm::Expected<bool> usable = explorer.start();
  if (!usable)
    return usable.takeError();
  if (!*usable)
    return explorer.finish(SearchEnd::NothingLeft);
  llvm::Expected<SearchEnd> end = Rollout(explorer, options, knowledge).run();
  if (end)
    return explorer.finish(*end);
  // What failed because the user ended the search costs nothing found before.
  if (!options.stop || !options.stop())
    return end.takeError();
  llvm::consumeError(end.takeError());
  return explorer.finish(SearchEnd::Interrupted);
}
