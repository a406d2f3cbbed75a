//===- Launches.cpp - What the original spends on launching ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "SearchReport.h"
#include "kb-opt/Plan/RecordedPlan.h"

using namespace kbopt;

size_t SearchReport::recordedLaunches() const {
  auto folder = session.cases->original(session.cases->recorded());
  auto plan = folder ? readRecordedPlan(*folder) : llvm::Expected<RecordedPlan>(folder.takeError());
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return 0;
  }
  return llvm::count_if(plan->plan.steps, [](const kbrt::Step &step) {
    return std::holds_alternative<kbrt::LaunchStep>(step);
  });
}
