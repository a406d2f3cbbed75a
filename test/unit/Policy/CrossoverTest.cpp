//===- CrossoverTest.cpp - Two winners become one --------------------------===//
#include "FakeEnvironment.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {
/// Two kernels with a pass each.
void fillTwoKernels(FakeEnvironment &world) {
  FakePass left{"unroll-loop", {{"", 0.6}}}, right{"vectorize-loads", {{"", 0.7}}};
  left.kernel = "first";
  right.kernel = "second";
  world.passes = {left, right};
}
} // namespace

TEST(Crossover, TwoWinnersBecomeOne) {
  for (bool crossed : {false, true}) {
    FakeEnvironment world;
    fillTwoKernels(world);
    SearchOptions options;
    options.trajectories = 2;
    options.steps = 1; // each finds one of the two
    options.tune = false;
    options.crossover = crossed;
    SearchResult result = search(world, options, "rollout");
    EXPECT_NEAR(result.bestUs, crossed ? 42 : 60, 1e-9) << storyOf(result);
    if (!crossed)
      continue;
    // It is an attempt with evidence, of a trajectory of its own.
    EXPECT_EQ(result.attempts.size(), 3u);
    EXPECT_EQ(result.attempts.back().trajectory, 3u);
    EXPECT_EQ(result.evidence.size(), 3u);
  }
}

TEST(Crossover, OnOneKernelTheCatalogueOrdersTheSteps) {
  for (bool swapped : {false, true}) {
    FakeEnvironment world;
    std::vector<FakePass> passes = {{"unroll-loop", {{"", swapped ? 0.6 : 0.7}}},
                                    {"coalesce-accesses", {{"", swapped ? 0.7 : 0.6}}}};
    world.passes = passes;
    SearchOptions options;
    options.trajectories = 2;
    options.steps = 1;
    options.crossover = true;
    options.tune = false;
    SearchResult result = search(world, options, "rollout");
    ASSERT_EQ(result.pipeline.size(), 2u);
    unsigned first = Catalogue::builtin().find(result.pipeline[0].pass)->number;
    unsigned second = Catalogue::builtin().find(result.pipeline[1].pass)->number;
    EXPECT_LT(first, second) << "whichever of the two is the faster";
  }
}

TEST(Crossover, ItIsOffForRolloutUnlessAskedFor) {
  FakeEnvironment world;
  fillTwoKernels(world);
  SearchOptions options;
  options.trajectories = 2;
  options.steps = 1;
  options.tune = false;
  EXPECT_NEAR(search(world, options, "rollout").bestUs, 60, 1e-9);
}

TEST(Crossover, AStepThatFailsIsLeftOut) {
  struct Clash : FakeEnvironment {
    llvm::Expected<StepOutcome> apply(const NodeId &node, const Step &move) override {
      llvm::Expected<StepOutcome> made = FakeEnvironment::apply(node, move);
      if (made && move.pass == "vectorize-loads" && !programs.at(node).empty()) {
        made = StepOutcome();
        made->reason = "the other step took its place";
      }
      return made;
    }
  } world;
  fillTwoKernels(world);
  FakePass third{"warp-shuffle-reduction", {{"", 0.9}}};
  third.kernel = "second";
  world.passes.push_back(third);
  SearchOptions options;
  options.trajectories = 3;
  options.steps = 1;
  options.crossover = true;
  options.tune = options.ablate = false;
  SearchResult result = search(world, options, "rollout");
  EXPECT_NEAR(result.bestUs, 60, 1e-9) << storyOf(result);
  unsigned clashes = 0;
  for (const Attempt &attempt : result.attempts)
    clashes += attempt.reason == "the other step took its place";
  EXPECT_EQ(clashes, 1u);
}
