//===- Move.cpp - Moves and attempts in words -----------------------------===//
#include "kb-opt/Policy/Environment.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>

using namespace kbopt;

std::string Move::text() const {
  std::string inside;
  auto add = [&](llvm::StringRef name, llvm::StringRef value) {
    bool isPlain = !value.empty() && value.find_first_of(" \t\n,{}'\"()") == llvm::StringRef::npos;
    inside += ((inside.empty() ? "" : " ") + name + "=" + (isPlain ? value : "\"" + value + "\"")).str();
  };
  for (const auto &[name, value] : parameters)
    add(name, value);
  if (!kernel.empty())
    add("kernel", kernel);
  if (!site.empty())
    add("site", site);
  return inside.empty() ? pass : pass + "{" + inside + "}";
}

llvm::StringRef kbopt::phaseName(AttemptPhase phase) {
  switch (phase) {
  case AttemptPhase::Sketch:
    return "sketch";
  case AttemptPhase::Search:
    return "search";
  case AttemptPhase::Tune:
    return "tune";
  case AttemptPhase::Confirm:
    return "confirm";
  }
  llvm_unreachable("unknown phase");
}

void Attempt::setVerdict(const NodeJudgement &judgement) {
  verdict = judgement.verdict;
  gate = judgement.gate;
  failure = judgement.failure;
  reason = judgement.reason;
  timeUs = correct() ? judgement.timeUs : 0;
  modelledUs = correct() ? judgement.modelledUs : 0;
}

double Attempt::gain() const {
  return correct() && timeUs > 0 && parentTimeUs > 0 ? std::log(parentTimeUs / timeUs) : 0;
}

std::string Attempt::word() const {
  return correct() || failure.empty() ? verdictName(verdict).str() : failure;
}

std::string Attempt::moveText() const {
  std::string text;
  for (const Move &each : before)
    text += each.text() + ",";
  return text + move.text();
}

std::string Move::reply() const {
  auto found = parameters.find(replyOption.str());
  return found == parameters.end() ? "" : found->second;
}

Move Action::move(std::map<std::string, std::string> values) const {
  if (!reply.empty())
    values[replyOption.str()] = reply;
  return {pass, kernel, site, std::move(values)};
}
