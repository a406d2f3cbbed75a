//===- RolloutTest.cpp - What a search finds, and that it repeats ---------===//
#include "FakeEnvironment.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;

namespace {

bool has(llvm::ArrayRef<Step> pipeline, llvm::StringRef pass) {
  return llvm::any_of(pipeline, [&](const Step &move) { return move.pass == pass; });
}

} // namespace

TEST(Rollout, FindsTheBest) {
  FakeEnvironment world;
  fillWorld(world);
  SearchResult result = search(world);
  EXPECT_NEAR(result.bestUs, 27.2, 1e-9) << storyOf(result);
  EXPECT_TRUE(result.confirmed);
  EXPECT_TRUE(result.ablationComplete);
  // Nothing that costs nothing to leave out.
  EXPECT_EQ(result.pipeline.size(), 3u) << textOf(result.pipeline);
  EXPECT_FALSE(has(result.pipeline, "add-restrict-const"));
  EXPECT_FALSE(has(result.pipeline, "cache-hint-streaming"));
}

TEST(Rollout, ATrajectoryThatLosesGoesToTheLeader) {
  unsigned seen = 0;
  for (uint64_t seed = 0; seed != 40; ++seed) {
    FakeEnvironment world;
    FakePass good{"coalesce-accesses", {{"", 0.2}}}, wrong{"pad-shared-array"},
        other{"unroll-loop", {{"", 0.9}}}, third{"vectorize-loads", {{"", 0.9}}};
    wrong.verdict = VerdictKind::Incorrect;
    world.passes = {good, wrong, other, third};
    SearchOptions options;
    options.seed = seed;
    options.trajectories = options.batch = options.steps = 2;
    options.tune = options.ablate = false;
    SearchResult result = search(world, options);
    if (result.attempts.size() < 4 || result.attempts[0].step.pass != "coalesce-accesses" ||
        result.attempts[1].step.pass != "pad-shared-array")
      continue;
    ++seen;
    EXPECT_EQ(result.attempts[3].trajectory, 2u);
    EXPECT_EQ(result.attempts[3].parent, result.attempts[0].node) << storyOf(result);
  }
  EXPECT_GT(seen, 0u);
}

TEST(Rollout, ASeedGivesOneStoryWithAnyNumberOfThreads) {
  std::string expected;
  for (unsigned jobs : {1, 1, 2, 4, 16}) {
    FakeEnvironment world;
    fillWorld(world);
    SearchOptions options;
    options.seed = 3;
    options.jobs = jobs;
    std::string story = storyOf(search(world, options));
    if (expected.empty())
      expected = story;
    EXPECT_EQ(story, expected) << jobs;
  }
}

TEST(Rollout, IsNotAlwaysGreedy) {
  std::set<std::string> firsts;
  for (uint64_t seed = 0; seed != 20; ++seed) {
    FakeEnvironment world;
    fillWorld(world);
    SearchOptions options;
    options.seed = seed;
    options.trajectories = 1;
    firsts.insert(search(world, options).attempts.at(0).step.pass);
  }
  EXPECT_GT(firsts.size(), 2u);
  EXPECT_TRUE(firsts.count("coalesce-accesses"));
}

TEST(Rollout, PrefersWhatIsPredictedToGain) {
  unsigned best = 0;
  for (uint64_t seed = 0; seed != 40; ++seed) {
    FakeEnvironment world;
    fillWorld(world);
    SearchOptions options;
    options.seed = seed;
    options.trajectories = 1;
    options.steps = 1;
    best += search(world, options).attempts.at(0).step.pass == "coalesce-accesses";
  }
  EXPECT_GT(best, 20u); // of eight passes
  EXPECT_LT(best, 40u);
}

TEST(Rollout, IdenticalMachineCodeIsMeasuredOnce) {
  FakeEnvironment world;
  fillWorld(world);
  SearchOptions options;
  options.jobs = 4;
  SearchResult result = search(world, options);
  for (const auto &[code, times] : world.judged)
    EXPECT_EQ(times, 1u);
  EXPECT_GT(result.merged, 0u);
  bool sawIdentical = false;
  for (const Attempt &attempt : result.attempts)
    if (attempt.step.pass == "add-restrict-const" && attempt.correct()) {
      EXPECT_NE(attempt.shortcut, "") << "measured";
      EXPECT_EQ(attempt.timeUs, attempt.parentTimeUs);
      sawIdentical |= attempt.shortcut == "identical";
    }
  EXPECT_TRUE(sawIdentical);
}

TEST(Rollout, TheRooflineDropsWhatCannotWin) {
  FakeEnvironment world;
  fillWorld(world);
  FakePass hopeless{"split-k"};
  hopeless.floorUs = 100; // no faster than the original
  world.passes.push_back(hopeless);
  SearchOptions options;
  options.trajectories = 30;
  SearchResult result = search(world, options);
  unsigned seen = 0;
  for (const Attempt &attempt : result.attempts)
    if (attempt.step.pass == "split-k") {
      ++seen;
      EXPECT_EQ(attempt.shortcut, "roofline");
      EXPECT_EQ(attempt.verdict, VerdictKind::Inconclusive);
      EXPECT_TRUE(attempt.node.empty());
    }
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(result.pruned, seen);
  for (const Evidence &record : result.evidence)
    EXPECT_NE(record.pass, "split-k") << "what was not measured is no evidence";
}

TEST(Rollout, ParametersStartAtTheDefaultAndMoveToNeighbours) {
  FakeEnvironment world;
  world.passes = {{"unroll-loop",
                   {{"1", 1}, {"2", 0.9}, {"4", 0.8}, {"8", 0.7}, {"16", 0.6}, {"32", 0.5}},
                   {"1", "2", "4", "8", "16", "32"},
                   "2"}};
  SearchOptions options;
  options.batch = 1;
  options.trajectories = 10;
  SearchResult result = search(world, options);
  std::vector<std::string> order;
  for (const Attempt &attempt : result.attempts)
    if (attempt.trajectory)
      order.push_back(attempt.step.parameters.at("n"));
  ASSERT_GE(order.size(), 4u);
  EXPECT_EQ(order[0], "2");
  EXPECT_EQ(order[1], "1");
  EXPECT_EQ(order[2], "4");
  EXPECT_EQ(order[3], "8");
}

TEST(Rollout, ExclusionsHold) {
  FakeEnvironment world;
  world.passes = {{"unroll-loop", {{"", 0.9}}}, {"limit-unroll", {{"", 0.9}}}};
  SearchOptions options;
  options.trajectories = 20;
  SearchResult result = search(world, options);
  EXPECT_EQ(result.pipeline.size(), 1u);
  for (const auto &[id, moves] : world.programs)
    EXPECT_LE(moves.size(), 1u);
}

TEST(Rollout, LearnsBetweenRuns) {
  // Judgements until a program under 36 us was found, summed over seeds.
  auto effort = [](const KnowledgeBase &knowledge) {
    struct Watch : SearchObserver {
      unsigned count = 0, atBest = 0;
      void attempted(const Attempt &attempt) override { count += attempt.shortcut.empty(); }
      void improved(double timeUs, llvm::ArrayRef<Step>) override {
        if (timeUs < 36 && !atBest)
          atBest = count;
      }
    };
    unsigned total = 0;
    for (uint64_t seed = 100; seed != 110; ++seed) {
      FakeEnvironment world;
      fillWorld(world);
      SearchOptions options;
      options.seed = seed;
      options.batch = 1;
      Watch watch;
      SearchResult result = search(world, options, "rollout", &watch, knowledge);
      EXPECT_LT(result.bestUs, 36);
      total += watch.atBest;
    }
    return total;
  };
  KnowledgeBase fresh = seedKnowledge(), experienced = seedKnowledge();
  EvidenceSet set;
  for (uint64_t seed = 0; seed != 5; ++seed) {
    FakeEnvironment world;
    fillWorld(world);
    SearchOptions options;
    options.seed = seed;
    options.program = "program " + std::to_string(seed);
    for (const Evidence &record : search(world, options).evidence)
      set.insert(record);
  }
  experienced.learn(set);
  unsigned before = effort(fresh), after = effort(experienced);
  RecordProperty("before", static_cast<int>(before)),
      RecordProperty("after", static_cast<int>(after));
  EXPECT_LT(after, before * 0.8) << before << " then " << after;
}

TEST(Rollout, EndsWhenNothingIsLeft) {
  FakeEnvironment world;
  world.passes = {{"unroll-loop", {{"", 0.9}}}};
  SearchOptions options;
  options.trajectories = 1000;
  SearchResult result = search(world, options);
  EXPECT_EQ(result.end, SearchEnd::NothingLeft);
  EXPECT_EQ(result.judged, 1u);
  EXPECT_NEAR(result.bestUs, 90, 1e-9);
  FakeEnvironment empty;
  result = search(empty, options);
  EXPECT_EQ(result.end, SearchEnd::NothingLeft);
  EXPECT_TRUE(result.pipeline.empty());
}

TEST(Rollout, NothingIsTriedAtTheRoofline) {
  FakeEnvironment world;
  fillWorld(world);
  world.programFloorUs = 99;
  SearchResult result = search(world);
  EXPECT_EQ(result.end, SearchEnd::NothingLeft);
  EXPECT_TRUE(result.attempts.empty());
  // Or behind a program that reached it.
  world.programFloorUs = 39.5;
  result = search(world);
  for (const Attempt &attempt : result.attempts)
    if (attempt.trajectory)
      EXPECT_GT(attempt.parentTimeUs, 39.5 * 1.02) << attempt.step.text();
}

TEST(Rollout, StrategyNames) {
  llvm::Expected<std::unique_ptr<Strategy>> strategy = createStrategy("genius");
  ASSERT_FALSE(bool(strategy));
  llvm::handleAllErrors(strategy.takeError(), [](const UsageError &error) {
    EXPECT_EQ(error.message, "unknown strategy 'genius'");
    EXPECT_EQ(error.note, "known strategies: rollout, tree, beam, minimal");
  });
}
