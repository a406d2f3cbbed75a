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

using namespace kbopt;

namespace {

class ScheduleKernel : public SchedulePass {
  std::vector<std::string> choices(const PassContext &context, const Site &site) const override {
    RaisedKernel raised = context.raised(*site.kernel);
    const RecordedLaunch *launch =
        raised.instance ? context.recordedLaunch(raised.instance) : nullptr;
    LaunchSizes sizes = raised.nest && launch ? launchSizes(raised.nest, *launch) : LaunchSizes();
    return scheduleChoices(context, *site.kernel, sizes,
                           Freedom{true, context.acceptsLowerPrecision()});
  }

  llvm::Expected<Schedule> reschedule(const PassContext &context, kb::NestOp nest, const Schedule *,
                                      const PassOptions &options) const override {
    llvm::StringRef text = options.string("as");
    llvm::Expected<Schedule> schedule =
        text.empty() ? mostPromising(context, nest) : parseSchedule(text);
    if (!schedule)
      return schedule.takeError();
    return completed(context, nest, *schedule);
  }

  std::vector<std::string> alternatives(const PassContext &context, const Site &site,
                                        const PassOptions &options) const override {
    return options.string("as").empty() ? choices(context, site) : std::vector<std::string>();
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createScheduleKernel() { return std::make_unique<ScheduleKernel>(); }
} // namespace kbopt
