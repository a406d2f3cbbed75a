//===- FirstStepsTest.cpp - The usual steps, all of them at once ----------===//
#include "FakeEnvironment.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// What a search with a GPU tries first.
std::vector<Attempt> attemptsOf(FakeEnvironment &world, SearchOptions options = {}) {
  world.measured = true;
  options.tune = false;
  return search(world, options).attempts;
}

/// A world with passes that have these factors.
struct World : FakeEnvironment {
  explicit World(const std::map<std::string, double> &factors) {
    for (const auto &[name, factor] : factors)
      passes.push_back(FakePass{name, {{"", factor}}});
  }
};

} // namespace

TEST(FirstSteps, AreOneCandidate) {
  World world({{"add-restrict-const", 0.9}, {"specialize-constants", 0.8}, {"unroll-loop", 0.99}});
  std::vector<Attempt> attempts = attemptsOf(world);
  ASSERT_GE(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].text(), "add-restrict-const{kernel=k},specialize-constants{kernel=k}");
  EXPECT_NEAR(attempts[0].timeUs, 72, 1e-9);
  EXPECT_EQ(attempts[1].step.pass, "unroll-loop"); // and the search goes on from there
  EXPECT_EQ(attempts[1].parent, attempts[0].node);
}

TEST(FirstSteps, AreTriedWithoutWideAccessesAsWell) {
  World world(
      {{"add-restrict-const", 0.9}, {"specialize-constants", 0.8}, {"vectorize-loads", 1.5}});
  std::vector<Attempt> attempts = attemptsOf(world);
  ASSERT_GE(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].before.size(), 2u);
  EXPECT_EQ(attempts[1].before.size(), 1u);
  EXPECT_EQ(attempts[1].parent, world.root());
  EXPECT_NEAR(attempts[1].timeUs, 72, 1e-9);
}

TEST(FirstSteps, GoOnFromCopiesOfKernelsInHeaders) {
  World world(
      {{"import-kernel", 1.001}, {"add-restrict-const", 0.9}, {"specialize-constants", 0.8}});
  for (FakePass &pass : world.passes)
    if (pass.name != "import-kernel")
      pass.requires_ = "import-kernel";
  std::vector<Attempt> attempts = attemptsOf(world);
  ASSERT_GE(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].text(),
            "import-kernel{kernel=k},add-restrict-const{kernel=k},specialize-constants{kernel=k}");
  EXPECT_NEAR(attempts[0].timeUs, 72.072, 1e-9);
}

TEST(FirstSteps, KeepCopiesThatGainNothingYet) {
  World world({{"import-kernel", 1.001}, {"unroll-loop", 0.9}});
  world.passes.back().requires_ = "import-kernel";
  std::vector<Attempt> attempts = attemptsOf(world);
  ASSERT_GE(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].text(), "import-kernel{kernel=k}");
  EXPECT_EQ(attempts[1].parent, attempts[0].node);
  EXPECT_TRUE(attempts[1].correct());
}

TEST(FirstSteps, AreNotTriedForOneAlone) {
  World world({{"add-restrict-const", 0.9}, {"unroll-loop", 0.99}});
  for (const Attempt &attempt : attemptsOf(world))
    EXPECT_TRUE(attempt.before.empty());
}

TEST(FirstSteps, AreNotTriedWhereCandidatesAreModelledAndTimeIsFree) {
  World world({{"add-restrict-const", 0.9}, {"specialize-constants", 0.8}});
  for (const Attempt &attempt : search(world).attempts)
    EXPECT_TRUE(attempt.before.empty());
}

TEST(FirstSteps, ThatBroughtNothingTogetherAreDrawnLast) {
  World world(
      {{"add-restrict-const", 1}, {"specialize-constants", 1}, {"cache-row", 1}, {"peel", 1}});
  SearchOptions options;
  options.trajectories = 1;
  options.steps = 1;
  unsigned others = 0;
  for (options.seed = 0; options.seed != 40; ++options.seed) {
    std::vector<Attempt> attempts = attemptsOf(world, options);
    ASSERT_EQ(attempts.size(), 2u);
    others += attempts[1].step.pass == "cache-row" || attempts[1].step.pass == "peel";
  }
  EXPECT_GT(others, 28u); // 20 where all are alike
}
