//===- DeviceChecks.cpp - Gates G4 and G10: checked and repeated runs -----===//
// SPDX-License-Identifier: Apache-2.0
#include "../JudgeImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

/// Checked runs are slow: at most as many cases, even for a winner.
static constexpr size_t mostCheckedCases = 8;
/// Seconds of the original's checked run beyond which a search looks for a shorter case.
static constexpr double longCheck = 1;
/// Seeds of the shuffled orders; far from those of the other gates.
static constexpr uint64_t shuffleSeed = 0x5EED;

/// What a search checks beside a GPU: \p test, or the largest smaller case that does not take the
/// original long. \p isLong: there is none. The final check takes them all.
static Expected<TestCase> shorterCase(Judge::Impl &judge, const TestCase &test, bool &isLong) {
  isLong = false;
  auto isShort = [&](const TestCase &which) -> Expected<bool> {
    Expected<RunPointer> own = judge.run(judge.baselineProgram, which, RunMode::Check,
                                         judge.cpuOptions(judge.baselineProgram));
    if (!own)
      return own.takeError();
    return (*own)->status == RunStatus::Ok && (*own)->defects().empty() &&
           (*own)->wallSeconds <= longCheck;
  };
  auto workOf = [&](const TestCase &which) -> Expected<double> {
    Expected<const PlanFacts &> facts = judge.facts(judge.baselineProgram, which);
    if (!facts)
      return facts.takeError();
    return facts->work;
  };
  Expected<bool> suffices = isShort(test);
  if (!suffices || *suffices)
    return suffices ? Expected<TestCase>(test) : suffices.takeError();
  Expected<double> least = workOf(test);
  if (!least)
    return least.takeError();
  std::vector<std::pair<double, TestCase>> others;
  for (const TestCase &other : judge.seenCases(judge.options.searchCases + 1)) {
    Expected<double> work = workOf(other);
    if (!work)
      return work.takeError();
    if (other.small)
      others.push_back({*work, other});
  }
  llvm::sort(others, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second.name < b.second.name;
  });
  for (const auto &[work, other] : others) {
    if (work >= *least) // as much takes as long
      continue;
    *least = work;
    suffices = isShort(other);
    if (!suffices || *suffices)
      return suffices ? Expected<TestCase>(other) : suffices.takeError();
  }
  isLong = true;
  return test;
}

/// Whether the original takes about as long as \p request, which was ended: the inputs make it slow
/// (sines of large arguments), which says nothing about the candidate.
static Expected<bool> isSlowAnyway(Judge::Impl &judge, const RunRequest &request) {
  Expected<RunPointer> own = judge.run(judge.baselineProgram, request.test, request.mode,
                                       judge.cpuOptions(judge.baselineProgram));
  if (!own)
    return own.takeError();
  return (*own)->status == RunStatus::Timeout ||
         (*own)->wallSeconds >= request.options.wallSeconds / 4;
}

/// The first finding of \p run that is right on the CPU device alone.
static const DeviceFinding *weakFinding(const RunResult &run) {
  for (const LaunchRecord &launch : run.launches)
    for (const DeviceFinding &finding : launch.findings)
      if (finding.kind == "weak-order")
        return &finding;
  for (const DeviceFinding &finding : run.findings)
    if (finding.kind == "unordered" && finding.benign)
      return &finding;
  return nullptr;
}

/// A candidate may not rely on an order that CUDA does not promise, unless the original does as
/// well.
static Expected<std::optional<GateRecord>>
checkOrderPromised(Judge::Impl &judge, const RunResult &run, const TestCase &test) {
  const DeviceFinding *finding = weakFinding(run);
  if (!finding)
    return std::nullopt;
  Expected<RunPointer> own = judge.run(judge.baselineProgram, test, RunMode::Check,
                                       judge.cpuOptions(judge.baselineProgram));
  if (!own)
    return own.takeError();
  if (weakFinding(**own))
    return std::nullopt;
  return std::optional<GateRecord>(
      GateRecord::fail(GateId::G4, FailureClass::Runtime, finding->text + " on case " + test.name));
}

/// What the original does wrong on the case of \p request; empty if nothing.
static Expected<std::string> defectOfOriginal(Judge::Impl &judge, const RunRequest &request) {
  RunOptions options = judge.cpuOptions(judge.baselineProgram);
  options.seed = request.options.seed;
  Expected<RunPointer> own = judge.run(judge.baselineProgram, request.test, request.mode, options);
  if (!own)
    return own.takeError();
  std::optional<GateRecord> failure = failureOf(**own, GateId::G4, request.test.name);
  return failure ? failure->reason : std::string();
}

static bool isBenignRace(const DeviceFinding &finding) {
  return finding.benign && (finding.kind == "race-global" || finding.kind == "race-shared");
}

/// Lines of benign races, by place.
using BenignRaces = std::map<std::tuple<std::string, unsigned, std::string>, std::string>;

/// Adds to \p races what \p run, of \p request, says of races whose writers all store one value,
/// and whether the original has them as well: they change no result.
static Error addBenignRaces(Judge::Impl &judge, const RunRequest &request, const RunResult &run,
                            BenignRaces &races) {
  for (const LaunchRecord &launch : run.launches)
    for (const DeviceFinding &finding : launch.findings) {
      std::tuple place(finding.file, finding.line, finding.array);
      if (!isBenignRace(finding) || races.count(place))
        continue;
      Expected<RunPointer> own = judge.run(judge.baselineProgram, request.test, RunMode::Check,
                                           judge.cpuOptions(judge.baselineProgram));
      if (!own)
        return own.takeError();
      const bool isOriginals = any_of((*own)->launches, [&](const LaunchRecord &same) {
        return any_of(same.findings, [&](const DeviceFinding &other) {
          return isBenignRace(other) && other.kind == finding.kind && other.array == finding.array;
        });
      });
      races[place] =
          formatv("benign race{0}: {1}", isOriginals ? ", as in the original" : "", finding.text);
    }
  return Error::success();
}

/// Seconds of a checked run that is not made to its end.
static constexpr double partSeconds = 1, finalPartSeconds = 3;

/// Checked runs on \p test, which takes the original too long, ended after some time: what ran
/// until then was executed as in any run, so that a defect is one, but no defect says nothing of
/// the rest. \p why: of the record, which never passes.
static Expected<GateRecord> checkInPart(GateContext &context, const TestCase &test, StringRef why) {
  Judge::Impl &judge = context.judge;
  const bool search = context.effort == JudgeEffort::Search;
  std::vector<RunRequest> runs;
  for (uint64_t seed : {shuffleSeed, uint64_t(0)}) {
    RunOptions options = judge.cpuOptions(context.candidate);
    options.wallSeconds = search ? partSeconds : finalPartSeconds;
    options.seed = seed; // other blocks come first
    if (runs.empty() || !search)
      runs.push_back({test, RunMode::Check, options});
  }
  judge.runTogether(context.candidate, runs, /*stop=*/false);
  bool haveEnded = true;
  for (const RunRequest &request : runs) {
    Expected<RunPointer> run = judge.run(context.candidate, request);
    if (!run)
      return blameProgram(run.takeError(), GateId::G4, FailureClass::Runtime);
    RunResult looked = **run;
    haveEnded &= looked.status != RunStatus::Timeout;
    if (looked.status == RunStatus::Timeout)
      looked.status = RunStatus::Ok;
    if (std::optional<GateRecord> failure = failureOf(looked, GateId::G4, test.name))
      return std::move(*failure);
    Expected<std::optional<GateRecord>> weak = checkOrderPromised(judge, looked, test);
    if (!weak)
      return weak.takeError();
    if (*weak)
      return std::move(**weak);
  }
  if (haveEnded) // it is that much faster
    return GateRecord::pass(GateId::G4, "", 1);
  return GateRecord::notRun(GateId::G4, formatv("{0}; {1:f0} s of it in {2} show no defect", why,
                                                search ? partSeconds : finalPartSeconds,
                                                search ? "another order" : "two orders"));
}

Expected<GateRecord> runDeviceChecks(GateContext &context) {
  Judge::Impl &judge = context.judge;
  const bool search = context.effort == JudgeEffort::Search;
  std::string why;
  Expected<std::optional<TestCase>> checkable = judge.cpuCase(why);
  if (!checkable)
    return checkable.takeError();
  Expected<std::optional<GateRecord>> cannotStart =
      checkLaunchLimits(context, judge.recordedCase(), GateId::G4);
  if (!cannotStart)
    return cannotStart.takeError();
  if (*cannotStart)
    return std::move(**cannotStart);
  Expected<bool> inPart = judge.isCheckedInPart(checkable->value_or(judge.checkCase()), why);
  if (!inPart)
    return inPart.takeError();
  if (*inPart)
    return checkInPart(context, checkable->value_or(judge.checkCase()), why);
  if (!*checkable)
    return GateRecord::notRun(GateId::G4, why);
  bool isLong = false;
  if (search && judge.gpu) {
    Expected<TestCase> shorter = shorterCase(judge, **checkable, isLong);
    if (!shorter)
      return shorter.takeError();
    *checkable = std::move(*shorter);
    if (isLong)
      return checkInPart(context, **checkable,
                         formatv("case {0} takes the CPU device long", (*checkable)->name).str());
  }
  // Without a small case the recorded run is checked once, in one order.
  std::vector<TestCase> tests = {**checkable};
  if (!search)
    for (const TestCase &test : judge.cases.cases())
      if (test.small && !test.unseen && !test.needsConsent() && test.name != tests.front().name &&
          tests.size() < mostCheckedCases)
        tests.push_back(test);
  GateRecord record = GateRecord::pass(GateId::G4);
  unsigned &cases = record.cases;
  std::vector<RunRequest> runs;
  for (const TestCase &test : tests) {
    Expected<std::optional<std::string>> refusal = judge.cpuRefusal(test);
    if (!refusal)
      return refusal.takeError();
    if (*refusal) {
      record.details.push_back(**refusal);
      continue;
    }
    ++cases;
    unsigned orders = test.small ? 1 + (search ? 1 : judge.options.shuffles) : 1;
    for (unsigned order = 0; order < orders; ++order) {
      RunOptions options = judge.cpuOptions(context.candidate);
      // The last order of each case is a shuffled one.
      options.seed = order + 1 == orders ? shuffleSeed + cases : order;
      runs.push_back({test, RunMode::Check, options});
    }
  }
  judge.runTogether(context.candidate, runs, /*stop=*/false);
  std::set<std::string> slowCases, faultyCases;
  BenignRaces races;
  for (const RunRequest &request : runs) {
    Expected<RunPointer> run = judge.run(context.candidate, request);
    if (!run)
      return blameProgram(run.takeError(), GateId::G4, FailureClass::Runtime);
    if (judge.gpu && (*run)->status == RunStatus::Timeout) {
      Expected<bool> slow = isSlowAnyway(judge, request);
      if (!slow)
        return slow.takeError();
      if (*slow) {
        std::string detail =
            formatv("case {0} takes the original as long on the CPU device", request.test.name);
        if (!is_contained(record.details, detail))
          record.details.push_back(std::move(detail));
        slowCases.insert(request.test.name);
        continue;
      }
    }
    if (faultyCases.count(request.test.name))
      continue;
    if (std::optional<GateRecord> failure = failureOf(**run, GateId::G4, request.test.name)) {
      Expected<std::string> defect = defectOfOriginal(judge, request);
      if (!defect)
        return defect.takeError();
      if (defect->empty())
        return std::move(*failure);
      if (request.test.name == tests.front().name)
        return GateRecord::undecided(GateId::G4, "the original itself is not defined: " + *defect);
      // A case beside the first one may ask what the original is not made for.
      record.details.push_back(
          formatv("case {0} does not count: the original, too: {1}", request.test.name, *defect));
      faultyCases.insert(request.test.name);
      --cases;
      continue;
    }
    Expected<std::optional<GateRecord>> weak = checkOrderPromised(judge, **run, request.test);
    if (!weak)
      return weak.takeError();
    if (*weak)
      return std::move(**weak);
    if (Error error = addBenignRaces(judge, request, **run, races))
      return std::move(error);
  }
  for (auto &[place, line] : races)
    record.details.push_back(std::move(line));
  cases -= slowCases.size();
  if (cases == 0 && !slowCases.empty())
    return GateRecord::notRun(GateId::G4, record.details.back());
  return record;
}

Expected<GateRecord> runDeterminism(GateContext &context) {
  Judge::Impl &judge = context.judge;
  TestCase test = judge.checkCase();
  Expected<const Reference *> reference = judge.reference(test, Spread::None);
  if (!reference)
    return reference.takeError();
  // All of them in one job, and one by one only where they do not agree: then the comparison
  // says which element it is, and takes all NaNs for one.
  const RunOptions together = judge.repeatedRun(context.effort);
  const unsigned runs = together.repetitions;
  Expected<RunPointer> all = judge.run(context.candidate, test, RunMode::Plain, together);
  if (!all)
    return blameProgram(all.takeError(), GateId::G10, FailureClass::Runtime);
  if (std::optional<GateRecord> failure = failureOf(**all, GateId::G10, test.name))
    return std::move(*failure);
  if (judge.baseline->deterministic && (*all)->variation.empty())
    return GateRecord::pass(GateId::G10, formatv("{0} runs", runs), 1);
  RunPointer first;
  for (unsigned i = 0; i < runs; ++i) {
    RunOptions options = judge.runOptions();
    options.seed = i; // the first one in natural order
    Expected<RunPointer> run = judge.run(context.candidate, test, RunMode::Plain, options);
    if (!run)
      return blameProgram(run.takeError(), GateId::G10, FailureClass::Runtime);
    if (std::optional<GateRecord> failure = failureOf(**run, GateId::G10, test.name))
      return std::move(*failure);
    if (!judge.baseline->deterministic) {
      // No more variance than the original's: the comparator's bound knows it.
      GateRecord record =
          compareWithReference(**reference, **run, test, context.promise, judge.cases, GateId::G10,
                               /*miss=*/nullptr, context.runsHostsAgain);
      if (record.stops())
        return record;
      continue;
    }
    if (!first)
      first = *run;
    else if (auto difference = firstDifference((*reference)->outputs, *first, **run))
      return GateRecord::fail(
          GateId::G10, FailureClass::Correctness,
          formatv("run {0} in another thread order differs from the first: {1}, "
                  "and the original is deterministic",
                  i + 1, *difference));
  }
  GateRecord record = GateRecord::pass(GateId::G10, formatv("{0} runs", runs), 1);
  if (!judge.gpu || !judge.baseline->deterministic)
    return record;
  // A GPU does not repeat an order. What differed before was an order, or fresh memory,
  // which the program may read back.
  Expected<RunPointer> original = judge.run(judge.baselineProgram, test, RunMode::Plain, together);
  if (!original)
    return original.takeError();
  if ((*original)->variation.empty())
    return GateRecord::fail(GateId::G10, FailureClass::Correctness,
                            (*all)->variation + ", and the original is deterministic");
  record.details.push_back(
      "the original reads back bytes that were never written: they differ as well");
  return record;
}

} // namespace kbopt
