//===- Crossover.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Crossover.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {

/// So many of the fastest programs are looked at.
constexpr size_t mostParents = 6;

bool isSamePlace(const Step &a, const Step &b) {
  return a.pass == b.pass && a.kernel == b.kernel && a.site == b.site;
}

bool areDisjoint(llvm::ArrayRef<Step> first, llvm::ArrayRef<Step> second) {
  return llvm::none_of(first, [&](const Step &a) {
    return llvm::any_of(second, [&](const Step &b) {
      return a.kernel.empty() || b.kernel.empty() || a.kernel == b.kernel;
    });
  });
}

unsigned rankOf(const Step &move, const Catalogue &catalogue) {
  const Optimization *optimization = catalogue.find(move.pass);
  return optimization ? optimization->number : 0;
}

/// Follows a union from the original as far as its steps do well.
struct Walker {
  std::vector<Step> steps;
  unsigned trajectory;
  NodeId at;
  size_t next = 0;
  std::vector<Attempt> followed = {};

  void take(const Attempt &attempt) {
    ++next;
    if (!attempt.usable() || attempt.node.empty() || attempt.node == at ||
        attempt.timeUs > slowestFollowed * attempt.parentTimeUs)
      return;
    at = attempt.node;
    followed.push_back(attempt);
  }

  /// Goes over what was tried before; false at the end.
  bool skipKnown(const Explorer &explorer) {
    while (next != steps.size()) {
      const Attempt *known = explorer.tried(at, steps[next]);
      if (!known)
        return true;
      take(*known);
    }
    return false;
  }

  ExplorerRequest request(const Explorer &explorer) const {
    const ExplorerNode &node = explorer.node(at);
    const Step &move = steps[next];
    Prediction prediction =
        explorer.knowledge().predict(node.stateOf(move.kernel), move.pass,
                                     node.predecessors(move.kernel), node.shapeOf(move.kernel));
    return {at, move, prediction.logGain, trajectory};
  }
};

} // namespace

std::vector<Step> kbopt::unionOf(llvm::ArrayRef<Step> first, llvm::ArrayRef<Step> second,
                                 const Catalogue &catalogue) {
  std::vector<Step> more;
  for (const Step &move : second)
    if (llvm::none_of(first, [&](const Step &have) { return isSamePlace(have, move); }))
      more.push_back(move);
  bool disjoint = areDisjoint(first, more);
  std::vector<Step> all;
  size_t i = 0, j = 0;
  while (i != first.size() || j != more.size()) {
    bool fromFirst = j == more.size() ||
                     (i != first.size() &&
                      (disjoint || rankOf(first[i], catalogue) <= rankOf(more[j], catalogue)));
    all.push_back(fromFirst ? first[i++] : more[j++]);
  }
  return all;
}

llvm::Expected<bool> kbopt::crossWinners(Explorer &explorer, unsigned pairs, unsigned trajectory) {
  std::vector<Leader> leaders = explorer.leaders();
  if (leaders.size() > mostParents)
    leaders.resize(mostParents);
  std::vector<Walker> walkers;
  std::set<std::vector<Step>> unions;
  for (size_t sum = 1; sum < 2 * leaders.size(); ++sum)
    for (size_t i = 0; 2 * i < sum && walkers.size() < pairs; ++i) {
      size_t j = sum - i;
      if (j >= leaders.size())
        continue;
      std::vector<Step> both =
          unionOf(leaders[i].pipeline, leaders[j].pipeline, explorer.knowledge().catalogue());
      size_t longer = std::max(leaders[i].pipeline.size(), leaders[j].pipeline.size());
      if (both.size() <= longer || !unions.insert(both).second)
        continue;
      Walker walker{std::move(both), trajectory + static_cast<unsigned>(walkers.size()),
                    explorer.root()};
      if (walker.skipKnown(explorer))
        walkers.push_back(std::move(walker));
    }
  bool tried = false;
  for (;;) {
    std::vector<ExplorerRequest> requests;
    std::vector<Walker *> askers;
    for (Walker &walker : walkers)
      if (walker.skipKnown(explorer)) {
        requests.push_back(walker.request(explorer));
        askers.push_back(&walker);
      }
    if (requests.empty() || explorer.mustEnd())
      break;
    llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests);
    if (!attempts)
      return attempts.takeError();
    if (attempts->empty())
      break;
    tried = true;
    for (auto [walker, attempt] : llvm::zip(askers, *attempts))
      walker->take(attempt);
  }
  for (const Walker &walker : walkers)
    giveCredit(explorer, walker.followed);
  return tried;
}
