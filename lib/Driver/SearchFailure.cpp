//===- SearchFailure.cpp - Why a search found nothing ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "SearchReport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using llvm::formatv;

/// Why no schedule was tried for the kernel that takes most of the time; empty if one was, or
/// nothing is known of that.
static llvm::Expected<std::string> unscheduledText(ProgramEnvironment &environment,
                                                   const SearchResult &result) {
  const std::map<std::string, KernelProfile> &kernels = result.original.kernels;
  auto slowest = std::max_element(kernels.begin(), kernels.end(), [](const auto &a, const auto &b) {
    return a.second.timeUs < b.second.timeUs;
  });
  bool isTried =
      slowest != kernels.end() && llvm::any_of(result.attempts, [&](const Attempt &attempt) {
        return attempt.phase == AttemptPhase::Sketch && attempt.step.kernel == slowest->first;
      });
  if (slowest == kernels.end() || isTried)
    return "";
  llvm::Expected<std::string> reason = environment.whyUnscheduled(slowest->first);
  if (!reason || reason->empty())
    return reason;
  return formatv("no schedule applies to '{0}', which takes most of this file's time: {1}",
                 slowest->first, *reason)
      .str();
}

llvm::Error SearchReport::describeFailure(ProgramEnvironment &environment,
                                          const SearchResult &result) {
  struct Tried {
    unsigned count = 0, refused = 0, undecided = 0;
    double best = 0; ///< the largest gain of a correct one
  };
  std::map<std::string, Tried> tried;
  for (const Attempt &attempt : result.attempts) {
    if (attempt.verdict == VerdictKind::NotApplied || !attempt.shortcut.empty())
      continue;
    std::string passes;
    for (const Step &move : attempt.before)
      passes += move.pass + " + ";
    Tried &pass = tried[passes + attempt.step.pass];
    ++pass.count;
    pass.refused += attempt.verdict == VerdictKind::Incorrect;
    pass.undecided += attempt.verdict == VerdictKind::Inconclusive;
    if (attempt.correct() && attempt.timeUs > 0)
      pass.best = std::max(pass.best, attempt.parentTimeUs / attempt.timeUs);
  }
  std::vector<std::string> parts;
  for (const auto &[pass, what] : tried)
    parts.push_back(
        formatv("{0} ({1}{2}{3}{4})", pass, what.count,
                what.best > 0 ? formatv(", best {0:f2} x", what.best).str() : "",
                what.refused ? formatv(", {0} refused", what.refused).str() : "",
                what.undecided ? formatv(", {0} not decided", what.undecided).str() : ""));
  context.progress.line("  tried: " +
                        (parts.empty() ? std::string("nothing") : llvm::join(parts, ", ")));
  const NodeJudgement &original = result.original;
  if (const double least = original.attainable.us(); least > 0)
    context.progress.line(
        formatv("  no rewrite goes below {0:f2} us, {1:f2} x less; in the way stands {2}: {3}",
                least, original.timeUs / least, original.state.fullName(), original.state.why())
            .str());
  llvm::Expected<std::string> unscheduled = unscheduledText(environment, result);
  if (!unscheduled)
    return unscheduled.takeError();
  if (!unscheduled->empty())
    context.progress.line("  " + *unscheduled);
  return llvm::Error::success();
}
