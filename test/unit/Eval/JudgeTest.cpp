#include "JudgeFakes.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;

namespace {

TEST_F(JudgeTest, ARightCandidatePassesEveryGate) {
  program("good", [](const RunOptions &) { return right(); });
  Verdict result = verdict("good");
  EXPECT_TRUE(result.isCorrect()) << result.summary();
  ASSERT_EQ(result.gates.size(), 16u);
  EXPECT_EQ(result.gates[5].reason, "2 of 2 cases count");
  EXPECT_EQ(result.gates[9].outcome, GateOutcome::NotRun);
  EXPECT_EQ(result.gates[15].cases, 1u);
}

TEST_F(JudgeTest, EditsStayInsideTheirAnchors) {
  program("orIGGinal", [](const RunOptions &) { return right(); });
  auto judged = [&](std::vector<JudgedEdit> edits) {
    return verdict("orIGGinal", {{"p", "original", "orIGGinal", std::move(edits)}}).summary();
  };
  const std::string g0 = "incorrect (constraints, G0 provenance): ";
  EXPECT_EQ(judged({{2, 2, "a1", 2, 5}}), "correct");
  EXPECT_EQ(judged({{2, 1, "a1", 2, 5}, {3, 1, "a1", 2, 5}}), "correct");
  EXPECT_EQ(judged({{0, 0, "a1", 0, 0}, {2, 2, "a2", 2, 5}}), "correct");
  EXPECT_EQ(judged({{2, 2, "a1", 3, 5}}),
            g0 + "pass p: the edit at line 1 leaves its anchor, the a1");
  EXPECT_EQ(judged({{2, 2, "a1", 2, 5}, {3, 2, "a1", 2, 5}}),
            g0 + "pass p: the edit at line 1 overlaps another one or leaves the file");
  const std::string outside =
      g0 + "pass p changes the program outside its anchors, at or after line 1";
  EXPECT_EQ(judged({{4, 2, "a1", 4, 6}}), outside);                     // the text before it
  EXPECT_EQ(judged({{2, 1, "a1", 2, 3}}), outside);                     // the text after it
  EXPECT_EQ(judged({{0, 1, "a1", 0, 1}, {6, 2, "a2", 6, 8}}), outside); // between two
  EXPECT_EQ(judged({}), outside);
}

TEST_F(JudgeTest, StepsMustLeadFromTheOriginalToTheCandidate) {
  program("third", [](const RunOptions &) { return right(); });
  auto step = [](std::string from, std::string to) {
    return JudgedStep{"p", from, to, {{0, from.size(), "file", 0, from.size()}}};
  };
  EXPECT_TRUE(verdict("third", {step("original", "second"), step("second", "third")}).isCorrect());
  EXPECT_EQ(verdict("third", {step("original", "second"), step("2nd", "third")}).reason,
            "pass p was applied to another text than the one before it left");
  EXPECT_EQ(verdict("third", {step("original", "second")}).reason,
            "the candidate is not what its last rewrite left");
  EXPECT_EQ(verdict("third", {}).reason,
            "the candidate differs from the original without a rewrite");
}

TEST_F(JudgeTest, WhatTheOriginalRanOnMustNotChange) {
  program("good", [](const RunOptions &) { return right(); });
  Judge judge(artefacts("original"), compiler, device, cases, clock, options);
  auto result = judge.judge(artefacts("good"), rewritten("good"), promise);
  ASSERT_TRUE(result && result->isCorrect());
  EXPECT_EQ(result->gates[0].details.back(), "baseline image image");
  device.identity.harness = "patched";
  result = judge.judge(artefacts("good"), rewritten("good"), promise);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->summary(), "inconclusive (G0 provenance): the program that executes plans has "
                               "changed since the original ran");
  device.identity.harness = "harness";
  ASSERT_FALSE(bool(realFileSystem().write(temporary->file("data.bin"), right())));
  result = judge.judge(artefacts("good"), rewritten("good"), promise);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->reason, "the recorded input has changed since the original ran");
}

TEST_F(JudgeTest, OtherFlagsAreRefused) {
  Judge judge(artefacts("original"), compiler, device, cases, clock, options);
  ProgramArtefacts fast = artefacts("original");
  fast.flags = {"-use_fast_math"};
  auto result = judge.judge(fast, {}, promise);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->summary(), "incorrect (constraints, G0 provenance): candidate and original are "
                               "compiled with different flags");
}

TEST_F(JudgeTest, WhatDoesNotCompileFailsG1WithTheCompilersWords) {
  compiler.broken = {"broken"};
  Verdict result = verdict("broken");
  EXPECT_EQ(result.failure, FailureClass::Compile);
  EXPECT_EQ(result.gate, GateId::G1);
  EXPECT_EQ(result.details, std::vector<std::string>{"k.cu(3): error: no"});
}

TEST_F(JudgeTest, AWinnerHasTheMachineCodeOfTheUsersCompiler) {
  program("good", [](const RunOptions &) { return right(); });
  compiler.quickOnly.insert("good");
  Judge judge(artefacts("original"), compiler, device, cases, clock, options);
  auto searched = judge.judge(artefacts("good"), rewritten("good"), promise, JudgeEffort::Search);
  ASSERT_TRUE(bool(searched));
  EXPECT_EQ(searched->summary(), "correct");
  auto confirmed = judge.judge(artefacts("good"), rewritten("good"), promise, JudgeEffort::Final);
  ASSERT_TRUE(bool(confirmed));
  EXPECT_EQ(confirmed->summary(), "correct");
  EXPECT_EQ(searched->gates[1].details.back(), "compiled by fake");
  EXPECT_EQ(confirmed->gates[1].details.back(), "compiled by nvcc");
}

TEST_F(JudgeTest, DenyListAndCensusStopBeforeAnythingRuns) {
  compiler.ptx["clock"] = ".visible .entry k()\n{\nmov.u64 %rd1, %clock64;\nret;\n}\n";
  EXPECT_EQ(verdict("clock").gate, GateId::G2);
  compiler.ptx["half"] = ".visible .entry k()\n{\ncvt.rn.f16.f32 %h1, %f3;\nret;\n}\n";
  EXPECT_EQ(verdict("half").gate, GateId::G3);
  for (const std::string &line : device.log)
    EXPECT_TRUE(llvm::StringRef(line).starts_with("original")) << line;
}

TEST_F(JudgeTest, FindingsOfTheCheckedRunFailG4) {
  program("racy", [](const RunOptions &) { return right(); });
  Behaviour plain = device.programs["racy"];
  device.programs["racy"] = [plain](RunMode mode, llvm::StringRef folder,
                                    const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    if (mode == RunMode::Check && options.seed != 0)
      result.launches[0].findings.push_back(
          {"race-shared", false, "k", "s", "k.cu", 4, "race on s"});
    return result;
  };
  EXPECT_EQ(verdict("racy").summary(),
            "incorrect (runtime, G4 CPU device checks): race on s on case n=64");
}

TEST_F(JudgeTest, BenignFindingsDoNotFail) {
  program("benign", [](const RunOptions &) { return right(); });
  Behaviour plain = device.programs["benign"];
  device.programs["benign"] = [plain](RunMode mode, llvm::StringRef folder,
                                      const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    result.launches[0].findings.push_back({"race-shared", true, "k", "s", "k.cu", 4, "same value"});
    return result;
  };
  EXPECT_TRUE(verdict("benign").isCorrect());
}

TEST_F(JudgeTest, TimeoutsAndUnsupportedConstructsAreToldApart) {
  auto ends = [&](RunStatus status) {
    device.programs["ends"] = [status](RunMode, llvm::StringRef, const RunOptions &) {
      RunResult result;
      result.status = status;
      result.message = "it stopped";
      return result;
    };
    return verdict("ends");
  };
  EXPECT_EQ(ends(RunStatus::Timeout).failure, FailureClass::Timeout);
  EXPECT_EQ(ends(RunStatus::Fault).failure, FailureClass::Runtime);
  EXPECT_EQ(ends(RunStatus::OutOfMemory).failure, FailureClass::Constraints);
  EXPECT_EQ(ends(RunStatus::Unsupported).kind, VerdictKind::Inconclusive);
}

TEST_F(JudgeTest, HostCodeThatCrashesIsARuntimeFailure) {
  device.programs["crashes"] = device.programs["original"];
  Verdict result = verdict("crashes");
  EXPECT_EQ(result.failure, FailureClass::Runtime);
  EXPECT_EQ(result.reason, "the program crashed: signal 11");
}

TEST_F(JudgeTest, AWrongElementFailsG6) {
  program("wrong", [](const RunOptions &) {
    return floats([](unsigned i) { return i == 63 ? 1.0f : 2.0f * (i + 1); });
  });
  EXPECT_EQ(
      verdict("wrong").summary(),
      "incorrect (correctness, G6 numerics): output 0[63] is 1, expected 128 on case recorded");
}

TEST_F(JudgeTest, ReassociationIsHeldToTheOriginalsOwnSpread) {
  auto scaled = [](float factor) {
    return [factor](const RunOptions &) {
      return floats([factor](unsigned i) { return factor * (2.0f * (i + 1)); });
    };
  };
  program("original", [scaled](const RunOptions &options) {
    return scaled(options.rounding == Rounding::Up ? 1.00001f : 1.0f)(options);
  });
  program("near", scaled(1.000015f));
  program("far", scaled(1.0001f));
  EXPECT_EQ(verdict("near").gate, GateId::G6) << "a bitwise promise";
  promise.result = Promise::Reassociates;
  EXPECT_TRUE(verdict("near").isCorrect()) << verdict("near").summary();
  EXPECT_EQ(verdict("far").gate, GateId::G6);
}

TEST_F(JudgeTest, ALongSumMayMoveFurther) {
  Behaviour plain = device.programs["original"];
  double additions = 0;
  device.programs["original"] = [&, plain](RunMode mode, llvm::StringRef folder,
                                           const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    if (mode == RunMode::Count) {
      kbrt::KernelCounters &counters = result.launches[0].counters.emplace();
      counters.blocks = 1;
      counters.threadsPerBlock = 32;
      counters.globalStore.bytesRequested = count * sizeof(float);
      counters.threadInstructionsByOp[static_cast<size_t>(kbrt::Op::FAdd)] = additions * count;
    }
    return result;
  };
  program("near", [](const RunOptions &) {
    return floats([](unsigned i) { return 2.0f * (i + 1) * 1.00002f; });
  });
  promise.result = Promise::Reassociates;
  EXPECT_EQ(verdict("near").gate, GateId::G6);
  additions = 1000; // per stored element, of which there are more than threads
  EXPECT_TRUE(verdict("near").isCorrect()) << verdict("near").summary();
  additions = 100;
  EXPECT_EQ(verdict("near").gate, GateId::G6);
  promise.result = Promise::Bitwise;
  additions = 1000;
  EXPECT_EQ(verdict("near").gate, GateId::G6);
}

TEST_F(JudgeTest, TheFloat64OracleDecidesWhatIsOutOfBounds) {
  Behaviour plain = device.programs["original"];
  double error = 0;
  RunStatus status = RunStatus::Ok;
  unsigned asked = 0;
  device.programs["original"] = [&, plain](RunMode mode, llvm::StringRef folder,
                                           const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    if (mode != RunMode::Oracle)
      return result;
    ++asked;
    std::vector<kbrt::OracleElement> elements;
    for (unsigned i = 0; i < count; ++i)
      elements.push_back({2.0 * (i + 1), error, 0, 500});
    result.outputs[0] = std::string(reinterpret_cast<const char *>(elements.data()),
                                    elements.size() * sizeof elements[0]);
    result.status = status;
    result.message = status == RunStatus::Ok ? "" : "no end within 20 s";
    return result;
  };
  program("right", [](const RunOptions &) { return right(); });
  program("near", [](const RunOptions &) {
    return floats([](unsigned i) { return 2.0f * (i + 1) + 0.001f; });
  });
  promise.result = Promise::Reassociates;
  EXPECT_TRUE(verdict("right").isCorrect());
  EXPECT_EQ(asked, 0u) << "it costs a run";
  EXPECT_EQ(verdict("near").gate, GateId::G6) << "sums that are exact";

  auto details = [](const Verdict &verdict, GateId gate) {
    std::string all;
    for (const GateRecord &record : verdict.gates)
      if (record.gate == gate)
        all += llvm::join(record.details, "\n");
    return all;
  };
  error = 0.002;
  Verdict accepted = verdict("near");
  EXPECT_TRUE(accepted.isCorrect()) << accepted.summary();
  EXPECT_NE(
      details(accepted, GateId::G6)
          .find("case recorded, output 0: 64 of 64 elements are within the forward bound of the "
                "float64 oracle alone, for sums of up to 500 terms; they take at most 0.50 of it"),
      std::string::npos)
      << details(accepted, GateId::G6);
  promise.result = Promise::Bitwise;
  EXPECT_EQ(verdict("near").gate, GateId::G6);

  promise.result = Promise::Reassociates;
  error = 1000; // zeros are within it
  Verdict useless = verdict("near");
  EXPECT_EQ(useless.gate, GateId::G6);
  EXPECT_NE(details(useless, GateId::G6).find("a decoy is within the forward bound"),
            std::string::npos)
      << details(useless, GateId::G6);
  status = RunStatus::Timeout;
  Verdict without = verdict("near");
  EXPECT_EQ(without.gate, GateId::G6);
  EXPECT_NE(
      details(without, GateId::G6).find("no float64 oracle for case recorded: no end within 20 s"),
      std::string::npos)
      << details(without, GateId::G6);
}

TEST_F(JudgeTest, AWorkloadMayAskForTheFloat64Oracle) {
  Behaviour plain = device.programs["original"];
  bool isThere = true;
  device.programs["original"] = [&, plain](RunMode mode, llvm::StringRef folder,
                                           const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    if (mode != RunMode::Oracle)
      return result;
    std::vector<kbrt::OracleElement> elements;
    for (unsigned i = 0; i < count; ++i)
      elements.push_back({2.0 * (i + 1), 0, 0, 1});
    result.outputs[0] = std::string(reinterpret_cast<const char *>(elements.data()),
                                    elements.size() * sizeof elements[0]);
    result.status = isThere ? RunStatus::Ok : RunStatus::Unsupported;
    result.message = isThere ? "" : "a construct";
    return result;
  };
  program("near", [](const RunOptions &) {
    return floats([](unsigned i) { return 2.0f * (i + 1) * 1.00001f; });
  });
  promise.result = Promise::Reassociates;
  cases.stated.reductionLength = 1000; // what the original's results would allow
  EXPECT_TRUE(verdict("near").isCorrect()) << verdict("near").summary();
  cases.stated.isHeldToFloat64 = true;
  EXPECT_EQ(verdict("near").gate, GateId::G6);
  program("right", [](const RunOptions &) { return right(); });
  EXPECT_TRUE(verdict("right").isCorrect()) << verdict("right").summary();
  // Where it cannot be had, the original's results decide.
  isThere = false;
  Verdict without = verdict("near");
  EXPECT_TRUE(without.isCorrect()) << without.summary();
  EXPECT_TRUE(llvm::any_of(without.gates, [](const GateRecord &record) {
    return llvm::is_contained(record.details, "no float64 oracle for case recorded: a construct");
  }));
}

TEST_F(JudgeTest, OnlyTheRecordedShapeIsNotEnough) {
  program("special", [](const RunOptions &) { return right(); });
  Behaviour good = device.programs["special"];
  unsigned runs = 0;
  device.programs["special"] = [&runs, good](RunMode mode, llvm::StringRef folder,
                                             const RunOptions &options) {
    RunResult result = good(mode, folder, options);
    if (mode == RunMode::Plain && ++runs == 2) // after G6 on the recorded case
      result.outputs[0] = std::string(count * 4, 0);
    return result;
  };
  EXPECT_EQ(verdict("special").gate, GateId::G7);
}

TEST_F(JudgeTest, ResultsThatDependOnFreshMemoryFailG8) {
  program("leftover", [](const RunOptions &options) {
    return options.memoryPoison == RunOptions().memoryPoison ? right() : input();
  });
  EXPECT_EQ(verdict("leftover").gate, GateId::G8);
}

TEST_F(JudgeTest, ChangedInputsFailG8) {
  program("mutates", [](const RunOptions &) { return right(); }, right());
  EXPECT_EQ(verdict("mutates").summary(),
            "incorrect (correctness, G8 memory): the candidate changes buffer 0 (256 bytes), which "
            "the original only reads");
}

TEST_F(JudgeTest, ResultsThatDependOnTheOrderFailG10) {
  program("unstable", [](const RunOptions &options) {
    return floats([&](unsigned i) { return options.seed == 7 && i == 5 ? 0 : 2.0f * (i + 1); });
  });
  EXPECT_EQ(verdict("unstable").gate, GateId::G10);
  options.effort = JudgeEffort::Search; // two runs only
  EXPECT_TRUE(verdict("unstable").isCorrect());
}

TEST_F(JudgeTest, TheWholeProgramMustPrintTheSame) {
  program("prints", [](const RunOptions &) { return right(); });
  cases.whole = {{"original", {0, "sum 12\ntime 3\n"}}, {"prints", {0, "sum 13\ntime 9\n"}}};
  Verdict result = verdict("prints");
  EXPECT_EQ(result.gate, GateId::G14);
  EXPECT_EQ(result.reason, "line 1 of the program's output differs");
  cases.whole["prints"] = {1, "sum 12\ntime 3\n"};
  EXPECT_EQ(verdict("prints").reason, "the program ends with status 1, the original with 0");
  cases.whole["prints"] = {0, "sum 12\ntime 3\n"};
  EXPECT_TRUE(verdict("prints").isCorrect());
}

TEST_F(JudgeTest, WhatChangesBetweenRunsOfTheOriginalIsNotCompared) {
  program("prints", [](const RunOptions &) { return right(); });
  cases.wholeRuns["original"] = {{0, "sum 12 in 3.1 ms\n"}, {0, "sum 12 in 3.4 ms\n"}};
  auto prints = [&](std::string line) {
    cases.wholeRuns["prints"] = {{0, line + "\n"}};
    return verdict("prints");
  };
  EXPECT_TRUE(prints("sum 12 in 12.5 ms").isCorrect());
  EXPECT_EQ(
      prints("sum 12 in 12.5 ms").gates[14].details,
      std::vector<std::string>{"1 words and 0 lines that change by themselves are not compared"});
  EXPECT_EQ(prints("sum 13 in 3.1 ms").reason, "line 1 of the program's output differs");
  EXPECT_EQ(prints("sum 12 in 3.1 us").gate, GateId::G14);
  EXPECT_EQ(prints("sum 12").gate, GateId::G14);
}

TEST_F(JudgeTest, ATimeThatWasTheSameTwiceIsAskedForAgain) {
  program("prints", [](const RunOptions &) { return right(); });
  cases.wholeRuns["original"] = {{0, "sum 12 at 3"}, {0, "sum 12 at 3"}, {0, "sum 12 at 4"}};
  cases.wholeRuns["prints"] = {{0, "sum 12 at 5"}};
  EXPECT_TRUE(verdict("prints").isCorrect());
  cases.wholeRuns["prints"] = {{0, "sum 13 at 5"}};
  EXPECT_EQ(verdict("prints").gate, GateId::G14);
}

TEST_F(JudgeTest, CasesThatBreakAssumptionsCountIfTheOriginalAllowsThem) {
  program("vector", [](const RunOptions &) { return right(); });
  cases.list.push_back({"misaligned", false, true, false, Assumption::Aligned});
  promise.assumes = {Assumption::Aligned};
  auto faultsWhenMisaligned = [&](std::string text) {
    Behaviour plain = device.programs[text];
    device.programs[text] = [=, this](RunMode mode, llvm::StringRef folder,
                                      const RunOptions &options) {
      RunResult result = plain(mode, folder, options);
      if (mode == RunMode::Check && cases.asked == "misaligned")
        result.launches[0].findings.push_back({"misaligned", false, "k", "x", "k.cu", 4, "x[1]"});
      return result;
    };
  };
  EXPECT_TRUE(verdict("vector").isCorrect());
  faultsWhenMisaligned("vector");
  EXPECT_EQ(verdict("vector").summary(),
            "incorrect (runtime, G7 breadth): x[1] on case misaligned");
  faultsWhenMisaligned("original");
  Verdict result = verdict("vector");
  EXPECT_TRUE(result.isCorrect()) << result.summary();
  EXPECT_EQ(result.gates[7].details,
            std::vector<std::string>{"the original does not allow misaligned"});
}

TEST_F(JudgeTest, AnOriginalThatRacesIsLeftAlone) {
  Behaviour plain = device.programs["original"];
  device.programs["original"] = [plain](RunMode mode, llvm::StringRef folder,
                                        const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    if (mode == RunMode::Check)
      result.launches[0].findings.push_back({"out-of-bounds", false, "k", "x", "k.cu", 4, "x[64]"});
    return result;
  };
  program("good", [](const RunOptions &) { return right(); });
  EXPECT_EQ(verdict("good").summary(),
            "inconclusive (runtime, G4 CPU device checks): the original is "
            "left alone: x[64] on case n=64");
}

TEST_F(JudgeTest, ACaseThatCannotTellIsNotEnough) {
  program("original", [](const RunOptions &) { return std::string(count * 4, 0); });
  program("lazy", [](const RunOptions &) { return std::string(count * 4, 0); });
  Verdict result = verdict("lazy");
  EXPECT_EQ(result.kind, VerdictKind::Inconclusive);
  EXPECT_EQ(result.gate, GateId::G5);
}

TEST_F(JudgeTest, ANondeterministicOriginalIsComparedWithItsOwnVariance) {
  auto noisy = [](float amplitude) {
    return [amplitude](const RunOptions &options) {
      return floats(
          [&](unsigned i) { return 2.0f * (i + 1) * (1 + amplitude * (options.seed % 3)); });
    };
  };
  program("original", noisy(1e-5f));
  program("same", noisy(1e-5f));
  program("worse", noisy(1e-4f));
  EXPECT_TRUE(verdict("same").isCorrect()) << verdict("same").summary();
  EXPECT_EQ(verdict("worse").gate, GateId::G10);
}

TEST_F(JudgeTest, TimeRunsOut) {
  options.totalSeconds = 10;
  program("good", [this](const RunOptions &) {
    clock.now += 6;
    return right();
  });
  Verdict result = verdict("good");
  EXPECT_EQ(result.kind, VerdictKind::Inconclusive);
  EXPECT_EQ(result.reason, "no verdict within 10 s");
}

TEST_F(JudgeTest, EqualCodeAndPlanHaveOneMeasurementKey) {
  Judge judge(artefacts("original"), compiler, device, cases, clock, options);
  compiler.ptx["other"] = ".visible .entry k()\n{\nmul.f32 %f1, %f2, %f3;\nret;\n}\n";
  auto a = judge.measurementKey(artefacts("original")), b = judge.measurementKey(artefacts("same")),
       c = judge.measurementKey(artefacts("other"));
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(*a, *b);
  EXPECT_NE(*a, *c);
  EXPECT_EQ(compiler.compiles, 3u);
}

} // namespace
