//===- Baseline.cpp - What the judge must know of the original ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "JudgeImpl.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

/// The original's own fault as the reason to leave it alone.
static GateRecord problem(GateRecord record) {
  record.outcome = GateOutcome::Undecided;
  record.reason = "the original is left alone: " + record.reason;
  return record;
}

Error Judge::Impl::checkOrders(BaselineReport &report, const TestCase &test, Where where) {
  const bool beside = gpu && where == Where::Cpu;
  Expected<std::string> folder = plan(baselineProgram, test);
  if (!folder)
    return folder.takeError();
  Expected<std::vector<OutputSpec>> outputs = outputSpecs(*folder);
  if (!outputs)
    return outputs.takeError();
  if (gpu && where == Where::Usual) {
    Expected<RunPointer> all = this->run(baselineProgram, ordersTogether(test));
    if (!all)
      return all.takeError();
    // Where they do not agree, one by one tells which element it is, and takes all NaNs for one.
    if ((*all)->status == RunStatus::Ok && (*all)->defects().empty() && (*all)->variation.empty())
      return Error::success();
  }
  RunPointer first;
  const std::vector<RunRequest> requests = orderRuns(test, where);
  runTogether(baselineProgram, requests, /*stop=*/false);
  for (const RunRequest &request : requests) {
    Expected<RunPointer> run = this->run(baselineProgram, request);
    if (!run)
      return run.takeError();
    if (std::optional<GateRecord> failure = failureOf(**run, GateId::G4, test.name)) {
      // Checks stop at nothing here and take longer; a plain run that does not end is odd,
      // but no fault of the program.
      if (beside && failure->failure == FailureClass::Timeout)
        return Error::success();
      report.problem = problem(*failure);
      return Error::success();
    }
    if (!first)
      first = *run;
    std::optional<std::string> difference = firstDifference(*outputs, *first, **run);
    if (!difference)
      continue;
    report.deterministic = false;
    for (const OutputSpec &output : *outputs)
      if (!kbrt::isFloatingPoint(output.type)) {
        report.problem = GateRecord::undecided(
            GateId::G10,
            "the original is left alone: its result depends on the order of threads (" +
                *difference + ")");
        return Error::success();
      }
  }
  return Error::success();
}

/// Sums by atomics that are exact on a program's own inputs, as counts are, may depend on the order
/// of threads on others.
Error Judge::Impl::checkVariedOrders(BaselineReport &report, const TestCase &checked) {
  bool hasAtomics = false;
  for (StringRef instruction : {"atom.", "red."})
    hasAtomics |= StringRef(report.code.ptx).contains(instruction);
  if (!hasAtomics || !report.deterministic || report.problem)
    return Error::success();
  for (const TestCase &test : seenCases(options.searchCases + 1)) {
    if (!test.variesRecorded || test.name == checked.name)
      continue;
    Expected<RunPointer> run = this->run(baselineProgram, test, RunMode::Plain, runOptions());
    if (!run)
      return run.takeError();
    // Where the original fails nothing is compared.
    if ((*run)->status == RunStatus::Ok && (*run)->defects().empty())
      return checkOrders(report, test, Where::Usual);
  }
  return Error::success();
}

Expected<BaselineReport> Judge::Impl::checkBaseline() {
  BaselineReport report;
  if (options.threads > 1) {
    auto drop = [](auto answer) {
      if (!answer)
        consumeError(answer.takeError());
    };
    const std::function<void()> parts[] = {[&] { drop(code(original)); },
                                           [&] { drop(cases.original(recordedCase())); },
                                           [&] { drop(device.build(original, RunMode::Check)); }};
    parallelFor(options.threads, std::size(parts), [&](size_t i) { parts[i](); });
  }
  Expected<const DeviceCode &> compiled = code(original);
  if (!compiled) {
    Expected<GateRecord> record =
        blameProgram(compiled.takeError(), GateId::G1, FailureClass::Compile);
    if (!record)
      return record.takeError();
    report.problem = problem(*record);
    return report;
  }
  report.code = *compiled;

  auto blame = [&](Error error, GateId gate) -> Error {
    Expected<GateRecord> record = blameProgram(std::move(error), gate, FailureClass::Runtime);
    if (!record)
      return record.takeError();
    report.problem = problem(*record);
    return Error::success();
  };
  // Its times and counters come last, and a caller that asks for them waits.
  if (gpu)
    originalAhead = std::make_unique<RunsAhead>(*this, baselineProgram, originalRuns(), [this] {
      // Its time and counters are asked for next; the CPU device may still be checking.
      if (auto timing = ownTiming(0); !timing)
        consumeError(timing.takeError());
      if (auto counters = profile(); !counters)
        consumeError(counters.takeError());
    });
  // Does it run, and does it keep to its own memory?
  TestCase test = checkCase();
  for (const TestCase &which : {recordedCase(), test}) {
    Expected<const Reference *> known = reference(which, Spread::None);
    if (!known) {
      if (Error error = blame(known.takeError(), GateId::G4))
        return std::move(error);
      return report;
    }
    if (std::optional<GateRecord> failure = failureOf(*(*known)->run, GateId::G4, which.name)) {
      report.problem = problem(*failure);
      return report;
    }
  }
  Expected<std::optional<TestCase>> checkable = cpuCase(report.unchecked);
  if (!checkable)
    return checkable.takeError();
  if (*checkable) {
    report.unchecked.clear();
    Expected<RunPointer> run =
        this->run(baselineProgram, **checkable, RunMode::Check, checkOptions());
    if (!run) {
      if (Error error = blame(run.takeError(), GateId::G4))
        return std::move(error);
      return report;
    }
    Expected<bool> inPart = isCheckedInPart(**checkable, report.unchecked);
    if (!inPart)
      return inPart.takeError();
    std::optional<GateRecord> failure = failureOf(**run, GateId::G4, (*checkable)->name);
    if (failure && !*inPart) {
      report.problem = problem(*failure);
      return report;
    }
  }
  Expected<RunIdentity> identity = identify();
  if (!identity)
    return identity.takeError();
  report.identity = std::move(*identity);
  // In another thread order the same bits should come out. Where the program
  // has a race that no check sees, this tells. Beside a GPU, which orders threads as it
  // likes, the CPU device is asked as well.
  if (Error error = checkOrders(report, test, Where::Usual))
    return std::move(error);
  if (Error error = checkVariedOrders(report, test))
    return std::move(error);
  if (gpu && *checkable && !report.problem)
    if (Error error = checkOrders(report, **checkable, Where::Cpu))
      return std::move(error);
  if (report.problem)
    return report;
  // References made before this was known lack the other orders.
  if (!report.deterministic)
    for (auto *known : {&references, &countedReferences, &spreadReferences, &narrowedReferences})
      known->clear();
  baseline = report;
  CandidatePromise bitwise;
  for (const TestCase &seen : seenCases(options.searchCases + 1)) {
    Expected<Admission> admission = this->admission(seen, bitwise, Spread::None);
    if (!admission)
      return admission.takeError();
    if (admission->admitted)
      report.admitted.push_back(seen);
    else
      report.notAdmitted.push_back(seen.name + ": " + admission->reason);
  }
  return report;
}

} // namespace kbopt
