//===- LargeSizes.cpp - Launches at sizes that no run could hold ----------===//
//
// Owns the comparison of what hosts launch at large sizes. No kernel is executed and no memory is
// touched there: whether each launch can start is all that is known.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
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

/// Holds the candidate to \p test, and says so in \p record.
Expected<std::optional<GateRecord>> compareLaunches(GateContext &context, const TestCase &test,
                                                    GateRecord &record) {
  Judge::Impl &judge = context.judge;
  std::optional<GateRecord> why;
  bool lacksMemory = false;
  Expected<std::optional<RecordedPlan>> own = planOf(judge, judge.baselineProgram, test, why);
  if (!own)
    return own.takeError();
  // What the original does not stand is asked of nobody.
  if (!*own || failedLaunch((*own)->plan, lacksMemory) || lacksMemory)
    return std::nullopt;
  Expected<std::optional<RecordedPlan>> its = planOf(judge, context.candidate, test, why);
  if (!its)
    return its.takeError();
  if (!*its) {
    if (why->outcome == GateOutcome::Failed)
      return std::optional<GateRecord>(std::move(*why));
    record.details.push_back("not held to " + test.name + ": " + why->reason);
    return std::nullopt;
  }
  if (const kbrt::ErrorStep *error = failedLaunch((*its)->plan, lacksMemory))
    return std::optional<GateRecord>(GateRecord::fail(
        GateId::G7, FailureClass::Runtime,
        formatv("on case {0} the candidate's {1}; the original's launches can all start", test.name,
                describe(*error))));
  if (lacksMemory) {
    record.details.push_back("not held to " + test.name + ": the candidate needs more memory");
    return std::nullopt;
  }
  Expected<std::optional<GateRecord>> limits = checkLaunchLimits(context, test, GateId::G7);
  if (limits && !*limits)
    record.details.push_back("held to " + test.name + " as well");
  return limits;
}

} // namespace

Expected<GateRecord> compareAtLargeSizes(GateContext &context) {
  GateRecord record = GateRecord::pass(GateId::G7);
  for (const TestCase &test : context.judge.cases.launchCases()) {
    Expected<std::optional<GateRecord>> failure = compareLaunches(context, test, record);
    if (!failure)
      return failure.takeError();
    if (*failure)
      return std::move(**failure);
  }
  return record;
}

} // namespace kbopt
