//===- Float64Oracle.cpp - The original in float64, where it is asked for --===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the run in mode Oracle of each case: on the CPU device, also beside a GPU, within
// limits of time. What the numbers mean is in kbrt/Oracle.h, what is accepted by them in
// Comparator.cpp.
//
//===----------------------------------------------------------------------===//
#include "JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

/// A run with shadows takes about as long as a checked one.
static constexpr double mostOracleSeconds = 20;

Expected<const Float64Oracle &> Judge::Impl::oracle(const TestCase &test) {
  if (test.elsewhere)
    return oracle(recordedCase());
  return oracles.get(test.name, [&] { return runOracle(test); });
}

Expected<Float64Oracle> Judge::Impl::runOracle(const TestCase &test) {
  TimedPart timed = this->timed("float64 oracle", test);
  Float64Oracle oracle;
  auto limit = [&](const Twine &why) {
    oracle.limits = ("no float64 oracle for case " + test.name + ": " + why).str();
    return oracle;
  };
  if (timeLeft() < mostOracleSeconds)
    return limit(doesNotFit("it", mostOracleSeconds));
  Expected<const PlanFacts &> facts = this->facts(baselineProgram, test);
  if (!facts)
    return facts.takeError();
  {
    std::lock_guard<std::mutex> lock(refusedMutex);
    if (oracleRefusedWork && facts->work >= *oracleRefusedWork)
      return limit("it is no smaller than one that did not end on the CPU device in time");
  }
  Expected<std::string> folder = plan(baselineProgram, test);
  if (!folder)
    return folder.takeError();
  Expected<const DeviceImage *> built = image(baselineProgram, RunMode::Oracle);
  if (!built) {
    Expected<GateRecord> blamed =
        blameProgram(built.takeError(), GateId::G6, FailureClass::Runtime);
    if (!blamed)
      return blamed.takeError();
    return limit("the CPU device cannot execute it: " + blamed->reason);
  }
  RunOptions options = runOptions();
  options.wallSeconds = std::min(options.wallSeconds, mostOracleSeconds);
  options.worstCaseErrors = test.hasEqualValues;
  Expected<RunResult> run = deviceFor(RunMode::Oracle, Where::Cpu).run(**built, *folder, options);
  if (!run)
    return run.takeError();
  if (run->status != RunStatus::Ok) {
    if (run->status == RunStatus::Timeout || run->status == RunStatus::OutOfMemory) {
      std::lock_guard<std::mutex> lock(refusedMutex);
      oracleRefusedWork = std::min(facts->work, oracleRefusedWork.value_or(facts->work));
    }
    return limit(run->message);
  }
  oracle.outputs = std::move(run->outputs);
  return oracle;
}

} // namespace kbopt
