//===- LargeSizes.cpp - Launches at sizes that no run could hold ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of what hosts launch at large sizes. No kernel is executed and no memory is
// touched there: whether each launch can start is all that is known.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {
namespace {

/// The first call of \p plan that failed and has to do with launches. \p lacksMemory: one that
/// allocates failed before.
const kbrt::ErrorStep *failedLaunch(const kbrt::Plan &plan, bool &lacksMemory) {
  for (const kbrt::Step &step : plan.steps)
    if (const auto *error = std::get_if<kbrt::ErrorStep>(&step)) {
      lacksMemory |= error->name == "cudaErrorMemoryAllocation";
      if (!lacksMemory && (StringRef(error->call).starts_with("cudaLaunch") ||
                           error->call == "cudaFuncSetAttribute"))
        return error;
    }
  return nullptr;
}

/// The plan of \p program on \p test; nothing, with the reason in \p why, where it cannot be had.
Expected<std::optional<RecordedPlan>> planOf(Judge::Impl &judge, JudgedProgram &program,
                                             const TestCase &test, std::optional<GateRecord> &why) {
  Expected<std::string> folder = judge.plan(program, test);
  if (!folder) {
    Expected<GateRecord> blamed =
        blameProgram(folder.takeError(), GateId::G7, FailureClass::Runtime);
    if (!blamed)
      return blamed.takeError();
    why = std::move(*blamed);
    return std::nullopt;
  }
  Expected<RecordedPlan> recorded = readRecordedPlan(*folder);
  if (!recorded)
    return recorded.takeError();
  return std::optional<RecordedPlan>(std::move(*recorded));
}

std::string describe(const kbrt::ErrorStep &error) {
  auto [kernel, rest] = StringRef(error.detail).split(' ');
  std::string text = error.call + " fails with " + error.name;
  return kernel.empty() ? text : text + ", for " + demangle(kernel) + " " + rest.str();
}

/// Whether all launches of the original can start on \p test. A candidate need not start where the
/// original cannot.
Expected<bool> originalStands(Judge::Impl &judge, const TestCase &test) {
  std::optional<GateRecord> why;
  bool lacksMemory = false;
  Expected<std::optional<RecordedPlan>> own = planOf(judge, judge.baselineProgram, test, why);
  if (!own)
    return own.takeError();
  return *own && !failedLaunch((*own)->plan, lacksMemory) && !lacksMemory;
}

/// What speaks against the candidate on \p test; what cannot be known is said in \p details.
Expected<std::optional<GateRecord>> findFailure(GateContext &context, const TestCase &test,
                                                std::vector<std::string> &details) {
  Judge::Impl &judge = context.judge;
  std::optional<GateRecord> why;
  Expected<std::optional<RecordedPlan>> its = planOf(judge, context.candidate, test, why);
  if (!its)
    return its.takeError();
  if (!*its && why->outcome == GateOutcome::Failed)
    return why;
  bool lacksMemory = false;
  if (*its)
    if (const kbrt::ErrorStep *error = failedLaunch((*its)->plan, lacksMemory))
      return std::optional<GateRecord>(GateRecord::fail(
          GateId::G7, FailureClass::Runtime,
          formatv("on case {0} the candidate's {1}; the original's launches can all start",
                  test.name, describe(*error))));
  if (!*its || lacksMemory) {
    details.push_back("not held to " + test.name + ": " +
                      (*its ? std::string("the candidate needs more memory") : why->reason));
    return std::nullopt;
  }
  details.push_back("held to " + test.name + " as well");
  return checkLaunchLimits(context, test, GateId::G7);
}

} // namespace

Expected<GateRecord> compareAtLargeSizes(GateContext &context) {
  GateRecord record = GateRecord::pass(GateId::G7);
  Judge::Impl &judge = context.judge;
  const std::vector<TestCase> tests = judge.cases.launchCases();
  parallelFor(judge.options.threads, tests.size(), [&](size_t i) {
    if (Expected<std::string> ahead = judge.plan(context.candidate, tests[i]); !ahead)
      consumeError(ahead.takeError()); // said again below
  });
  for (const TestCase &test : tests) {
    Expected<std::optional<GateRecord>> failure = findFailure(context, test, record.details);
    if (!failure)
      return failure.takeError();
    if (!*failure)
      continue;
    Expected<bool> stands = originalStands(judge, test);
    if (!stands)
      return stands.takeError();
    if (*stands)
      return std::move(**failure);
  }
  return record;
}

} // namespace kbopt
