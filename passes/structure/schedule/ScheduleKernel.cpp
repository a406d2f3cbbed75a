//===- ScheduleKernel.cpp - Give a kernel a whole schedule -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   scale<<<(n + 255) / 256, 256>>>(y, x, n);
// ==>
//   if (n % 4 == 0 && …)
//     scale_wide<<<(n / 4 + 255) / 256, 256>>>(y, x, n);
//   else
//     scale<<<(n + 255) / 256, 256>>>(y, x, n);
//
// Owns nothing but the option: the schedule is the user's or the search's, or else the
// most promising one.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace kbopt;

namespace {

/// \p schedule with further kernels for launches of other sizes, where it can have them.
Schedule forOtherSizes(Schedule schedule) {
  if (schedule.has("otherwise") && !schedule.has("parts"))
    schedule.set("otherwise", int64_t(1));
  return schedule;
}

/// Why \p chosen is the one of \p ranked that is tried first; empty where no time is modelled.
std::string reasonFor(const Schedule &chosen, llvm::ArrayRef<RankedSchedule> ranked) {
  std::string reason;
  std::set<llvm::StringRef> named{chosen.sketch()};
  auto isChosen = [&](const RankedSchedule &each) {
    return each.schedule == chosen || forOtherSizes(each.schedule) == chosen;
  };
  auto found = llvm::find_if(ranked, isChosen);
  if (found == ranked.end() || !found->estimate)
    return reason;
  reason =
      llvm::formatv("; modelled {0:F2} us ({1})", found->estimate->us, found->estimate->limiter);
  for (const RankedSchedule &other : ranked)
    if (other.estimate && named.insert(other.schedule.sketch()).second)
      reason +=
          llvm::formatv(", the best '{0}' {1:F2} us", other.schedule.sketch(), other.estimate->us);
  return reason;
}

class ScheduleKernel : public SchedulePass {
  static std::vector<RankedSchedule> ranked(const PassContext &context, const KernelView &kernel,
                                            Promise weakest) {
    return rankedSchedules(
        context, kernel, knownSizes(context, kernel),
        Freedom{weakest >= Promise::Reassociates, weakest >= Promise::LowerPrecision});
  }

  /// The first schedule for the sizes of the launch, where these are known, or else for any.
  static llvm::Expected<Schedule> first(const PassContext &context, kb::NestOp nest) {
    for (const KernelView &kernel : context.kernels())
      if (context.raised(kernel).nest == nest)
        if (std::vector<RankedSchedule> all = ranked(context, kernel, Promise::Reassociates);
            !all.empty() && all.front().estimate)
          return decidesSizes(context, kernel) ? forOtherSizes(all.front().schedule)
                                               : all.front().schedule;
    return mostPromising(context, nest);
  }

  SiteChoices choices(const PassContext &context, const Site &site) const override {
    SiteChoices choices;
    for (const RankedSchedule &each : ranked(context, *site.kernel, context.weakestPromise())) {
      choices.values.push_back(scheduleText(each.schedule));
      if (each.estimate)
        choices.facts.estimatesUs[choices.values.back()] = each.estimate->us;
    }
    if (!choices.values.empty())
      choices.facts.figures =
          nestFigures(context.raised(*site.kernel).nest, knownSizes(context, *site.kernel));
    return choices;
  }

  llvm::Expected<Schedule> reschedule(const PassContext &context, kb::NestOp nest, const Schedule *,
                                      const PassOptions &options) const override {
    llvm::StringRef text = options.string("as");
    llvm::Expected<Schedule> schedule = text.empty() ? first(context, nest) : parseSchedule(text);
    if (!schedule)
      return schedule.takeError();
    return completed(context, nest, *schedule);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    llvm::Expected<Rewrite> made = SchedulePass::rewrite(context, site, options);
    if (made && options.string("as").empty() && made->schedule) {
      made->summary +=
          reasonFor(*made->schedule, ranked(context, *site.kernel, Promise::Reassociates));
      if (decidesSizes(context, *site.kernel))
        made->choice = scheduleText(*made->schedule);
    }
    return made;
  }

  std::vector<std::string> alternatives(const PassContext &context, const Site &site,
                                        const PassOptions &options) const override {
    return options.string("as").empty() ? choices(context, site).values
                                        : std::vector<std::string>();
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createScheduleKernel() { return std::make_unique<ScheduleKernel>(); }
} // namespace kbopt
