//===- Execution.cpp - Gates G9 and G11: the sanitizer and the trace ------===//
// SPDX-License-Identifier: Apache-2.0
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kbrt/CubinTable.h"
#include "kbrt/MatmulLaunches.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

static constexpr StringRef sanitizerTools[] = {"memcheck", "racecheck", "initcheck", "synccheck"};
/// For each tool; all run at once. Other users of the GPU wait meanwhile, and a program that takes
/// longer is slowed down so much that it would take minutes.
static constexpr double mostSanitizerSeconds = 20;
/// Starting under a tool takes about this long, and of the time left so much may go into it.
static constexpr double leastSanitizerSeconds = 3, sanitizerShare = 0.15;

static std::vector<DeviceFinding> defectsOf(const SanitizerReport &report) {
  std::vector<DeviceFinding> defects;
  for (const DeviceFinding &finding : report.findings)
    if (!finding.benign)
      defects.push_back(finding);
  return defects;
}

/// Of the time left, what each tool may take now.
static double sanitizerSeconds(Judge::Impl &judge) {
  return std::min(mostSanitizerSeconds, sanitizerShare * judge.timeLeft());
}

/// A case that the CPU device ends is small enough; else the one of the plain runs.
static Expected<TestCase> sanitizedCase(Judge::Impl &judge) {
  std::string why;
  Expected<std::optional<TestCase>> small = judge.cpuCase(why);
  if (!small)
    return small.takeError();
  return small->value_or(judge.checkCase());
}

Expected<const SanitizerReport &> sanitizedRun(GateContext &context) {
  return context.sanitized.get(0, [&]() -> Expected<SanitizerReport> {
    Judge::Impl &judge = context.judge;
    Expected<TestCase> test = sanitizedCase(judge);
    if (!test)
      return test.takeError();
    Expected<GpuSubject> subject = judge.subject(context.candidate, *test);
    if (!subject)
      return subject.takeError();
    return judge.gpu->sanitize(*subject, sanitizerTools,
                               std::max(leastSanitizerSeconds, sanitizerSeconds(judge)));
  });
}

Expected<GateRecord> runSanitizer(GateContext &context) {
  Judge::Impl &judge = context.judge;
  if (!context.sanitized.has(0) && sanitizerSeconds(judge) < leastSanitizerSeconds)
    return GateRecord::notRun(GateId::G9, judge.doesNotFit("a run under the sanitizer",
                                                           leastSanitizerSeconds / sanitizerShare));
  Expected<const SanitizerReport &> report = sanitizedRun(context);
  if (!report)
    return blameProgram(report.takeError(), GateId::G9, FailureClass::Runtime);
  Expected<TestCase> tested = sanitizedCase(judge);
  if (!tested)
    return tested.takeError();
  const TestCase &test = *tested;
  std::vector<DeviceFinding> defects = defectsOf(*report);
  if (defects.empty() && !report->degraded.empty())
    return GateRecord::notRun(GateId::G9, report->degraded);
  if (defects.empty())
    return GateRecord::pass(GateId::G9, "", 1);
  // What the original does as well is not the rewrite's doing, and says that the tool cannot
  // tell the two apart.
  Expected<const std::vector<DeviceFinding> &> own =
      judge.ownSanitizerFindings.get(0, [&]() -> Expected<std::vector<DeviceFinding>> {
        Expected<GpuSubject> original = judge.subject(judge.baselineProgram, test);
        if (!original)
          return original.takeError();
        Expected<SanitizerReport> found = judge.gpu->sanitize(
            *original, sanitizerTools, std::max(leastSanitizerSeconds, sanitizerSeconds(judge)));
        if (!found)
          return found.takeError();
        return defectsOf(*found);
      });
  if (!own)
    return own.takeError();
  std::vector<std::string> texts;
  for (const DeviceFinding &finding : defects)
    texts.push_back(finding.text);
  for (const DeviceFinding &finding : defects)
    if (none_of(*own, [&](const DeviceFinding &known) { return known.kind == finding.kind; }))
      return GateRecord::fail(GateId::G9, FailureClass::Runtime,
                              finding.text + " on case " + test.name, std::move(texts));
  return GateRecord::undecided(
      GateId::G9, "the original has such findings, too: " + own->front().text, std::move(texts));
}

/// "kernel, grid 4 x 1 x 1, block 128 x 1 x 1, 0 bytes of dynamic shared memory".
static std::string shapeText(StringRef kernel, ArrayRef<unsigned> grid, ArrayRef<unsigned> block,
                             uint64_t sharedBytes) {
  return formatv(
      "{0}, grid {1} x {2} x {3}, block {4} x {5} x {6}, {7} bytes of dynamic shared memory",
      kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], sharedBytes);
}

static std::string shapeText(StringRef kernel, const kbrt::Dim3 &grid, const kbrt::Dim3 &block,
                             uint64_t sharedBytes) {
  const unsigned blocks[] = {grid.x, grid.y, grid.z}, threads[] = {block.x, block.y, block.z};
  return shapeText(kernel, ArrayRef<unsigned>(blocks), ArrayRef<unsigned>(threads), sharedBytes);
}

/// How \p traced differs from \p plan; nothing if it does not. Compilers name kernels
/// with internal linkage differently.
static std::optional<std::string> traceDifference(const kbrt::Plan &plan,
                                                  ArrayRef<TracedLaunch> traced) {
  std::vector<std::string> planned;
  for (const kbrt::Step &step : plan.steps)
    if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step))
      planned.push_back(shapeText(kbrt::linkageFreeName(launch->kernel), launch->grid,
                                  launch->block, launch->sharedBytes));
    else if (const auto *product = std::get_if<kbrt::MatmulStep>(&step))
      for (const kbrt::MatmulLaunch &launch : kbrt::matmulLaunches(*product))
        planned.push_back(shapeText(kbrt::matmulKernel, launch.grid, kbrt::matmulBlock, 0));
  for (size_t i = 0; i < std::max(planned.size(), traced.size()); ++i) {
    if (i >= traced.size())
      return formatv("{0} of {1} launches are not in the trace, first {2}", planned.size() - i,
                     planned.size(), planned[i]);
    const TracedLaunch &launch = traced[i];
    std::string seen = shapeText(kbrt::linkageFreeName(launch.kernel), launch.grid, launch.block,
                                 launch.dynamicSharedBytes);
    if (i >= planned.size())
      return formatv("{0} launches more than the plan has, first {1}", traced.size() - i, seen);
    if (seen != planned[i])
      return formatv("launch {0} is {1} in the trace and {2} in the plan", i + 1, seen, planned[i]);
    if (launch.stream != traced.front().stream)
      return formatv("launch {0} ({1}) ran on another stream than the first", i + 1, launch.kernel);
  }
  return std::nullopt;
}

Expected<GateRecord> runExecutionAudit(GateContext &context) {
  Judge::Impl &judge = context.judge;
  const TestCase test = judge.recordedCase();
  Expected<GpuSubject> subject = judge.subject(context.candidate, test);
  if (!subject)
    return blameProgram(subject.takeError(), GateId::G11, FailureClass::Runtime);
  Expected<ExecutionAudit> audit = judge.gpu->audit(*subject);
  if (!audit)
    return audit.takeError();
  if (audit->status == RunStatus::Lost)
    return GateRecord::undecided(GateId::G11, audit->message);
  if (audit->status != RunStatus::Ok)
    return GateRecord::fail(GateId::G11,
                            audit->status == RunStatus::Timeout ? FailureClass::Timeout
                                                                : FailureClass::Runtime,
                            audit->message);
  if (audit->changedAfterReturn)
    return GateRecord::fail(GateId::G11, FailureClass::Correctness,
                            "memory changed after the last launch had ended");
  if (!audit->degraded.empty())
    return GateRecord::notRun(GateId::G11, audit->degraded);
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(subject->planFolder, error);
  if (!plan)
    return make_error<StoreError>(error);
  if (std::optional<std::string> difference = traceDifference(*plan, audit->launches))
    return GateRecord::fail(GateId::G11, FailureClass::Constraints, std::move(*difference));
  return GateRecord::pass(GateId::G11, formatv("{0} launches", audit->launches.size()), 1);
}

} // namespace kbopt
