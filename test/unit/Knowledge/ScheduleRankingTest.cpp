//===- ScheduleRankingTest.cpp - What other kernels tell of schedules -----===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;

namespace {

using Figures = std::map<std::string, double>;

const Figures rowSums{{"points", 12}, {"terms", 10}, {"loads", 1}, {"fits-rows", 1}};

/// Schedules of which the model takes each for a tenth slower than the one before.
NestFacts facts(Figures figures) {
  return {std::move(figures),
          {{"rows team=32 vector=1", 10}, {"rows team=32 vector=4", 11}, {"map unroll=1", 12.1}}};
}

std::vector<std::string> byModel() {
  return {"rows team=32 vector=1", "rows team=32 vector=4", "map unroll=1"};
}

/// A kernel of \p program whose launches took \p us with the schedules of `byModel`, in its order.
EvidenceSet trials(llvm::StringRef program, const Figures &figures, std::vector<double> us,
                   llvm::StringRef chip = "h200") {
  EvidenceSet set;
  const NestFacts known = facts(figures);
  for (size_t i = 0; i != us.size(); ++i) {
    Evidence e;
    e.primary = "memory_latency_bound";
    e.pass = "schedule";
    e.parameters = {{"as", byModel()[i]}};
    e.chip = chip.str();
    e.device = "cuda";
    e.program = e.before = program.str();
    e.achievedGain = std::log(100 / us[i]);
    e.nest = figures;
    e.estimatedUs = known.estimatesUs.at(byModel()[i]);
    set.insert(e);
  }
  return set;
}

KnowledgeBase after(std::vector<EvidenceSet> sets) {
  KnowledgeBase base(llvm::cantFail(loadChip("h200")), "cuda");
  for (const EvidenceSet &set : sets)
    base.learn(set);
  return base;
}

} // namespace

TEST(ScheduleRanking, WithoutEvidenceTheModelsOrderStays) {
  EXPECT_EQ(after({}).orderSchedules(facts(rowSums), byModel()), byModel());
  KnowledgeBase taught = after({trials("p", rowSums, {30, 20, 10})});
  EXPECT_EQ(taught.orderSchedules(facts({}), byModel()), byModel()) << "sizes are unknown";
  EXPECT_TRUE(taught.scheduleVoices(facts({})).empty());
}

TEST(ScheduleRanking, ANestLikeItPutsItsBestFirst) {
  KnowledgeBase base = after({trials("p", rowSums, {30, 20, 10})});
  Figures larger = rowSums;
  larger["points"] = 14;
  EXPECT_EQ(base.orderSchedules(facts(larger), byModel()).front(), "map unroll=1");
  std::vector<RankingVoice> voices = base.scheduleVoices(facts(larger));
  ASSERT_EQ(voices.size(), 1u);
  EXPECT_EQ(voices[0].program, "p");
  EXPECT_EQ(voices[0].records.size(), 3u);
  EXPECT_LT(voices[0].weight, 1);
}

TEST(ScheduleRanking, AnotherKindOfNestSaysNothing) {
  KnowledgeBase base = after({trials("p", rowSums, {30, 20, 10})});
  Figures scatter{{"points", 24}, {"atomics", 3}, {"loads", 5}, {"fits-scatter", 1}};
  EXPECT_EQ(base.orderSchedules(facts(scatter), byModel()), byModel());
}

TEST(ScheduleRanking, OneTrialAloneTellsNoOrder) {
  EXPECT_EQ(after({trials("p", rowSums, {90})}).orderSchedules(facts(rowSums), byModel()),
            byModel());
}

TEST(ScheduleRanking, WhatIsKnownOfAKeyHoldsForOtherValuesOfIt) {
  KnowledgeBase base = after({trials("p", rowSums, {10, 40, 12})}); // wide loads cost much
  NestFacts other = facts(rowSums);
  other.estimatesUs = {{"rows team=32 vector=8", 10}, {"rows team=64 vector=1", 11}};
  EXPECT_EQ(base.orderSchedules(other, {"rows team=32 vector=8", "rows team=64 vector=1"}).front(),
            "rows team=64 vector=1");
}

TEST(ScheduleRanking, AStrangeChipIsBelievedLess) {
  auto correction = [](llvm::StringRef chip) {
    EvidenceSet set = trials("p", rowSums, {30, 20, 10}, chip);
    KnowledgeBase base = after({set});
    ScheduleRanking ranking(set, experimentsOf(set));
    return ranking.correction(
        facts(rowSums), "map unroll=1",
        [&](const std::string &name, llvm::StringRef device) { return base.trust(name, device); });
  };
  EXPECT_LT(correction("h200"), correction("a100"));
  EXPECT_LT(correction("a100"), 0);
}

TEST(ScheduleRanking, LikenessIsSymmetricAndOneForTheSame) {
  Figures other = rowSums;
  other["loads"] = 2;
  other["fits-columns"] = 1;
  EXPECT_EQ(nestLikeness(rowSums, rowSums), 1);
  EXPECT_EQ(nestLikeness(rowSums, other), nestLikeness(other, rowSums));
  EXPECT_LT(nestLikeness(rowSums, other), 0.5);
  auto alike = [](llvm::StringRef a, llvm::StringRef b) {
    return scheduleLikeness(ScheduleKeys(a), ScheduleKeys(b));
  };
  EXPECT_EQ(alike("rows team=32", "rows team=32"), 1);
  EXPECT_EQ(alike("rows team=32", "map unroll=1"), 0);
  EXPECT_GT(alike("rows team=32 vector=2", "rows team=32 vector=4"),
            alike("rows team=32 vector=2", "rows team=128 vector=4"));
  EXPECT_LT(alike("rows team=32", "rows team=32 vector=4"), 1);
}
