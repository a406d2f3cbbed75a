//===- FoldTest.cpp - The same bytes from the same set --------------------===//
#include "kb-opt/Knowledge/Fold.h"
#include "kb-opt/Support/Random.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;

namespace {

Evidence tryOf(llvm::StringRef pass, double gain, llvm::StringRef program = "p",
               llvm::StringRef device = "cuda") {
  Evidence e;
  e.primary = "memory_latency_bound";
  e.pass = pass.str();
  e.chip = "h200";
  e.device = device.str();
  e.program = program.str();
  e.achievedGain = gain;
  e.predictedGain = 0.1;
  return e;
}

const PassKey unroll{"memory_latency_bound", "unroll-loop", "h200", "cuda"};

} // namespace

TEST(Fold, CountsAndMoments) {
  EvidenceSet set;
  set.insert(tryOf("unroll-loop", 0.1));
  set.insert(tryOf("unroll-loop", 0.3));
  Evidence wrong = tryOf("unroll-loop", 0);
  wrong.verdict = VerdictKind::Incorrect;
  wrong.achievedGain.reset();
  wrong.gate = GateId::G6;
  wrong.failure = FailureClass::Correctness;
  wrong.reason = "out[3] differs";
  set.insert(wrong);
  Evidence idle = wrong;
  idle.verdict = VerdictKind::NotApplied;
  set.insert(idle);
  FoldedKnowledge folded = foldEvidence(set);
  const PassStatistics &statistics = folded.passes.at(unroll);
  EXPECT_EQ(statistics.tries, 4u);
  EXPECT_EQ(statistics.applied, 3u);
  EXPECT_EQ(statistics.correct, 2u);
  EXPECT_EQ(statistics.gain.count, 2u);
  EXPECT_NEAR(statistics.gain.mean, 0.2, 1e-15);
  EXPECT_NEAR(statistics.gain.variance, 0.02, 1e-15);
  EXPECT_NEAR(statistics.gapMean, 0.1, 1e-15);
  ASSERT_EQ(folded.failures.size(), 1u);
  EXPECT_EQ(
      folded.failures.at({"unroll-loop", GateId::G6, FailureClass::Correctness, "out[#] differs"})
          .reason,
      "out[3] differs");
}

TEST(Fold, WhatWasScreenedAloneCountsHalfAndIsNoExample) {
  EvidenceSet set;
  set.insert(tryOf("unroll-loop", 0.3));
  Evidence screened = tryOf("unroll-loop", 0.9, "q");
  screened.verdict = VerdictKind::Screened;
  screened.reply = std::string(64, 'a');
  set.insert(screened);
  FoldedKnowledge folded = foldEvidence(set);
  const PassStatistics &unrolled = folded.passes.at(unroll);
  EXPECT_EQ(unrolled.tries, 1u);
  EXPECT_EQ(unrolled.correct, 1u);
  EXPECT_EQ(unrolled.screened, 1u);
  EXPECT_EQ(unrolled.gain.count, 2u);
  EXPECT_DOUBLE_EQ(unrolled.gain.weight, 1.5);
  EXPECT_DOUBLE_EQ(unrolled.gain.mean, (0.3 + 0.5 * 0.9) / 1.5);
  EXPECT_TRUE(folded.examples.empty());
}

TEST(Fold, EdgesAndParameters) {
  EvidenceSet set;
  Evidence after = tryOf("unroll-loop", 0.4);
  after.predecessor = "hoist-loop-invariant";
  after.parameters = {{"factor", "4"}};
  set.insert(after);
  set.insert(tryOf("unroll-loop", 0.1));
  FoldedKnowledge folded = foldEvidence(set);
  EXPECT_EQ(folded.edges.size(), 1u);
  EXPECT_EQ(folded.edges.at({"hoist-loop-invariant", "unroll-loop", "h200", "cuda"}).mean, 0.4);
  EXPECT_EQ(folded.parameters.at(unroll).at("factor=4").count, 1u);
}

TEST(Fold, TheDeterministicDeviceCountsAnExperimentOnce) {
  EvidenceSet set;
  for (double predicted : {0.1, 0.2}) {
    for (llvm::StringRef device : {"cpu-modelled", "cuda"}) {
      Evidence e = tryOf("unroll-loop", 0.3, "p", device);
      e.predictedGain = predicted; // the second run expected something else
      set.insert(e);
    }
  }
  FoldedKnowledge folded = foldEvidence(set);
  EXPECT_EQ(folded.records, 4u);
  EXPECT_EQ(folded.repeated, 1u);
  EXPECT_EQ(folded.passes.at({"memory_latency_bound", "unroll-loop", "h200", "cpu-modelled"}).tries,
            1u);
  EXPECT_EQ(folded.passes.at(unroll).tries, 2u);
}

// Whatever the order of arrival and however the logs were split, every byte is
// the same; the values are chosen so that plain sums would differ.
TEST(Fold, IsRepeatableBitForBit) {
  Random random(7);
  std::vector<Evidence> records;
  for (int i = 0; i != 200; ++i) {
    Evidence e = tryOf(i % 3 ? "unroll-loop" : "vectorize-loads",
                       std::ldexp(random.normal(), static_cast<int>(random.below(40)) - 20),
                       "p" + std::to_string(i));
    e.predecessor = i % 2 ? "add-restrict-const" : "";
    records.push_back(e);
  }
  std::string expected;
  for (int round = 0; round != 5; ++round) {
    EvidenceSet left, right;
    for (const Evidence &record : records)
      (random.below(2) ? left : right).insert(record);
    (round % 2 ? left : right).merge(round % 2 ? right : left);
    std::string json = toJson(foldEvidence(round % 2 ? left : right));
    if (expected.empty())
      expected = json;
    EXPECT_EQ(json, expected);
    for (size_t i = records.size() - 1; i > 0; --i)
      std::swap(records[i], records[random.below(i + 1)]);
  }
}

TEST(Fold, SumsAreCompensated) {
  EvidenceSet set;
  // In any order the naive sum of these loses the small ones.
  double sum = 0;
  for (int i = 0; i != 1000; ++i) {
    set.insert(tryOf("unroll-loop", 1e-16 * i, "p" + std::to_string(i)));
    sum += i;
  }
  set.insert(tryOf("unroll-loop", 1, "big"));
  set.insert(tryOf("unroll-loop", -1, "small"));
  EXPECT_NEAR(foldEvidence(set).passes.at(unroll).gain.mean, 1e-16 * sum / 1002, 1e-25);
}

TEST(Fold, TheJsonIsValidAndNamesEverything) {
  EvidenceSet set;
  Evidence e = tryOf("unroll-loop", 0.25);
  e.parameters = {{"factor", "4"}};
  set.insert(e);
  std::string text = toJson(foldEvidence(set));
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  ASSERT_TRUE(bool(json)) << llvm::toString(json.takeError()) << text;
  const llvm::json::Object &root = *json->getAsObject();
  EXPECT_EQ(root.getInteger("attempts"), 1);
  ASSERT_EQ(root.getArray("passes")->size(), 1u);
  const llvm::json::Object &pass = *(*root.getArray("passes"))[0].getAsObject();
  EXPECT_EQ(pass.getString("pass"), "unroll-loop");
  EXPECT_EQ(pass.getNumber("gainMean"), 0.25);
  EXPECT_EQ((*root.getArray("parameters"))[0].getAsObject()->getString("parameters"), "factor=4");
  EXPECT_TRUE(bool(llvm::json::parse(toJson(foldEvidence({})))));
}
