//===- StrategiesTest.cpp - Tree and beam, and what all strategies do ------===//
#include "FakeEnvironment.h"
#include "gtest/gtest.h"
#include <atomic>

using namespace kbopt;

namespace {

/// Four steps that multiply, of which one needs another first, one with a number, and
/// the usual failures beside them. The best is 100 * 0.5 * 0.7 * 0.6 * 0.8 = 16.8 us.
void fillLandscape(FakeEnvironment &world) {
  FakePass coalesce{"coalesce-accesses", {{"", 0.5}}};
  FakePass vectorize{
      "vectorize-loads", {{"2", 0.95}, {"4", 0.8}, {"8", 0.7}}, {"2", "4", "8"}, "4"};
  vectorize.requires_ = "coalesce-accesses";
  FakePass unroll{"unroll-loop", {{"2", 0.9}, {"4", 0.75}, {"8", 0.6}}, {"2", "4", "8"}, "4"};
  FakePass fuse{"warp-shuffle-reduction", {{"", 0.8}}};
  FakePass wrong{"pad-shared-array"}, broken{"hoist-loop-invariant"}, slow{"cache-hint-streaming"};
  wrong.verdict = VerdictKind::Incorrect;
  broken.compiles = false;
  slow.factors = {{"", 1.3}};
  world.passes = {slow, coalesce, vectorize, wrong, unroll, broken, fuse};
}

/// The programs from which a run set out, in the order of its attempts.
std::vector<NodeId> parentsOf(const SearchResult &result) {
  std::vector<NodeId> parents;
  for (const Attempt &attempt : result.attempts)
    parents.push_back(attempt.parent);
  return parents;
}

} // namespace

TEST(Strategies, AllFindTheKnownBest) {
  for (const char *strategy : {"rollout", "tree", "beam"})
    for (uint64_t seed = 0; seed != 10; ++seed) {
      FakeEnvironment world;
      fillLandscape(world);
      SearchOptions options;
      options.seed = seed;
      SearchResult result = search(world, options, strategy);
      EXPECT_NEAR(result.bestUs, 16.8, 1e-9)
          << strategy << " " << seed << ": " << textOf(result.pipeline);
      EXPECT_TRUE(result.confirmed);
      EXPECT_LE(result.judged, 110u);
    }
}

TEST(Strategies, OneStoryWithAnyNumberOfThreads) {
  for (const char *strategy : {"tree", "beam"}) {
    std::string expected;
    for (unsigned jobs : {1, 1, 2, 4, 16}) {
      FakeEnvironment world;
      fillLandscape(world);
      SearchOptions options;
      options.seed = 3;
      options.jobs = jobs;
      std::string story = storyOf(search(world, options, strategy));
      if (expected.empty())
        expected = story;
      EXPECT_EQ(story, expected) << strategy << " with " << jobs;
    }
  }
}

TEST(Strategies, BudgetsAndInterruptsLeaveTheBestSoFar) {
  for (const std::string &strategy : strategyNames()) {
    if (strategy == "minimal")
      continue;
    FakeEnvironment world;
    fillLandscape(world);
    SearchOptions options;
    options.budgetCandidates = 6;
    options.ablate = false;
    SearchResult result = search(world, options, strategy);
    EXPECT_EQ(result.end, SearchEnd::BudgetCandidates) << strategy;
    EXPECT_EQ(result.judged, 6u) << strategy;
    EXPECT_NEAR(result.bestUs, world.timeOf(result.pipeline), 1e-9);

    FakeEnvironment other;
    fillLandscape(other);
    std::atomic<unsigned> calls = 0;
    SearchOptions stopping;
    stopping.stop = [&] { return calls > 12; };
    other.onJudge = [&]() -> llvm::Error {
      if (++calls > 12)
        return llvm::make_error<StoreError>("killed");
      return llvm::Error::success();
    };
    result = search(other, stopping, strategy);
    EXPECT_EQ(result.end, SearchEnd::Interrupted) << strategy;
    EXPECT_LT(result.bestUs, 100) << strategy;
  }
}

TEST(Strategies, NothingLeftIsTheEnd) {
  for (const char *strategy : {"tree", "beam"}) {
    FakeEnvironment world;
    world.passes = {{"unroll-loop", {{"", 0.5}}}};
    SearchResult result = search(world, {}, strategy);
    EXPECT_NEAR(result.bestUs, 50, 1e-9);
    EXPECT_EQ(result.judged, 1u);
    FakeEnvironment empty;
    result = search(empty, {}, strategy);
    EXPECT_EQ(result.end, SearchEnd::NothingLeft) << strategy;
  }
}

TEST(Tree, TheOriginalHasFewChildren) {
  for (unsigned most : {3, 5}) {
    FakeEnvironment world;
    for (int i = 0; i != 12; ++i)
      world.passes.push_back({"pass-" + std::to_string(i), {{"", 0.9 + 0.005 * i}}});
    SearchOptions options;
    options.rootChildren = most;
    options.crossover = false;
    options.trajectories = 4;
    SearchResult result = search(world, options, "tree");
    unsigned children = 0;
    for (const NodeId &parent : parentsOf(result))
      children += parent == world.root();
    EXPECT_EQ(children, most);
    EXPECT_EQ(result.attempts.size(), 40u);
  }
}

TEST(Tree, WhereAllElseFailsTheOriginalIsOpenAgain) {
  FakeEnvironment world;
  for (int i = 0; i != 8; ++i) {
    FakePass pass{"pass-" + std::to_string(i)};
    pass.compiles = i == 7;
    pass.factors = {{"", 0.5}};
    world.passes.push_back(pass);
  }
  SearchResult result = search(world, {}, "tree");
  EXPECT_NEAR(result.bestUs, 50, 1e-9);
}

TEST(Tree, ThreeFailedChildrenEndABranch) {
  // Behind the first pass everything fails.
  FakeEnvironment world;
  world.passes = {{"trap", {{"", 0.5}}}};
  for (int i = 0; i != 20; ++i)
    world.passes.push_back({"pass-" + std::to_string(i), {{"", 0.99}}});
  for (unsigned deadAfter : {1, 3}) {
    struct Trap : FakeEnvironment {
      llvm::Expected<StepOutcome> apply(const NodeId &node, const Step &move) override {
        llvm::Expected<StepOutcome> made = FakeEnvironment::apply(node, move);
        Moves moves = programs.at(node);
        if (made && !moves.empty() && moves.back().pass == "trap") {
          made->gate = GateId::G1;
          made->failure = FailureClass::Compile;
        }
        return made;
      }
    } trap;
    trap.passes = world.passes;
    SearchOptions options;
    options.deadAfter = deadAfter;
    options.crossover = false;
    options.batch = 1;
    SearchResult result = search(trap, options, "tree");
    std::map<NodeId, unsigned> children;
    for (const NodeId &parent : parentsOf(result))
      ++children[parent];
    unsigned most = 0;
    for (const Attempt &attempt : result.attempts)
      if (attempt.step.pass == "trap" && attempt.correct())
        most = std::max(most, children[attempt.node]);
    EXPECT_EQ(most, deadAfter);
  }
}

TEST(Tree, EpsilonIsThePartThatExplores) {
  // Nothing gains, so that the greedy rule stays at the original.
  auto branchings = [](double epsilon) {
    unsigned elsewhere = 0;
    for (uint64_t seed = 0; seed != 5; ++seed) {
      FakeEnvironment world;
      for (int i = 0; i != 30; ++i)
        world.passes.push_back({"pass-" + std::to_string(i), {{"", 1.03}}});
      SearchOptions options;
      options.rootChildren = 100;
      options.epsilon = epsilon;
      options.batch = 1;
      options.trajectories = 2;
      options.seed = seed;
      options.crossover = false;
      SearchResult result = search(world, options, "tree");
      double best = 100;
      for (const Attempt &attempt : result.attempts) {
        elsewhere += attempt.parentTimeUs > best + 1e-9;
        if (attempt.correct())
          best = std::min(best, attempt.timeUs);
      }
    }
    return elsewhere;
  };
  EXPECT_EQ(branchings(0), 0u);
  unsigned third = branchings(0.3), always = branchings(1);
  EXPECT_GT(third, 12u); // of 100
  EXPECT_LT(third, 45u);
  EXPECT_GT(always, 85u);
}

TEST(Beam, FamiliesAreKeptApart) {
  // One family would fill the beam; the others lead to the best.
  FakeEnvironment world;
  world.passes = {{"coalesce-accesses", {{"", 0.5}}},      {"unroll-loop", {{"", 0.8}}},
                  {"warp-shuffle-reduction", {{"", 0.8}}}, {"fast-math", {{"", 0.8}}},
                  {"thread-coarsening", {{"", 0.8}}},      {"pad-shared-array", {{"", 0.8}}}};
  SearchOptions options;
  options.crossover = false;
  options.steps = 2;
  SearchResult result = search(world, options, "beam");
  std::set<NodeId> second;
  for (const Attempt &attempt : result.attempts)
    if (attempt.trajectory && attempt.parent != world.root())
      second.insert(attempt.parent);
  EXPECT_EQ(second.size(), 4u) << "four members of four families";
}

TEST(Beam, ARoundThatBringsLittleIsTheLast) {
  auto attempts = [](double least) {
    FakeEnvironment world;
    for (int i = 0; i != 30; ++i)
      world.passes.push_back({"pass-" + std::to_string(i), {{"", 0.98}}});
    SearchOptions options;
    options.leastImprovement = least;
    options.crossover = false;
    options.tune = options.ablate = false;
    SearchResult result = search(world, options, "beam");
    EXPECT_EQ(result.end, SearchEnd::Done);
    return result.attempts.size();
  };
  EXPECT_EQ(attempts(0.03), 8u);           // one round of four times two
  EXPECT_EQ(attempts(0.01), 8u + 9u * 8u); // ten rounds
}

TEST(Beam, WhereNothingIsFoundYetItGoesOn) {
  FakeEnvironment world;
  for (int i = 0; i != 20; ++i) {
    FakePass pass{"pass-" + std::to_string(i)};
    pass.compiles = i == 19;
    pass.factors = {{"", 0.5}};
    world.passes.push_back(pass);
  }
  EXPECT_NEAR(search(world, {}, "beam").bestUs, 50, 1e-9);
}
