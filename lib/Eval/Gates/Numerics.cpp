//===- Numerics.cpp - Gate G6: the program's own run ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns comparing a candidate's outputs with the original's on cases, for this
// gate and others. The rule for one output is in Comparator.cpp, the audit of
// changed host code in HostAudit.cpp.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace kbopt {

/// Whether elements of that output move under other roundings by more than the last operations of
/// an exact sum account for: large factors take sums of whole numbers beyond what the type holds.
/// Where some of them move, others that do not were exact in the original's order only.
static bool roundsSums(const Reference &reference, unsigned output) {
  const kbrt::ElementType type = reference.outputs[output].type;
  const uint64_t width = kbrt::elementBytes(type);
  if (!kbrt::isFloatingPoint(type) || output >= reference.moved.size() ||
      reference.moved[output].empty())
    return false;
  const ArrayRef<uint8_t> moved = reference.moved[output],
                          values = bytesOf(reference.run->outputs[output]);
  const uint64_t count = values.size() / width, looked = std::min<uint64_t>(count, 4096);
  constexpr uint64_t odd = 2654435761; // places all over the array
  double sum = 0;
  for (uint64_t i = 0; i < looked; ++i)
    sum += std::fabs(elementAsDouble(type, values, i * odd % count));
  const double mean = sum / static_cast<double>(looked),
               roundings = Tolerance::leastRoundings * unitRoundoff(type);
  uint64_t far = 0;
  for (uint64_t i = 0; i < looked; ++i)
    far += elementAsDouble(type, moved, i * odd % count) >
           roundings * std::max(mean, std::fabs(elementAsDouble(type, values, i * odd % count)));
  constexpr uint64_t some = 64;
  return some * far > looked;
}

Tolerance toleranceFor(const CandidatePromise &promise, CaseSource &cases, const TestCase &test,
                       const Reference &reference, unsigned output) {
  Tolerance tolerance = cases.tolerance(test, output);
  tolerance.promise = promise.result;
  tolerance.sparesMovedIntegers = !test.recorded;
  // In a lower precision every operation rounds anew, in another order only sums do.
  const uint64_t counted =
      promise.result == Promise::LowerPrecision ? reference.roundings : reference.reductionLength;
  // A counted length only widens what is allowed without one.
  if (promise.result != Promise::Bitwise && tolerance.reductionLength == 0 &&
      counted > Tolerance::leastRoundings &&
      !(test.hasExactSums && promise.result == Promise::Reassociates &&
        !roundsSums(reference, output)))
    tolerance.reductionLength = counted;
  if (promise.result == Promise::Reassociates && reference.sumsInFloat)
    tolerance.sumRoundoff = unitRoundoff(Precision::Float32);
  if (promise.declares.count("bf16"))
    tolerance.computePrecision = Precision::BFloat16;
  else if (promise.declares.count("half"))
    tolerance.computePrecision = Precision::Half;
  else if (promise.declares.count("tf32") &&
           !(test.recorded && (tolerance.relative > 0 || tolerance.absolute > 0)))
    tolerance.computePrecision =
        Precision::TF32; // on the workload's own values the owner's word alone counts
  else if (promise.declares.count("float"))
    tolerance.computePrecision = Precision::Float32;
  return tolerance;
}

OutputView viewOf(const Reference &reference, unsigned index) {
  OutputView view;
  view.name = reference.outputs[index].name;
  view.type = reference.outputs[index].type;
  view.oracle = view.baseline = bytesOf(reference.run->outputs[index]);
  if (index < reference.moved.size() && reference.moved[index].size() == view.oracle.size())
    view.moved = reference.moved[index];
  if (index < reference.float64.size()) {
    const SharedBytes &elements = reference.float64[index];
    view.float64 = {reinterpret_cast<const kbrt::OracleElement *>(elements.data()),
                    elements.size() / sizeof(kbrt::OracleElement)};
  }
  return view;
}

/// A few elements whose moves happened to cancel in every run under other roundings, as
/// docs/VerificationNumerics.md reckons with; a mistake shows in more of them, or farther off. Of
/// one in a million that is hardly off, nothing more is asked.
static Miss missOf(const Comparison &comparison) {
  constexpr uint64_t elementsPerMiss = 1000, elementsPerRareMiss = 1000000;
  constexpr double farthest = 8, hardly = 2;
  if (!comparison.firstIndex || comparison.worstRatio > farthest ||
      comparison.differing > std::max<uint64_t>(1, comparison.elements / elementsPerMiss))
    return Miss::Far;
  return comparison.worstRatio <= hardly &&
                 comparison.differing * elementsPerRareMiss <= comparison.elements
             ? Miss::Rare
             : Miss::Near;
}

GateRecord compareWithReference(const Reference &reference, const RunResult &candidate,
                                const TestCase &test, const CandidatePromise &promise,
                                CaseSource &cases, GateId gate, Miss *miss, bool readsOtherwise,
                                const std::set<unsigned> &exempt) {
  std::string on = " on case " + test.name;
  if (reference.run->status != RunStatus::Ok)
    return GateRecord::undecided(gate, "the original fails" + on + ": " + reference.run->message);
  std::vector<std::optional<unsigned>> pairs;
  if (readsOtherwise)
    pairs = pairResults(reference, candidate, promise, cases, test);
  else if (candidate.outputs.size() != reference.run->outputs.size())
    return GateRecord::fail(gate, FailureClass::Correctness,
                            formatv("the host reads {0} results, of the original {1}{2}",
                                    candidate.outputs.size(), reference.run->outputs.size(), on));
  // Programs read one result again and again; the same bytes held against the same ones are as
  // right as before.
  std::map<std::pair<const char *, const char *>, unsigned> compared;
  std::vector<std::string> remarks;
  for (unsigned i = 0; i < reference.run->outputs.size(); ++i) {
    if ((readsOtherwise && !pairs[i]) || exempt.count(i))
      continue;
    const SharedBytes &mine = candidate.outputs[readsOtherwise ? *pairs[i] : i],
                      &its = reference.run->outputs[i];
    if (mine.data() == its.data() && mine.size() == its.size())
      continue;
    if (mine.size() != its.size()) // as where the device makes the last sum instead of the host
      return GateRecord::undecided(
          gate, formatv("the host reads {0} bytes as {1}, the original {2}, and what it makes of "
                        "them is not compared{3}",
                        mine.size(), reference.outputs[i].name, its.size(), on));
    Tolerance tolerance = toleranceFor(promise, cases, test, reference, i);
    auto [before, isNew] = compared.try_emplace({mine.data(), its.data()}, i);
    if (!isNew && reference.moved.empty() &&
        reference.outputs[i].type == reference.outputs[before->second].type &&
        tolerance == toleranceFor(promise, cases, test, reference, before->second))
      continue;
    // Where the original's own bits depend on the order of threads, a bitwise
    // promise means: no further off than the original is from itself.
    if (!reference.deterministic && tolerance.promise == Promise::Bitwise)
      tolerance.promise = Promise::Reassociates;
    Comparison comparison = compareOutput(viewOf(reference, i), bytesOf(mine), tolerance);
    if (comparison.accepted) {
      if (comparison.byForwardBound > 0)
        remarks.push_back(formatv(
            "case {0}, {1}: {2} of {3} elements are within the forward bound of the float64 "
            "oracle alone, for sums of up to {4:f0} terms; they take at most {5:f2} of it",
            test.name, reference.outputs[i].name, comparison.byForwardBound, comparison.elements,
            comparison.longestSum, comparison.worstOfForwardBound));
      if (comparison.spared > 0)
        remarks.push_back(formatv(
            "case {0}, {1}: {2} of {3} elements are not compared, because other roundings of the "
            "original change them as well",
            test.name, reference.outputs[i].name, comparison.spared, comparison.elements));
      continue;
    }
    if (miss)
      *miss = tolerance.promise == Promise::Bitwise ? Miss::Far : missOf(comparison);
    std::vector<std::string> details = {
        formatv("case {0}, {1} ({2}), promise {3}", test.name, reference.outputs[i].name,
                kbrt::elementTypeName(reference.outputs[i].type), promiseName(promise.result)),
        formatv("{0} of {1} elements are outside their error bounds", comparison.differing,
                comparison.elements)};
    if (promise.result == Promise::Bitwise) {
      CandidatePromise weaker = promise;
      weaker.result = Promise::Reassociates;
      if (acceptsOutput(viewOf(reference, i), bytesOf(mine),
                        toleranceFor(weaker, cases, test, reference, i)))
        details.push_back(withinReassociation.str());
    }
    return GateRecord::fail(gate, FailureClass::Correctness, comparison.reason + on,
                            std::move(details));
  }
  GateRecord record = GateRecord::pass(gate);
  record.details = std::move(remarks);
  return record;
}

std::optional<std::string> firstDifference(const std::vector<OutputSpec> &specs, const RunResult &a,
                                           const RunResult &b) {
  if (a.outputs.size() != b.outputs.size())
    return formatv("{0} results against {1}", a.outputs.size(), b.outputs.size()).str();
  for (unsigned i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i] == b.outputs[i])
      continue;
    OutputView view;
    view.name = i < specs.size() ? specs[i].name : "output " + std::to_string(i);
    view.type = i < specs.size() ? specs[i].type : kbrt::ElementType::Unknown;
    view.oracle = view.baseline = bytesOf(a.outputs[i]);
    Comparison comparison = compareOutput(view, bytesOf(b.outputs[i]), {});
    if (!comparison.accepted)
      return comparison.reason;
  }
  return std::nullopt;
}

/// From here on the candidate is held to the spread of its promise, which only cases that their
/// decoys still fail can tell: a record where there is none of them.
static Expected<std::optional<GateRecord>> widenSpread(GateContext &context, GateId gate) {
  context.spread = spreadFor(context.promise);
  context.judge.measureTogether(context.caseCount, context.spread);
  Expected<GateRecord> admission = runAdmission(context);
  if (!admission)
    return admission.takeError();
  if (!admission->stops())
    return std::nullopt;
  admission->gate = gate;
  return std::optional<GateRecord>(std::move(*admission));
}

/// \p run, which \p usual judges by the usual bounds on \p test, against \p reference with the
/// float64 oracle as well. Where it cannot be had, \p usual stays; where a decoy passes with it and
/// not without, on cases that do not ask more.
static Expected<GateRecord> compareWithOracle(GateContext &context, const TestCase &test,
                                              const RunResult &run, const Reference &reference,
                                              GateRecord usual, std::set<std::string> &notes) {
  Judge::Impl &judge = context.judge;
  Expected<const Float64Oracle &> oracle = judge.oracle(test);
  if (!oracle)
    return oracle.takeError();
  if (oracle->outputs.empty()) {
    notes.insert(oracle->limits);
    return usual;
  }
  Reference exact = reference;
  exact.float64 = oracle->outputs;
  GateRecord record = compareWithReference(exact, run, test, context.promise, judge.cases,
                                           usual.gate, nullptr, context.runsHostsAgain);
  if (record.stops())
    return record;
  Expected<Admission> without = judge.admission(test, context.promise, context.spread);
  if (!without)
    return without.takeError();
  Expected<Admission> with = judge.admissionByOracle(test, context.promise, context.spread, exact);
  if (!with)
    return with.takeError();
  for (DecoyKind decoy : with->accepted)
    if (!llvm::is_contained(without->accepted, decoy)) {
      // Made inputs on which rounding hides a decoy tell nothing; on the
      // others the usual bounds hold.
      notes.insert(
          formatv("case {0}: {1} because a decoy is within the forward bound of the "
                  "float64 oracle: {2}",
                  test.name,
                  test.asksMore ? "the candidate is not held to it," : "that bound does not count,",
                  toString(decoy)));
      return test.asksMore ? GateRecord::pass(usual.gate) : usual;
    }
  return record;
}

/// Whether any result is of a type that does not round: which value it has may be decided by how
/// the numbers behind it were rounded.
static bool givesIntegers(const Reference &reference) {
  return llvm::any_of(reference.outputs,
                      [](const OutputSpec &output) { return unitRoundoff(output.type) == 0; });
}

/// \p run against the original on \p test, with as much of the original's spread as it takes.
static Expected<GateRecord> compareRun(GateContext &context, const TestCase &test,
                                       const RunResult &run, GateId gate,
                                       std::set<std::string> &notes) {
  Judge::Impl &judge = context.judge;
  Miss miss = Miss::Far;
  std::set<unsigned> exempt;
  auto compare = [&](Expected<const Reference *> reference) -> Expected<GateRecord> {
    if (!reference)
      return reference.takeError();
    if (!(*reference)->limits.empty())
      notes.insert((*reference)->limits);
    miss = Miss::Far;
    return compareWithReference(**reference, run, test, context.promise, judge.cases, gate, &miss,
                                context.runsHostsAgain, exempt);
  };
  Expected<const Reference *> reference = judge.reference(test, context.spread);
  if (!reference)
    return reference.takeError();
  // Of atomics the original's own bits are one order of many.
  const bool isExact = context.promise.result == Promise::Bitwise && (*reference)->deterministic;
  Expected<GateRecord> record = compare(*reference);
  if (record && record->stops() && isExact && !test.recorded && givesIntegers(**reference)) {
    reference = judge.reference(test, Spread::Rounded);
    record = compare(reference ? *reference : Expected<const Reference *>(reference.takeError()));
  }
  if (!record || isExact)
    return record;
  if (judge.cases.tolerance(test, 0).isHeldToFloat64)
    return compareWithOracle(context, test, run, **reference, std::move(*record), notes);
  if (record->stops() && context.spread != spreadFor(context.promise)) {
    Expected<std::optional<GateRecord>> unadmitted = widenSpread(context, gate);
    if (!unadmitted)
      return unadmitted.takeError();
    if (*unadmitted)
      return std::move(**unadmitted);
    reference = judge.reference(test, context.spread);
    record = compare(reference ? *reference : Expected<const Reference *>(reference.takeError()));
  }
  if (record && record->stops() && context.runsHostsAgain) {
    // What a host makes its own numbers from may be other results: those that come of them count.
    Expected<const std::set<unsigned> &> handedOver = handedOverResults(context);
    Expected<const Reference *> recorded = judge.reference(judge.recordedCase(), Spread::None);
    if (!handedOver || !recorded)
      return joinErrors(handedOver.takeError(), recorded.takeError());
    const size_t ofOneCall = (*recorded)->outputs.size();
    for (unsigned i = 0; ofOneCall && i < std::max(ofOneCall, run.outputs.size()); ++i)
      if (handedOver->count(i % ofOneCall))
        exempt.insert(i);
    if (!exempt.empty())
      record = compare(reference ? *reference : Expected<const Reference *>(reference.takeError()));
  }
  if (record && record->stops() && miss != Miss::Far) {
    reference = judge.closerReference(test, context.spread);
    record = compare(reference ? *reference : Expected<const Reference *>(reference.takeError()));
    if (record && !record->stops())
      notes.insert("case " + test.name +
                   " was held against the original with directions drawn at each execution");
    else if (record && miss == Miss::Rare) {
      notes.insert("case " + test.name + ": " + record->details.back() +
                   " by less than twice what they may: so few come of the number of runs by which "
                   "roundings are measured");
      return GateRecord::pass(gate);
    }
  }
  // The oracle looks at all results.
  if (!record || !record->stops() || record->failure != FailureClass::Correctness ||
      !exempt.empty())
    return record;
  return compareWithOracle(context, test, run, **reference, std::move(*record), notes);
}

GateRecord withRemedy(GateRecord record, const TestCase &test, CaseSource &cases) {
  if (std::string remedy = cases.remedy(test); !remedy.empty())
    record.reason += "; " + remedy;
  return record;
}

/// Where the hosts run again, \p test as they do; else \p test.
static TestCase heldTo(const GateContext &context, const TestCase &test) {
  const bool isUsual = test.remakes || test.feedsOtherResults;
  return context.runsHostsAgain && !isUsual ? runAgainOn(test) : test;
}

Expected<GateRecord> compareOnCases(GateContext &context, ArrayRef<TestCase> tests, GateId gate) {
  Judge::Impl &judge = context.judge;
  unsigned cases = 0, again = 0;
  std::set<std::string> notes;
  std::vector<std::string> unchanged;
  if (Expected<std::string> recorded = judge.plan(context.candidate, judge.recordedCase());
      !recorded)
    return blameProgram(recorded.takeError(), gate, FailureClass::Runtime);
  context.runsHostsAgain |= judge.cases.readsOtherwise(*context.candidate.program);
  auto compareOn = [&](const TestCase &usual) -> Expected<std::optional<GateRecord>> {
    TestCase test = heldTo(context, usual);
    if (isOfUploadsAlone(context, test))
      return std::nullopt; // Breadth says so
    // A host that repeats steps until a result is small enough does not go its way with others.
    auto leaveOut = [&](Error error) -> Expected<std::optional<GateRecord>> {
      Expected<GateRecord> own = blameProgram(std::move(error), gate, FailureClass::Runtime);
      if (!own)
        return own.takeError();
      notes.insert("not held to " + test.name + ": " + own->reason);
      return std::nullopt;
    };
    Expected<bool> varies = judge.inputsVary(test);
    if (!varies && !test.runsAgainOn.empty())
      return leaveOut(varies.takeError());
    if (!varies)
      return varies.takeError();
    if (!*varies) {
      unchanged.push_back(test.name);
      return std::nullopt;
    }
    Expected<const Reference *> reference = judge.reference(test, context.spread);
    if (!reference && !test.runsAgainOn.empty())
      return leaveOut(reference.takeError());
    if (!reference)
      return reference.takeError();
    if ((*reference)->run->status != RunStatus::Ok)
      return std::nullopt; // the original cannot do this case either: nothing to hold against
    if (!test.variesUploads()) {
      Expected<std::optional<GateRecord>> audit = auditHost(context, test, gate);
      if (!audit)
        return audit.takeError();
      if (!*audit) {
        audit = checkLaunchLimits(context, test, gate);
        if (!audit)
          return audit.takeError();
      }
      if (*audit)
        return std::move(**audit);
      test = heldTo(context, usual); // the audit may have found what a host made of results
    }
    ++cases;
    context.hasOtherInputs |= test.variesRecorded;
    Expected<RunPointer> run =
        judge.run(context.candidate, test, RunMode::Plain, judge.runOptions());
    if (!run)
      return blameProgram(run.takeError(), gate, FailureClass::Runtime);
    if (isTooLarge(test, **run))
      return GateRecord::undecided(gate, "the candidate takes too long on case " + test.name +
                                             ": " + (*run)->message);
    if (std::optional<GateRecord> failure = failureOf(**run, gate, test.name))
      return std::move(*failure);
    Expected<GateRecord> record = compareRun(context, test, **run, gate, notes);
    if (record && record->stops())
      record->details.insert(record->details.end(), notes.begin(), notes.end());
    if (!record)
      return record.takeError();
    if (record->stops())
      return std::move(*record);
    notes.insert(record->details.begin(), record->details.end());
    context.casesOfOwnHosts += !test.variesUploads() && !test.recorded && !test.elsewhere;
    if (test.runsAgainOn.empty())
      return std::nullopt;
    Expected<std::optional<GateRecord>> printed = compareHostsAgain(context, test, gate);
    if (!printed)
      return blameProgram(printed.takeError(), gate, FailureClass::Runtime);
    if (*printed)
      return std::move(**printed);
    ++again;
    return std::nullopt;
  };
  for (const TestCase &usual : tests) {
    Expected<std::optional<GateRecord>> failure = compareOn(usual);
    if (!failure)
      return failure.takeError();
    if (*failure)
      return withRemedy(std::move(**failure), usual, judge.cases);
  }
  GateRecord record = GateRecord::pass(gate, "", cases);
  if (again)
    notes.insert(
        formatv("the host reads or hands over other numbers than the original's: both hosts "
                "ran again on {0} cases, and what they print is compared",
                again));
  record.details.assign(notes.begin(), notes.end());
  if (!unchanged.empty())
    record.details.push_back(
        formatv("{0} cases do not count, because they change no input (first {1}): the "
                "program uploads nothing of floating point",
                unchanged.size(), unchanged.front()));
  return record;
}

Expected<GateRecord> runNumerics(GateContext &context) {
  Expected<GateRecord> record = compareOnCases(context, {context.judge.recordedCase()}, GateId::G6);
  if (!record || record->stops() || !context.runsHostsAgain)
    return record;
  Expected<std::optional<GateRecord>> unread = checkUnreadResults(context, GateId::G6);
  if (!unread)
    return unread.takeError();
  return *unread ? std::move(**unread) : std::move(*record);
}

} // namespace kbopt
