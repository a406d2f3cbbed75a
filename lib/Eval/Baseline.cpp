//===- Baseline.cpp - What the judge must know of the original ------------===//
#include "JudgeImpl.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

/// The original's own fault as the reason to leave it alone.
static GateRecord problem(GateRecord record) {
  record.outcome = GateOutcome::Undecided;
  record.reason = "the original is left alone: " + record.reason;
  return record;
}

Expected<BaselineReport> Judge::Impl::checkBaseline() {
  BaselineReport report;
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
  // Does it run, and does it keep to its own memory?
  TestCase test = checkCase();
  for (RunMode mode : {RunMode::Plain, RunMode::Check}) {
    const TestCase &which = mode == RunMode::Plain ? recordedCase() : test;
    Expected<RunPointer> run = this->run(baselineProgram, which, mode, runOptions());
    if (!run) {
      if (Error error = blame(run.takeError(), GateId::G4))
        return std::move(error);
      return report;
    }
    if (std::optional<GateRecord> failure = failureOf(**run, GateId::G4, which.name)) {
      report.problem = problem(*failure);
      return report;
    }
  }
  Expected<RunIdentity> identity = identify();
  if (!identity)
    return identity.takeError();
  report.identity = std::move(*identity);
  Expected<const Reference *> known = reference(test, false);
  if (!known)
    return known.takeError();
  // In another thread order the same bits should come out. Where the program
  // has a race that no check sees, this tells.
  for (unsigned order = 1; order <= options.shuffles + 1; ++order) {
    RunOptions shuffled = runOptions();
    shuffled.seed = order;
    Expected<RunPointer> run = this->run(baselineProgram, test, RunMode::Plain, shuffled);
    if (!run)
      return run.takeError();
    if (std::optional<GateRecord> failure = failureOf(**run, GateId::G4, test.name)) {
      report.problem = problem(*failure);
      return report;
    }
    std::optional<std::string> difference =
        firstDifference((*known)->outputs, *(*known)->run, **run);
    if (!difference)
      continue;
    report.deterministic = false;
    for (const OutputSpec &output : (*known)->outputs)
      if (!kbrt::isFloatingPoint(output.type)) {
        report.problem = GateRecord::undecided(
            GateId::G10, "the original is left alone: its result depends on the order of threads (" +
                             *difference + ")");
        return report;
      }
  }
  // References made before this was known lack the other orders.
  if (!report.deterministic)
    for (auto *known : {&references, &spreadReferences})
      known->clear();
  baseline = report;
  CandidatePromise bitwise;
  for (const TestCase &seen : seenCases(options.searchCases + 1)) {
    Expected<Admission> admission = this->admission(seen, bitwise);
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
