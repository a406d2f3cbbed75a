//===- SketchesTest.cpp - Whole schedules before single steps -------------===//
#include "FakeEnvironment.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// A pass with the schedules 0 to 11, of which the model and the measurement prefer others.
FakePass sketches(llvm::StringRef name, llvm::StringRef kernel) {
  FakePass pass{name.str()};
  pass.kernel = kernel.str();
  pass.sketch = true;
  pass.factors.clear();
  for (int i = 0; i != 12; ++i) {
    std::string value = std::to_string(i);
    pass.values.push_back(value);
    pass.factors[value] = i == 9 ? 0.25 : i == 2 ? 0.1 : 0.5;
    pass.modelled[value] = 100 - i; // the last eight are judged
  }
  pass.defaultValue = "0";
  return pass;
}

std::vector<const Attempt *> attemptsOf(const SearchResult &result, AttemptPhase phase) {
  std::vector<const Attempt *> found;
  for (const Attempt &attempt : result.attempts)
    if (attempt.phase == phase)
      found.push_back(&attempt);
  return found;
}

} // namespace

TEST(Sketches, JudgesTheEightThatTheModelPrefers) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k")};
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  auto tried = attemptsOf(result, AttemptPhase::Sketch);
  ASSERT_EQ(tried.size(), 12u);
  EXPECT_EQ(llvm::count_if(tried, [](const Attempt *each) { return each->judged(); }), 8);
  for (const Attempt *each : tried)
    EXPECT_EQ(each->shortcut == "outranked", std::stoi(each->step.parameters.at("n")) < 4);
  EXPECT_NEAR(result.bestUs, 25, 1e-9); // schedule 2 would be 10, but the model does not see it
}

TEST(Sketches, ABudgetBoundsWhatIsModelled) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k")};
  SearchOptions options;
  options.tune = false;
  options.budgetCandidates = 2;
  SearchResult result = search(world, options);
  EXPECT_EQ(result.end, SearchEnd::BudgetCandidates);
  EXPECT_EQ(result.judged, 2u);
  auto tried = attemptsOf(result, AttemptPhase::Sketch);
  ASSERT_EQ(tried.size(), 8u); // of twelve: four for each that may be judged
  // The two that the model prefers among them, whatever their place in the list.
  for (const Attempt *each : tried)
    EXPECT_EQ(each->judged(), std::stoi(each->step.parameters.at("n")) >= 6);
}

TEST(Sketches, AreNotRecordedWhereNothingWasMeasured) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k")};
  SearchOptions options;
  options.tune = false;
  EXPECT_EQ(search(world, options).evidence.size(), 8u);
}

TEST(Sketches, TheSearchGoesOnFromTheBest) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k"), FakePass{"unroll-loop", {{"", 0.8}}}};
  SearchResult result = search(world);
  EXPECT_NEAR(result.bestUs, 20, 1e-9);
  ASSERT_EQ(result.pipeline.size(), 2u);
  EXPECT_EQ(result.pipeline[0].pass, "schedule");
  for (const Attempt *each : attemptsOf(result, AttemptPhase::Search))
    EXPECT_NE(each->parent, world.root());
}

TEST(Sketches, AreTriedForEveryKernelThatTakesTime) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k"), sketches("schedule-other", "other"),
                  sketches("schedule-idle", "idle")};
  world.adjust = [](const FakeEnvironment::Moves &, NodeJudgement &judgement) {
    judgement.kernels["k"] = {40, judgement.state, ""};
    judgement.kernels["other"] = {59, judgement.state, ""};
    judgement.kernels["idle"] = {1, judgement.state, ""};
  };
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  auto tried = attemptsOf(result, AttemptPhase::Sketch);
  ASSERT_EQ(tried.size(), 23u);
  EXPECT_EQ(tried[1]->step.kernel, "other");
  EXPECT_EQ(tried.back()->step.kernel, "k");
  EXPECT_NE(tried.back()->parent, world.root());
  EXPECT_EQ(result.pipeline.size(), 2u);
}

TEST(Sketches, TheFirstCandidateSchedulesEveryKernelThatTakesTime) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k"), sketches("schedule-other", "other"),
                  sketches("schedule-idle", "idle")};
  world.adjust = [](const FakeEnvironment::Moves &, NodeJudgement &judgement) {
    judgement.kernels["k"] = {40, judgement.state, ""};
    judgement.kernels["other"] = {59, judgement.state, ""};
    judgement.kernels["idle"] = {1, judgement.state, ""};
  };
  SearchOptions options;
  options.tune = options.ablate = false;
  options.budgetCandidates = 1;
  SearchResult result = search(world, options);
  ASSERT_EQ(result.attempts.size(), 1u);
  EXPECT_EQ(result.attempts.front().text(),
            "schedule-other{n=0 kernel=other},schedule{n=0 kernel=k}");
  EXPECT_NEAR(result.bestUs, 25, 1e-9);
  EXPECT_EQ(result.pipeline.size(), 2u);
  EXPECT_TRUE(result.evidence.empty()); // of which of the two is the gain?
}

TEST(Sketches, TheFirstCandidateLeavesOutWhatDoesNotApply) {
  FakeEnvironment world;
  FakePass never = sketches("schedule-other", "other");
  never.requires_ = "another-pass";
  world.passes = {never, sketches("schedule", "k")};
  SearchOptions options;
  options.tune = options.ablate = false;
  options.budgetCandidates = 1;
  SearchResult result = search(world, options);
  ASSERT_FALSE(result.attempts.empty());
  EXPECT_EQ(result.attempts.front().text(), "schedule{n=0 kernel=k}");
  EXPECT_NEAR(result.bestUs, 50, 1e-9);
  EXPECT_EQ(result.evidence.size(), 1u);
}

TEST(Sketches, KernelsAreTriedOneByOneWhereAllTogetherGainNothing) {
  FakeEnvironment world;
  FakePass wrong = sketches("schedule-other", "other");
  wrong.verdict = VerdictKind::Incorrect;
  world.passes = {wrong, sketches("schedule", "k")};
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  EXPECT_FALSE(result.attempts.front().correct());
  EXPECT_NEAR(result.bestUs, 25, 1e-9);
  ASSERT_EQ(result.pipeline.size(), 1u);
  EXPECT_EQ(result.pipeline.front().kernel, "k");
}

TEST(Sketches, EveryKernelHasItsFirstOnesBeforeAnyGetsMore) {
  FakeEnvironment world;
  world.measured = true;
  world.passes = {sketches("schedule", "k"), sketches("schedule-other", "other")};
  world.adjust = [](const FakeEnvironment::Moves &, NodeJudgement &judgement) {
    judgement.kernels["k"] = {40, judgement.state, ""};
    judgement.kernels["other"] = {60, judgement.state, ""};
  };
  SearchOptions options;
  options.tune = false;
  std::string order;
  SearchResult result = search(world, options);
  for (const Attempt *each : attemptsOf(result, AttemptPhase::Sketch))
    if (each->before.empty() && (order.empty() || order.back() != each->step.kernel[0]))
      order += each->step.kernel[0];
  EXPECT_EQ(order, "okok");
}

TEST(Sketches, ABudgetEndsThem) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k"), FakePass{"unroll-loop", {{"", 0.8}}}};
  SearchOptions options;
  options.budgetCandidates = 5;
  options.tune = false;
  SearchResult result = search(world, options);
  EXPECT_EQ(result.judged, 5u);
  EXPECT_EQ(result.end, SearchEnd::BudgetCandidates);
}

TEST(Sketches, WhereNoneHelpsTheSearchBeginsAtTheOriginal) {
  FakeEnvironment world;
  FakePass slow = sketches("schedule", "k");
  for (auto &[value, factor] : slow.factors)
    factor = 1.5;
  world.passes = {slow, FakePass{"unroll-loop", {{"", 0.8}}}};
  SearchResult result = search(world);
  EXPECT_NEAR(result.bestUs, 80, 1e-9);
  ASSERT_EQ(result.pipeline.size(), 1u);
}

TEST(Sketches, CanBeLeftOut) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k"), FakePass{"unroll-loop", {{"", 0.8}}}};
  SearchOptions options;
  options.sketches = false;
  SearchResult result = search(world, options);
  EXPECT_NEAR(result.bestUs, 80, 1e-9);
  EXPECT_TRUE(attemptsOf(result, AttemptPhase::Sketch).empty());
}

TEST(Sketches, JoinsLaunchesFirstWhereTheirScheduleGains) {
  FakeEnvironment world;
  // By itself the joined kernel is slower; its schedules are faster than those of the kernels.
  world.passes = {FakePass{"fuse-kernels-vertical", {{"", 1.2}}}, sketches("schedule", "k")};
  world.adjust = [](const FakeEnvironment::Moves &moves, NodeJudgement &judgement) {
    if (moves.size() == 2 && moves.front().pass == "fuse-kernels-vertical")
      judgement.timeUs *= 0.5;
  };
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  EXPECT_NEAR(result.bestUs, 15, 1e-9);
  ASSERT_EQ(result.pipeline.size(), 2u);
  EXPECT_EQ(result.pipeline[0].pass, "fuse-kernels-vertical");
}

TEST(Sketches, MakesOneLaunchOfALoopBeforeItJoinsLaunches) {
  FakeEnvironment world;
  world.passes = {FakePass{"fuse-kernels-vertical", {{"", 0.8}}},
                  FakePass{"batch-launches", {{"", 0.5}}}, sketches("schedule", "k")};
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  EXPECT_NEAR(result.bestUs, 10, 1e-9);
  ASSERT_EQ(result.pipeline.size(), 3u);
  EXPECT_EQ(result.pipeline[0].pass, "batch-launches");
  EXPECT_EQ(result.pipeline[1].pass, "fuse-kernels-vertical");
}

TEST(Sketches, GivesBlocksTheirOwnCountersFirst) {
  FakeEnvironment world;
  world.passes = {sketches("schedule", "k"), FakePass{"privatize-atomics", {{"", 0.2}}}};
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  auto tried = attemptsOf(result, AttemptPhase::Sketch);
  ASSERT_EQ(tried.size(), 1u);
  EXPECT_EQ(tried[0]->step.pass, "privatize-atomics");
  // Without a gain the kernel is scheduled as ever.
  world.passes[1].factors = {{"", 1.1}};
  result = search(world, options);
  EXPECT_EQ(attemptsOf(result, AttemptPhase::Sketch).size(), 13u);
  EXPECT_NEAR(result.bestUs, 25, 1e-9);
}

TEST(Sketches, LeavesLaunchesApartWhereThatIsFaster) {
  FakeEnvironment world;
  world.passes = {FakePass{"fuse-kernels-vertical", {{"", 1.2}}}, sketches("schedule", "k")};
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  EXPECT_NEAR(result.bestUs, 25, 1e-9);
  ASSERT_EQ(result.pipeline.size(), 1u);
  EXPECT_EQ(result.pipeline[0].pass, "schedule");
}

namespace {

NestFacts productFacts() {
  NestFacts facts;
  facts.figures = {{"points", 20}, {"terms", 10}, {"loads", 2}};
  facts.estimatesUs = {{"map unroll=1", 10}, {"rows team=32", 11}, {"columns team=8", 12}};
  return facts;
}

/// Three schedules of a kernel, of which the last one is fastest.
FakePass raised() {
  FakePass pass{"schedule"};
  pass.sketch = true;
  pass.values = {"map unroll=1", "rows team=32", "columns team=8"};
  pass.defaultValue = pass.values.front();
  pass.factors = {{"map unroll=1", 0.9}, {"rows team=32", 0.7}, {"columns team=8", 0.3}};
  pass.facts = productFacts();
  return pass;
}

} // namespace

TEST(Sketches, EveryJudgedScheduleIsAFactAboutItsNest) {
  FakeEnvironment world;
  world.measured = true;
  world.passes = {raised()};
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  ASSERT_EQ(result.evidence.size(), 3u);
  for (const Evidence &record : result.evidence) {
    EXPECT_EQ(record.nest, productFacts().figures);
    EXPECT_EQ(record.estimatedUs, productFacts().estimatesUs.at(record.parameters.at("n")));
  }
}

// A schedule that takes the place of another one is of the same nest, which only the program before
// the first of them has an action for.
TEST(Sketches, AScheduleAfterAnotherIsAFactAboutTheSameNest) {
  FakeEnvironment world;
  world.measured = true;
  FakePass pass = raised();
  for (unsigned vector : {1, 2, 4}) {
    std::string value = "scan vector=" + std::to_string(vector);
    pass.values.push_back(value);
    pass.factors[value] = 0.2 / vector;
    pass.facts.estimatesUs[value] = 20 / vector;
  }
  world.passes = {pass};
  SearchOptions options;
  options.tune = false;
  SearchResult result = search(world, options);
  ASSERT_EQ(result.evidence.size(), 6u);
  unsigned later = 0;
  for (const Evidence &record : result.evidence) {
    EXPECT_EQ(record.nest, pass.facts.figures);
    EXPECT_EQ(record.estimatedUs, pass.facts.estimatesUs.at(record.parameters.at("n")));
    later += record.predecessor == "schedule";
  }
  EXPECT_EQ(later, 2u);
}

// The model prefers another one, and one candidate is all that may be judged.
TEST(Sketches, WhatOneSearchSawIsWhereTheNextOneStarts) {
  SearchOptions options;
  options.tune = false;
  FakeEnvironment world;
  world.measured = true;
  world.passes = {raised()};
  SearchResult first = search(world, options);
  EvidenceSet seen;
  for (Evidence record : first.evidence) {
    record.parameters["as"] = record.parameters.at("n"); // the real pass's option
    seen.insert(record);
  }
  options.budgetCandidates = 1;
  auto next = [&](bool memory) {
    KnowledgeBase knowledge = seedKnowledge();
    knowledge.learn(seen);
    options.memory = memory;
    FakeEnvironment other;
    other.measured = true;
    other.passes = {raised()};
    return search(other, options, "rollout", nullptr, std::move(knowledge)).bestUs;
  };
  EXPECT_NEAR(next(true), 30, 1e-9);
  EXPECT_NEAR(next(false), 90, 1e-9);
}
