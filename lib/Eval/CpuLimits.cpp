//===- CpuLimits.cpp - What the CPU device is asked beside a GPU ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the decision which cases the CPU device checks and counts where a GPU makes the
// plain runs: a program at full size may take it minutes, and that is found out once.
//
//===----------------------------------------------------------------------===//
#include "JudgeImpl.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

RunOptions Judge::Impl::cpuOptions(const JudgedProgram &program) const {
  RunOptions result;
  result.memoryBytes = options.memoryBytes;
  result.wallSeconds =
      gpu ? options.cpuSeconds * (program.isOriginal ? 1 : 3) : options.secondsPerRun;
  return result;
}

/// Without a GPU all runs are the CPU device's, and checked ones the longest of them.
static constexpr double mostCheckSeconds = 20;

RunOptions Judge::Impl::checkOptions() const {
  RunOptions result = cpuOptions(baselineProgram);
  if (!gpu)
    result.wallSeconds = std::min(result.wallSeconds, mostCheckSeconds);
  return result;
}

Expected<bool> Judge::Impl::isCheckedInPart(const TestCase &test, std::string &why) {
  Expected<RunPointer> run = this->run(baselineProgram, test, RunMode::Check, checkOptions());
  if (!run) {
    // The CPU device cannot execute it: then nothing is checked.
    Expected<GateRecord> blamed = blameProgram(run.takeError(), GateId::G4, FailureClass::Runtime);
    if (!blamed)
      return blamed.takeError();
    return false;
  }
  if ((*run)->status != RunStatus::Timeout || !(*run)->defects().empty())
    return false;
  why = formatv("case {0} does not end on the CPU device within {1:f0} s", test.name,
                checkOptions().wallSeconds);
  return true;
}

Expected<std::optional<std::string>> Judge::Impl::cpuRefusal(const TestCase &test) {
  if (!gpu)
    return std::nullopt;
  Expected<const std::optional<std::string> &> known =
      cpuRefusals.get(test.name, [&]() -> Expected<std::optional<std::string>> {
        Expected<const PlanFacts &> plan = facts(baselineProgram, test);
        if (!plan)
          return plan.takeError();
        {
          std::lock_guard<std::mutex> lock(refusedMutex);
          if (refusedWork && plan->work >= refusedWork->first)
            return std::optional<std::string>(refusedWork->second);
          if (plan->work <= endedWork)
            return std::optional<std::string>();
        }
        auto refuse = [&](double work, std::string reason) {
          std::lock_guard<std::mutex> lock(refusedMutex);
          if (!refusedWork || work < refusedWork->first)
            refusedWork.emplace(work, reason);
          return std::optional<std::string>(std::move(reason));
        };
        Expected<RunPointer> run =
            this->run(baselineProgram, test, RunMode::Check, cpuOptions(baselineProgram));
        if (!run) {
          Expected<GateRecord> blamed =
              blameProgram(run.takeError(), GateId::G4, FailureClass::Runtime);
          if (!blamed)
            return blamed.takeError();
          return refuse(0, "the CPU device cannot execute it: " + blamed->reason);
        }
        switch ((*run)->status) {
        case RunStatus::Ok: {
          std::lock_guard<std::mutex> lock(refusedMutex);
          if ((*run)->defects().empty()) // a run with one stops there
            endedWork = std::max(endedWork, plan->work);
          return std::optional<std::string>();
        }
        case RunStatus::Fault:
        case RunStatus::Lost:
          return std::optional<std::string>();
        case RunStatus::Unsupported:
          return refuse(0, "the CPU device cannot execute it: " + (*run)->message);
        case RunStatus::Timeout:
          return refuse(plan->work,
                        formatv("case {0} does not end on the CPU device within {1:f0} s",
                                test.name, options.cpuSeconds)
                            .str());
        case RunStatus::OutOfMemory:
          return refuse(plan->work, "the CPU device has no memory for case " + test.name + ": " +
                                        (*run)->message);
        }
        return std::optional<std::string>();
      });
  if (!known)
    return known.takeError();
  return *known;
}

Expected<std::optional<TestCase>> Judge::Impl::cpuCase(std::string &why) {
  TestCase first = checkCase();
  if (!gpu)
    return std::optional<TestCase>(std::move(first));
  std::vector<TestCase> tests = {first};
  for (const TestCase &test : cases.cases())
    if (test.small && !test.unseen && !test.needsConsent() && test.name != first.name)
      tests.push_back(test);
  for (const TestCase &test : tests) {
    Expected<std::optional<std::string>> refusal = cpuRefusal(test);
    if (!refusal)
      return refusal.takeError();
    if (!*refusal)
      return std::optional<TestCase>(test);
    why = **refusal;
  }
  return std::optional<TestCase>();
}

} // namespace kbopt
