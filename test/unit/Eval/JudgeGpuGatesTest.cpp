//===- JudgeGpuGatesTest.cpp - The gates that a GPU adds ===//
#include "JudgeGpuFakes.h"

using namespace kbopt;

namespace {

TEST_F(JudgeGpuTest, EveryBitOfFreshMemoryIsTriedBothWays) {
  unsigned bit = 0;
  program("good", [&](const RunOptions &options) {
    return options.memoryPoison >> bit & 1 ? right() : input();
  });
  for (bit = 0; bit < 8; ++bit)
    if (RunOptions().memoryPoison >> bit & 1)
      EXPECT_EQ(verdict("good").gate, GateId::G8) << bit;
}

TEST_F(JudgeGpuTest, FindingsOfTheSanitizerFailG9) {
  fake.sanitizer["good"].findings = {{"racecheck", false, "k", "", "k.cu", 4, "hazard in k"}};
  EXPECT_EQ(verdict("good").summary(),
            "incorrect (runtime, G9 sanitizer): hazard in k on case n=64");
  fake.sanitizer["good"].findings[0].benign = true;
  EXPECT_EQ(gate(GateId::G9).outcome, GateOutcome::Passed);
}

TEST_F(JudgeGpuTest, FindingsThatTheOriginalHasAreNobodysFault) {
  fake.sanitizer["good"].findings = {{"initcheck", false, "k", "", "k.cu", 4, "reads x in k"}};
  fake.sanitizer["original"].findings = {{"initcheck", false, "k", "", "k.cu", 9, "reads x in k"}};
  EXPECT_EQ(verdict("good").summary(),
            "inconclusive (G9 sanitizer): the original has such findings, too: reads x in k");
  fake.sanitizer["good"].findings.push_back({"memcheck", false, "k", "", "k.cu", 4, "x[64] in k"});
  EXPECT_EQ(verdict("good").summary(),
            "incorrect (runtime, G9 sanitizer): x[64] in k on case n=64");
}

TEST_F(JudgeGpuTest, WithoutASanitizerG9SaysSo) {
  fake.sanitizer["good"].degraded = "compute-sanitizer is not installed";
  GateRecord record = gate(GateId::G9);
  EXPECT_EQ(record.outcome, GateOutcome::NotRun);
  EXPECT_EQ(record.reason, "compute-sanitizer is not installed");
  // What the tools found that did run counts nevertheless.
  fake.sanitizer["good"].findings = {{"memcheck", false, "k", "", "k.cu", 4, "x[64] in k"}};
  EXPECT_EQ(verdict("good").gate, GateId::G9);
}

TEST_F(JudgeGpuTest, ResultsThatVaryFailG10UnlessFreshMemoryIsReadBack) {
  unsigned runs = 0;
  program("good", [&](const RunOptions &options) {
    ++runs;
    return floats([&](unsigned i) { return options.seed == 7 && i == 5 ? 0 : 2.0f * (i + 1); });
  });
  EXPECT_EQ(verdict("good").gate, GateId::G10);
  EXPECT_GE(runs, 20u);
  // One byte that nobody wrote, in the original as well.
  auto leftover = [](const RunOptions &options) {
    std::string bytes = right();
    bytes[0] = static_cast<char>(options.memoryPoison);
    return bytes;
  };
  program("original", leftover);
  program("good", leftover);
  GateRecord record = gate(GateId::G10);
  EXPECT_EQ(record.outcome, GateOutcome::Passed) << record.reason;
  EXPECT_EQ(record.details.size(), 1u);
}

TEST_F(JudgeGpuTest, TheTraceMustBeThePlan) {
  const ExecutionAudit right = fake.trace;
  auto judged = [&](std::function<void(ExecutionAudit &)> change) {
    fake.trace = right;
    change(fake.trace);
    return verdict("good").summary();
  };
  const std::string g11 = "incorrect (constraints, G11 execution audit): ",
                    shape = ", grid 1 x 1 x 1, block 1 x 1 x 1, 0 bytes of dynamic shared memory";
  EXPECT_EQ(judged([](ExecutionAudit &) {}), "correct");
  EXPECT_EQ(judged([](ExecutionAudit &a) { a.launches.push_back(a.launches[0]); }),
            g11 + "1 launches more than the plan has, first _Z1kPKfPf" + shape);
  EXPECT_EQ(judged([](ExecutionAudit &a) { a.launches.clear(); }),
            g11 + "1 of 1 launches are not in the trace, first _Z1kPKfPf" + shape);
  EXPECT_EQ(judged([](ExecutionAudit &a) { a.launches[0].kernel = "other"; }),
            g11 + "launch 1 is other" + shape + " in the trace and _Z1kPKfPf" + shape +
                " in the plan");
  for (auto change : std::initializer_list<void (*)(TracedLaunch &)>{
           [](TracedLaunch &l) { l.grid[1] = 2; }, [](TracedLaunch &l) { l.block[0] = 32; },
           [](TracedLaunch &l) { l.dynamicSharedBytes = 16; }})
    EXPECT_EQ(judged([&](ExecutionAudit &a) { change(a.launches[0]); }).find(g11 + "launch 1 is"),
              0u);
  EXPECT_EQ(judged([](ExecutionAudit &a) { a.changedAfterReturn = true; }),
            "incorrect (correctness, G11 execution audit): memory changed after the last launch "
            "had ended");
  EXPECT_EQ(judged([](ExecutionAudit &a) {
              a.status = RunStatus::Fault;
              a.message = "a trap in k";
            }),
            "incorrect (runtime, G11 execution audit): a trap in k");
  fake.trace = right;
  fake.trace.degraded = "CUPTI is not there";
  EXPECT_EQ(gate(GateId::G11).outcome, GateOutcome::NotRun);
  fake.trace.changedAfterReturn = true; // is seen without a trace
  EXPECT_EQ(verdict("good").gate, GateId::G11);
}

TEST_F(JudgeGpuTest, WorkOnASecondStreamFailsG11) {
  cases.folder = temporary->file("two");
  writeRecording(cases.folder, 1);
  std::string error;
  auto plan = kbrt::readPlan(cases.folder, error);
  ASSERT_TRUE(plan.has_value()) << error;
  for (size_t i = 0; i < plan->steps.size(); ++i)
    if (std::holds_alternative<kbrt::LaunchStep>(plan->steps[i])) {
      plan->steps.insert(plan->steps.begin() + i, plan->steps[i]);
      break;
    }
  ASSERT_TRUE(kbrt::writePlan(*plan, cases.folder, error)) << error;
  fake.trace.launches.push_back(fake.trace.launches[0]);
  EXPECT_EQ(verdict("good").summary(), "correct");
  fake.trace.launches[1].stream = 13;
  EXPECT_EQ(verdict("good").summary(), "incorrect (constraints, G11 execution audit): launch 2 "
                                       "(_Z1kPKfPf) ran on another stream than the first");
}

TEST_F(JudgeGpuTest, OutputsOfTimedIterationsCount) {
  auto judged = [&](std::function<void(TimingReport &)> change) {
    fake.timing = [&](const TimingRequest &) {
      TimingReport report = FakeGpu::report(100, 50);
      change(report);
      return report;
    };
    return verdict("good").summary();
  };
  EXPECT_EQ(judged([](TimingReport &) {}), "correct");
  EXPECT_EQ(
      judged([](TimingReport &r) { r.outputsDifferent = 7; }),
      "incorrect (correctness, G12 timed outputs): 7 of 60 timed iterations gave other outputs "
      "than the verified run");
  EXPECT_EQ(judged([](TimingReport &r) { r.outputsChecked = 0; }),
            "inconclusive (G12 timed outputs): the outputs of no timed iteration were compared");
  EXPECT_EQ(judged([](TimingReport &r) {
              r.status = RunStatus::Fault;
              r.message = "an illegal address";
            }),
            "incorrect (runtime, G12 timed outputs): an illegal address");
  EXPECT_EQ(judged([](TimingReport &r) {
              r.status = RunStatus::Timeout;
              r.message = "no end";
            }),
            "incorrect (timeout, G12 timed outputs): no end");
  EXPECT_EQ(judged([](TimingReport &r) {
              r.status = RunStatus::OutOfMemory;
              r.message = "no memory";
            }),
            "inconclusive (G12 timed outputs): it cannot be timed: no memory");
}

TEST_F(JudgeGpuTest, WhereTheOriginalVariesItsTimedOutputsSayNothing) {
  fake.own = [](const TimingRequest &) {
    TimingReport report = FakeGpu::report(100, 100);
    report.outputsDifferent = 3;
    return report;
  };
  fake.timing = fake.own;
  GateRecord record = gate(GateId::G12);
  EXPECT_EQ(record.outcome, GateOutcome::NotRun);
  EXPECT_EQ(record.reason, "3 of 60 timed iterations of the original differ from its first");
  fake.own = [](const TimingRequest &) {
    TimingReport report;
    report.status = RunStatus::Timeout;
    report.message = "no end";
    return report;
  };
  EXPECT_EQ(verdict("good").summary(),
            "inconclusive (G12 timed outputs): the original cannot be timed: no end");
}

TEST_F(JudgeGpuTest, EqualMachineCodeIsNotMeasuredAgain) {
  compiler.ptx.erase("good");
  Verdict result = verdict("good");
  EXPECT_TRUE(result.isCorrect()) << result.summary();
  EXPECT_EQ(result.gates[12].outcome, GateOutcome::NotRun);
  EXPECT_EQ(result.gates[13].outcome, GateOutcome::NotRun);
  EXPECT_EQ(fake.count("time good"), 0);
  ASSERT_TRUE(result.timing.has_value());
  EXPECT_EQ(result.timing->cold.ratio, 1);
}

TEST_F(JudgeGpuTest, TimesBelowTheFloorAreNotBelieved) {
  // 1e9 additions take 14.9 us of the chip's 67 T additions and multiplications per second.
  fake.counters.launches = {counted(count, 1e9 / count, 0)};
  auto judged = [&](double us) {
    fake.timing = [us](const TimingRequest &) { return FakeGpu::report(100, us); };
    return verdict("good").summary();
  };
  EXPECT_EQ(judged(14), "correct");
  EXPECT_EQ(judged(13), "inconclusive (G13 physics): 13.00 us cannot be: 1.00e+09 operations in "
                        "float32 take 14.95 us on this chip");
  EXPECT_EQ(judged(0.01).find("inconclusive (G13 physics): 0.01 us cannot be"), 0u);
  // One that computes a tenth of it itself: the matrix units count elsewhere.
  fake.otherCounters["good"].launches = {counted(count, 1e8 / count, 0)};
  EXPECT_EQ(judged(1.4), "correct");
  EXPECT_EQ(gate(GateId::G13).details.back().find("floor of what it computes itself 1.49 us"), 0u);
  EXPECT_EQ(judged(1.3), "inconclusive (G13 physics): 1.30 us cannot be: 1.00e+08 operations in "
                         "float32 take 1.49 us on this chip");
  // Its counters are not known.
  fake.otherCounters["good"].degraded = "no permission";
  EXPECT_EQ(judged(13).find("inconclusive (G13 physics): 13.00 us cannot be"), 0u);
  fake.otherCounters.clear();
  fake.counters.degraded = "no permission";
  EXPECT_EQ(judged(13), "correct");
  EXPECT_EQ(gate(GateId::G13).details.front(),
            "operations and bytes read are unknown: no permission");
  options.chip = nullptr;
  EXPECT_EQ(gate(GateId::G13).details.front(), "no floor: nothing is known of this chip");
}

TEST_F(JudgeGpuTest, InputsThatTheOriginalReadsMustBeRead) {
  // The plan's input is 256 bytes; a slow enough chip shows it.
  chip.dramBytesPerSecond = 1e6;
  chip.l2Bytes = 0;
  LaunchMetrics launch = counted(count, 0, 0);
  launch.metrics["dram__bytes_read.sum"] = 1e9; // more than there is
  fake.counters.launches = {launch};
  auto judged = [&](double us) {
    fake.timing = [us](const TimingRequest &) { return FakeGpu::report(1000, us); };
    fake.ownUs = 1000;
    return verdict("good").summary();
  };
  EXPECT_EQ(judged(470), "correct"); // 0.9 x 512 us
  EXPECT_EQ(judged(450), "inconclusive (G13 physics): 450.00 us cannot be: 512 bytes of inputs and "
                         "outputs take 512.00 us on this chip");
  fake.counters.launches[0].metrics["dram__bytes_read.sum"] =
      128; // a kernel that looks at half of it
  EXPECT_EQ(judged(450), "correct");
  chip.l2Bytes = 1e6; // what is written may stay there
  EXPECT_EQ(judged(130), "correct");
}

TEST_F(JudgeGpuTest, TwelveTimesFasterNeedsASecondProcess) {
  std::vector<uint64_t> seeds;
  double second = 12;
  fake.timing = [&](const TimingRequest &request) {
    seeds.push_back(request.seed);
    return FakeGpu::report(100, 100 / (seeds.size() == 1 ? 12 : second));
  };
  auto judged = [&](double says) {
    seeds.clear();
    second = says;
    return verdict("good");
  };
  EXPECT_TRUE(judged(11).isCorrect());
  ASSERT_EQ(seeds.size(), 2u);
  EXPECT_NE(seeds[0], seeds[1]) << "another measurement, not the same one's report";
  EXPECT_EQ(judged(1.1).summary(), "inconclusive (G13 physics): 12.0 x is not confirmed: a second "
                                   "process says 1.1 x");
  EXPECT_EQ(judged(40).kind, VerdictKind::Inconclusive);
}

TEST_F(JudgeGpuTest, TenTimesIsBelievedAlone) {
  fake.timing = [](const TimingRequest &) { return FakeGpu::report(100, 10); };
  EXPECT_TRUE(verdict("good").isCorrect());
  EXPECT_EQ(fake.count("time good"), 1);
}

TEST_F(JudgeGpuTest, ASlowedOriginalIsSeen) {
  fake.timing = [](const TimingRequest &) { return FakeGpu::report(200, 100); };
  EXPECT_EQ(verdict("good").summary(),
            "inconclusive (G13 physics): the original takes 200.00 us beside "
            "this candidate and 100.00 us by itself");
  // It is asked twice before that is said: a machine has good and bad days.
  fake.own = [](const TimingRequest &request) {
    return FakeGpu::report(request.seed == 1 ? 100 : 190, request.seed == 1 ? 100 : 190);
  };
  EXPECT_TRUE(verdict("good").isCorrect());
}

TEST_F(JudgeGpuTest, OutputsThatChangeOnlyWithTheCallCountFailWhereTheyAreSeen) {
  // Right the first six times, then whatever lies there.
  unsigned calls = 0;
  program("good", [&](const RunOptions &) { return ++calls > 6 ? input() : right(); });
  Verdict result = verdict("good");
  EXPECT_EQ(result.kind, VerdictKind::Incorrect);
}

} // namespace
