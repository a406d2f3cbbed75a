//===- AblationsTest.cpp - Searches without memory, profile or roles --------===//
#include "FakeEnvironment.h"
#include "gtest/gtest.h"

using namespace kbopt;

TEST(Ablations, WithoutMemoryOnlyTheSeedIsKnown) {
  EvidenceSet earlier;
  for (int i = 0; i != 20; ++i) {
    Evidence record;
    record.primary = "uncoalesced_access";
    record.pass = "unroll-loop";
    record.chip = "h200";
    record.device = "cpu-modelled";
    record.achievedGain = record.creditGain = 2.0;
    record.program = std::to_string(i);
    earlier.insert(record);
  }
  auto firsts = [&](bool memory) {
    std::map<std::string, unsigned> drawn;
    for (uint64_t seed = 0; seed != 200; ++seed) {
      FakeEnvironment world;
      world.passes = {{"unroll-loop", {{"", 0.9}}},
                      {"coalesce-accesses", {{"", 0.9}}},
                      {"invent-nothing", {{"", 0.9}}},
                      {"fast-math", {{"", 0.9}}}};
      KnowledgeBase knowledge = seedKnowledge();
      knowledge.learn(earlier);
      SearchOptions options;
      options.seed = seed;
      options.memory = memory;
      options.trajectories = options.steps = 1;
      SearchResult result = search(world, options, "rollout", nullptr, knowledge);
      ++drawn[result.attempts.at(0).step.pass];
      EXPECT_FALSE(result.evidence.empty()) << "evidence is recorded all the same";
    }
    return drawn;
  };
  std::map<std::string, unsigned> with = firsts(true), without = firsts(false);
  EXPECT_GT(with["unroll-loop"], 140u);
  EXPECT_LT(without["unroll-loop"], 40u) << "the seed thinks little of it here";
  EXPECT_GT(without["coalesce-accesses"], 140u) << "the seed stays";
}

TEST(Ablations, WithoutMemoryNothingIsLearntOnTheWay) {
  // A pass that fails everywhere is drawn as often as any other.
  auto failures = [](bool memory) {
    unsigned count = 0;
    for (uint64_t seed = 0; seed != 10; ++seed) {
      FakeEnvironment world;
      for (int i = 0; i != 8; ++i)
        world.passes.push_back({"good-" + std::to_string(i), {{"", 0.99}}});
      for (int i = 0; i != 4; ++i) {
        FakePass bad{"bad-" + std::to_string(i)};
        bad.compiles = false;
        world.passes.push_back(bad);
      }
      SearchOptions options;
      options.memory = memory;
      options.seed = seed;
      options.batch = 1;
      options.budgetCandidates = 40;
      for (const Attempt &attempt : search(world, options, "rollout").attempts)
        count += attempt.failure == FailureClass::Compile;
    }
    return count;
  };
  EXPECT_LT(failures(true) * 3, failures(false) * 2);
}

TEST(Ablations, WithoutProfileThereAreTimesAndNothingElse) {
  FakeEnvironment world;
  fillWorld(world);
  world.programFloorUs = 99; // would end the search at once
  for (FakePass &pass : world.passes)
    pass.floorUs = 1000; // would prune every candidate
  FakePass pass{"invent"};
  pass.replies = {{"r", FailureClass::Compile}};
  world.passes.push_back(pass);
  world.adjust = [](const FakeEnvironment::Moves &, NodeJudgement &judgement) {
    judgement.metrics = {{"dram__bytes_read.sum", 1024}};
    judgement.kernels["k"] = {judgement.timeUs, judgement.state, "elementwise", judgement.metrics};
  };
  SearchOptions options;
  options.profile = false;
  SearchResult result = search(world, options, "rollout");
  EXPECT_LE(result.bestUs, 40) << "what gains most is found all the same";
  EXPECT_EQ(result.pruned, 0u);
  for (const Attempt &attempt : result.attempts)
    if (attempt.trajectory)
      EXPECT_EQ(attempt.primary, "unknown");
  ASSERT_FALSE(world.questions.empty());
  for (const auto &[name, request] : world.questions) {
    EXPECT_FALSE(request.profile);
    EXPECT_EQ(request.state.primary, "unknown");
    EXPECT_TRUE(request.metrics.empty());
  }
}

TEST(Ablations, TheMinimalAgentAsksOneRoleForWholeKernels) {
  FakeEnvironment world;
  FakePass invent{"invent"};
  FakeReply wrong{"wrong"}, first{"first", FailureClass::None, {{"", 0.8}}},
      second{"second", FailureClass::None, {{"", 0.7}}};
  wrong.verdict = VerdictKind::Incorrect;
  invent.replies = {wrong, first, second};
  world.passes = {invent, {"unroll-loop", {{"", 0.1}}}};
  SearchOptions options;
  options.trajectories = 2;
  options.steps = 3;
  SearchResult result = search(world, options, "minimal");
  EXPECT_EQ(world.questions.size(), 6u) << "two trajectories of three steps, and no debugger";
  for (const auto &[name, request] : world.questions) {
    EXPECT_TRUE(request.minimal);
    EXPECT_EQ(request.action.pass, "invent");
    EXPECT_TRUE(request.knowledge.entries.empty());
    EXPECT_TRUE(request.planner.attempts.empty());
    EXPECT_EQ(name.find('/'), name.rfind('/')) << "no repairs";
  }
  for (const Attempt &attempt : result.attempts)
    EXPECT_NE(attempt.step.pass, "unroll-loop") << "no choice of passes";
  EXPECT_LE(result.bestUs, 80 + 1e-9);
  EXPECT_EQ(result.evidence.front().role, "minimal");
  EXPECT_TRUE(world.buffers.empty()) << "it thinks nothing over";
}
