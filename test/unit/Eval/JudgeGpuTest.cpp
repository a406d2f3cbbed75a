//===- JudgeGpuTest.cpp - Which runs the judge makes beside a GPU ===//
#include "JudgeGpuFakes.h"

using namespace kbopt;

namespace {

TEST_F(JudgeGpuTest, PlainRunsAreTheGpusAndTheVerdictHasATime) {
  Verdict result = verdict("good");
  EXPECT_TRUE(result.isCorrect()) << result.summary();
  for (GateId id : {GateId::G4, GateId::G9, GateId::G11, GateId::G12, GateId::G13})
    EXPECT_EQ(result.gates[static_cast<int>(id)].outcome, GateOutcome::Passed)
        << result.gates[static_cast<int>(id)].reason;
  ASSERT_TRUE(result.timing.has_value());
  EXPECT_EQ(result.timing->cold.ratio, 2);
  EXPECT_EQ(result.gates[12].reason, "60 iterations");
  EXPECT_EQ(llvm::count(device.log, "good plain"), 0);
  EXPECT_GE(llvm::count(device.log, "good check"), 1);
  EXPECT_GE(fake.count("run good"), 4);
}

TEST_F(JudgeGpuTest, ThreadsMakeTheSameRunsAndVerdicts) {
  auto runs = [&](unsigned threads) {
    options.threads = threads;
    fake.log.clear();
    device.log.clear();
    Verdict result = verdict("good");
    EXPECT_TRUE(result.isCorrect()) << result.summary();
    std::vector<std::string> all = fake.log;
    all.insert(all.end(), device.log.begin(), device.log.end());
    llvm::sort(all);
    return all;
  };
  for (JudgeEffort effort : {JudgeEffort::Search, JudgeEffort::Final}) {
    options.effort = effort;
    std::vector<std::string> one = runs(1), four = runs(4);
    // The original's are made in advance; a candidate's are those that the gates ask for.
    EXPECT_EQ(llvm::count(one, "run good"), llvm::count(four, "run good"));
    EXPECT_EQ(llvm::count(one, "good check"), llvm::count(four, "good check"));
    EXPECT_EQ(llvm::count(one, "time good"), llvm::count(four, "time good"));
    EXPECT_EQ(llvm::count(one, "sanitize good"), llvm::count(four, "sanitize good"));
  }
  program("wrong", [](const RunOptions &) { return input(); });
  program("varies",
          [](const RunOptions &options) { return options.memoryPoison & 1 ? right() : input(); });
  device.programs["faults"] = [](RunMode mode, llvm::StringRef, const RunOptions &) {
    RunResult result;
    result.outputs = {right()};
    if (mode == RunMode::Plain) {
      result.status = RunStatus::Fault;
      result.message = "an illegal address in k";
    }
    return result;
  };
  for (const char *text : {"wrong", "varies", "faults"}) {
    options.threads = 1;
    std::string one = verdict(text).summary();
    options.threads = 4;
    EXPECT_EQ(verdict(text).summary(), one);
  }
}

TEST_F(JudgeGpuTest, ASearchLeavesTheSanitizerAndTheTraceToTheEnd) {
  options.effort = JudgeEffort::Search;
  fake.trace.changedAfterReturn = true;
  Verdict result = verdict("good");
  EXPECT_TRUE(result.isCorrect()) << result.summary();
  EXPECT_EQ(result.gates[9].reason, "left to the final check");
  EXPECT_EQ(result.gates[11].reason, "left to the final check");
  EXPECT_EQ(fake.count("sanitize good"), 0);
  EXPECT_TRUE(result.timing.has_value());
}

TEST_F(JudgeGpuTest, WhatDoesNotFitIntoTheTimeLeftIsSaidAndNotRun) {
  for (int i = 0; i < 20; ++i)
    cases.list.push_back({"seed=" + std::to_string(i), false, true, false});
  cases.whole = {{"original", {0, "fine"}}, {"good", {0, "fine"}}};
  cases.seconds = 6;
  auto judged = [&](double left) {
    fake.log.clear();
    Judge judge(artefacts("original"), compiler, device, cases, clock, options, gpu);
    judge.setSecondsLeft([=] { return left; });
    auto result = judge.judge(artefacts("good"), rewritten("good"), promise, JudgeEffort::Final);
    EXPECT_TRUE(bool(result) && result->isCorrect());
    return *result;
  };
  Verdict all = judged(1000);
  EXPECT_EQ(all.gates[14].outcome, GateOutcome::Passed);
  EXPECT_EQ(fake.count("sanitize good"), 1);
  // A case takes 0.08 s: 0.4 of 2 s are enough for ten of them.
  Verdict few = judged(2);
  EXPECT_EQ(few.gates[9].reason,
            "a run under the sanitizer takes about 20 s, and 2 s are left of the time budget");
  EXPECT_EQ(few.gates[14].reason,
            "running the whole program takes about 18 s, and 2 s are left of the time budget");
  EXPECT_EQ(few.gates[7].cases, 9u);
  ASSERT_FALSE(few.gates[7].details.empty());
  EXPECT_EQ(few.gates[7].details.back(),
            "12 further cases do not fit into the 2 s that are left of the time budget");
  EXPECT_EQ(fake.count("sanitize good"), 0);
}

TEST_F(JudgeGpuTest, TheFinalMeasurementOfASlowProgramStopsWhereTheTwoAreFarApart) {
  for (double us : {100.0, 265000.0}) {
    fake.ownUs = us;
    double apart = -1;
    fake.timing = [&](const TimingRequest &request) {
      if (apart < 0)
        apart = request.apartRatio;
      return FakeGpu::report(us, us / 2);
    };
    options.effort = JudgeEffort::Final;
    EXPECT_TRUE(verdict("good").timing.has_value());
    EXPECT_EQ(apart, us > 1000 ? 2 : 0);
  }
}

TEST_F(JudgeGpuTest, CasesOfLargeDataAreFewer) {
  std::string error;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(cases.folder, error);
  ASSERT_TRUE(plan.has_value()) << error;
  kbrt::Buffer large;
  large.bytes = uint64_t(1) << 29;
  large.address = 0x610000000000;
  plan->buffers.push_back(large); // 0.5 GiB: eight of them are 4 GiB
  ASSERT_TRUE(kbrt::writePlan(*plan, cases.folder, error)) << error;
  for (int i = 0; i < 20; ++i)
    cases.list.push_back({"seed=" + std::to_string(i), false, true, false});
  GateRecord record = gate(GateId::G7);
  EXPECT_EQ(record.outcome, GateOutcome::Passed) << record.reason;
  EXPECT_EQ(record.cases, 6u);
  ASSERT_FALSE(record.details.empty());
  EXPECT_EQ(record.details.back(), "15 further cases are left out: each has 512 MiB of data");
  options.effort = JudgeEffort::Search;
  EXPECT_EQ(gate(GateId::G7).cases, 3u);
}

TEST_F(JudgeGpuTest, WhatTakesTheCpuDeviceTooLongIsFoundOutOnce) {
  slowOnCpu();
  promise.result = Promise::Reassociates;
  Judge judge(artefacts("original"), compiler, device, cases, clock, options, gpu);
  auto baseline = judge.baseline();
  ASSERT_TRUE(bool(baseline));
  EXPECT_FALSE(baseline->problem.has_value());
  EXPECT_EQ(baseline->unchecked, "case n=64 does not end on the CPU device within 3 s");
  for (int i = 0; i < 2; ++i) {
    auto result = judge.judge(artefacts("good"), rewritten("good"), promise);
    ASSERT_TRUE(bool(result));
    EXPECT_TRUE(result->isCorrect()) << result->summary();
    EXPECT_EQ(result->gates[4].outcome, GateOutcome::Passed) << "the candidate is faster";
  }
  EXPECT_EQ(llvm::count(device.log, "original check"), 1);
  EXPECT_EQ(llvm::count(device.log, "good check"), 4) << "two orders each";
}

TEST_F(JudgeGpuTest, WhatTheOriginalDoesNotEndIsCheckedInPart) {
  slowOnCpu();
  auto checked = [&](std::vector<DeviceFinding> findings) {
    device.programs["good"] = [=](RunMode mode, llvm::StringRef, const RunOptions &options) {
      RunResult result;
      result.outputs = {right()};
      if (mode != RunMode::Check)
        return result;
      EXPECT_LE(options.wallSeconds, 3);
      result.status = RunStatus::Timeout;
      result.message = "the time limit was reached";
      result.launches.emplace_back().findings = findings;
      return result;
    };
    cases.list = {{"recorded", true, true, false}};
    return gate(GateId::G4);
  };
  options.effort = JudgeEffort::Search;
  GateRecord clean = checked({});
  EXPECT_EQ(clean.outcome, GateOutcome::NotRun);
  EXPECT_EQ(clean.reason, "case recorded does not end on the CPU device within 3 s; 1 s of it in "
                          "another order show no defect");
  options.effort = JudgeEffort::Final;
  EXPECT_EQ(checked({}).reason, "case recorded does not end on the CPU device within 3 s; 3 s of "
                                "it in two orders show no defect");
  GateRecord defect =
      checked({{"out-of-bounds", false, "k", "a", "k.cu", 4, "a store past the end"}});
  EXPECT_EQ(defect.outcome, GateOutcome::Failed);
  EXPECT_EQ(defect.reason, "a store past the end on case recorded");
}

TEST_F(JudgeGpuTest, OtherInputsOfALargeCaseAreNotMadeToFindThatItIsLarge) {
  slowOnCpu();
  cases.list = {{"recorded", true, true, false}};
  for (const char *name : {"seed=1", "seed=2", "seed=3", "seed=4", "seed=5"}) {
    TestCase varied{name, false, true, false};
    varied.variesRecorded = true;
    cases.list.push_back(varied);
  }
  Judge judge(artefacts("original"), compiler, device, cases, clock, options, gpu);
  auto baseline = judge.baseline();
  ASSERT_TRUE(bool(baseline));
  EXPECT_EQ(baseline->unchecked, "case recorded does not end on the CPU device within 3 s");
  EXPECT_EQ(cases.planned, (std::set<std::string>{"recorded", "seed=1", "seed=2", "seed=3"}))
      << "those of a search";
}

TEST_F(JudgeGpuTest, ASmallerCaseIsCheckedInPlaceOfALargeOne) {
  // The first case is the large one.
  cases.list.insert(cases.list.begin() + 1, {"n=32", false, true, false});
  cases.folders["n=64"] = temporary->file("large");
  writeRecording(cases.folders["n=64"], 1000);
  Behaviour plain = device.programs["original"];
  device.programs["original"] = [=, this](RunMode mode, llvm::StringRef folder,
                                          const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    if (mode != RunMode::Plain && folder == cases.folders["n=64"]) {
      result.status = RunStatus::Timeout;
      result.outputs.clear();
    }
    return result;
  };
  GateRecord record = gate(GateId::G4);
  EXPECT_EQ(record.outcome, GateOutcome::Passed) << record.reason;
  EXPECT_EQ(record.cases, 1u);
}

TEST_F(JudgeGpuTest, ASearchChecksAShorterCaseAndTheFinalCheckThemAll) {
  cases.list.insert(cases.list.begin() + 1, {"n=32", false, true, false});
  cases.folders["n=64"] = temporary->file("large");
  writeRecording(cases.folders["n=64"], 1000);
  std::mutex mutex;
  std::vector<std::string> checked; // of the candidate: "large" or "small", with the order
  for (const char *text : {"original", "good"}) {
    Behaviour plain = device.programs[text];
    device.programs[text] = [=, this, &mutex, &checked](RunMode mode, llvm::StringRef folder,
                                                        const RunOptions &options) {
      RunResult result = plain(mode, folder, options);
      const bool isLarge = folder == cases.folders["n=64"];
      result.wallSeconds = isLarge ? 5 : 0.1;
      if (mode == RunMode::Check && text == std::string("good")) {
        std::lock_guard<std::mutex> lock(mutex);
        checked.push_back(std::string(isLarge ? "large" : "small") +
                          (options.seed ? " shuffled" : ""));
      }
      return result;
    };
  }
  auto checksOf = [&](JudgeEffort effort) {
    checked.clear();
    Judge judge(artefacts("original"), compiler, device, cases, clock, options, gpu);
    auto result = judge.judge(artefacts("good"), rewritten("good"), promise, effort);
    EXPECT_TRUE(bool(result) && result->isCorrect());
    llvm::sort(checked);
    return checked;
  };
  EXPECT_EQ(checksOf(JudgeEffort::Search), (std::vector<std::string>{"small", "small shuffled"}));
  EXPECT_EQ(checksOf(JudgeEffort::Final),
            (std::vector<std::string>{"large", "large shuffled", "large shuffled", "small",
                                      "small shuffled", "small shuffled"}));
  // Where all cases take long, a search leaves the natural order to the final check.
  cases.list.erase(cases.list.begin() + 1);
  EXPECT_EQ(checksOf(JudgeEffort::Search), std::vector<std::string>{"large shuffled"});
}

TEST_F(JudgeGpuTest, ConstructsThatTheCpuDeviceLacksStopNothing) {
  slowOnCpu(RunStatus::Unsupported);
  GateRecord record = gate(GateId::G4);
  EXPECT_EQ(record.outcome, GateOutcome::NotRun);
  EXPECT_EQ(record.reason, "the CPU device cannot execute it: no end");
}

TEST_F(JudgeGpuTest, ACandidateThatDoesNotEndWhereTheOriginalDoesFailsG4) {
  Behaviour plain = device.programs["good"];
  device.programs["good"] = [=](RunMode mode, llvm::StringRef folder, const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    if (mode == RunMode::Check) {
      EXPECT_EQ(options.wallSeconds, 9);
      result.status = RunStatus::Timeout;
      result.message = "no end within 30 s";
    }
    return result;
  };
  EXPECT_EQ(verdict("good").summary(),
            "incorrect (timeout, G4 CPU device checks): no end within 30 s on case n=64");
}

TEST_F(JudgeGpuTest, ACaseThatTakesTheOriginalAsLongSaysNothingAboutACandidate) {
  cases.list.insert(cases.list.begin() + 1, {"n=32", false, true, false});
  cases.folders["n=32"] = temporary->file("slow");
  writeRecording(cases.folders["n=32"], 1); // as much work as the others, but for the values
  for (const char *text : {"original", "good"}) {
    Behaviour plain = device.programs[text];
    device.programs[text] = [=, this](RunMode mode, llvm::StringRef folder,
                                      const RunOptions &options) {
      RunResult result = plain(mode, folder, options);
      if (mode == RunMode::Check && folder == cases.folders["n=32"])
        result.status = RunStatus::Timeout;
      return result;
    };
  }
  GateRecord record = gate(GateId::G4);
  EXPECT_EQ(record.outcome, GateOutcome::Passed) << record.reason;
  EXPECT_EQ(record.cases, 1u);
  EXPECT_EQ(record.details,
            std::vector<std::string>{"case n=32 takes the original as long on the CPU device"});
}

TEST_F(JudgeGpuTest, AnOriginalThatFailsOnTheGpuIsLeftAlone) {
  device.programs["original"] = [](RunMode, llvm::StringRef, const RunOptions &) {
    RunResult result;
    result.status = RunStatus::Fault;
    result.message = "an illegal address in k";
    return result;
  };
  Verdict result = verdict("good");
  EXPECT_EQ(result.kind, VerdictKind::Inconclusive);
  EXPECT_EQ(result.reason, "the original is left alone: an illegal address in k on case recorded");
}

} // namespace
