//===- ScreeningTest.cpp - Screened candidates and proven leaders ---------===//
#include "FakeEnvironment.h"
#include "kb-opt/Policy/Explorer.h"
#include "kb-opt/Support/Interrupt.h"
#include "gtest/gtest.h"
#include <future>
#include <thread>

using namespace kbopt;

namespace {

/// A world whose candidates are screened.
struct ScreenedWorld : FakeEnvironment {
  ScreenedWorld() {
    fillWorld(*this);
    measured = screening = true;
  }
};

bool has(llvm::ArrayRef<Step> pipeline, llvm::StringRef pass) {
  return llvm::any_of(pipeline, [&](const Step &step) { return step.pass == pass; });
}

struct Watcher : SearchObserver {
  std::vector<std::string> proofs;
  size_t attempts = 0, attemptsAtFirstProof = 0;
  double needed = 0, left = -1;
  unsigned told = 0; ///< that no proof fits
  void attempted(const Attempt &) override { ++attempts; }
  void proven(double, llvm::ArrayRef<Step> pipeline) override {
    if (proofs.empty())
      attemptsAtFirstProof = attempts;
    proofs.push_back(textOf(pipeline));
  }
  void proofDoesNotFit(double seconds, double rest) override {
    needed = seconds;
    left = rest;
    ++told;
  }
};

SearchResult run(FakeEnvironment &world, const SearchOptions &options, FakeClock &clock,
                 SearchObserver *observer = nullptr) {
  return llvm::cantFail(llvm::cantFail(createStrategy("rollout"))
                            ->run(world, seedKnowledge(), options, clock, observer));
}

} // namespace

TEST(Screening, NothingIsJudgedButTheOriginalAndTheWinnerIsProven) {
  ScreenedWorld world;
  SearchResult result = search(world);
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(result.winner.verdict, VerdictKind::Correct);
  EXPECT_NEAR(result.bestUs, 27.2, 1e-9);
  EXPECT_EQ(world.totalJudged(), 1u);
  EXPECT_EQ(world.judged.count(result.original.code), 1u);
  EXPECT_GE(result.screened, result.judged);
  EXPECT_GT(result.proven, 0u);
  // The step to a proven program is a success, all others stay screened.
  std::set<Digest> proven;
  unsigned screened = 0;
  for (const Evidence &record : result.evidence) {
    if (record.verdict == VerdictKind::Correct)
      proven.insert(record.after);
    screened += record.verdict == VerdictKind::Screened;
  }
  EXPECT_LE(proven.size(), result.proven);
  EXPECT_GT(screened, 0u);
}

TEST(Screening, LeadersAreProvenBesideTheSearch) {
  ScreenedWorld world;
  FakeClock clock;
  world.clock = &clock; // a second per candidate
  Watcher watcher;
  SearchOptions options;
  options.batch = 1;
  SearchResult result = run(world, options, clock, &watcher);
  ASSERT_FALSE(watcher.proofs.empty());
  EXPECT_LT(watcher.attemptsAtFirstProof, watcher.attempts);
  ASSERT_TRUE(result.timeline.original && result.timeline.candidate && result.timeline.leader &&
              result.timeline.proof);
  EXPECT_LE(*result.timeline.original, *result.timeline.candidate);
  EXPECT_LE(*result.timeline.candidate, *result.timeline.leader);
  EXPECT_LE(*result.timeline.leader, *result.timeline.proof);
}

/// Whether a proof begins while eight leaders come, each better by \p factor, a second apart.
static bool provesBeside(double factor) {
  FakeEnvironment world;
  world.measured = world.screening = true;
  FakeClock clock;
  world.clock = &clock; // a second per candidate
  FakePass schedule{"vectorize-loads"};
  double share = 0.5;
  for (const char *value : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    schedule.factors[value] = share;
    schedule.values.push_back(value);
    share *= factor;
  }
  schedule.defaultValue = "1";
  world.passes = {schedule};
  std::promise<void> began;
  bool isFirst = true;
  world.onConfirm = [&]() -> llvm::Error {
    if (std::exchange(isFirst, false))
      began.set_value();
    return llvm::Error::success();
  };
  const KnowledgeBase knowledge = seedKnowledge();
  const SearchOptions options;
  Explorer explorer(world, knowledge, options, clock, nullptr);
  EXPECT_TRUE(llvm::cantFail(explorer.start()));
  std::future<void> proof = began.get_future();
  for (const std::string &value : schedule.values) {
    ExplorerRequest request{explorer.root(), {"vectorize-loads", "k", 0, {{"n", value}}}};
    (void)llvm::cantFail(explorer.evaluate(request));
    if (proof.wait_for(std::chrono::milliseconds(20)) == std::future_status::ready)
      return true;
  }
  return false;
}

TEST(Screening, ASlightlyBetterLeaderDoesNotPutAProofOff) {
  EXPECT_TRUE(provesBeside(0.99));
  EXPECT_FALSE(provesBeside(0.9)) << "the next ones come quickly at first";
}

TEST(Screening, StatesAreThoseOfTheOriginalOnceItIsKnown) {
  ScreenedWorld world;
  FakeClock clock;
  world.clock = &clock;
  SearchOptions options;
  options.batch = 1;
  SearchResult result = run(world, options, clock);
  EXPECT_EQ(result.original.state.primary, "uncoalesced_access");
  EXPECT_FALSE(result.evidence.empty());
  for (const Evidence &record : result.evidence)
    EXPECT_NE(record.primary, unknownState) << "what was tried before is filed anew";
}

TEST(Screening, ARefusedLeaderGivesWayWithoutTheBlamedStep) {
  ScreenedWorld world;
  world.refuse = [](const FakeEnvironment::Moves &moves) { return has(moves, "unroll-loop"); };
  SearchResult result = search(world);
  EXPECT_TRUE(result.confirmed);
  EXPECT_FALSE(has(result.pipeline, "unroll-loop"));
  EXPECT_TRUE(has(result.pipeline, "coalesce-accesses"));
  EXPECT_GE(result.refused.at("G15"), 1u);
  unsigned refuted = 0;
  for (const Attempt &attempt : result.attempts)
    refuted += attempt.phase != AttemptPhase::Confirm && attempt.gate == GateId::G15;
  EXPECT_GE(refuted, 1u);
  // What was refused is no example for anybody.
  EXPECT_TRUE(llvm::any_of(result.evidence, [](const Evidence &record) {
    return record.verdict == VerdictKind::Incorrect && record.gate == GateId::G15 &&
           !record.achievedGain;
  }));
}

TEST(Screening, AnOriginalThatFailsItsOwnGatesEndsTheSearch) {
  ScreenedWorld world;
  world.originalVerdict = VerdictKind::Incorrect;
  SearchResult result = search(world);
  EXPECT_EQ(result.original.verdict, VerdictKind::Incorrect);
  EXPECT_TRUE(result.pipeline.empty());
  EXPECT_EQ(result.proven, 0u);
}

TEST(Screening, WhatIsNotProvenInTimeIsNotConfirmed) {
  ScreenedWorld world;
  std::atomic<bool> isOver = false;
  SearchOptions options;
  options.stop = [&] { return isOver.load(); };
  world.onConfirm = [&]() -> llvm::Error {
    isOver = true;
    return interruption();
  };
  SearchResult result = search(world, options);
  EXPECT_FALSE(result.pipeline.empty());
  EXPECT_FALSE(result.confirmed);
  EXPECT_EQ(result.winner.verdict, VerdictKind::Screened);
}

TEST(Screening, AProvenProgramIsWorthMoreThanAFasterOneThatIsNot) {
  FakeEnvironment world;
  world.measured = world.screening = true;
  FakeClock clock;
  world.clock = &clock;
  FakePass schedule{"vectorize-loads"};
  schedule.factors = {{"first", 0.5}, {"fastest", 0.3}};
  for (int slow = 0; slow < 200; ++slow)
    schedule.factors["slow" + std::to_string(slow)] = 0.9;
  for (const auto &[value, factor] : schedule.factors)
    schedule.values.push_back(value);
  schedule.defaultValue = "first";
  world.passes = {schedule};
  std::promise<void> began;
  std::atomic<bool> isFirst = true, isOver = false;
  world.onConfirm = [&]() -> llvm::Error {
    if (isFirst.exchange(false)) {
      began.set_value();
      return llvm::Error::success();
    }
    isOver = true;
    return interruption();
  };
  const KnowledgeBase knowledge = seedKnowledge();
  SearchOptions options;
  options.ablate = options.tune = false;
  options.stop = [&] { return isOver.load(); };
  Explorer explorer(world, knowledge, options, clock, nullptr);
  ASSERT_TRUE(llvm::cantFail(explorer.start()));
  auto evaluate = [&](const std::string &value) {
    ExplorerRequest request{explorer.root(), {"vectorize-loads", "k", 0, {{"n", value}}}};
    (void)llvm::cantFail(explorer.evaluate(request));
  };
  evaluate("first");
  // A leader is proven once it has stood for a while, and the original is known.
  std::future<void> proof = began.get_future();
  for (int slow = 0;
       slow < 200 && proof.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready;
       ++slow) {
    clock.now += 10;
    evaluate("slow" + std::to_string(slow));
  }
  ASSERT_FALSE(isFirst);
  evaluate("fastest");
  SearchResult result = llvm::cantFail(explorer.finish(SearchEnd::Done));
  EXPECT_TRUE(isOver);
  EXPECT_TRUE(result.confirmed);
  EXPECT_DOUBLE_EQ(result.bestUs, 50);
  EXPECT_DOUBLE_EQ(result.unprovenUs, 30);
}

TEST(Screening, ABudgetThatIsShorterThanAProofIsToldAtTheStart) {
  ScreenedWorld world;
  FakeClock clock;
  world.clock = &clock;
  world.proof = 40;
  Watcher watcher;
  SearchOptions options;
  options.budgetSeconds = 20;
  (void)run(world, options, clock, &watcher);
  EXPECT_EQ(watcher.needed, 40);
  EXPECT_EQ(watcher.left, 20) << "the original has taken nothing yet";
  EXPECT_EQ(watcher.told, 1u);
}

TEST(Screening, ABudgetThatTheOriginalMakesTooShortIsTold) {
  ScreenedWorld world;
  FakeClock clock;
  world.clock = &clock;
  world.proof = 20;
  Watcher watcher;
  SearchOptions options;
  options.budgetSeconds = 20.5;
  (void)run(world, options, clock, &watcher);
  EXPECT_EQ(watcher.left, 19.5);
  EXPECT_EQ(watcher.told, 1u);
}

TEST(Screening, HalfOfWhatIsLeftIsKeptForAProof) {
  ScreenedWorld world;
  FakeClock clock;
  world.clock = &clock;
  world.proof = 15;
  SearchOptions options;
  options.budgetSeconds = 21; // one second is the original's
  options.batch = 1;
  SearchResult result = run(world, options, clock);
  EXPECT_EQ(result.end, SearchEnd::BudgetSeconds);
  EXPECT_TRUE(result.confirmed);
  EXPECT_LE(result.judged, 10u);
}

TEST(Screening, ASearchWaitsForAProofWithLittleTimeLeft) {
  // Seconds, which only candidates take, that pass during the first proof.
  auto passed = [](double budget) {
    ScreenedWorld world;
    FakeClock clock;
    world.clock = &clock;
    world.proof = 10;
    SearchOptions options;
    options.budgetSeconds = budget;
    options.batch = 1;
    options.ablate = options.tune = false;
    std::optional<double> seconds;
    world.onConfirm = [&]() -> llvm::Error {
      const double begin = clock.monotonicSeconds();
      // Long enough for a search that does not wait to try many.
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      if (!seconds)
        seconds = clock.monotonicSeconds() - begin;
      return llvm::Error::success();
    };
    (void)run(world, options, clock);
    return seconds;
  };
  ASSERT_TRUE(passed(1000) && passed(24));
  EXPECT_GT(*passed(1000), 3);
  EXPECT_LE(*passed(24), 1) << "less than the time of two proofs is left";
}

TEST(Screening, ANewBestIsHeldAgainstEveryCaseBeforeStepsBuildOnIt) {
  FakeEnvironment world;
  fillWorld(world);
  world.refuseBest = [](const FakeEnvironment::Moves &moves) {
    return has(moves, "coalesce-accesses");
  };
  SearchResult result = search(world);
  EXPECT_FALSE(has(result.pipeline, "coalesce-accesses"));
  EXPECT_GE(result.refused.at("G7"), 1u);
  for (const Attempt &attempt : result.attempts)
    if (attempt.phase == AttemptPhase::Search && attempt.correct())
      EXPECT_FALSE(attempt.timeUs < 50 && attempt.step.pass == "coalesce-accesses");
}

TEST(Screening, ARefusedWinnerIsShownToTheDebugger) {
  ScreenedWorld world;
  FakePass assisted{"tile-shared-memory"};
  assisted.replies = {{"wrong", FailureClass::None, {{"", 0.2}}}};
  assisted.repairs["wrong"] = {{"mended", FailureClass::None, {{"", 0.25}}}};
  world.passes = {assisted};
  world.refuse = [](const FakeEnvironment::Moves &moves) {
    return llvm::any_of(moves, [](const Step &step) { return step.reply == "wrong"; });
  };
  SearchResult result = search(world);
  EXPECT_TRUE(result.confirmed);
  ASSERT_EQ(result.pipeline.size(), 1u);
  EXPECT_EQ(result.pipeline.front().reply, "mended");
}

// What only the whole program shows is found before a trajectory builds on it, and once.
TEST(Screening, ATrajectorysFirstSuccessIsRunWhole) {
  FakeEnvironment world;
  fillWorld(world);
  world.refuseWhole = [](const FakeEnvironment::Moves &moves) {
    return has(moves, "coalesce-accesses");
  };
  SearchOptions options;
  options.trajectories = options.batch = 1;
  SearchResult result = search(world, options);
  EXPECT_EQ(result.refused.at("G14"), 1u);
  unsigned kept = 0;
  for (const Evidence &record : result.evidence)
    if (record.gate == GateId::G14) {
      ++kept;
      EXPECT_EQ(record.verdict, VerdictKind::Incorrect);
      EXPECT_FALSE(record.achievedGain);
    }
  EXPECT_EQ(kept, 1u);
  EXPECT_EQ(world.examinedWhole, 2u) << "the refused one, and the next that passed";
}
