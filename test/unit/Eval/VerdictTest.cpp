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
