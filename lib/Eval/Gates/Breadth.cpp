//===- Breadth.cpp - Gates G7 and G15: other inputs, pointers, shapes -----===//
// SPDX-License-Identifier: Apache-2.0
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;

namespace kbopt {

/// Whether the original does without what \p test takes away: its checked run is clean, and
/// another order of threads gives the same bits.
static Expected<bool> allows(Judge::Impl &judge, const TestCase &test, const Reference &reference) {
  RunOptions shuffled = judge.runOptions();
  shuffled.seed = 1;
  Expected<std::optional<std::string>> refusal = judge.cpuRefusal(test);
  if (!refusal)
    return refusal.takeError();
  for (RunMode mode : {RunMode::Check, RunMode::Plain}) {
    if (mode == RunMode::Check && *refusal)
      continue;
    Expected<RunPointer> run =
        judge.run(judge.baselineProgram, test, mode,
                  mode == RunMode::Plain ? shuffled : judge.cpuOptions(judge.baselineProgram));
    if (!run)
      return run.takeError();
    if ((*run)->status != RunStatus::Ok || !(*run)->defects().empty())
      return false;
    if (mode == RunMode::Plain && judge.baseline->deterministic &&
        firstDifference(reference.outputs, *reference.run, **run))
      return false;
  }
  return true;
}

/// Of the original on a case that asks more, and of all such cases of a candidate: its owner asked
/// for none of them.
static constexpr double mostRunSeconds = 0.5, mostAskedSeconds = 10;
/// The same at sizes many times the recorded ones, as the recorded run lets expect: of a checked
/// run, or of a plain one where none is made.
static constexpr double mostLargeRunSeconds = 1;
/// Of the original on a test of the build.
static constexpr double mostTestSeconds = 20;
/// Of the time left, where there is a limit.
static constexpr double askedShare = 0.2;

/// What the original's recorded case takes, checked where it can be. The first run may have shared
/// the machine with compilers: where it took more than \p enough, another one is asked.
static Expected<double> recordedSeconds(Judge::Impl &judge, double enough) {
  const TestCase recorded = judge.recordedCase();
  Expected<std::optional<std::string>> refusal = judge.cpuRefusal(recorded);
  if (!refusal)
    return refusal.takeError();
  RunOptions options = *refusal ? judge.runOptions() : judge.cpuOptions(judge.baselineProgram);
  double seconds = HUGE_VAL;
  for (uint64_t order : {options.seed, options.seed + 1}) {
    options.seed = order;
    Expected<RunPointer> run = judge.run(judge.baselineProgram, recorded,
                                         *refusal ? RunMode::Plain : RunMode::Check, options);
    if (!run)
      return run.takeError();
    seconds = std::min(seconds, (*run)->busySeconds);
    if (seconds <= enough)
      break;
  }
  return seconds;
}

Expected<bool> consents(Judge::Impl &judge, const TestCase &test) {
  Expected<const bool &> known = judge.consents.get(test.name, [&]() -> Expected<bool> {
    if (test.timesRecorded > 1) {
      const double enough = mostLargeRunSeconds / static_cast<double>(test.timesRecorded);
      Expected<double> seconds = recordedSeconds(judge, enough);
      if (!seconds)
        return seconds.takeError();
      if (*seconds > enough)
        return false;
    }
    Expected<std::string> folder = judge.plan(judge.baselineProgram, test);
    if (!folder) {
      Expected<GateRecord> own =
          blameProgram(folder.takeError(), GateId::G7, FailureClass::Runtime);
      if (!own)
        return own.takeError();
      return false;
    }
    Expected<bool> varies = judge.inputsVary(test);
    if (!varies || !*varies)
      return varies;
    // Orders of so many steps take too long to look at.
    constexpr size_t mostSteps = 4000;
    if (test.hasOtherSources) {
      Expected<const PlanFacts &> there = judge.facts(judge.baselineProgram, test);
      if (!there)
        return there.takeError();
      if (there->steps > mostSteps)
        return false;
    }
    Expected<const Reference *> reference = judge.reference(test, Spread::None);
    if (!reference)
      return reference.takeError();
    if ((*reference)->run->status != RunStatus::Ok ||
        (test.asksMore && (*reference)->run->busySeconds > mostRunSeconds) ||
        (test.isTest && (*reference)->run->busySeconds > mostTestSeconds))
      return false;
    if (test.breaks && *test.breaks == Assumption::NoAlias) {
      // A caller in place wants what it gives elsewhere; other results are of no use.
      Expected<const Reference *> apart = judge.reference(judge.recordedCase(), Spread::None);
      if (!apart)
        return apart.takeError();
      if (firstDifference((*reference)->outputs, *(*apart)->run, *(*reference)->run))
        return false;
    }
    Expected<bool> allowed = allows(judge, test, **reference);
    if (!allowed || !*allowed || !test.asksMore)
      return allowed;
    // What it leaves unwritten there is no result.
    Expected<bool> depends = originalDepends(judge, test, **reference);
    if (!depends)
      return depends.takeError();
    return !*depends;
  });
  if (!known)
    return known.takeError();
  return *known;
}

/// Whether G7 holds the candidate to \p test, if the original allows it: in the search to what its
/// passes assume alone.
static bool isAsked(const GateContext &context, const TestCase &test) {
  if (test.hasLargeValues && context.promise.guardsItsWays &&
      context.promise.result != Promise::Bitwise)
    return false; // their algebra is proven, and holds to the usual numbers
  // Hosts that run again read other results anyhow: their own.
  if (test.feedsOtherResults && context.runsHostsAgain)
    return false;
  return test.needsConsent() && (context.effort != JudgeEffort::Search ||
                                 (test.breaks && context.promise.assumes.count(*test.breaks)));
}

/// Whether \p test is left out where the cases before it took long. What a host makes of results
/// shows in one case only.
static bool mayBeLeftOut(const TestCase &test) { return test.asksMore && !test.feedsOtherResults; }

/// Makes the plans and the checked runs of `breakAssumptions` beside each other, where there are
/// threads; what asks more until \p mayAsk says no. What goes wrong is said where they are asked
/// for. The result tells of each of \p tests whether it was begun.
static std::vector<char> checkAhead(GateContext &context, ArrayRef<TestCase> tests,
                                    function_ref<bool()> mayAsk) {
  Judge::Impl &judge = context.judge;
  std::vector<char> isBegun(tests.size());
  if (judge.options.threads <= 1)
    return isBegun;
  parallelFor(judge.options.threads, tests.size(), [&](size_t i) {
    const TestCase &test = tests[i];
    if (!isAsked(context, test) || (mayBeLeftOut(test) && !mayAsk()))
      return;
    isBegun[i] = true;
    Expected<bool> allowed = consents(judge, test);
    if (!allowed || !*allowed)
      return consumeError(allowed.takeError());
    Expected<std::optional<std::string>> refusal = judge.cpuRefusal(test);
    if (!refusal || *refusal)
      return consumeError(refusal.takeError());
    if (Expected<RunPointer> checked =
            judge.run(context.candidate, test, RunMode::Check, judge.cpuOptions(context.candidate));
        !checked)
      consumeError(checked.takeError());
  });
  return isBegun;
}

Expected<GateRecord> holdTo(GateContext &context, const TestCase &test) {
  Judge::Impl &judge = context.judge;
  std::vector<std::string> details;
  Expected<std::optional<std::string>> refusal = judge.cpuRefusal(test);
  if (!refusal)
    return refusal.takeError();
  if (*refusal) {
    details.push_back("on case " + test.name + " accesses are not checked: " + **refusal);
  } else {
    Expected<RunPointer> checked =
        judge.run(context.candidate, test, RunMode::Check, judge.cpuOptions(context.candidate));
    if (!checked) {
      Expected<GateRecord> failed =
          blameProgram(checked.takeError(), GateId::G7, FailureClass::Runtime);
      return failed ? withRemedy(std::move(*failed), test, judge.cases)
                    : Expected<GateRecord>(failed.takeError());
    }
    if (isTooLarge(test, **checked))
      details.push_back("on case " + test.name +
                        " accesses are not checked: " + (*checked)->message);
    else if (std::optional<GateRecord> failure = failureOf(**checked, GateId::G7, test.name))
      return withRemedy(std::move(*failure), test, judge.cases);
  }
  Expected<GateRecord> compared = compareOnCases(context, test, GateId::G7);
  if (!compared || compared->stops())
    return compared;
  GateRecord record = GateRecord::pass(GateId::G7);
  record.details = std::move(details);
  return record;
}

/// The cases that break what the candidate's passes assume; in the final check also
/// those that break what they forgot to declare, and those that ask more.
static Expected<GateRecord> breakAssumptions(GateContext &context) {
  Judge::Impl &judge = context.judge;
  GateRecord record = GateRecord::pass(GateId::G7);
  std::vector<TestCase> tests = judge.cases.cases();
  TestCase remade;
  remade.name = "other values in what the first kernels make";
  remade.asksMore = remade.remakes = true;
  tests.push_back(remade);
  if (context.effort != JudgeEffort::Search)
    llvm::append_range(tests, judge.cases.casesFor(*context.candidate.program));
  const double start = judge.clock.monotonicSeconds();
  const double most = std::min(mostAskedSeconds, askedShare * judge.timeLeft());
  auto mayAsk = [&] { return judge.clock.monotonicSeconds() - start <= most; };
  const std::vector<char> isBegun = checkAhead(context, tests, mayAsk);
  std::vector<std::string> leftOut;
  for (auto [test, isAhead] : llvm::zip_equal(tests, isBegun)) {
    if (!isAsked(context, test) || isOfUploadsAlone(context, test))
      continue;
    if (mayBeLeftOut(test) && !isAhead && !mayAsk()) {
      leftOut.push_back(test.name);
      continue;
    }
    Expected<bool> allowed = consents(judge, test);
    if (!allowed)
      return allowed.takeError();
    if (!*allowed) {
      if (test.breaks)
        record.details.push_back("the original does not allow " + test.name);
      if (test.isTest)
        record.details.push_back(formatv("not held to {0}, which the original does not run within "
                                         "{1} s and without defects",
                                         test.name, mostTestSeconds));
      continue;
    }
    if (test.remakes || test.hasOtherSources)
      if (Expected<std::string> own = judge.plan(context.candidate, test); !own) {
        // Its first kernels are others: what they make is its own affair; so are its generators.
        Expected<GateRecord> why = blameProgram(own.takeError(), GateId::G7, FailureClass::None);
        if (!why || (test.hasOtherSources && why->outcome == GateOutcome::Failed))
          return why;
        record.details.push_back("not held to " + test.name + ": " + why->reason);
        continue;
      }
    Expected<GateRecord> held = holdTo(context, test);
    if (!held || held->stops())
      return held;
    llvm::append_range(record.details, held->details);
    ++record.cases;
    context.isHeldToOtherResults |= test.feedsOtherResults;
    if (test.asksMore || test.isTest)
      record.details.push_back("held to " + test.name + " as well");
  }
  if (!leftOut.empty())
    record.details.push_back(formatv("not held to {0} cases, because those before them took long: "
                                     "{1}",
                                     leftOut.size(), llvm::join(leftOut, ", ")));
  return record;
}

/// A host that takes another way on \p device, or where its buffers lie elsewhere, is held to the
/// same results there.
static Expected<GateRecord> goTo(GateContext &context, const OtherDevice &device,
                                 const std::string &usual) {
  Judge::Impl &judge = context.judge;
  GateRecord record = GateRecord::pass(GateId::G7);
  const TestCase test = judge.elsewhereCase(device);
  Expected<std::string> there = judge.plan(context.candidate, test);
  if (!there)
    return blameProgram(there.takeError(), GateId::G7, FailureClass::Runtime);
  Expected<bool> isSame = isSameWork(usual, *there);
  if (!isSame)
    return isSame.takeError();
  if (!*isSame) {
    Expected<GateRecord> compared = compareOnCases(context, {test}, GateId::G7);
    if (!compared || compared->stops())
      return compared;
  }
  record.details.push_back(formatv("held to {0} as well: {1}", test.name,
                                   *isSame ? "the same launches" : "other launches"));
  return record;
}

static Expected<GateRecord> goElsewhere(GateContext &context) {
  Judge::Impl &judge = context.judge;
  GateRecord record = GateRecord::pass(GateId::G7);
  const TestCase recorded = judge.recordedCase();
  Expected<std::string> usual = judge.plan(context.candidate, recorded),
                        own = judge.plan(judge.baselineProgram, recorded);
  if (!usual || !own)
    return joinErrors(usual.takeError(), own.takeError());
  if (*usual == *own)
    return record; // the original's host
  // Addresses alone are looked at once.
  Expected<bool> asks = judge.cases.asksDevice(*context.candidate.program);
  if (!asks)
    return asks.takeError();
  for (const OtherDevice &device : *asks ? otherDevices() : otherDevices().take_front()) {
    Expected<GateRecord> there = goTo(context, device, *usual);
    if (!there || there->stops())
      return there;
    llvm::append_range(record.details, there->details);
  }
  Expected<GateRecord> large = compareAtLargeSizes(context);
  if (!large || large->stops())
    return large;
  llvm::append_range(record.details, large->details);
  return record;
}

Expected<GateRecord> runBreadth(GateContext &context) {
  Judge::Impl &judge = context.judge;
  std::vector<TestCase> tests = judge.seenCases(context.caseCount);
  tests.pop_back(); // the recorded one was G6's
  Expected<GateRecord> record = compareOnCases(context, tests, GateId::G7);
  if (!record || record->stops())
    return record;
  Expected<GateRecord> broken = breakAssumptions(context);
  if (!broken || broken->stops())
    return broken;
  if (context.effort != JudgeEffort::Search) {
    Expected<GateRecord> elsewhere = goElsewhere(context);
    if (!elsewhere || elsewhere->stops())
      return elsewhere;
    llvm::append_range(broken->details, elsewhere->details);
  }
  record->cases += broken->cases;
  if (context.hasOwnTable && !context.hasOtherInputs)
    return GateRecord::fail(
        GateId::G7, FailureClass::Constraints,
        "the candidate's host uploads a table that the original does not, and no other input tells "
        "that it holds no results");
  if (context.hasRelaidInputs && !context.casesOfOwnHosts && context.effort != JudgeEffort::Search)
    return GateRecord::undecided(
        GateId::G7, "the candidate's host uploads its inputs in another form than the original's, "
                    "and no case in which both hosts have other inputs tells whether they fit");
  // In a search this is left to the final check, as all cases that ask more are.
  if (context.runsHostsAgain && !context.casesRunAgain && context.effort != JudgeEffort::Search)
    return GateRecord::undecided(
        GateId::G7,
        "the candidate's host reads or hands over other numbers than the original's, and "
        "no case with other inputs tells whether it makes the same of them");
  if (context.hasRoundedUpload && !context.isHeldToOtherResults && !context.casesRunAgain &&
      context.effort != JudgeEffort::Search)
    return GateRecord::undecided(
        GateId::G7,
        "the candidate's host uploads numbers that are the original's but for roundings, and "
        "whether it makes the same of other results is not known: the original's own host does "
        "not go its way with others, or takes too long");
  if (context.effort != JudgeEffort::Search) {
    Expected<GateRecord> unexecuted = searchUnexecuted(context);
    if (!unexecuted || unexecuted->stops())
      return unexecuted;
    record->cases += unexecuted->cases;
    llvm::append_range(broken->details, unexecuted->details);
  }
  if (!context.omittedCases.empty())
    record->details.push_back(context.omittedCases);
  if (context.hasRelaidInputs)
    record->details.push_back(
        "the candidate's host uploads its inputs in another form: it is held to cases in which "
        "both hosts run, and to none that changes uploads alone");
  for (const std::string &fact : context.judge.cases.reliedOn())
    record->details.push_back("relied on: " + fact);
  record->details.insert(record->details.end(), broken->details.begin(), broken->details.end());
  if (record->cases == 0) {
    GateRecord none = GateRecord::notRun(GateId::G7, "there is only the recorded case");
    none.details = std::move(record->details);
    return none;
  }
  return record;
}

Expected<GateRecord> runUnseenShapes(GateContext &context) {
  std::vector<TestCase> tests;
  for (const TestCase &test : context.judge.cases.cases())
    if (test.unseen && tests.size() < context.judge.options.maxCases)
      tests.push_back(test);
  if (tests.empty())
    return GateRecord::notRun(GateId::G15, "a program without shapes has no unseen ones");
  return compareOnCases(context, tests, GateId::G15);
}

} // namespace kbopt
