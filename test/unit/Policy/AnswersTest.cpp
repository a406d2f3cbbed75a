//===- AnswersTest.cpp - What findings name comes first -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FakeEnvironment.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

FakePass passOn(llvm::StringRef name, llvm::StringRef kernel, double factor) {
  FakePass pass{name.str(), {{"", factor}}};
  pass.kernel = kernel.str();
  return pass;
}

FakePass named(llvm::StringRef name, llvm::StringRef kernel, double factor) {
  FakePass pass = passOn(name, kernel, factor);
  pass.isNamed = true;
  return pass;
}

FakePass schedules(llvm::StringRef kernel, double factor) {
  FakePass pass = passOn("schedule", kernel, 1);
  pass.sketch = true;
  pass.values = {"0"};
  pass.defaultValue = "0";
  pass.factors = {{"0", factor}};
  return pass;
}

SearchOptions options() {
  SearchOptions result;
  result.tune = false;
  return result;
}

SearchResult searchWithAnswers(Environment &world, const SearchOptions &options) {
  return search(world, options, "rollout", nullptr, seedKnowledge(), /*answers=*/true);
}

} // namespace

TEST(Answers, WhatAFindingNamesIsTheFirstCandidate) {
  FakeEnvironment world;
  world.passes = {schedules("k", 0.9), passOn("a", "k", 0.95), named("pad", "k", 0.5)};
  SearchOptions first = options();
  first.budgetCandidates = 4;
  SearchResult result = searchWithAnswers(world, first);
  ASSERT_FALSE(result.attempts.empty());
  EXPECT_EQ(result.attempts.front().step.pass, "pad");
}

TEST(Answers, ARecipeThatFitsIsTheFirstCandidate) {
  FakeEnvironment world;
  world.passes = {schedules("k", 0.9), passOn("coalesce-accesses", "k", 0.95),
                  passOn("by-warp", "k", 0.5)};
  world.passes.back().isRecipe = true;
  SearchOptions first = options();
  first.budgetCandidates = 4;
  SearchResult result = searchWithAnswers(world, first);
  ASSERT_FALSE(result.attempts.empty());
  EXPECT_EQ(result.attempts.front().step.pass, "by-warp");
}

TEST(Answers, AnAnswerIsJoinedWithTheSchedulesOfOtherKernels) {
  FakeEnvironment world;
  world.passes = {schedules("other", 0.5), named("pad", "k", 0.5)};
  SearchOptions none = options();
  none.trajectories = 0;
  SearchResult result = searchWithAnswers(world, none);
  EXPECT_NEAR(result.bestUs, 25, 1e-9);
}

TEST(Answers, WithoutMemoryTheSameChoicesAreThere) {
  FakeEnvironment world;
  // The seed says that it takes most of this state's time away; no finding names it.
  world.passes = {passOn("coalesce-accesses", "k", 0.5)};
  SearchOptions bare = options();
  bare.memory = false;
  bare.trajectories = 0;
  EXPECT_NEAR(searchWithAnswers(world, bare).bestUs, 50, 1e-9);
}

TEST(Answers, OneThatIsSlowerIsNotFollowed) {
  FakeEnvironment world;
  world.passes = {schedules("k", 0.5), named("pad", "k", 1.5)};
  SearchOptions none = options();
  none.trajectories = 0;
  SearchResult result = searchWithAnswers(world, none);
  EXPECT_NEAR(result.bestUs, 50, 1e-9);
  EXPECT_EQ(result.pipeline.size(), 1u);
}

TEST(Answers, AGainBelowWhatCanBeToldIsNone) {
  FakeEnvironment world;
  world.least = 0.05;
  world.passes = {passOn("a", "k", 0.97)};
  SearchResult result = searchWithAnswers(world, options());
  EXPECT_TRUE(result.pipeline.empty());
  EXPECT_EQ(result.bestUs, 100);
  EXPECT_NEAR(result.leastUs, 97, 1e-9);
}

TEST(Answers, StepsThatTogetherCostLessThanCanBeToldLeave) {
  FakeEnvironment world;
  world.least = 0.05;
  world.passes = {passOn("a", "k", 0.5), passOn("b", "k", 0.98)};
  SearchResult result = searchWithAnswers(world, options());
  EXPECT_EQ(printPipeline(result.pipeline), "a{kernel=k}");
}
