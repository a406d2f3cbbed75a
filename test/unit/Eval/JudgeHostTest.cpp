//===- JudgeHostTest.cpp - Hosts that read the original's results (G14) ---===//
#include "JudgeGpuFakes.h"

using namespace kbopt;

namespace {

/// A candidate with a host of its own, whose whole program prints what G14's tolerance allows.
struct JudgeHostTest : JudgeGpuTest {
  using Run = CaseSource::WholeRun;

  void SetUp() override {
    JudgeGpuTest::SetUp();
    good("host");
    promise.result = Promise::Reassociates;
    cases.whole = {{"original", {0, "total 1000.0"}}, {"host", {0, "total 1000.5"}}};
    cases.hosts = {{0, "total 1000.0"}};
  }
  Verdict fed(Run run) {
    cases.fed["host"] = std::move(run);
    return verdict("host");
  }
};

TEST_F(JudgeHostTest, PrintsTheSameOfTheSameResults) {
  EXPECT_TRUE(fed({0, "total 1000.0"}).isCorrect());
  Verdict changed = fed({0, "total 1000.5"});
  EXPECT_EQ(changed.gate, GateId::G14) << "its own results may differ by so much, its host may not";
  EXPECT_NE(changed.reason.find("line 1 of what the host prints, given the original's results"),
            std::string::npos)
      << changed.reason;
  EXPECT_EQ(fed({0, "total 1000"}).gate, GateId::G14) << "fewer digits";
}

TEST_F(JudgeHostTest, WritesTheSameToStandardError) {
  cases.hosts = {{0, "total 1000.0", {}, "warning: 3 rows are empty"}};
  cases.whole["original"] = cases.hosts.front();
  EXPECT_TRUE(fed({0, "total 1000.0", {}, "warning: 3 rows are empty"}).isCorrect());
  EXPECT_EQ(fed({0, "total 1000.0", {}, "warning: rows are empty"}).gate, GateId::G14);
  EXPECT_EQ(fed({0, "total 1000.0"}).gate, GateId::G14);
}

TEST_F(JudgeHostTest, TimesDifferByThemselves) {
  cases.whole = {{"original", {0, "total 1000.0 in 3.1 ms"}},
                 {"host", {0, "total 1000.0 in 3.1 ms"}}};
  cases.hosts = {
      {0, "total 1000.0 in 3.1 ms"}, {0, "total 1000.0 in 3.1 ms"}, {0, "total 1000.0 in 2.9 ms"}};
  EXPECT_TRUE(fed({0, "total 1000.0 in 2.8 ms"}).isCorrect()) << "the third run tells";
  EXPECT_EQ(fed({0, "total 1000.5 in 2.8 ms"}).gate, GateId::G14);
}

TEST_F(JudgeHostTest, WhereTheNumberOfLinesChangesByItselfNothingIsCompared) {
  cases.whole = {{"original", {0, "tick\ntotal 1"}}, {"host", {0, "tick\ntotal 1"}}};
  cases.hosts = {{0, "tick\ntotal 1"}, {0, "tick\ntotal 1"}, {0, "tick\ntick\ntotal 1"}};
  EXPECT_TRUE(fed({0, "total 1"}).isCorrect());
  cases.hosts.pop_back();
  EXPECT_EQ(fed({0, "total 1"}).gate, GateId::G14);
}

TEST_F(JudgeHostTest, ResultsThatChangeEachTimeExcuseNoHost) {
  // Whole runs differ in a number that the host makes of results; hosts that are fed do not.
  cases.wholeRuns = {{"original", {{0, "total 1000.0"}, {0, "total 1000.6"}}},
                     {"host", {{0, "total 1000.5"}}}};
  program("original", [calls = std::make_shared<int>(0)](const RunOptions &) {
    std::string bytes = right();
    bytes[0] ^= (*calls)++ % 2;
    return bytes;
  });
  EXPECT_EQ(fed({0, "total 1000.5"}).gate, GateId::G14);
}

TEST_F(JudgeHostTest, WhatKernelsPrintIsNoHosts) {
  cases.hosts = {{0, "from a kernel\ntotal 1000.0"}, {0, "total 1000.0"}};
  cases.whole = {{"original", cases.hosts.front()}, {"host", {0, "from a kernel\ntotal 1000.5"}}};
  EXPECT_TRUE(fed({0, "total 1000.0"}).isCorrect());
  EXPECT_EQ(fed({0, "total 1000.5"}).gate, GateId::G14);
}

} // namespace
