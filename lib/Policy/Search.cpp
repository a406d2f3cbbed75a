//===- Search.cpp - Names and the list of strategies ----------------------===//
#include "kb-opt/Policy/Search.h"
#include "Rollout.h"
#include "kb-opt/Support/Error.h"
#include <cmath>

using namespace kbopt;

Environment::~Environment() = default;
SearchObserver::~SearchObserver() = default;
Strategy::~Strategy() = default;

std::string Move::text() const {
  std::string inside;
  auto add = [&](llvm::StringRef name, llvm::StringRef value) {
    inside += ((inside.empty() ? "" : " ") + name + "=" + value).str();
  };
  for (const auto &[name, value] : parameters)
    add(name, value);
  if (!kernel.empty())
    add("kernel", kernel);
  if (!site.empty())
    add("site", site);
  return inside.empty() ? pass : pass + "{" + inside + "}";
}

double Attempt::gain() const {
  return correct() && timeUs > 0 && parentTimeUs > 0 ? std::log(parentTimeUs / timeUs) : 0;
}

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
  case SearchEnd::Interrupted:
    return "interrupted";
  }
  return "";
}

llvm::Expected<std::unique_ptr<Strategy>> kbopt::createStrategy(llvm::StringRef name) {
  if (name == "rollout")
    return std::make_unique<RolloutStrategy>();
  return llvm::make_error<UsageError>("unknown strategy '" + name.str() + "'",
                                      "known strategies: rollout");
}
