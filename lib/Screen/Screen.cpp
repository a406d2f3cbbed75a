//===- Screen.cpp - What the figures of screening mean ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Screen/Screen.h"
#include "kb-opt/Eval/Comparator.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kbopt;
namespace json = llvm::json;

/// No two programs are so far apart: an original is timed with all its samples.
static constexpr double neverApart = 1e6;

/// Roundings of a result of a few operations.
static constexpr double fewRoundings = 4;

/// Larger errors of single elements, or of all together, come from no order of operations. Our
/// choice, and looser than what the gates allow: n is not known here, nor what cancels.
struct Loosest {
  double error, relativeL2;
};
static constexpr Loosest ofSingle{0.1, 0.01}, ofHalf{0.5, 0.05};

Closeness kbopt::closenessOf(const OutputMatch &match, const OutputMatch &own, Promise promise) {
  if (!match.differing)
    return Closeness::Equal;
  const double u = unitRoundoff(match.type);
  // An original whose results move by themselves says only how far.
  if (own.differing)
    return u == 0 || own.otherClass || match.largestError <= 4 * own.largestError
               ? Closeness::Within
               : Closeness::Possible;
  if (promise == Promise::Bitwise || u == 0 || match.otherClass)
    return Closeness::Off;
  if (match.largestError <= fewRoundings * u)
    return Closeness::Within;
  const bool isCoarse = promise == Promise::LowerPrecision || u >= unitRoundoff(Precision::Half);
  const Loosest &bound = isCoarse ? ofHalf : ofSingle;
  return match.largestError <= bound.error && match.relativeL2 <= bound.relativeL2
             ? Closeness::Possible
             : Closeness::Off;
}

static FailureClass failureOf(RunStatus status) {
  switch (status) {
  case RunStatus::Ok:
    return FailureClass::None;
  case RunStatus::Timeout:
    return FailureClass::Timeout;
  default:
    return FailureClass::Runtime;
  }
}

/// What a run that did not end well says of its program. The machine's own trouble says nothing.
static ScreenedProgram badEnd(const ScreenReport &report) {
  ScreenedProgram program;
  const bool isPrograms = report.status == RunStatus::Fault || report.status == RunStatus::Timeout;
  program.verdict = isPrograms ? VerdictKind::Incorrect : VerdictKind::Inconclusive;
  if (isPrograms)
    program.failure = failureOf(report.status);
  program.reason =
      "screening: " + (report.message.empty() ? toString(report.status).str() : report.message);
  return program;
}

llvm::Expected<ScreenedProgram> Screen::open(const ScreenSubject &subject) {
  ScreenRequest request;
  request.isTimed = false;
  auto report = device->open(subject, request);
  if (!report)
    return report.takeError();
  original = std::move(*report);
  if (original.status != RunStatus::Ok)
    return badEnd(original);
  // Its time is taken as a candidate's is.
  ScreenRequest timed;
  timed.apartRatio = neverApart;
  auto own = device->screen(subject, timed);
  if (!own)
    return own.takeError();
  if (own->status != RunStatus::Ok)
    return badEnd(*own);
  ScreenedProgram program;
  program.us = originalUs = own->originalUs;
  program.launches = std::move(own->launches);
  program.verdict = originalUs > 0 ? VerdictKind::Screened : VerdictKind::Inconclusive;
  if (originalUs <= 0)
    program.reason = "screening: the original takes no time that can be measured";
  return program;
}

llvm::Expected<ScreenedProgram> Screen::candidate(const ScreenSubject &subject, Promise promise,
                                                  bool isFresh) {
  ScreenRequest request;
  request.isFresh = isFresh;
  auto report = device->screen(subject, request);
  if (!report)
    return report.takeError();
  if (report->status != RunStatus::Ok)
    return badEnd(*report);
  ScreenedProgram program;
  program.launches = std::move(report->launches);
  for (size_t set = 0; set != report->matches.size(); ++set)
    for (size_t output = 0; output != report->matches[set].size(); ++output) {
      const OutputMatch &match = report->matches[set][output];
      const OutputMatch own = set < original.matches.size() && output < original.matches[set].size()
                                  ? original.matches[set][output]
                                  : OutputMatch();
      const Closeness found = closenessOf(match, own, promise);
      program.closeness = std::max(program.closeness, found);
      if (found != Closeness::Off || !program.reason.empty())
        continue;
      program.reason = llvm::formatv(
          "screening: {0} of {1} elements of '{2}' differ{3}", match.differing, match.elements,
          match.name,
          match.otherClass ? llvm::formatv(", {0} of them by being NaN, infinite or "
                                           "finite",
                                           match.otherClass)
                                 .str()
          : match.largestError > 0
              ? llvm::formatv(", by {0:e1} of their size at most", match.largestError).str()
              : "");
    }
  if (program.closeness == Closeness::Off) {
    program.verdict = VerdictKind::Incorrect;
    program.failure = FailureClass::Correctness;
    return program;
  }
  if (report->originalUs <= 0 || report->candidateUs <= 0) {
    program.reason = "screening: it could not be timed";
    return program;
  }
  program.verdict = VerdictKind::Screened;
  program.us = originalUs * report->candidateUs / report->originalUs;
  return program;
}

json::Value kbopt::toJSON(const ScreenedProgram &program) {
  json::Array launches;
  for (const ScreenedLaunch &launch : program.launches)
    launches.push_back(json::Object{{"kernel", launch.kernel}, {"us", launch.us}});
  return json::Object{{"verdict", toString(program.verdict)},
                      {"failure", toString(program.failure)},
                      {"reason", json::fixUTF8(program.reason)},
                      {"us", program.us},
                      {"closeness", static_cast<int64_t>(program.closeness)},
                      {"launches", std::move(launches)}};
}

bool kbopt::fromJSON(const json::Value &value, ScreenedProgram &program, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string verdict, failure;
  int64_t closeness = 0;
  if (!map || !map.map("verdict", verdict) || !map.map("failure", failure) ||
      !map.map("reason", program.reason) || !map.map("us", program.us) ||
      !map.map("closeness", closeness))
    return false;
  auto kind = parseVerdictKind(verdict);
  auto failed = parseFailureClass(failure);
  if (!kind || !failed || closeness < 0 || closeness > static_cast<int64_t>(Closeness::Off)) {
    path.report("no verdict of screening");
    return false;
  }
  program.verdict = *kind;
  program.failure = *failed;
  program.closeness = static_cast<Closeness>(closeness);
  const json::Array *launches = value.getAsObject()->getArray("launches");
  for (const json::Value &each : launches ? *launches : json::Array())
    if (const json::Object *launch = each.getAsObject())
      program.launches.push_back(
          {launch->getString("kernel").value_or("").str(), launch->getNumber("us").value_or(0)});
  return true;
}
