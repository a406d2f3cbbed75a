//===- Beam.cpp -----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Beam.h"
#include "Crossover.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {

/// Pairs of winners that are crossed in a round.
constexpr unsigned crossedPairs = 2;
/// A family that has not become faster for so many rounds leaves, the leader's not.
constexpr unsigned plateau = 2;

/// Where a program came from: its first step.
using Family = std::pair<std::string, std::string>;

class Beam {
public:
  explicit Beam(Explorer &explorer)
      : explorer(explorer), options(explorer.settings()), random(Random(options.seed).fork("beam")),
        members{explorer.origin()} {}

  llvm::Expected<SearchEnd> run() {
    for (round = 1; round <= options.steps; ++round) {
      if (std::optional<SearchEnd> end = explorer.mustEnd())
        return *end;
      double before = explorer.bestUs();
      size_t first = explorer.attempts().size();
      llvm::Expected<bool> tried = expand();
      if (!tried)
        return tried.takeError();
      giveCredits(first);
      if (llvm::Error error = explorer.learn())
        return std::move(error);
      if (options.crossover.value_or(true) && !explorer.mustEnd()) {
        llvm::Expected<bool> crossed = crossWinners(explorer, crossedPairs, options.width + 1);
        if (!crossed)
          return crossed.takeError();
        *tried |= *crossed;
      }
      if (std::optional<SearchEnd> end = explorer.mustEnd())
        return *end;
      if (!*tried)
        return SearchEnd::NothingLeft;
      selectFrom(first);
      bool foundAny = explorer.bestUs() < explorer.node(explorer.root()).judgement.timeUs;
      if (foundAny && explorer.bestUs() > before * (1 - options.leastImprovement))
        return SearchEnd::Done;
    }
    return SearchEnd::Done;
  }

private:
  /// New moves for every member, all tried together. False where there are none.
  llvm::Expected<bool> expand() {
    std::vector<ExplorerRequest> requests;
    Planned planned;
    unsigned each = options.branching * options.width / static_cast<unsigned>(members.size());
    each = members.size() == 1 ? each : options.branching;
    for (auto [slot, member] : llvm::enumerate(members)) {
      std::set<std::string> passes; // each once before any twice
      for (unsigned i = 0; i != each; ++i) {
        llvm::Expected<std::vector<StepOption>> moves = freshSteps(explorer, member, planned);
        if (!moves)
          return moves.takeError();
        std::vector<StepOption> others = *moves;
        llvm::erase_if(others,
                       [&](const StepOption &option) { return passes.count(option.step.pass); });
        if (moves->empty())
          break;
        const StepOption &chosen = drawn(others.empty() ? *moves : others, random);
        passes.insert(chosen.step.pass);
        requests.push_back({member, chosen.step, chosen.predictedGain,
                            static_cast<unsigned>(slot) + 1, chosen.ask});
        planned.add(requests.back());
      }
    }
    if (requests.empty())
      return false;
    llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests);
    if (!attempts)
      return attempts.takeError();
    return true;
  }

  void giveCredits(size_t first) {
    for (size_t i = first; i != explorer.attempts().size(); ++i) {
      NodeId at = explorer.attempts()[i].node;
      std::vector<Attempt> way;
      for (; !at.empty() && at != explorer.root(); at = explorer.node(at).parent) {
        const ExplorerNode &node = explorer.node(at);
        way.insert(way.begin(), *explorer.tried(node.parent, node.pipeline.back()));
      }
      giveCredit(explorer, way);
    }
  }

  Family familyOf(const NodeId &node) const {
    const Step &move = explorer.node(node).pipeline.front();
    return {move.pass, move.kernel};
  }

  /// The fastest of each family, then the fastest of the rest, of the members and what
  /// was tried from attempt \p first on.
  void selectFrom(size_t first) {
    std::vector<NodeId> pool;
    auto offer = [&](const NodeId &node) {
      if (!node.empty() && node != explorer.root() && !llvm::is_contained(pool, node))
        pool.push_back(node);
    };
    llvm::for_each(members, offer);
    double slowest = slowestFollowed * explorer.node(explorer.root()).judgement.timeUs;
    for (const Attempt &attempt : llvm::drop_begin(explorer.attempts(), first))
      if (attempt.usable() && attempt.timeUs <= slowest)
        offer(attempt.node);
    llvm::sort(pool, [&](const NodeId &a, const NodeId &b) {
      const ExplorerNode &x = explorer.node(a), &y = explorer.node(b);
      return std::tuple(x.judgement.timeUs, x.pipeline.size(), a) <
             std::tuple(y.judgement.timeUs, y.pipeline.size(), b);
    });
    retire(pool);
    std::vector<NodeId> chosen;
    std::set<Digest> codes = {explorer.node(explorer.root()).code};
    std::set<Family> families;
    for (bool apart : {true, false})
      for (const NodeId &node : pool) {
        const Digest &code = explorer.node(node).code;
        if (chosen.size() == options.width || llvm::is_contained(chosen, node) ||
            (apart && families.count(familyOf(node))) || (!code.empty() && codes.count(code)))
          continue;
        chosen.push_back(node);
        codes.insert(code);
        families.insert(familyOf(node));
      }
    if (!chosen.empty())
      members = std::move(chosen);
  }

  /// Takes families out of \p pool, fastest first, that have come to a plateau behind
  /// the leader.
  void retire(std::vector<NodeId> &pool) {
    for (const NodeId &node : pool) {
      double us = explorer.node(node).judgement.timeUs;
      auto [best, isNew] = progress.try_emplace(familyOf(node), us, round);
      if (!isNew && us < best->second.first)
        best->second = {us, round};
    }
    if (pool.empty())
      return;
    Family leader = familyOf(pool.front());
    llvm::erase_if(pool, [&](const NodeId &node) {
      Family family = familyOf(node);
      return family != leader && round - progress.at(family).second >= plateau;
    });
  }

  Explorer &explorer;
  const SearchOptions &options;
  Random random;
  std::vector<NodeId> members;
  std::map<Family, std::pair<double, unsigned>> progress; ///< best time, and its round
  unsigned round = 0;
};

} // namespace

llvm::Expected<SearchEnd> BeamStrategy::explore(Explorer &explorer) { return Beam(explorer).run(); }
