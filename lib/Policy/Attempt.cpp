//===- Attempt.cpp - Attempts in words ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Policy/Environment.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>

using namespace kbopt;

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
  details = judgement.details;
  timeUs = usable() ? judgement.timeUs : 0;
  modelledUs = usable() ? judgement.modelledUs : 0;
}

double Attempt::gain() const {
  return usable() && timeUs > 0 && parentTimeUs > 0 ? std::log(parentTimeUs / timeUs) : 0;
}

std::string Attempt::word() const {
  return (usable() || failure == FailureClass::None ? toString(verdict) : toString(failure)).str();
}

std::string Attempt::text() const {
  std::string text;
  for (const Step &each : before)
    text += each.text() + ",";
  return text + step.text();
}

Step Action::step(std::map<std::string, std::string> parameters) const {
  return {pass, kernel, site, std::move(parameters), reply};
}
