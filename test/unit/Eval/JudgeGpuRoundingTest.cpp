//===- JudgeGpuRoundingTest.cpp - Other roundings and counts beside a GPU ===//
#include "JudgeGpuFakes.h"

using namespace kbopt;

namespace {

TEST_F(JudgeGpuTest, NumbersThatOtherRoundingsMoveMayBeAsLarge) {
  good("prints");
  cases.whole = {{"original", {0, "largest error 1.2e-07 of 64"}},
                 {"prints", {0, "largest error 3.6e-07 of 64"}}};
  promise.result = Promise::Reassociates;
  EXPECT_EQ(verdict("prints").gate, GateId::G14);
  cases.wholeRerounded = CaseSource::WholeRun{0, "largest error 2.4e-07 of 64"};
  EXPECT_TRUE(verdict("prints").isCorrect()) << verdict("prints").summary();
  cases.whole["prints"] = {0, "largest error 3.6e-05 of 64"};
  EXPECT_EQ(verdict("prints").gate, GateId::G14) << "a hundred times as much is no rounding";
  cases.whole["prints"] = {0, "largest error 1.2e-07 of 65"};
  EXPECT_EQ(verdict("prints").gate, GateId::G14);
}

TEST_F(JudgeGpuTest, ThatAProgramCouldNotRunUnderOtherRoundingsIsSaid) {
  good("prints");
  cases.whole = {{"original", {0, "largest error 1.2e-07 of 64"}},
                 {"prints", {0, "largest error 3.6e-07 of 64"}}};
  cases.wholeRerounded = CaseSource::WholeRun{0, "largest error 2.4e-07 of 64"};
  promise.result = Promise::Reassociates;
  compiler.assembles = false;
  GateRecord record = gate(GateId::G14, "prints");
  ASSERT_TRUE(record.stops() && !record.details.empty());
  EXPECT_NE(record.details.back().find("not run under other roundings: nvcc not found"),
            std::string::npos)
      << record.details.back();
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
  promise.result = Promise::Reassociates;
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  program("good", scaled(1.0001f));
  EXPECT_EQ(verdict("good").gate, GateId::G6);
  EXPECT_GE(fake.count("ptx up"), 1);
  EXPECT_EQ(llvm::count(device.log, "original plain"), 8)
      << "only the orders of the baseline, twice";
  // Where the driver refuses it, four roundings are allowed, and the record says so.
  fake.takesPtx = false;
  program("good", scaled(1.000015f));
  GateRecord record = gate(GateId::G6);
  EXPECT_TRUE(record.stops());
  ASSERT_EQ(record.details.size(), 3u);
  EXPECT_NE(record.details[2].find("no runs under other roundings: the driver is older"),
            std::string::npos)
      << record.details[2];
}

TEST_F(JudgeGpuTest, TheFloat64OracleIsComputedOnTheCpuDevice) {
  // Sums of about 21.6 by atomic additions, which no direction of rounding moves.
  auto sums = [](double more) {
    return [more](const RunOptions &) {
      return floats([more](unsigned i) { return static_cast<float>(21.6 + i + more); });
    };
  };
  program("original", sums(0));
  good("other order");
  program("other order", sums(3.43e-5));
  good("dropped");
  program("dropped", sums(1e-2));
  Behaviour plain = device.programs["original"];
  RunStatus status = RunStatus::Ok;
  device.programs["original"] = [&](RunMode mode, llvm::StringRef folder,
                                    const RunOptions &options) {
    RunResult result = plain(mode, folder, options);
    if (mode != RunMode::Oracle)
      return result;
    std::vector<kbrt::OracleElement> elements;
    for (unsigned i = 0; i < count; ++i)
      elements.push_back({21.6 + i, 1e-3, 0, 8192});
    result.outputs[0] = std::string(reinterpret_cast<const char *>(elements.data()),
                                    elements.size() * sizeof elements[0]);
    result.status = status;
    result.message = status == RunStatus::Ok ? "" : "no end within 20 s";
    return result;
  };
  promise.result = Promise::Reassociates;
  EXPECT_TRUE(verdict("other order").isCorrect()) << verdict("other order").summary();
  EXPECT_GE(llvm::count(device.log, "original oracle"), 1);
  EXPECT_EQ(verdict("dropped").gate, GateId::G6);
  // Where it does not end there, the usual bounds stay, and the record says so.
  status = RunStatus::Timeout;
  GateRecord record = gate(GateId::G6, "other order");
  EXPECT_TRUE(record.stops());
  ASSERT_FALSE(record.details.empty());
  EXPECT_NE(record.details.back().find("no float64 oracle for case recorded: no end within 20 s"),
            std::string::npos)
      << record.details.back();
}

TEST_F(JudgeGpuTest, WhatTheCountedRoundingsAllowAsksForNoOtherRunsOfTheOriginal) {
  auto scaled = [](float factor) {
    return [factor](const RunOptions &options) {
      const float moved = options.rounding == Rounding::Up ? 1.00001f : 1.0f;
      return floats([=](unsigned i) { return factor * moved * (2.0f * (i + 1)); });
    };
  };
  program("original", scaled(1.0f));
  promise.result = Promise::Reassociates;
  for (JudgeEffort effort : {JudgeEffort::Search, JudgeEffort::Final}) {
    options.effort = effort;
    // A unit in the last place: four roundings are allowed without any other run.
    program("good", scaled(1.0000001f));
    fake.log.clear();
    EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
    EXPECT_EQ(llvm::count_if(
                  fake.log,
                  [](const std::string &line) { return llvm::StringRef(line).starts_with("ptx"); }),
              0);
    program("good", scaled(1.000015f));
    EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
    EXPECT_GE(fake.count("ptx up"), 1);
  }
}

TEST_F(JudgeGpuTest, TheOriginalsRunsAreMadeOnceForAllCandidates) {
  options.effort = JudgeEffort::Search;
  promise.result = Promise::Reassociates;
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
  promise.result = Promise::Reassociates;
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  program("good", scaled(1.0001f));
  EXPECT_EQ(verdict("good").gate, GateId::G6);
}

TEST_F(JudgeGpuTest, ANearMissIsHeldAgainstDrawnDirections) {
  // One element does not move in the usual runs, and a right rewrite moves it by 4 bounds.
  auto off = [](std::set<unsigned> which, float factor) {
    return [=](const RunOptions &) {
      return floats(
          [=](unsigned i) { return (which.count(i) ? factor : 1.0f) * (2.0f * (i + 1)); });
    };
  };
  program("original", [off](const RunOptions &options) {
    return off({3, 5}, options.seed == 83 ? 1.000005f : 1.0f)(options);
  });
  promise.result = Promise::Reassociates;
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
  promise.result = Promise::Bitwise;
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
  promise.result = Promise::LowerPrecision;
  EXPECT_EQ(verdict("good").gate, GateId::G6) << "no float64 in its code";
  EXPECT_EQ(fake.count("ptx narrow-up"), 0);
  auto wide = [&](llvm::StringRef more) {
    compiler.ptx["original"] = compiler.ptx["good"] =
        (".visible .entry k()\n{\n\tcvt.f64.f32 \t%fd1, %f1;\n\tfma.rn.f64 \t%fd2, %fd1, "
         "0d3FC999999999999A, %fd1;\n" +
         more + "\tcvt.rn.f32.f64 \t%f2, %fd2;\n\tret;\n}\n")
            .str();
  };
  wide("");
  promise.result = Promise::Reassociates;
  EXPECT_EQ(verdict("good").gate, GateId::G6);
  EXPECT_EQ(fake.count("ptx narrow-up"), 0);
  promise.result = Promise::LowerPrecision;
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
  EXPECT_GE(fake.count("ptx narrow-up"), 1);
  for (const char *more :
       {"\tmov.b64 \t{%r1, %r2}, %fd2;\n", "\tadd.f64 \t%fd2, %fd2, %fd1;\n",
        "\tst.global.f64 \t[%rd1], %fd2;\n",
        "\tld.global.f64 \t%fd3, [%rd1];\n\tadd.f64 \t%fd4, %fd2, %fd3;\n",
        "\t@%p1 mov.f64 \t%fd2, 0d0000000000000000;\n", "\trsqrt.approx.ftz.f64 \t%fd3, %fd2;\n",
        "\t{ mov.b64 %rd3, %fd2; }\n", "\tst.param.f64 \t[param0+0], %fd2;\n"}) {
    wide(more);
    EXPECT_EQ(verdict("good").gate, GateId::G6) << more;
  }
  wide("\tneg.f64 \t%fd3, %fd2;\n\tsetp.lt.f64 \t%p1, %fd3, 0d0000000000000000;\n\tselp.f64 "
       "\t%fd4, %fd1, %fd3, %p1;\n");
  EXPECT_TRUE(verdict("good").isCorrect()) << verdict("good").summary();
}

TEST_F(JudgeGpuTest, OperationsAreTheGpusWhereTheCpuDeviceCountsNone) {
  program("good", [](const RunOptions &) {
    return floats([](unsigned i) { return 2.0f * (i + 1) * 1.00002f; });
  });
  promise.result = Promise::Reassociates;
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

} // namespace
