//===- LaunchMapCheck.cpp - Derived plans against recorded ones -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns --emit=launch-map: the plans that a candidate's launch map derives are compared with those
// that its host makes. It is for tests of kb-opt; a search does not run it.
//
//===----------------------------------------------------------------------===//
#include "JudgeRewrite.h"
#include "Modes.h"
#include "kb-opt/Rewrite/LaunchMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

namespace {

struct MapComparison {
  unsigned cases = 0, launches = 0;
  double milliseconds = 0; ///< of the map and the derivations
  std::string why;         ///< no plan of a case could be derived
  std::string difference;  ///< of a derived plan from its recorded one
};

/// Compares the plans of \p test; a case that the original does not have is left out.
llvm::Error compareCase(Session &session, LaunchMap &map, const ProgramArtefacts &candidate,
                        const TestCase &test, MapComparison &result) {
  auto before = session.cases->original(test);
  if (!before) {
    if (test.recorded)
      return before.takeError();
    llvm::consumeError(before.takeError());
    return llvm::Error::success();
  }
  std::string problem, why;
  const auto original = kbrt::readPlan(*before, problem);
  if (!original)
    return llvm::make_error<StoreError>(problem);
  const double start = session.context.clock.monotonicSeconds();
  const auto derived = map.derivePlan(*original, why);
  result.milliseconds += 1000 * (session.context.clock.monotonicSeconds() - start);
  if (!derived) {
    result.why = test.name + ": " + why;
    return llvm::Error::success();
  }
  auto after = session.cases->candidate(candidate, test);
  if (!after)
    return after.takeError();
  const auto recorded = kbrt::readPlan(*after, problem);
  if (!recorded)
    return llvm::make_error<StoreError>(problem);
  ++result.cases;
  for (const kbrt::Step &step : derived->steps)
    result.launches += std::holds_alternative<kbrt::LaunchStep>(step);
  if (auto difference = firstPlanDifference(*derived, *recorded))
    result.difference = test.name + ": " + *difference;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<ExitStatus> kbopt::emitLaunchMap(Context &context) {
  auto opened = openSession(context);
  if (!opened)
    return opened.takeError();
  Session &session = **opened;
  auto original = context.parser.parse(context.command, context.text);
  if (!original)
    return original.takeError();
  std::string shown;
  bool isEqual = true;
  for (const std::string &file : context.options.judge) {
    auto text = context.files.read(file);
    if (!text)
      return text.takeError();
    std::vector<std::string> breaches;
    auto candidate = compileCandidate(session, *text, "launch-map.bc", breaches);
    if (!candidate)
      return candidate.takeError();
    auto parsed = context.parser.parse(context.command, *text);
    if (!parsed)
      return parsed.takeError();
    const double start = context.clock.monotonicSeconds();
    LaunchMap map(**original, **parsed);
    MapComparison result;
    result.milliseconds = 1000 * (context.clock.monotonicSeconds() - start);
    for (const TestCase &test : session.cases->cases())
      if (!test.variesRecorded && !test.asksMore && result.difference.empty() && result.why.empty())
        if (llvm::Error error = compareCase(session, map, *candidate, test, result))
          return std::move(error);
    isEqual &= result.difference.empty();
    if (!result.difference.empty())
      shown += "launch map: differs in the case " + result.difference + "\n";
    else if (!result.why.empty())
      shown += "launch map: none in the case " + result.why + "\n";
    else
      shown += llvm::formatv("launch map: equal in {0} cases with {1} launches ({2:f1} ms)\n",
                             result.cases, result.launches, result.milliseconds);
  }
  if (llvm::Error error = writeResult(context, shown))
    return std::move(error);
  return isEqual ? ExitStatus::Success : ExitStatus::Diagnostics;
}
