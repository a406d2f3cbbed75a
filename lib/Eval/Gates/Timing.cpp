//===- Timing.cpp - Gates G12 and G13: what is timed, and can it be true? --===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the measurement behind a verdict and the doubts about it. Whether a candidate is
// faster is in the report, and the caller decides.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

/// Above this a second process must say the same.
static constexpr double incredibleRatio = 10;
/// Two processes agree if their ratios do not differ by more than this factor.
static constexpr double agreement = 1.25;
/// Beside a candidate the original may take this much longer than by itself, and an
/// absolute bit: short plans jitter.
static constexpr double slowedRatio = 1.1, slowedUs = 0.5;
/// Less of the floor than this is not believed (EVALUATION.md, G13).
static constexpr double floorShare = 0.9;

/// Share of the time left that one series of the final measurement may take; there are two, and
/// other gates.
static constexpr double seriesShare = 0.2, leastSeconds = 1;
/// Of a program that takes this long, the final measurement stops as well when a candidate takes
/// half or twice as long: thirty samples of it would take longer than all other gates.
static constexpr double slowUs = 2e4, slowApartRatio = 2;

static TimingRequest requestFor(const GateContext &context, double originalUs) {
  if (context.effort != JudgeEffort::Final)
    return TimingRequest::forSearch();
  TimingRequest request;
  request.maxSeconds =
      std::min(request.maxSeconds, std::max(leastSeconds, seriesShare * context.judge.timeLeft()));
  request.minSeconds = std::min(request.minSeconds, request.maxSeconds);
  if (originalUs > slowUs)
    request.apartRatio = slowApartRatio;
  return request;
}

Expected<const TimingReport &> Judge::Impl::ownTiming(unsigned seed) {
  return ownTimings.get(seed, [&]() -> Expected<TimingReport> {
    Expected<GpuSubject> own = subject(baselineProgram, recordedCase());
    if (!own)
      return own.takeError();
    TimingRequest request = TimingRequest::forSearch();
    request.seed += seed;
    return gpu->measure(*own, *own, request);
  });
}

Expected<const GpuProfile &> Judge::Impl::profile() {
  return profiles.get(0, [&]() -> Expected<GpuProfile> {
    Expected<GpuSubject> own = subject(baselineProgram, recordedCase());
    if (!own)
      return own.takeError();
    return gpu->profile(*own, "ABCD", /*sampleLines=*/false);
  });
}

/// Whether the candidate executes what the original does: then its time is known.
static Expected<bool> isOriginal(GateContext &context) {
  Judge::Impl &judge = context.judge;
  Expected<const DeviceCode &> code = judge.code(*context.candidate.program);
  if (!code)
    return code.takeError();
  if (code->digest != judge.baseline->code.digest)
    return false;
  const TestCase test = judge.recordedCase();
  Expected<std::string> own = judge.plan(context.candidate, test);
  if (!own)
    return own.takeError();
  Expected<std::string> original = judge.plan(judge.baselineProgram, test);
  if (!original)
    return original.takeError();
  return *own == *original;
}

static Expected<TimingReport> measure(GateContext &context, const TimingRequest &request) {
  Judge::Impl &judge = context.judge;
  const TestCase test = judge.recordedCase();
  Expected<GpuSubject> candidate = judge.subject(context.candidate, test);
  if (!candidate)
    return candidate.takeError();
  Expected<GpuSubject> original = judge.subject(judge.baselineProgram, test);
  if (!original)
    return original.takeError();
  return judge.gpu->measure(*candidate, *original, request);
}

Expected<GateRecord> runTimedOutputs(GateContext &context) {
  Judge::Impl &judge = context.judge;
  Expected<const TimingReport &> own = judge.ownTiming(0);
  if (!own)
    return own.takeError();
  if (own->status != RunStatus::Ok)
    return GateRecord::undecided(GateId::G12, "the original cannot be timed: " + own->message);
  Expected<bool> same = isOriginal(context);
  if (!same)
    return same.takeError();
  if (*same) {
    context.timing = *own;
    return GateRecord::notRun(GateId::G12,
                              "machine code and plan are the original's, which is measured once");
  }
  Expected<TimingReport> report =
      measure(context, requestFor(context, own->cold.baseline.medianUs));
  if (!report)
    return blameProgram(report.takeError(), GateId::G12, FailureClass::Runtime);
  switch (report->status) {
  case RunStatus::Ok:
    break;
  case RunStatus::Fault:
    return GateRecord::fail(GateId::G12, FailureClass::Runtime, report->message);
  case RunStatus::Timeout:
    return GateRecord::fail(GateId::G12, FailureClass::Timeout, report->message);
  case RunStatus::OutOfMemory:
  case RunStatus::Unsupported:
  case RunStatus::Lost:
    return GateRecord::undecided(GateId::G12, "it cannot be timed: " + report->message);
  }
  context.timing = *report;
  // Where the original's own bits change from run to run they say nothing.
  if (own->outputsDifferent > 0)
    return GateRecord::notRun(
        GateId::G12, formatv("{0} of {1} timed iterations of the original differ from its first",
                             own->outputsDifferent, own->outputsChecked));
  if (report->outputsDifferent > 0)
    return GateRecord::fail(GateId::G12, FailureClass::Correctness,
                            formatv("{0} of {1} timed iterations gave other outputs than the "
                                    "verified run",
                                    report->outputsDifferent, report->outputsChecked));
  if (report->outputsChecked == 0)
    return GateRecord::undecided(GateId::G12, "the outputs of no timed iteration were compared");
  return GateRecord::pass(GateId::G12, formatv("{0} iterations", report->outputsChecked), 1);
}

/// Whether the original took longer beside the candidate than it does by itself; the second
/// time alone is asked for before a candidate is refused.
static Expected<std::optional<std::string>> isOriginalSlowed(GateContext &context) {
  const double beside = context.timing->cold.baseline.medianUs;
  double alone = 0;
  for (unsigned seed : {0u, 1u}) {
    Expected<const TimingReport &> own = context.judge.ownTiming(seed);
    if (!own)
      return own.takeError();
    if (own->status != RunStatus::Ok)
      break;
    alone = std::max({alone, own->cold.baseline.medianUs, own->cold.candidate.medianUs});
    if (beside <= alone * slowedRatio + slowedUs)
      return std::nullopt;
  }
  return std::optional<std::string>(formatv(
      "the original takes {0:f2} us beside this candidate and {1:f2} us by itself", beside, alone));
}

Expected<GateRecord> runPhysics(GateContext &context) {
  Judge::Impl &judge = context.judge;
  if (!context.timing)
    return GateRecord::notRun(GateId::G13, "there is no time");
  Expected<bool> same = isOriginal(context);
  if (!same)
    return same.takeError();
  if (*same)
    return GateRecord::notRun(GateId::G13, "machine code and plan are the original's");
  GateRecord record = GateRecord::pass(GateId::G13, "", 1);
  if (!judge.options.chip) {
    record.details.push_back("no floor: nothing is known of this chip");
  } else {
    Expected<const MandatoryWork &> work = judge.mandatory();
    if (!work)
      return work.takeError();
    Floor floor = floorOf(*work, *judge.options.chip, context.promise.result);
    if (!work->limits.empty())
      record.details.push_back(work->limits);
    record.details.push_back(formatv("floor {0:f2} us ({1})", floor.us, floor.reason));
    const double us = context.timing->cold.candidate.medianUs;
    if (us < floorShare * floor.us) {
      Expected<MandatoryWork> own = workOf(context, *work);
      if (!own)
        return own.takeError();
      floor = floorOf(*own, *judge.options.chip, context.promise.result);
      record.details.push_back(
          formatv("floor of what it computes itself {0:f2} us ({1})", floor.us, floor.reason));
    }
    if (us < floorShare * floor.us)
      return GateRecord::undecided(GateId::G13,
                                   formatv("{0:f2} us cannot be: {1} take {2:f2} us on this chip",
                                           us, floor.reason, floor.us));
  }
  Expected<std::optional<std::string>> slowed = isOriginalSlowed(context);
  if (!slowed)
    return slowed.takeError();
  if (*slowed)
    return GateRecord::undecided(GateId::G13, std::move(**slowed));
  const double ratio = context.timing->cold.ratio;
  if (ratio > incredibleRatio) {
    // Another seed is another measurement, in a process of its own. A tenth is seen in a few
    // samples.
    TimingRequest request = TimingRequest::forSearch();
    request.seed += 1000;
    Expected<TimingReport> second = measure(context, request);
    if (!second)
      return blameProgram(second.takeError(), GateId::G13, FailureClass::Runtime);
    const bool agrees = second->status == RunStatus::Ok && second->outputsDifferent == 0 &&
                        second->cold.decision == TimingDecision::Faster &&
                        second->cold.ratio <= ratio * agreement &&
                        second->cold.ratio >= ratio / agreement;
    if (!agrees)
      return GateRecord::undecided(
          GateId::G13,
          formatv("{0:f1} x is not confirmed: a second process says {1}", ratio,
                  second->status == RunStatus::Ok ? formatv("{0:f1} x", second->cold.ratio).str()
                                                  : second->message));
    record.reason = formatv("{0:f1} x, a second process says {1:f1} x", ratio, second->cold.ratio);
  }
  return record;
}

} // namespace kbopt
