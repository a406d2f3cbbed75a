#include "kb-opt/Eval/Verdict.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

TEST(Verdict, TheFirstStoppingGateDecides) {
  Verdict verdict;
  verdict.kind = VerdictKind::Correct;
  verdict.add(GateRecord::pass(GateId::G1));
  verdict.add(GateRecord::fail(GateId::G6, FailureClass::Correctness, "out[3] is 7, expected 8"));
  verdict.add(GateRecord::undecided(GateId::G7, "no time left"));
  EXPECT_EQ(verdict.kind, VerdictKind::Incorrect);
  EXPECT_EQ(verdict.summary(), "incorrect (correctness, G6 numerics): out[3] is 7, expected 8");
  EXPECT_EQ(verdict.gates.size(), 3u);
}

TEST(Verdict, UndecidedIsInconclusiveAndHasNoFailureClass) {
  Verdict verdict;
  verdict.add(GateRecord::undecided(GateId::G5, "no case was admitted"));
  EXPECT_EQ(verdict.summary(), "inconclusive (G5 case admission): no case was admitted");
}

TEST(Verdict, JsonRoundTripKeepsEverything) {
  Verdict verdict;
  verdict.kind = VerdictKind::Correct;
  verdict.add(GateRecord::notRun(GateId::G9, "needs a GPU"));
  GateRecord record = GateRecord::fail(GateId::G4, FailureClass::Runtime, "race", {"a", "b"});
  record.cases = 3;
  record.seconds = 0.5;
  verdict.add(record);
  llvm::json::Value value = toJSON(verdict);
  Verdict back;
  llvm::json::Path::Root root("verdict");
  ASSERT_TRUE(fromJSON(value, back, root));
  EXPECT_EQ(toJSON(back), value);
  EXPECT_EQ(back.gates[1].details.size(), 2u);
  EXPECT_EQ(back.gates[1].cases, 3u);
}

TEST(Verdict, JsonRoundTripKeepsTimes) {
  Verdict verdict;
  TimingReport report;
  report.status = RunStatus::Timeout;
  report.message = "no end";
  report.cold.baseline = {30, 1, 2, 3, 0.5};
  report.cold.candidate = {31, 4, 5, 6, 0.25};
  report.cold.decision = TimingDecision::Slower;
  report.cold.reason = "it is";
  report.cold.ratio = 0.4;
  report.cold.ratioLowerBound = 0.3;
  report.cold.stop = "quiet";
  report.cold.discardedShare = 0.125;
  report.hot = report.cold;
  report.hot->decision = TimingDecision::Faster;
  report.emptyKernelUs = 2.5;
  report.outputsChecked = uint64_t(1) << 40;
  report.outputsDifferent = 2;
  report.device = {"NVIDIA H200", "sm_90", "580", 132, 1, 2, {"others compute"}};
  verdict.timing = report;
  llvm::json::Value value = toJSON(verdict);
  Verdict back;
  llvm::json::Path::Root root("verdict");
  ASSERT_TRUE(fromJSON(value, back, root));
  EXPECT_EQ(toJSON(back), value);
  ASSERT_TRUE(back.timing.has_value());
  EXPECT_EQ(back.timing->hot->decision, TimingDecision::Faster);
  EXPECT_EQ(back.timing->status, RunStatus::Timeout);
  EXPECT_EQ(back.timing->outputsChecked, uint64_t(1) << 40);
  EXPECT_FALSE(back.timing->batchedBaselineUs.has_value());
  value.getAsObject()->getObject("timing")->getObject("cold")->operator[]("decision") = "perhaps";
  EXPECT_FALSE(fromJSON(value, back, root));
}

TEST(Verdict, JsonWithAnUnknownNameIsRefused) {
  auto value = llvm::json::parse(R"({"verdict": "probably", "gates": []})");
  ASSERT_TRUE(bool(value));
  Verdict verdict;
  llvm::json::Path::Root root("verdict");
  EXPECT_FALSE(fromJSON(*value, verdict, root));
  EXPECT_EQ(llvm::toString(root.getError()), "unknown name at verdict.verdict");
}

TEST(Verdict, EveryNameParsesBack) {
  for (int i = 0; i <= static_cast<int>(GateId::G15); ++i)
    EXPECT_EQ(parseGateId(toString(static_cast<GateId>(i))), static_cast<GateId>(i));
  for (int i = 0; i <= static_cast<int>(FailureClass::Constraints); ++i)
    EXPECT_EQ(parseFailureClass(toString(static_cast<FailureClass>(i))),
              static_cast<FailureClass>(i));
  EXPECT_FALSE(parseGateId("G16"));
}

} // namespace
