//===- ScheduleRuns.cpp - Adjacent steps on one schedule --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how steps that change schedules compose: each works on the program before the
// first of them, and prints every kernel that they schedule anew.
//
//===----------------------------------------------------------------------===//
#include "SessionState.h"
#include "kb-opt/Rewrite/SchedulePass.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

llvm::Expected<RewriteSession::State &> RewriteSession::State::scheduled() {
  if (!run) {
    if (llvm::Error error = import())
      return std::move(error);
    return *this;
  }
  if (!base) {
    auto before = std::make_unique<State>(command, options, mlirContext);
    if (llvm::Error error = before->start(run->base))
      return std::move(error);
    base = std::move(before);
  }
  if (llvm::Error error = base->import())
    return std::move(error);
  if (llvm::Error error = base->setSchedules(*run))
    return std::move(error);
  return *base;
}

llvm::Error RewriteSession::State::setSchedules(const ScheduleRun &run) {
  if (run.schedules == schedules)
    return llvm::Error::success();
  KernelSchedules parsed;
  for (const auto &[kernel, text] : run.schedules) {
    llvm::Expected<Schedule> schedule = parseSchedule(text);
    if (!schedule)
      return schedule.takeError();
    parsed[kernel] = std::move(*schedule);
  }
  passContext->setSchedules(std::move(parsed));
  schedules = run.schedules;
  answers.clear();
  return llvm::Error::success();
}

llvm::Error RewriteSession::State::addScheduled(const KernelSchedules &changed, Edits &edits) {
  for (const KernelView &kernel : passContext->kernels()) {
    const Schedule *schedule = passContext->scheduleOf(kernel);
    if (!schedule || changed.count(kernel.fact.usr))
      continue;
    llvm::Expected<Rewrite> rewrite = scheduleKernel(*passContext, kernel, *schedule);
    if (!rewrite)
      return rewrite.takeError();
    if (llvm::Error error = edits.merge(rewrite->edits))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error
RewriteSession::withPassContext(llvm::function_ref<llvm::Error(const PassContext &)> look) {
  llvm::Expected<State &> from = state->scheduled();
  if (!from)
    return from.takeError();
  return look(*from->passContext);
}

/// Whether the schedule of its kernel is for another nest: that of all blocks.
static bool isOfLastBlock(kb::NestOp nest) {
  auto sequence = mlir::dyn_cast<kb::SequenceOp>(nest->getParentOp());
  return sequence && nest == sequence.last();
}

llvm::Expected<mlir::OwningOpRef<kb::ProgramOp>> RewriteSession::program(bool all) {
  llvm::Expected<State &> from = state->scheduled();
  if (!from)
    return from.takeError();
  const PassContext &context = *from->passContext;
  std::map<std::string, mlir::DictionaryAttr> schedules; // by symbol of the nest's kernel
  for (const KernelView &kernel : context.kernels()) {
    const Schedule *schedule = context.scheduleOf(kernel);
    if (!schedule && !all)
      continue;
    RaisedKernel raised = context.raised(kernel);
    if (raised.nest && schedule)
      schedules[raised.nest.getKernel().str()] = schedule->attribute(state->mlirContext.get());
  }
  mlir::OwningOpRef<kb::ProgramOp> copy(
      mlir::cast<kb::ProgramOp>(from->imported->program->clone()));
  llvm::SmallVector<kb::NestOp> nests;
  copy->walk([&](kb::NestOp nest) { nests.push_back(nest); });
  for (kb::NestOp nest : nests)
    if (auto found = schedules.find(nest.getKernel().str());
        found != schedules.end() && !isOfLastBlock(nest))
      nestWithSchedule(nest, found->second);
  return copy;
}

llvm::Expected<std::string> RewriteSession::nestText(llvm::StringRef kernel) {
  if (llvm::Error error = state->import())
    return std::move(error);
  std::string text;
  for (const KernelView &view : state->passContext->kernels())
    if (RaisedKernel raised;
        view.name() == kernel && (raised = state->passContext->raised(view)).nest) {
      llvm::raw_string_ostream stream(text);
      raised.nest->print(stream);
      break;
    }
  return text;
}
