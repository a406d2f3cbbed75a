//===- Search.cpp - Names and the list of strategies ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Policy/Search.h"
#include "Beam.h"
#include "FirstSteps.h"
#include "Minimal.h"
#include "Rollout.h"
#include "Sketches.h"
#include "Tree.h"
#include "kb-opt/Policy/Explorer.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;

Environment::~Environment() = default;
SearchObserver::~SearchObserver() = default;
Strategy::~Strategy() = default;

llvm::Expected<Proposal> Environment::propose(const NodeId &, const ProposalRequest &) {
  return Proposal{{}, {}, FailureClass::Unavailable, "there is no model"};
}

llvm::Expected<Proposal> Environment::repair(const NodeId &node, const ProposalRequest &request,
                                             const Attempt &) {
  return Environment::propose(node, request);
}

llvm::Expected<Reflection> Environment::suggest(const SuggestionRequest &) { return Reflection(); }

llvm::Expected<Reflection> Environment::reflect(const ReplayBuffer &) { return Reflection(); }

llvm::StringRef kbopt::endName(SearchEnd end) {
  switch (end) {
  case SearchEnd::Done:
    return "done";
  case SearchEnd::NothingLeft:
    return "nothing left to try";
  case SearchEnd::BudgetCandidates:
    return "candidate budget spent";
  case SearchEnd::BudgetSeconds:
    return "time budget spent";
  case SearchEnd::BudgetModel:
    return "the model is asked no more";
  case SearchEnd::Interrupted:
    return "interrupted";
  }
  return "";
}

/// What comes before single steps. Returns why the search must end, if it must.
static llvm::Expected<std::optional<SearchEnd>> tryEarly(Explorer &explorer) {
  if (llvm::Error error = explorer.keepCandidates())
    return std::move(error);
  llvm::Expected<std::optional<SearchEnd>> early = trySketches(explorer);
  if (early && !*early)
    if (llvm::Error error = tryFirstSteps(explorer))
      early = std::move(error);
  explorer.releaseCandidates();
  if (early && *early == SearchEnd::BudgetCandidates)
    early = explorer.mustEnd();
  return early;
}

llvm::Expected<SearchResult> Strategy::run(Environment &environment, const KnowledgeBase &knowledge,
                                           const SearchOptions &options, Clock &clock,
                                           SearchObserver *observer) {
  SearchOptions restricted = options;
  restrict(restricted);
  Explorer explorer(environment, knowledge, restricted, clock, observer);
  llvm::Expected<bool> usable = explorer.start();
  if (!usable)
    return usable.takeError();
  if (!*usable)
    return explorer.finish(SearchEnd::NothingLeft);
  llvm::Expected<std::optional<SearchEnd>> early = tryEarly(explorer);
  if (early)
    explorer.recall();
  llvm::Expected<SearchEnd> end = !early   ? llvm::Expected<SearchEnd>(early.takeError())
                                  : *early ? llvm::Expected<SearchEnd>(**early)
                                           : explore(explorer);
  if (end)
    return explorer.finish(
        *end == SearchEnd::NothingLeft && !explorer.mayAsk() ? SearchEnd::BudgetModel : *end);
  // What failed because the user or the clock ended the search costs nothing found before.
  if (!options.stop || !options.stop())
    return end.takeError();
  llvm::consumeError(end.takeError());
  return explorer.finish(explorer.mustEnd().value_or(SearchEnd::Interrupted));
}

namespace {
struct KnownStrategy {
  llvm::StringLiteral name;
  std::unique_ptr<Strategy> (*make)();
};
template <typename T> std::unique_ptr<Strategy> makeStrategy() { return std::make_unique<T>(); }
constexpr KnownStrategy known[] = {{"rollout", makeStrategy<RolloutStrategy>},
                                   {"tree", makeStrategy<TreeStrategy>},
                                   {"beam", makeStrategy<BeamStrategy>},
                                   {"minimal", makeStrategy<MinimalStrategy>}};
} // namespace

std::vector<std::string> kbopt::strategyNames() {
  std::vector<std::string> names;
  for (const KnownStrategy &strategy : known)
    names.push_back(strategy.name.str());
  return names;
}

llvm::Expected<std::unique_ptr<Strategy>> kbopt::createStrategy(llvm::StringRef name) {
  for (const KnownStrategy &strategy : known)
    if (strategy.name == name)
      return strategy.make();
  return llvm::make_error<UsageError>("unknown strategy '" + name.str() + "'",
                                      "known strategies: " + llvm::join(strategyNames(), ", "));
}
