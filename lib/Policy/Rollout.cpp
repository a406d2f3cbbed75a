//===- Rollout.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Rollout.h"
#include "Crossover.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {

/// After a sketch won, so many steps of a batch that bring nothing end the search.
constexpr unsigned mostIdleSteps = 3;

struct Trajectory {
  unsigned number;
  Random random;
  NodeId at;
  std::vector<Attempt> steps; ///< those it moved along
  std::set<NodeId> visited;
};

class Rollout {
public:
  explicit Rollout(Explorer &explorer) : explorer(explorer), options(explorer.settings()) {}

  llvm::Expected<SearchEnd> run() {
    for (unsigned first = 1; first <= options.trajectories; first += batchSize()) {
      llvm::Expected<std::optional<SearchEnd>> end =
          runBatch(first, std::min(first + batchSize(), options.trajectories + 1));
      if (!end)
        return end.takeError();
      if (*end)
        return **end;
      if (exhausted.count(explorer.origin()))
        return SearchEnd::NothingLeft;
      if (llvm::Error error = explorer.learn())
        return std::move(error);
      if (!options.crossover.value_or(false))
        continue;
      llvm::Expected<bool> crossed = crossWinners(explorer, 1, options.trajectories + 1);
      if (!crossed)
        return crossed.takeError();
      if (std::optional<SearchEnd> over = explorer.mustEnd())
        return *over;
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
                       explorer.origin(),
                       {},
                       {explorer.origin()}});
    std::optional<SearchEnd> end;
    unsigned idle = 0;
    for (unsigned step = 0; step != options.steps && !end; ++step) {
      if ((end = explorer.mustEnd()))
        break;
      double before = explorer.bestUs();
      llvm::Expected<bool> more = advance(batch);
      if (!more)
        return more.takeError();
      if (!*more)
        break;
      idle = explorer.bestUs() < before ? 0 : idle + 1;
      // Single steps seldom make a whole schedule better.
      if (explorer.origin() != explorer.root() && idle == mostIdleSteps)
        end = SearchEnd::Done;
    }
    for (const Trajectory &trajectory : batch)
      giveCredit(explorer, trajectory.steps);
    return end ? end : explorer.mustEnd();
  }

  /// Draws one new move for each trajectory, tries them together, moves on. False
  /// when there is none.
  llvm::Expected<bool> advance(std::vector<Trajectory> &batch) {
    std::vector<ExplorerRequest> requests;
    std::vector<Trajectory *> askers;
    Planned planned;
    for (Trajectory &trajectory : batch) {
      llvm::Expected<std::optional<ExplorerRequest>> request = draw(trajectory, planned);
      if (!request)
        return request.takeError();
      if (!*request)
        continue;
      planned.add(**request);
      requests.push_back(std::move(**request));
      askers.push_back(&trajectory);
    }
    if (requests.empty())
      return false;
    llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests);
    if (!attempts)
      return attempts.takeError();
    for (auto [trajectory, attempt] : llvm::zip(askers, *attempts))
      if (attempt.usable() && !attempt.node.empty() &&
          attempt.timeUs <= slowestFollowed * attempt.parentTimeUs &&
          !trajectory->visited.count(attempt.node))
        follow(*trajectory, attempt);
      else
        lose(*trajectory);
    return true;
  }

  /// A step that is not followed: where another trajectory has come further meanwhile, this one
  /// goes on from the fastest program, on the way that led there.
  void lose(Trajectory &trajectory) {
    auto timeOf = [&](const NodeId &id) { return explorer.node(id).judgement.timeUs; };
    const NodeId leader = explorer.leader();
    if (!exhausted.count(leader) &&
        timeOf(leader) < timeOf(trajectory.at) * (1 - explorer.leastGain())) {
      moveTo(trajectory, explorer.origin());
      for (const Attempt &step : wayTo(leader))
        follow(trajectory, step);
      trajectory.at = leader;
    }
  }

  /// The steps from the origin to \p place, as far back as they were single ones.
  std::vector<Attempt> wayTo(const NodeId &place) const {
    std::vector<Attempt> way;
    for (NodeId at = place; at != explorer.origin(); at = way.front().parent) {
      const auto step = llvm::find_if(explorer.attempts(), [&](const Attempt &attempt) {
        return attempt.node == at && attempt.before.empty() &&
               attempt.parent == explorer.node(at).parent;
      });
      if (step == explorer.attempts().end())
        break;
      way.insert(way.begin(), *step);
    }
    return way;
  }

  void follow(Trajectory &trajectory, const Attempt &attempt) {
    trajectory.at = attempt.node;
    trajectory.visited.insert(attempt.node);
    trajectory.steps.push_back(attempt);
  }

  void restart(Trajectory &trajectory) { moveTo(trajectory, explorer.origin()); }

  void moveTo(Trajectory &trajectory, const NodeId &place) {
    giveCredit(explorer, trajectory.steps);
    trajectory.steps.clear();
    trajectory.at = place;
    trajectory.visited = {place};
  }

  /// Draws until a move comes up that is new at its place; known ones are followed
  /// on the way at no cost. Where nothing is open any more the trajectory starts
  /// again at the root. Nothing when the root has nothing open either.
  llvm::Expected<std::optional<ExplorerRequest>> draw(Trajectory &trajectory,
                                                      const Planned &planned) {
    for (;;) {
      llvm::Expected<std::vector<StepOption>> moves = open(trajectory, planned);
      if (!moves)
        return moves.takeError();
      if (moves->empty()) {
        // Another trajectory of the batch may just be opening something here.
        bool busy = planned.anyAt(trajectory.at);
        if (!busy)
          exhausted.insert(trajectory.at);
        if (busy || trajectory.at == explorer.origin())
          return std::nullopt;
        restart(trajectory);
        continue;
      }
      const StepOption &chosen = drawn(*moves, trajectory.random);
      if (chosen.fresh)
        return ExplorerRequest{trajectory.at, chosen.step, chosen.predictedGain, trajectory.number,
                               chosen.ask};
      follow(trajectory, *explorer.tried(trajectory.at, chosen.step));
    }
  }

  /// What can be drawn where \p trajectory is: not in a circle, and nothing that
  /// leads only to what is done.
  llvm::Expected<std::vector<StepOption>> open(const Trajectory &trajectory,
                                               const Planned &planned) {
    const ExplorerNode &node = explorer.node(trajectory.at);
    if (isAtFloor(explorer, node))
      return std::vector<StepOption>();
    llvm::Expected<llvm::ArrayRef<Action>> actions = explorer.actions(node.id);
    if (!actions)
      return actions.takeError();
    std::vector<StepOption> moves = stepOptions(explorer, node, *actions, planned);
    llvm::erase_if(moves, [&](const StepOption &option) {
      const Attempt *known = option.fresh ? nullptr : explorer.tried(node.id, option.step);
      return !(option.weight > 0) ||
             (known && (trajectory.visited.count(known->node) || exhausted.count(known->node)));
    });
    return moves;
  }

  Explorer &explorer;
  const SearchOptions &options;
  /// Nodes with nothing left to try behind them.
  std::set<NodeId> exhausted;
};

} // namespace

llvm::Expected<SearchEnd> RolloutStrategy::explore(Explorer &explorer) {
  return Rollout(explorer).run();
}
