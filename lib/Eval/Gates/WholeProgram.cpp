//===- WholeProgram.cpp - Gate G14: what the program prints ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of the rebuilt program's exit status, output and written
// files with the original's. Programs print times, dates and addresses: what
// differs between runs of the original itself is not compared.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "Expectation.h"
#include "WrittenFiles.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Interrupt.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {
namespace {

/// Runs of the original at first, and as many as it takes before a difference is
/// blamed on the candidate: a time that is printed in few digits may well be the
/// same twice.
constexpr size_t firstRuns = 2, mostRuns = 5;

/// Run \p number of the original; null if the workload has no main.
Expected<const CaseSource::WholeRun *> originalRun(Judge::Impl &judge, unsigned number) {
  auto known =
      judge.wholeOriginals.get(number, [&]() -> Expected<std::optional<CaseSource::WholeRun>> {
        std::optional<Expected<CaseSource::WholeRun>> run =
            judge.cases.wholeProgram(judge.original);
        if (!run)
          return std::nullopt;
        if (!*run)
          return run->takeError();
        return std::move(**run);
      });
  if (!known)
    return known.takeError();
  return *known ? &**known : nullptr;
}

/// The code that rounds the original's operations in \p direction, as a GPU runs whole programs.
Expected<std::string> reroundedCode(Judge::Impl &judge, Rounding direction) {
  Expected<const DeviceImage &> image =
      judge.directedImages.get(direction, [&] { return judge.directedImage(direction); });
  if (!image)
    return image.takeError();
  return judge.compiler.assemble(image->path, judge.original.arch);
}

/// The original once more, with its operations rounded in one direction.
Expected<const ReroundedWhole &> reroundedRun(Judge::Impl &judge, Rounding direction) {
  return judge.wholeRerounded.get(direction, [&]() -> Expected<ReroundedWhole> {
    // Without such a run the comparison is the stricter one.
    auto limited = [](Error error) -> Expected<ReroundedWhole> {
      if (interrupted())
        return std::move(error);
      return ReroundedWhole{std::nullopt, toString(std::move(error))};
    };
    std::string path; // the CPU device rounds all operations alike by itself
    if (judge.gpu) {
      Expected<std::string> code = reroundedCode(judge, direction);
      if (!code)
        return limited(code.takeError());
      path = std::move(*code);
    }
    std::optional<Expected<CaseSource::WholeRun>> run =
        judge.cases.wholeProgram(judge.original, path, judge.gpu ? Rounding::Nearest : direction);
    if (!run)
      return ReroundedWhole();
    if (!*run)
      return limited(run->takeError());
    return ReroundedWhole{std::move(**run), ""};
  });
}

/// How \p run differs from \p originals, in what it prints and in its files; \p omitted: what was
/// not compared.
Expected<std::optional<GateRecord>> compareRun(Judge::Impl &judge,
                                               ArrayRef<const CaseSource::WholeRun *> originals,
                                               const CaseSource::WholeRun &run, bool exact,
                                               std::string &omitted) {
  std::vector<const CaseSource::WholeRun *> moved;
  std::vector<StringRef> outputs;
  for (const CaseSource::WholeRun *original : originals)
    outputs.push_back(original->out);
  auto compare = [&]() -> std::optional<GateRecord> {
    Expectation expectation(outputs);
    for (const CaseSource::WholeRun *other : moved)
      expectation.addRerounded(other->out);
    omitted = expectation.omitted();
    if (auto failure = expectation.compare(run.out, exact ? Closeness::Exactly : Closeness::Roughly,
                                           "the program's output"))
      return failure;
    return compareFiles(originals, moved, run.files, exact);
  };
  std::optional<GateRecord> failure = compare();
  if (!failure || exact)
    return failure;
  std::string limits;
  for (Rounding direction : {Rounding::Up, Rounding::Down}) {
    Expected<const ReroundedWhole &> other = reroundedRun(judge, direction);
    if (!other)
      return other.takeError();
    if (other->run)
      moved.push_back(&*other->run);
    else if (limits.empty())
      limits = other->limits;
  }
  failure = compare();
  if (failure && !limits.empty())
    failure->details.push_back("the original was not run under other roundings: " + limits);
  return failure;
}

} // namespace

/// The first runs of the original beside the candidate's own, where there are threads: the host's
/// part takes what it takes. An error is reported when they are requested.
static Expected<const std::optional<CaseSource::WholeRun> &> runBeside(GateContext &context) {
  return context.whole.get(0, [&]() -> Expected<std::optional<CaseSource::WholeRun>> {
    Judge::Impl &judge = context.judge;
    std::optional<Expected<CaseSource::WholeRun>> run;
    parallelFor(judge.options.threads, judge.options.threads > 1 ? 1 + firstRuns : 1,
                [&](size_t i) {
                  if (i == 0)
                    run = judge.cases.wholeProgram(*context.candidate.program);
                  else if (auto own = originalRun(judge, static_cast<unsigned>(i - 1)); !own)
                    consumeError(own.takeError());
                });
    if (!run)
      return std::nullopt;
    if (!*run)
      return run->takeError();
    return std::move(**run);
  });
}

static double secondsOfRuns(const Judge::Impl &judge) {
  return judge.cases.wholeSeconds() * (judge.options.threads > 1 ? 1 : 1 + firstRuns);
}

void runWholeProgramAhead(GateContext &context) {
  if (secondsOfRuns(context.judge) > context.judge.timeLeft())
    return;
  if (auto run = runBeside(context); !run)
    consumeError(run.takeError()); // the gate asks again
}

Expected<GateRecord> runWholeProgram(GateContext &context) {
  Judge::Impl &judge = context.judge;
  const bool exact = context.promise.result == Promise::Bitwise;
  const double seconds = secondsOfRuns(judge);
  if (seconds > judge.timeLeft() && !context.whole.has(0))
    return GateRecord::notRun(GateId::G14, judge.doesNotFit("running the whole program", seconds));
  Expected<const std::optional<CaseSource::WholeRun> &> run = runBeside(context);
  if (!run)
    return blameProgram(run.takeError(), GateId::G14, FailureClass::Runtime);
  if (!*run)
    return GateRecord::notRun(GateId::G14, "the workload has no main");
  std::vector<const CaseSource::WholeRun *> originals;
  std::optional<GateRecord> failure;
  while (originals.size() < mostRuns) {
    Expected<const CaseSource::WholeRun *> original = originalRun(judge, originals.size());
    if (!original)
      return original.takeError();
    if (!*original)
      return GateRecord::notRun(GateId::G14, "the workload has no main");
    originals.push_back(*original);
    const int expected = originals.front()->exitStatus, actual = (*run)->exitStatus;
    if (actual != expected)
      return GateRecord::fail(
          GateId::G14, FailureClass::Correctness,
          formatv("the program ends with status {0}, the original with {1}", actual, expected));
    if (originals.size() < firstRuns)
      continue;
    if (originals.size() == firstRuns) {
      Expected<std::optional<GateRecord>> fed = compareFedHost(context, originals);
      if (!fed)
        return fed.takeError();
      if (*fed)
        return std::move(**fed);
    }
    std::string omitted;
    Expected<std::optional<GateRecord>> compared =
        compareRun(judge, originals, **run, exact, omitted);
    if (!compared)
      return compared.takeError();
    failure = std::move(*compared);
    if (failure)
      continue;
    GateRecord record = GateRecord::pass(GateId::G14, "", 1);
    if (!omitted.empty())
      record.details.push_back(std::move(omitted));
    if (!originals.front()->files.empty())
      record.details.push_back(
          formatv("{0} written files are compared", originals.front()->files.size()));
    return record;
  }
  return std::move(*failure);
}

} // namespace kbopt
