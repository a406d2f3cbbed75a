#include "JudgeFakes.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

namespace {

/// Executes what the CPU's fake would, and says what it is told of times and traces.
struct FakeGpu : GpuDevice {
  explicit FakeGpu(std::map<std::string, Behaviour> &programs) : programs(programs) {}
  std::map<std::string, Behaviour> &programs;
  std::mutex mutex; ///< of `log`
  std::vector<std::string> log;
  void note(std::string line) {
    std::lock_guard<std::mutex> lock(mutex);
    log.push_back(std::move(line));
  }
  bool takesPtx = true;
  double ownUs = 100; ///< of the original by itself
  std::function<TimingReport(const TimingRequest &)> timing; ///< of a candidate
  std::function<TimingReport(const TimingRequest &)> own;    ///< of the original against itself
  ExecutionAudit trace;
  std::map<std::string, SanitizerReport> sanitizer; ///< by text
  GpuProfile counters;

  llvm::StringRef name() const override { return "gpu"; }
  llvm::Expected<DeviceImage> build(const ProgramArtefacts &program, RunMode mode) override {
    EXPECT_EQ(mode, RunMode::Plain) << "a GPU neither checks nor counts";
    DeviceImage image;
    image.path = program.text;
    return image;
  }
  llvm::Expected<DeviceIdentity> identify(const DeviceImage &image) override {
    return DeviceIdentity{"harness", image.path};
  }
  llvm::Expected<RunResult> run(const DeviceImage &image, llvm::StringRef folder,
                                const RunOptions &options) override {
    RunOptions actual = options;
    std::string text = image.path;
    if (llvm::sys::path::extension(text) == ".ptx") {
      note("ptx " + llvm::sys::path::stem(text).str());
      if (!takesPtx)
        return llvm::make_error<ToolError>("the driver is older than this PTX",
                                           std::vector<std::string>{"kb-run"}, 3, "");
      actual.rounding = llvm::sys::path::stem(text) == "up"     ? Rounding::Up
                        : llvm::sys::path::stem(text) == "down" ? Rounding::Down
                                                                : Rounding::Zero;
      // A mixture of directions, or a draw, is another order of threads to these programs.
      llvm::StringRef mixture = llvm::sys::path::stem(text);
      mixture.consume_front("narrow-");
      unsigned pattern = 0;
      const bool isDrawn = mixture.consume_front("drawn-");
      if ((isDrawn || mixture.consume_front("mixed-")) && !mixture.getAsInteger(10, pattern))
        actual.seed = (isDrawn ? 80 : 70) + pattern;
      if (llvm::StringRef(text).contains("narrow-"))
        actual.seed += 1000;
      text = "original";
    } else {
      note("run " + text);
    }
    RunResult first = programs.at(text)(RunMode::Plain, folder, actual);
    for (unsigned i = 1; i < options.repetitions; ++i) {
      actual.seed = options.seed + i;
      actual.memoryPoison = i % 2 ? ~options.memoryPoison : options.memoryPoison;
      if (programs.at(text)(RunMode::Plain, folder, actual).outputs != first.outputs)
        first.variation = "execution " + std::to_string(i + 1) + " gives other results than the first";
    }
    return first;
  }
  llvm::Expected<GpuFacts> facts() override { return GpuFacts(); }
  static TimingReport report(double baselineUs, double candidateUs) {
    TimingReport report;
    report.cold.baseline = {30, baselineUs, baselineUs, baselineUs, 0.001};
    report.cold.candidate = {30, candidateUs, candidateUs, candidateUs, 0.001};
    report.cold.ratio = baselineUs / candidateUs;
    report.cold.ratioLowerBound = report.cold.ratio * 0.99;
    report.cold.decision = report.cold.ratio > 1.01 ? TimingDecision::Faster : TimingDecision::Inconclusive;
    report.outputsChecked = 60;
    return report;
  }
  llvm::Expected<TimingReport> measure(const GpuSubject &candidate, const GpuSubject &baseline,
                                       const TimingRequest &request) override {
    EXPECT_EQ(baseline.cubinPath, "original");
    note("time " + candidate.cubinPath);
    if (candidate.cubinPath == "original")
      return own ? own(request) : report(ownUs, ownUs);
    return timing ? timing(request) : report(ownUs, ownUs / 2);
  }
  llvm::Expected<GpuProfile> profile(const GpuSubject &, llvm::StringRef, bool) override {
    note("profile");
    return counters;
  }
  llvm::Expected<ExecutionAudit> audit(const GpuSubject &) override { return trace; }
  llvm::Expected<SanitizerReport> sanitize(const GpuSubject &subject, llvm::ArrayRef<llvm::StringRef>,
                                           double) override {
    note("sanitize " + subject.cubinPath);
    return sanitizer[subject.cubinPath];
  }
  long count(llvm::StringRef line) const { return llvm::count(log, line.str()); }
};

struct JudgeGpuTest : JudgeTest {
  FakeGpu fake{device.programs};
  ChipInfo chip;

  void SetUp() override {
    JudgeTest::SetUp();
    gpu = &fake;
    TracedLaunch launch;
    launch.kernel = "_Z1kPKfPf";
    launch.stream = 7;
    fake.trace.launches = {launch};
    auto loaded = loadChip("h200");
    ASSERT_TRUE(bool(loaded));
    chip = *loaded;
    options.chip = &chip;
    good("good");
  }
  void good(std::string text) {
    // Machine code of its own.
    compiler.ptx[text] = ".visible .entry k()\n{\nadd.f32 %f1, %f2, %f3;\nadd.s32 %r1, %r1, %r2;\nret;\n}\n";
    program(text, [](const RunOptions &) { return right(); });
  }
  GateRecord gate(GateId id, std::string text = "good") {
    Verdict result = verdict(std::move(text));
    for (const GateRecord &record : result.gates)
      if (record.gate == id)
        return record;
    ADD_FAILURE() << "no record of " << kbopt::toString(id).str() << ": " << result.summary();
    return {};
  }
  /// The original does not end on the CPU device's checks and counts.
  void slowOnCpu(RunStatus status = RunStatus::Timeout) {
    Behaviour plain = device.programs["original"];
    device.programs["original"] = [=](RunMode mode, llvm::StringRef folder, const RunOptions &options) {
      RunResult result = plain(mode, folder, options);
      if (mode != RunMode::Plain) {
        result.status = status;
        result.message = "no end";
        result.outputs.clear();
      }
      return result;
    };
  }
};

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
  program("varies", [](const RunOptions &options) { return options.memoryPoison & 1 ? right() : input(); });
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
  EXPECT_EQ(few.gates[9].reason, "a run under the sanitizer takes about 6 s, and 2 s are left of the time budget");
  EXPECT_EQ(few.gates[14].reason, "running the whole program takes about 18 s, and 2 s are left of the time budget");
  EXPECT_EQ(few.gates[7].cases, 9u);
  ASSERT_FALSE(few.gates[7].details.empty());
  EXPECT_EQ(few.gates[7].details.back(), "12 further cases do not fit into the 2 s that are left of the time budget");
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
  promise.result = ResultPromise::Reassociates;
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
  EXPECT_EQ(clean.reason, "case recorded does not end on the CPU device within 3 s; 1 s of it in another order show no defect");
  options.effort = JudgeEffort::Final;
  EXPECT_EQ(checked({}).reason, "case recorded does not end on the CPU device within 3 s; 3 s of it in two orders show no defect");
  GateRecord defect = checked({{"out-of-bounds", false, "k", "a", "k.cu", 4, "a store past the end"}});
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
  EXPECT_EQ(cases.planned, (std::set<std::string>{"recorded", "seed=1", "seed=2", "seed=3"})) << "those of a search";
}

TEST_F(JudgeGpuTest, ASmallerCaseIsCheckedInPlaceOfALargeOne) {
  // The first case is the large one.
  cases.list.insert(cases.list.begin() + 1, {"n=32", false, true, false});
  cases.folders["n=64"] = temporary->file("large");
  writeRecording(cases.folders["n=64"], 1000);
  Behaviour plain = device.programs["original"];
  device.programs["original"] = [=, this](RunMode mode, llvm::StringRef folder, const RunOptions &options) {
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
    device.programs[text] = [=, this, &mutex, &checked](RunMode mode, llvm::StringRef folder, const RunOptions &options) {
      RunResult result = plain(mode, folder, options);
      const bool isLarge = folder == cases.folders["n=64"];
      result.wallSeconds = isLarge ? 5 : 0.1;
      if (mode == RunMode::Check && text == std::string("good")) {
        std::lock_guard<std::mutex> lock(mutex);
        checked.push_back(std::string(isLarge ? "large" : "small") + (options.seed ? " shuffled" : ""));
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
            (std::vector<std::string>{"large", "large shuffled", "large shuffled", "small", "small shuffled", "small shuffled"}));
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

TEST_F(JudgeGpuTest, NumbersThatOtherRoundingsMoveMayBeAsLarge) {
  good("prints");
  cases.whole = {{"original", {0, "largest error 1.2e-07 of 64"}}, {"prints", {0, "largest error 3.6e-07 of 64"}}};
  promise.result = ResultPromise::Reassociates;
  EXPECT_EQ(verdict("prints").gate, GateId::G14);
  cases.wholeRerounded = CaseSource::WholeRun{0, "largest error 2.4e-07 of 64"};
  EXPECT_TRUE(verdict("prints").isCorrect()) << verdict("prints").summary();
  cases.whole["prints"] = {0, "largest error 3.6e-05 of 64"};
  EXPECT_EQ(verdict("prints").gate, GateId::G14) << "a hundred times as much is no rounding";
  cases.whole["prints"] = {0, "largest error 1.2e-07 of 65"};
  EXPECT_EQ(verdict("prints").gate, GateId::G14);
}

TEST_F(JudgeGpuTest, ACaseThatTakesTheOriginalAsLongSaysNothingAboutACandidate) {
  cases.list.insert(cases.list.begin() + 1, {"n=32", false, true, false});
  cases.folders["n=32"] = temporary->file("slow");
  writeRecording(cases.folders["n=32"], 1); // as much work as the others, but for the values
  for (const char *text : {"original", "good"}) {
    Behaviour plain = device.programs[text];
    device.programs[text] = [=, this](RunMode mode, llvm::StringRef folder, const RunOptions &options) {
      RunResult result = plain(mode, folder, options);
      if (mode == RunMode::Check && folder == cases.folders["n=32"])
        result.status = RunStatus::Timeout;
      return result;
    };
  }
  GateRecord record = gate(GateId::G4);
  EXPECT_EQ(record.outcome, GateOutcome::Passed) << record.reason;
  EXPECT_EQ(record.cases, 1u);
  EXPECT_EQ(record.details, std::vector<std::string>{"case n=32 takes the original as long on the CPU device"});
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

TEST_F(JudgeGpuTest, RoundingIsDirectedInPtxWhereTheGpuRuns) {
  auto scaled = [](float factor) {
    return [factor](const RunOptions &) {
      return floats([factor](unsigned i) { return factor * (2.0f * (i + 1)); });
    };
  };
  program("original", [scaled](const RunOptions &options) {
    return scaled(options.rounding == Rounding::Up ? 1.00001f : 1.0f)(options);
  });
  program("good", scaled(1.000015f));
  promise.result = ResultPromise::Reassociates;
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  program("good", scaled(1.0001f));
  EXPECT_EQ(verdict("good").gate, GateId::G6);
  EXPECT_GE(fake.count("ptx up"), 1);
  EXPECT_EQ(llvm::count(device.log, "original plain"), 8) << "only the orders of the baseline, twice";
  // Where the driver refuses it, four roundings are allowed, and the record says so.
  fake.takesPtx = false;
  program("good", scaled(1.000015f));
  GateRecord record = gate(GateId::G6);
  EXPECT_TRUE(record.stops());
  ASSERT_EQ(record.details.size(), 3u);
  EXPECT_NE(record.details[2].find("no runs under other roundings: the driver is older"), std::string::npos)
      << record.details[2];
}

TEST_F(JudgeGpuTest, WhatTheCountedRoundingsAllowAsksForNoOtherRunsOfTheOriginal) {
  auto scaled = [](float factor) {
    return [factor](const RunOptions &options) {
      const float moved = options.rounding == Rounding::Up ? 1.00001f : 1.0f;
      return floats([=](unsigned i) { return factor * moved * (2.0f * (i + 1)); });
    };
  };
  program("original", scaled(1.0f));
  promise.result = ResultPromise::Reassociates;
  for (JudgeEffort effort : {JudgeEffort::Search, JudgeEffort::Final}) {
    options.effort = effort;
    // A unit in the last place: four roundings are allowed without any other run.
    program("good", scaled(1.0000001f));
    fake.log.clear();
    EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
    EXPECT_EQ(llvm::count_if(fake.log, [](const std::string &line) { return llvm::StringRef(line).starts_with("ptx"); }), 0);
    program("good", scaled(1.000015f));
    EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
    EXPECT_GE(fake.count("ptx up"), 1);
  }
}

TEST_F(JudgeGpuTest, TheOriginalsRunsAreMadeOnceForAllCandidates) {
  options.effort = JudgeEffort::Search;
  promise.result = ResultPromise::Reassociates;
  Judge judge(artefacts("original"), compiler, device, cases, clock, options, gpu);
  ASSERT_TRUE(bool(judge.baseline()));
  const long own = fake.count("run original");
  for (const char *text : {"good", "better", "best"}) {
    good(text);
    auto result = judge.judge(artefacts(text), rewritten(text), promise, JudgeEffort::Search);
    ASSERT_TRUE(bool(result) && result->isCorrect());
  }
  // The first candidate asks for the original's memory under another filling (G8), once.
  EXPECT_LE(fake.count("run original"), own + 2);
  EXPECT_EQ(fake.count("time original"), 1);
  EXPECT_EQ(fake.count("profile"), 1);
}

TEST_F(JudgeGpuTest, MixturesOfDirectionsJoinTheSpread) {
  // Moves of the two errors cancel where both are rounded alike.
  auto scaled = [](float factor) {
    return [factor](const RunOptions &) {
      return floats([factor](unsigned i) { return factor * (2.0f * (i + 1)); });
    };
  };
  program("original", [scaled](const RunOptions &options) {
    return scaled(options.seed == 71 ? 1.00001f : 1.0f)(options);
  });
  program("good", scaled(1.000015f));
  promise.result = ResultPromise::Reassociates;
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  program("good", scaled(1.0001f));
  EXPECT_EQ(verdict("good").gate, GateId::G6);
}

TEST_F(JudgeGpuTest, ANearMissIsHeldAgainstDrawnDirections) {
  // One element does not move in the usual runs, and a right rewrite moves it by 4 bounds.
  auto off = [](std::set<unsigned> which, float factor) {
    return [=](const RunOptions &) {
      return floats([=](unsigned i) { return (which.count(i) ? factor : 1.0f) * (2.0f * (i + 1)); });
    };
  };
  program("original", [off](const RunOptions &options) {
    return off({3, 5}, options.seed == 83 ? 1.000005f : 1.0f)(options);
  });
  promise.result = ResultPromise::Reassociates;
  program("good", off({5}, 1.000001f));
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  EXPECT_GE(fake.count("ptx drawn-3"), 1);
  ASSERT_EQ(gate(GateId::G6).details.size(), 1u);
  EXPECT_NE(gate(GateId::G6).details[0].find("directions drawn"), std::string::npos);
  // What no other rounding moves stays refused; so do more elements than chance leaves, and
  // farther misses, of which no more is asked.
  program("good", off({7}, 1.000001f));
  EXPECT_EQ(verdict("good").gate, GateId::G6);
  EXPECT_GE(fake.count("ptx drawn-3"), 1);
  for (auto wrong : {off({3, 5}, 1.000001f), off({5}, 1.00001f)}) {
    program("good", wrong);
    fake.log.clear();
    EXPECT_EQ(verdict("good").gate, GateId::G6);
    EXPECT_EQ(fake.count("ptx drawn-3"), 0);
  }
  promise.result = ResultPromise::Bitwise;
  program("good", off({5}, 1.000001f));
  EXPECT_EQ(verdict("good").gate, GateId::G6);
}

TEST_F(JudgeGpuTest, NarrowedRunsAreForLowerPrecisionAndFloat64Alone) {
  auto scaled = [](float factor) {
    return [factor](const RunOptions &) {
      return floats([factor](unsigned i) { return factor * (2.0f * (i + 1)); });
    };
  };
  program("original", [scaled](const RunOptions &options) {
    return scaled(options.seed >= 1000 ? 1.00001f : 1.0f)(options);
  });
  program("good", scaled(1.000015f));
  promise.result = ResultPromise::LowerPrecision;
  EXPECT_EQ(verdict("good").gate, GateId::G6) << "no float64 in its code";
  EXPECT_EQ(fake.count("ptx narrow-up"), 0);
  auto wide = [&](llvm::StringRef more) {
    compiler.ptx["original"] = compiler.ptx["good"] =
        (".visible .entry k()\n{\n\tcvt.f64.f32 \t%fd1, %f1;\n\tfma.rn.f64 \t%fd2, %fd1, 0d3FC999999999999A, %fd1;\n" +
         more + "\tcvt.rn.f32.f64 \t%f2, %fd2;\n\tret;\n}\n").str();
  };
  wide("");
  promise.result = ResultPromise::Reassociates;
  EXPECT_EQ(verdict("good").gate, GateId::G6);
  EXPECT_EQ(fake.count("ptx narrow-up"), 0);
  promise.result = ResultPromise::LowerPrecision;
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  EXPECT_GE(fake.count("ptx narrow-up"), 1);
  for (const char *more :
       {"\tmov.b64 \t{%r1, %r2}, %fd2;\n", "\tadd.f64 \t%fd2, %fd2, %fd1;\n", "\tst.global.f64 \t[%rd1], %fd2;\n",
        "\tld.global.f64 \t%fd3, [%rd1];\n\tadd.f64 \t%fd4, %fd2, %fd3;\n", "\t@%p1 mov.f64 \t%fd2, 0d0000000000000000;\n",
        "\trsqrt.approx.ftz.f64 \t%fd3, %fd2;\n", "\t{ mov.b64 %rd3, %fd2; }\n", "\tst.param.f64 \t[param0+0], %fd2;\n"}) {
    wide(more);
    EXPECT_EQ(verdict("good").gate, GateId::G6) << more;
  }
  wide("\tneg.f64 \t%fd3, %fd2;\n\tsetp.lt.f64 \t%p1, %fd3, 0d0000000000000000;\n\tselp.f64 \t%fd4, %fd1, %fd3, %p1;\n");
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
}

/// Counters of one launch of \p threads threads that store one float each.
static LaunchMetrics counted(unsigned threads, double fadd, double ffma) {
  LaunchMetrics launch;
  launch.block[0] = threads;
  launch.metrics = {{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", fadd * threads},
                    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", ffma * threads},
                    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", threads / 8.0},
                    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", 100}};
  return launch;
}

TEST_F(JudgeGpuTest, OperationsAreTheGpusWhereTheCpuDeviceCountsNone) {
  program("good", [](const RunOptions &) {
    return floats([](unsigned i) { return 2.0f * (i + 1) * 1.00002f; });
  });
  promise.result = ResultPromise::Reassociates;
  slowOnCpu();
  fake.counters.launches = {counted(count, 100, 0)};
  EXPECT_EQ(verdict("good").gate, GateId::G6);
  fake.counters.launches = {counted(count, 600, 400)};
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  // What a division expands to is no sum.
  compiler.ptx["original"] = ".visible .entry k()\n{\ndiv.rn.f32 %f1, %f2, %f3;\nret;\n}\n";
  compiler.ptx["good"] = ".visible .entry k()\n{\ndiv.rn.f32 %f1, %f3, %f2;\nret;\n}\n";
  fake.counters.launches = {counted(count, 100, 900)};
  EXPECT_EQ(verdict("good").gate, GateId::G6);
  fake.counters.launches = {counted(count, 1000, 0)};
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  fake.counters.degraded = "no permission";
  EXPECT_EQ(verdict("good").gate, GateId::G6);
}

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
  EXPECT_EQ(verdict("good").summary(), "incorrect (runtime, G9 sanitizer): x[64] in k on case n=64");
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
            g11 + "launch 1 is other" + shape + " in the trace and _Z1kPKfPf" + shape + " in the plan");
  for (auto change : std::initializer_list<void (*)(TracedLaunch &)>{
           [](TracedLaunch &l) { l.grid[1] = 2; }, [](TracedLaunch &l) { l.block[0] = 32; },
           [](TracedLaunch &l) { l.dynamicSharedBytes = 16; }})
    EXPECT_EQ(judged([&](ExecutionAudit &a) { change(a.launches[0]); }).find(g11 + "launch 1 is"), 0u);
  EXPECT_EQ(judged([](ExecutionAudit &a) { a.changedAfterReturn = true; }),
            "incorrect (correctness, G11 execution audit): memory changed after the last launch had ended");
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
  EXPECT_EQ(judged([](TimingReport &r) { r.outputsDifferent = 7; }),
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
  fake.counters.degraded = "no permission";
  EXPECT_EQ(judged(13), "correct");
  EXPECT_EQ(gate(GateId::G13).details.front(), "operations and bytes read are unknown: no permission");
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
  fake.counters.launches[0].metrics["dram__bytes_read.sum"] = 128; // a kernel that looks at half of it
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
  EXPECT_EQ(verdict("good").summary(), "inconclusive (G13 physics): the original takes 200.00 us beside "
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
