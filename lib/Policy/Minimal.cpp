//===- Minimal.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Minimal.h"
#include "Crossover.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

/// The kernel that takes most of the time; empty where times of kernels are unknown.
static std::string hottestKernel(const NodeJudgement &judgement) {
  std::string hottest;
  double most = 0;
  for (const auto &[name, kernel] : judgement.kernels)
    if (kernel.timeUs > most) {
      most = kernel.timeUs;
      hottest = name;
    }
  return hottest;
}

llvm::Expected<SearchEnd> MinimalStrategy::explore(Explorer &explorer) {
  const SearchOptions &options = explorer.settings();
  unsigned batch = std::max(1u, options.batch);
  for (unsigned first = 1; first <= options.trajectories; first += batch) {
    std::vector<NodeId> places(std::min(batch, options.trajectories + 1 - first),
                               explorer.origin());
    for (unsigned step = 0; step != options.steps; ++step) {
      if (std::optional<SearchEnd> end = explorer.mustEnd())
        return *end;
      if (!explorer.mayAsk())
        return SearchEnd::NothingLeft;
      std::vector<ExplorerRequest> requests;
      Planned planned;
      for (auto [index, place] : llvm::enumerate(places)) {
        Action action{openPass.str(), hottestKernel(explorer.node(place).judgement), 0, {}, true};
        unsigned ask = explorer.asks(place, action) + planned.count(place, action) + 1;
        requests.push_back(
            {place, action.step(), 0, first + static_cast<unsigned>(index), ask, true});
        planned.add(requests.back());
      }
      llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests);
      if (!attempts)
        return attempts.takeError();
      for (auto [place, attempt] : llvm::zip(places, *attempts))
        if (attempt.usable() && !attempt.node.empty() &&
            attempt.timeUs <= slowestFollowed * attempt.parentTimeUs)
          place = attempt.node;
    }
  }
  return SearchEnd::Done;
}
