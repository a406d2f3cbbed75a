//===- AssistantSchedules.cpp - Schedules as a model's answer ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the answer that needs no code: a schedule for a raised kernel, for which the compiler writes
// it.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Agents/Assistant.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

/// Of the schedules that fit so many are shown.
static constexpr size_t mostShown = 8;

std::vector<std::string> kbopt::shownSchedules(const Action &action) {
  const std::vector<std::string> &values = action.ranges.front().values;
  return {values.begin(),
          values.begin() + static_cast<ptrdiff_t>(std::min(mostShown, values.size()))};
}

Step kbopt::scheduleStep(const PlannerReply &plan, const Action &action) {
  return action.step({{action.ranges.front().name, plan.schedule}});
}

static std::string firstReason(const StepResult &result) {
  for (const Remark &remark : result.remarks)
    if (remark.kind == RemarkKind::Missed)
      return remark.message;
  return "it changes nothing";
}

/// Why \p program cannot be given the schedule that \p plan names.
static llvm::Expected<std::string> whyNotScheduled(RewriteSession &program,
                                                   const PlannerReply &plan, const Action &action) {
  Step step;
  step.pass = plan.pass;
  step.kernel = plan.kernel;
  step.parameters = {{action.ranges.front().name, plan.schedule}};
  StepResult result;
  auto derived = program.derive(step, result);
  if (!derived)
    return llvm::toString(derived.takeError());
  return *derived ? "" : firstReason(result);
}

std::string Assistant::faultOfSchedule(const NodeId &node, const PlannerReply &plan,
                                       llvm::ArrayRef<Action> choices) {
  auto chosen = llvm::find_if(choices, [&](const Action &choice) {
    return choice.pass == plan.pass && choice.kernel == plan.kernel;
  });
  if (chosen == choices.end() || !chosen->sketch)
    return plan.schedule.empty() ? "" : "'" + plan.pass + "' takes no schedule";
  if (plan.schedule.empty())
    return "'" + plan.pass + "' needs a schedule, as '" + chosen->ranges.front().values.front() +
           "'";
  std::string fault;
  llvm::Error error = programs.withProgram(node, [&](RewriteSession &program) -> llvm::Error {
    llvm::Expected<std::string> why = whyNotScheduled(program, plan, *chosen);
    if (!why)
      return why.takeError();
    fault = std::move(*why);
    return llvm::Error::success();
  });
  if (error)
    fault = llvm::toString(std::move(error));
  return fault.empty() ? "" : "schedule '" + plan.schedule + "' cannot be had: " + fault;
}
