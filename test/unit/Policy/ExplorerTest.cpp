//===- ExplorerTest.cpp - Budgets, records, ablation, confirmation --------===//
#include "kb-opt/Policy/Explorer.h"
#include "FakeEnvironment.h"
#include "kb-opt/Support/Interrupt.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;

namespace {

llvm::Expected<SearchResult> tryRun(FakeEnvironment &world, SearchOptions options,
                                    FakeClock &clock) {
  options.answers = false;
  return llvm::cantFail(createStrategy("rollout"))->run(world, seedKnowledge(), options, clock);
}

Step move(llvm::StringRef pass, llvm::StringRef n = "") {
  Step result{pass.str(), "k", 0, {}};
  if (!n.empty())
    result.parameters["n"] = n.str();
  return result;
}

} // namespace

TEST(Explorer, TheCandidateBudgetIsKept) {
  for (uint64_t budget : {1, 2, 5}) {
    FakeEnvironment world;
    fillWorld(world);
    SearchOptions options;
    options.budgetCandidates = budget;
    options.ablate = false;
    options.jobs = 3;
    SearchResult result = search(world, options);
    EXPECT_EQ(result.end, SearchEnd::BudgetCandidates);
    EXPECT_EQ(result.judged, budget);
    EXPECT_EQ(world.totalJudged(), budget + 1); // and the original
    EXPECT_LE(result.bestUs, 100);
    EXPECT_NEAR(result.bestUs, world.timeOf(result.pipeline), 1e-9);
  }
}

TEST(Explorer, TheTimeBudgetIsKept) {
  FakeEnvironment world;
  fillWorld(world);
  FakeClock clock;
  world.clock = &clock; // a second per judgement
  SearchOptions options;
  options.budgetSeconds = 6.5; // of which two are kept for the final check
  options.batch = 1;
  SearchResult result = llvm::cantFail(tryRun(world, options, clock));
  EXPECT_EQ(result.end, SearchEnd::BudgetSeconds);
  EXPECT_EQ(result.judged, 4u); // the original took the first second
  EXPECT_FALSE(result.ablationComplete);
}

TEST(Explorer, WhatIsKeptForTheFinalCheckIsNotSpentInTheMiddleOfACandidate) {
  FakeEnvironment world;
  fillWorld(world);
  FakeClock clock;
  world.clock = &clock; // a second per judgement
  double end = HUGE_VAL;
  SearchOptions options;
  options.budgetSeconds = 6.5; // of which two are kept for the final check
  options.batch = 1;
  options.giveUpAfter = [&](double seconds) { end = clock.now + seconds; };
  options.stop = [&] { return clock.now >= end; };
  unsigned judged = 0;
  world.onJudge = [&]() -> llvm::Error {
    if (++judged != 4)
      return llvm::Error::success();
    clock.now = end; // it would take for ever
    return interruption();
  };
  SearchResult result = llvm::cantFail(tryRun(world, options, clock));
  EXPECT_EQ(result.end, SearchEnd::BudgetSeconds);
  EXPECT_EQ(result.judged, 2u);
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(end, 6.5);
}

TEST(Explorer, AnInterruptLeavesTheBestSoFar) {
  FakeEnvironment world;
  fillWorld(world);
  std::atomic<unsigned> calls = 0;
  SearchOptions options;
  options.batch = 1;
  options.stop = [&] { return calls > 12; };
  // As a killed child would, the environment fails once the user has interrupted.
  world.onJudge = [&]() -> llvm::Error {
    if (++calls > 12)
      return llvm::make_error<ToolError>("kb-run was killed", std::vector<std::string>{"kb-run"},
                                         -1, "");
    return llvm::Error::success();
  };
  SearchResult result = search(world, options);
  EXPECT_EQ(result.end, SearchEnd::Interrupted);
  EXPECT_LT(result.bestUs, 100);
  EXPECT_FALSE(result.pipeline.empty());
  EXPECT_FALSE(result.confirmed);
  EXPECT_NEAR(result.bestUs, world.timeOf(result.pipeline), 1e-9);
  EXPECT_FALSE(result.evidence.empty());
}

TEST(Explorer, AnErrorOfTheEnvironmentEndsTheSearch) {
  FakeEnvironment world;
  fillWorld(world);
  unsigned calls = 0;
  world.onJudge = [&]() -> llvm::Error {
    if (++calls > 3)
      return llvm::make_error<StoreError>("the disk is full");
    return llvm::Error::success();
  };
  FakeClock clock;
  llvm::Expected<SearchResult> result = tryRun(world, {}, clock);
  ASSERT_FALSE(bool(result));
  EXPECT_NE(llvm::toString(result.takeError()).find("the disk is full"), std::string::npos);
}

TEST(Explorer, AWrongOriginalIsLeftAlone) {
  FakeEnvironment world;
  fillWorld(world);
  world.originalVerdict = VerdictKind::Incorrect;
  SearchResult result = search(world, {});
  EXPECT_EQ(result.original.verdict, VerdictKind::Incorrect);
  EXPECT_TRUE(result.pipeline.empty());
  EXPECT_TRUE(result.attempts.empty());
  EXPECT_EQ(world.totalJudged(), 1u);
}

TEST(Explorer, RecordsWhatTheModelSaysOfMeasuredSteps) {
  FakeEnvironment world;
  fillWorld(world);
  for (const Evidence &record : search(world).evidence)
    EXPECT_FALSE(record.modelledGain);
  // The model takes every program for half as long as it is, and one without coalesced accesses for
  // longer.
  world.adjust = [](const FakeEnvironment::Moves &moves, NodeJudgement &judgement) {
    bool coalesced =
        llvm::any_of(moves, [](const Step &move) { return move.pass == "coalesce-accesses"; });
    judgement.modelledUs = judgement.timeUs / 2 * (coalesced ? 1 : std::exp(0.25));
  };
  unsigned coalescing = 0;
  for (const Evidence &record : search(world).evidence) {
    ASSERT_EQ(record.modelledGain.has_value(), record.verdict == VerdictKind::Correct);
    if (!record.modelledGain)
      continue;
    bool coalesces = record.pass == "coalesce-accesses";
    coalescing += coalesces;
    EXPECT_NEAR(*record.modelledGain, *record.achievedGain + (coalesces ? 0.25 : 0), 1e-9)
        << record.pass;
  }
  EXPECT_GT(coalescing, 0u);
}

TEST(Explorer, EveryAttemptLeavesARecord) {
  FakeEnvironment world;
  fillWorld(world);
  SearchOptions options;
  options.program = "the program";
  options.versions = {{"llvm", "22"}};
  SearchResult result = search(world, options);
  std::map<std::string, unsigned> verdicts;
  for (const Evidence &record : result.evidence) {
    ++verdicts[toString(record.verdict).str()];
    EXPECT_EQ(record.program, "the program");
    EXPECT_EQ(record.chip, "h200");
    EXPECT_EQ(record.device, "cpu-modelled");
    EXPECT_EQ(record.versions.at("llvm"), "22");
    EXPECT_TRUE(record.predictedGain.has_value());
    EXPECT_EQ(record.achievedGain.has_value(), record.verdict == VerdictKind::Correct);
    if (record.creditGain)
      EXPECT_GE(*record.creditGain, *record.achievedGain);
    if (record.pass == "pad-shared-array") {
      EXPECT_EQ(record.gate, GateId::G4);
      EXPECT_EQ(record.reason, "pad-shared-array broke it");
    }
    if (record.pass == "hoist-loop-invariant")
      EXPECT_EQ(record.failure, FailureClass::Compile);
    if (record.pass == "vectorize-loads" && record.verdict == VerdictKind::Correct)
      EXPECT_NE(record.predecessor, "");
    EXPECT_TRUE(bool(parseEvidence(record.toLine())));
  }
  for (llvm::StringRef verdict : {"correct", "incorrect", "inconclusive"})
    EXPECT_GT(verdicts[verdict.str()], 0u) << verdict.str();
}

// The way to a gain is worth something: unrolling alone wins nothing here and
// opens the vectorization that does.
TEST(Explorer, EarlierStepsShareTheCredit) {
  FakeEnvironment world;
  FakePass opener{"unroll-loop"};
  opener.factors = {{"", 0.99}};
  FakePass winner{"vectorize-loads", {{"", 0.25}}};
  winner.requires_ = "unroll-loop";
  world.passes = {opener, winner};
  SearchResult result = search(world, {});
  for (const Evidence &record : result.evidence) {
    if (record.pass == "unroll-loop")
      EXPECT_NEAR(*record.creditGain, -std::log(0.99) + 0.5 * std::log(4), 1e-9);
    if (record.pass == "vectorize-loads" && record.achievedGain)
      EXPECT_NEAR(*record.creditGain, std::log(4), 1e-9);
  }
  // It is needed, so ablation keeps it although its own gain is small.
  EXPECT_EQ(result.pipeline.size(), 2u);
  EXPECT_TRUE(result.ablated.empty());
  // What is left without the first step does not apply; without the second it is slow.
  ASSERT_EQ(result.stepGains.size(), 2u);
  EXPECT_FALSE(result.stepGains[0].has_value());
  EXPECT_NEAR(result.stepGains[1].value(), 4, 1e-9);
}

TEST(Explorer, AblationNamesWhatLeft) {
  FakeEnvironment world;
  FakePass winner{"coalesce-accesses", {{"", 0.5}}};
  winner.requires_ = "cache-hint-streaming"; // to be applied, not to be fast: see below
  FakePass neutral{"cache-hint-streaming"}, little{"unroll-loop", {{"", 0.997}}};
  world.passes = {winner, neutral, little};
  SearchOptions options;
  options.trajectories = 40;
  SearchResult result = search(world, options);
  // Without the hint the winner does not apply; without unrolling it costs 0.3 %.
  ASSERT_EQ(result.pipeline.size(), 2u);
  EXPECT_EQ(result.pipeline[0].pass, "cache-hint-streaming");
  EXPECT_EQ(result.pipeline[1].pass, "coalesce-accesses");
  EXPECT_TRUE(result.ablationComplete);
}

TEST(Explorer, AStepThatCostsNothingLeavesWithoutTimeToJudge) {
  FakeEnvironment world;
  world.passes = {{"coalesce-accesses", {{"", 0.5}}}, {"unroll-loop", {{"", 0.999}}}};
  FakeClock clock;
  world.clock = &clock; // a second per judgement
  SearchOptions options;
  // The original, each pass alone, and one after the other: no time is left then.
  options.budgetSeconds = 5.5; // of which 1.8 are kept for the final check
  options.batch = 1;
  SearchResult result = llvm::cantFail(tryRun(world, options, clock));
  ASSERT_EQ(result.end, SearchEnd::BudgetSeconds);
  ASSERT_EQ(result.judged, 3u);
  ASSERT_EQ(result.pipeline.size(), 1u);
  EXPECT_EQ(result.pipeline[0].pass, "coalesce-accesses");
  options.ablate = false;
  FakeClock again;
  world.clock = &again;
  EXPECT_EQ(llvm::cantFail(tryRun(world, options, again)).pipeline.size(), 2u);
}

TEST(Explorer, WithoutAblationTheWinnerStaysAsItWasFound) {
  FakeEnvironment world;
  FakePass winner{"coalesce-accesses", {{"", 0.5}}}, little{"unroll-loop", {{"", 0.993}}},
      last{"vectorize-loads", {{"", 0.5}}};
  last.requires_ = "unroll-loop";
  world.passes = {winner, little, last};
  SearchOptions options;
  options.ablate = false;
  SearchResult result = search(world, options);
  EXPECT_EQ(result.pipeline.size(), 3u);
  EXPECT_FALSE(result.ablationComplete);
}

TEST(Explorer, ARefusedWinnerMakesWayForTheNext) {
  FakeEnvironment world;
  fillWorld(world);
  world.refuse = [](const FakeEnvironment::Moves &moves) {
    return llvm::any_of(moves, [](const Step &m) { return m.pass == "unroll-loop"; });
  };
  SearchResult result = search(world, {});
  EXPECT_LE(result.bestUs, 36 + 1e-9); // coalesced, vectorized by 4 or 8
  EXPECT_TRUE(result.confirmed);
  for (const Step &step : result.pipeline)
    EXPECT_NE(step.pass, "unroll-loop");
  bool told = false;
  for (const Attempt &attempt : result.attempts)
    told |= attempt.gate == GateId::G15 && attempt.reason.find("the winner was refused: ") == 0 &&
            attempt.phase == AttemptPhase::Confirm && !attempt.judged();
  EXPECT_TRUE(told);
}

// What is wrong is one step of a trajectory: without it the others are kept, wherever it stands.
TEST(Explorer, ARefusedWinnerIsTriedWithoutEachStep) {
  auto hasDoubles = [](const FakeEnvironment::Moves &moves) {
    return llvm::any_of(moves, [](const Step &m) { return m.pass == "fix-double-literals"; });
  };
  for (unsigned seed = 0; seed != 8; ++seed) {
    FakeEnvironment world;
    world.passes = {{"add-restrict-const", {{"", 0.8}}},
                    {"fix-double-literals", {{"", 0.1}}},
                    {"unroll-loop", {{"", 0.7}}}};
    world.refuse = hasDoubles;
    world.promised = [&](const FakeEnvironment::Moves &moves) {
      return hasDoubles(moves) ? Promise::LowerPrecision : Promise::Bitwise;
    };
    SearchOptions options;
    options.seed = seed;
    options.trajectories = 1;
    options.ablate = options.tune = false;
    SearchResult result = search(world, options);
    EXPECT_TRUE(result.confirmed) << seed;
    EXPECT_NEAR(result.bestUs, 100 * 0.8 * 0.7, 1e-9) << seed;
  }
}

TEST(Explorer, AMoveIsTriedOnceAtAPlace) {
  FakeEnvironment world;
  fillWorld(world);
  KnowledgeBase knowledge = seedKnowledge();
  FakeClock clock;
  Explorer explorer(world, knowledge, {}, clock, nullptr);
  ASSERT_TRUE(llvm::cantFail(explorer.start()));
  NodeId root = explorer.root();
  std::vector<ExplorerRequest> requests = {{root, move("unroll-loop", "4"), 0.1, 1},
                                           {root, move("unroll-loop", "4"), 0.1, 2},
                                           {root, move("add-restrict-const"), 0, 3}};
  std::vector<Attempt> attempts = llvm::cantFail(explorer.evaluate(requests));
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0].shortcut, "");
  EXPECT_EQ(attempts[1].shortcut, "known");
  EXPECT_EQ(attempts[1].node, attempts[0].node);
  EXPECT_EQ(attempts[1].trajectory, 2u);
  EXPECT_EQ(attempts[2].shortcut, "identical"); // to the original
  EXPECT_EQ(explorer.attempts().size(), 2u);
  EXPECT_EQ(world.totalJudged(), 2u);
  attempts = llvm::cantFail(explorer.evaluate(requests[0]));
  EXPECT_EQ(attempts[0].shortcut, "known");
  EXPECT_EQ(world.totalJudged(), 2u);
}

// Two kernels, of which the second takes 90 % of the time: a step on a kernel is
// recorded with that kernel's state and gain, and the second is tried first.
TEST(Explorer, KernelsHaveStatesAndGainsOfTheirOwn) {
  struct TwoKernels : Environment {
    NodeId root() override { return "original"; }
    llvm::Expected<std::vector<Action>> actions(const NodeId &node) override {
      std::vector<Action> result;
      if (node == "original")
        result = {{"unroll-loop", "small", 0, {}}, {"unroll-loop", "large", 0, {}}};
      return result;
    }
    llvm::Expected<StepOutcome> apply(const NodeId &, const Step &move) override {
      StepOutcome made;
      made.applied = true;
      made.node = made.code = move.kernel;
      return made;
    }
    llvm::Expected<NodeJudgement> judge(const NodeId &node) override {
      NodeJudgement judgement;
      judgement.verdict = VerdictKind::Correct;
      auto kernel = [&](const char *name, double us, const char *state) {
        KernelProfile &profile = judgement.kernels[name];
        profile.timeUs = node == name ? us / 2 : us;
        profile.state.primary = state;
        profile.state.shares.push_back({state, 0.8, false, ""});
        judgement.timeUs += profile.timeUs;
      };
      kernel("small", 10, "thread_divergence_high");
      kernel("large", 90, "memory_latency_bound");
      return judgement;
    }
  };
  unsigned largeFirst = 0;
  for (uint64_t seed = 0; seed != 50; ++seed) {
    TwoKernels world;
    SearchOptions options;
    options.seed = seed;
    options.batch = 1;
    SearchResult result = search(world, options);
    EXPECT_NEAR(result.bestUs, 55, 1e-9);
    largeFirst += result.attempts.at(0).step.kernel == "large";
    ASSERT_EQ(result.evidence.size(), 2u);
    for (const Evidence &record : result.evidence)
      EXPECT_NEAR(*record.achievedGain, std::log(2), 1e-12);
    EXPECT_NE(result.evidence[0].primary, result.evidence[1].primary);
  }
  EXPECT_GT(largeFirst, 40u);
}

// One kernel takes in another one's work: that it then takes longer itself is no loss.
TEST(Explorer, JoinedKernelsAreCreditedWithTheTimeOfBoth) {
  struct Joining : Environment {
    NodeId root() override { return "original"; }
    llvm::Expected<std::vector<Action>> actions(const NodeId &node) override {
      if (node == "original")
        return std::vector<Action>{{"fuse-kernels-vertical", "first", 0, {}}};
      return std::vector<Action>();
    }
    llvm::Expected<StepOutcome> apply(const NodeId &, const Step &) override {
      StepOutcome made;
      made.applied = true;
      made.node = made.code = "joined";
      return made;
    }
    llvm::Expected<NodeJudgement> judge(const NodeId &node) override {
      NodeJudgement judgement;
      judgement.verdict = VerdictKind::Correct;
      std::map<std::string, double> times = {{"first", 10}, {"second", 50}, {"other", 5}};
      if (node == "joined")
        times = {{"first", 12}, {"other", 5}};
      for (const auto &[name, us] : times) {
        KernelProfile &profile = judgement.kernels[name];
        profile.timeUs = us;
        profile.state.primary = "memory_latency_bound";
        judgement.timeUs += us;
      }
      return judgement;
    }
  };
  Joining world;
  SearchOptions options;
  options.batch = 1;
  SearchResult result = search(world, options);
  ASSERT_EQ(result.evidence.size(), 1u);
  EXPECT_NEAR(*result.evidence[0].achievedGain, std::log(60.0 / 12), 1e-12);
}

TEST(Explorer, AmdahlsLaw) {
  EXPECT_NEAR(programGain(std::log(2), 1), std::log(2), 1e-12);
  EXPECT_NEAR(programGain(std::log(2), 0.5), std::log(4.0 / 3), 1e-12);
  EXPECT_NEAR(programGain(std::log(2), 0), 0, 1e-12);
  EXPECT_LT(programGain(-0.5, 0.5), 0);
}

TEST(Explorer, PredecessorsAreThoseOfTheKernel) {
  ExplorerNode node;
  node.pipeline = {{"a", "first", 0, {}}, {"b", "second", 0, {}}, {"c", "", 0, {}}};
  EXPECT_EQ(node.predecessors("first"), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(node.predecessors(""), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Explorer, AKernelThatIsNoLongerLaunchedHasNoShare) {
  ExplorerNode node;
  EXPECT_EQ(node.shareOf("k"), 1) << "nothing is known of kernels";
  node.judgement.kernels["new"].timeUs = 30;
  node.judgement.kernels["other"].timeUs = 10;
  EXPECT_NEAR(node.shareOf("new"), 0.75, 1e-12);
  EXPECT_EQ(node.shareOf("old"), 0);
  EXPECT_EQ(node.shareOf(""), 1) << "of the host";
}

// A step on a kernel whose place another one took is not even drawn.
TEST(Explorer, StepsOnKernelsThatDoNotRunAreNotTried) {
  FakeEnvironment world;
  world.passes = {{"unroll-loop", {{"", 0.5}}}, {"coalesce-accesses", {{"", 0.5}}}};
  world.passes[1].kernel = "idle";
  world.adjust = [](const FakeEnvironment::Moves &, NodeJudgement &judgement) {
    judgement.kernels["k"] = {judgement.timeUs, judgement.state, ""};
  };
  SearchResult result = search(world, {});
  EXPECT_NEAR(result.bestUs, 50, 1e-9);
  for (const Attempt &attempt : result.attempts)
    EXPECT_EQ(attempt.step.kernel, "k");
}

TEST(Explorer, NothingIsTriedWithinTwoPerCentOfTheAttainableTime) {
  for (double kernels : {50.0, 93.5}) {
    FakeEnvironment world;
    fillWorld(world);
    world.programFloorUs = 99; // of the kernels as they are, which a rewrite may replace
    world.adjust = [kernels](const FakeEnvironment::Moves &moves, NodeJudgement &judgement) {
      if (moves.empty())
        judgement.attainable = {kernels, 5};
    };
    EXPECT_EQ(search(world, {}).attempts.empty(), kernels > 90);
  }
}
