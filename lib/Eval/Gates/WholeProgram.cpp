//===- WholeProgram.cpp - Gate G14: what the program prints ---------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstdlib>

using namespace llvm;

namespace kbopt {
namespace {

/// Relative difference of printed numbers that a pass without a bitwise promise
/// may cause; the numbers themselves were G6's, bit for bit.
constexpr double printedTolerance = 1e-3;

std::vector<StringRef> linesOf(StringRef text) {
  SmallVector<StringRef, 64> lines;
  text.split(lines, '\n');
  return {lines.begin(), lines.end()};
}

bool sameLine(StringRef a, StringRef b, bool exact) {
  if (a == b)
    return true;
  if (exact)
    return false;
  SmallVector<StringRef, 16> left, right;
  SplitString(a, left, " \t,;:=()[]");
  SplitString(b, right, " \t,;:=()[]");
  if (left.size() != right.size())
    return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i])
      continue;
    double x, y;
    if (left[i].getAsDouble(x) || right[i].getAsDouble(y) || !std::isfinite(x) || !std::isfinite(y))
      return false;
    if (std::fabs(x - y) > printedTolerance * std::max(std::fabs(x), std::fabs(y)))
      return false;
  }
  return true;
}

} // namespace

Expected<GateRecord> runWholeProgram(GateContext &context) {
  Judge::Impl &judge = context.judge;
  // Twice, to know which lines (times, addresses) change by themselves.
  const CaseSource::WholeRun *originals[2] = {};
  for (unsigned i = 0; i < 2; ++i) {
    auto known = judge.wholeOriginals.get(i, [&]() -> Expected<std::optional<CaseSource::WholeRun>> {
      std::optional<Expected<CaseSource::WholeRun>> run = judge.cases.wholeProgram(judge.original);
      if (!run)
        return std::nullopt;
      if (!*run)
        return run->takeError();
      return std::move(**run);
    });
    if (!known)
      return known.takeError();
    if (!*known)
      return GateRecord::notRun(GateId::G14, "the workload has no main");
    originals[i] = &**known;
  }
  std::optional<Expected<CaseSource::WholeRun>> run =
      judge.cases.wholeProgram(*context.candidate.program);
  if (!run)
    return GateRecord::notRun(GateId::G14, "the workload has no main");
  if (!*run)
    return blameProgram(run->takeError(), GateId::G14, FailureClass::Runtime);
  const CaseSource::WholeRun &expected = *originals[0], &again = *originals[1];
  const CaseSource::WholeRun &actual = **run;
  if (actual.exitStatus != expected.exitStatus)
    return GateRecord::fail(GateId::G14, FailureClass::Correctness,
                            formatv("the program ends with status {0}, the original with {1}",
                                    actual.exitStatus, expected.exitStatus));
  std::vector<StringRef> lines = linesOf(expected.out), twice = linesOf(again.out),
                         got = linesOf(actual.out);
  if (got.size() != lines.size())
    return GateRecord::fail(GateId::G14, FailureClass::Correctness,
                            formatv("the program prints {0} lines, the original {1}", got.size(),
                                    lines.size()));
  const bool exact = context.promise.result == ResultPromise::Bitwise;
  unsigned varying = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i >= twice.size() || lines[i] != twice[i]) {
      ++varying;
      continue;
    }
    if (!sameLine(lines[i], got[i], exact))
      return GateRecord::fail(GateId::G14, FailureClass::Correctness,
                              formatv("line {0} of the program's output differs", i + 1),
                              {("original:  " + lines[i]).str(), ("candidate: " + got[i]).str()});
  }
  GateRecord record = GateRecord::pass(GateId::G14, "", 1);
  if (varying)
    record.details.push_back(formatv("{0} lines that change by themselves are not compared", varying));
  return record;
}

} // namespace kbopt
