//===- SchedulePass.h - A pass that changes a schedule ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what all passes over the schedule of a raised kernel share: where they apply,
// and how the nest with its new schedule becomes edits. A pass says which schedule.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_SCHEDULEPASS_H
#define KBOPT_REWRITE_SCHEDULEPASS_H

#include "kb-opt/Rewrite/RewritePass.h"
#include "kb-opt/Schedule/Estimate.h"
#include "kb-opt/Schedule/NestFigures.h"
#include "kb-opt/Schedule/ScheduleText.h"

namespace kbopt {

/// One site per kernel. It applies where the kernel is raised, the schedule can be printed, and
/// some launch can choose the new kernel.
class SchedulePass : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override;
  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override;
  bool composes() const override { return true; }

protected:
  /// The schedule that \p nest is to have after the pass. \p before: what steps before it set; null
  /// if nothing. An error is the reason why there is none.
  virtual llvm::Expected<Schedule> reschedule(const PassContext &context, kb::NestOp nest,
                                              const Schedule *before,
                                              const PassOptions &options) const = 0;
  /// Schedules to take instead, as text and best first, where no launch can choose the one that
  /// `reschedule` gives.
  virtual std::vector<std::string> alternatives(const PassContext &context, const Site &site,
                                                const PassOptions &options) const {
    return {};
  }
};

/// A pass whose options are keys of the schedule. It goes on with what steps before it set, or else
/// begins with the most promising schedule of the first of its sketches that fits.
class KeysPass : public SchedulePass {
public:
  /// \p sketchNames: the sketches in which the keys have a meaning, most specific first.
  explicit KeysPass(std::vector<llvm::StringRef> sketchNames)
      : sketchNames(std::move(sketchNames)) {}

protected:
  llvm::Expected<Schedule> reschedule(const PassContext &context, kb::NestOp nest,
                                      const Schedule *before,
                                      const PassOptions &options) const override;

private:
  std::vector<llvm::StringRef> sketchNames;
};

/// The edits that give \p kernel the schedule \p schedule. An error is the reason why it cannot be
/// had.
llvm::Expected<Rewrite> scheduleKernel(const PassContext &context, const KernelView &kernel,
                                       const Schedule &schedule);

/// \p schedule with a value for every key of its sketch: where it says nothing, that of the
/// schedule for \p nest that is worth trying and agrees with most of the rest. An error: the sketch
/// does not fit, or has no such key.
llvm::Expected<Schedule> completed(const PassContext &context, kb::NestOp nest,
                                   const Schedule &schedule);

/// The first schedule of the first sketch that fits \p nest, with simpler sums where several points
/// form the same ones. An error: none does.
llvm::Expected<Schedule> mostPromising(const PassContext &context, kb::NestOp nest);

/// \p before, or else the most promising schedule, for \p nest with simpler sums (the key
/// `simplify`). An error: no sum can be simplified.
llvm::Expected<Schedule> simplified(const PassContext &context, kb::NestOp nest,
                                    const Schedule *before);

/// \p nest, or what takes its place in its program, with \p schedule.
mlir::Operation *nestWithSchedule(kb::NestOp nest, mlir::DictionaryAttr schedule);

/// What is known of the sizes with which \p kernel is launched: those of the recorded launch, or
/// else what all launches in sight pass, as constants or as the workload decides.
LaunchSizes knownSizes(const PassContext &context, const KernelView &kernel);

/// Whether it is the workload that decides some of these: other callers may pass other sizes.
bool decidesSizes(const PassContext &context, const KernelView &kernel);

/// A schedule that is worth trying, and what the launch should take with it.
struct RankedSchedule {
  Schedule schedule;
  std::optional<LaunchEstimate> estimate; ///< nothing where sizes or data would have to be known
};

/// Every schedule of \p kernel that is worth trying, of all sketches that fit, most promising
/// first. Empty if the kernel is not raised, or the launch of \p sizes keeps the given kernel.
std::vector<RankedSchedule> rankedSchedules(const PassContext &context, const KernelView &kernel,
                                            const LaunchSizes &sizes, const Freedom &freedom);

} // namespace kbopt

#endif // KBOPT_REWRITE_SCHEDULEPASS_H
