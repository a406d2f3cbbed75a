//===- TuneTest.cpp - The winner with other parameters --------------------===//
#include "FakeEnvironment.h"
#include "kb-opt/Policy/Explorer.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

using Moves = std::vector<Step>;

/// A search whose model was asked for some passes, one after the other.
struct Tuning {
  FakeEnvironment world;
  KnowledgeBase knowledge = seedKnowledge();
  FakeClock clock;
  SearchOptions options;

  void add(llvm::StringRef pass, FakeReply reply) {
    world.passes.emplace_back(FakePass{pass.str()}).replies = {std::move(reply)};
  }
  /// Tries \p passes, each on top of those before, and tunes what is fastest.
  SearchResult run(llvm::ArrayRef<const char *> passes) {
    Explorer explorer(world, knowledge, options, clock, nullptr);
    EXPECT_TRUE(llvm::cantFail(explorer.start()));
    NodeId at = explorer.root();
    for (const char *pass : passes) {
      auto found =
          llvm::find_if(world.passes, [&](const FakePass &each) { return each.name == pass; });
      Step step{pass, "k", 0, {}};
      if (found->replies.empty())
        step.parameters["n"] = found->defaultValue;
      llvm::cantFail(explorer.actions(at));
      ExplorerRequest request{at, step, 0.1, 1, !found->replies.empty()};
      at = llvm::cantFail(explorer.evaluate(request)).front().node;
    }
    return llvm::cantFail(explorer.finish(SearchEnd::Done));
  }
};

FakeReply reply(const std::string &digest) {
  FakeReply made{digest};
  made.factors = {{"16", 0.9}, {"32", 0.9}, {"64", 0.9}};
  made.values = {"16", "32", "64"};
  return made;
}

/// The values of "T" in \p moves.
std::vector<std::string> valuesOf(const Moves &moves) {
  std::vector<std::string> values;
  for (const Step &move : moves)
    if (auto value = move.parameters.find("T"); value != move.parameters.end())
      values.push_back(value->second);
  return values;
}

std::vector<std::string> tunedOf(const SearchResult &result) {
  std::vector<std::string> texts;
  for (const Attempt &attempt : result.attempts)
    if (attempt.phase == AttemptPhase::Tune)
      texts.push_back(attempt.text());
  return texts;
}

size_t jointOnes(const SearchResult &result) {
  return llvm::count_if(result.attempts, [](const Attempt &attempt) {
    return attempt.phase == AttemptPhase::Tune && !attempt.before.empty();
  });
}

} // namespace

TEST(Tune, NumbersOfTwoRepliesAreTunedTogether) {
  Tuning tuning;
  tuning.add("shared-memory-tiling", reply("r1"));
  tuning.add("invent", reply("r2"));
  // Both are of one block: different numbers are slow, larger equal ones are fast.
  tuning.world.adjust = [](const Moves &moves, NodeJudgement &judgement) {
    std::vector<std::string> values = valuesOf(moves);
    if (values.size() == 2)
      judgement.timeUs = values[0] != values[1] ? 90 : 1000.0 / std::stoi(values[0]);
  };
  SearchResult result = tuning.run({"shared-memory-tiling", "invent"});
  EXPECT_EQ(textOf(result.pipeline),
            "shared-memory-tiling{T=64 reply=r1 kernel=k},invent{T=64 reply=r2 kernel=k}");
  EXPECT_NEAR(result.bestUs, 1000.0 / 64, 1e-9);
  EXPECT_TRUE(llvm::is_contained(
      tunedOf(result),
      "shared-memory-tiling{T=32 reply=r1 kernel=k},invent{T=32 reply=r2 kernel=k}"));
  EXPECT_EQ(result.evidence.size(), 2u) << "tuning leaves none";
}

TEST(Tune, TwoNumbersOfOneReplyAreTunedTogether) {
  Tuning tuning;
  FakeReply both = reply("r1");
  both.others = {"1", "2"};
  tuning.add("invent", both);
  tuning.world.adjust = [](const Moves &moves, NodeJudgement &judgement) {
    if (moves.empty())
      return;
    const std::string tile = moves[0].parameters.at("T"), other = moves[0].parameters.at("U");
    judgement.timeUs = tile == "16" && other == "1" ? 50 : tile == "32" && other == "2" ? 20 : 60;
  };
  EXPECT_EQ(textOf(tuning.run({"invent"}).pipeline), "invent{T=32 U=2 reply=r1 kernel=k}");
}

TEST(Tune, ClimbsOneNumberFirst) {
  Tuning tuning;
  tuning.add("shared-memory-tiling", reply("r1"));
  tuning.add("invent", reply("r2"));
  tuning.world.adjust = [](const Moves &moves, NodeJudgement &judgement) {
    std::vector<std::string> values = valuesOf(moves);
    if (values.size() == 2)
      judgement.timeUs = values[0] == "64" ? 10 : values[0] == "32" ? 20 : 30;
  };
  SearchResult result = tuning.run({"shared-memory-tiling", "invent"});
  EXPECT_NEAR(result.bestUs, 10, 1e-9);
  std::vector<std::string> tuned = tunedOf(result);
  ASSERT_GE(tuned.size(), 2u);
  EXPECT_EQ(tuned[0], "shared-memory-tiling{T=32 reply=r1 kernel=k}");
  EXPECT_NE(tuned[1].find("T="), std::string::npos);
}

TEST(Tune, JointTrialsAreFewAndOfRepliesAlone) {
  Tuning tuning;
  FakeReply one = reply("r1"), two = reply("r2"), three = reply("r3"), four = reply("r4");
  for (FakeReply *each : {&one, &two, &three, &four}) {
    each->values = {"32", "16", "64"};
    each->others = {"1", "2", "3"};
  }
  tuning.add("shared-memory-tiling", one);
  tuning.add("invent", two);
  tuning.add("split-k", three);
  tuning.add("double-buffer", four);
  tuning.world.passes.push_back({"unroll-loop", {{"2", 0.5}, {"4", 0.5}}, {"2", "4"}, "2"});
  SearchResult result =
      tuning.run({"shared-memory-tiling", "invent", "split-k", "double-buffer", "unroll-loop"});
  const size_t tuned = tunedOf(result).size(), single = 9;
  EXPECT_EQ(tuned, single + 16) << "nine numbers one place up, and 16 of 28 pairs";
  EXPECT_GT(jointOnes(result), 0u);
  for (const Attempt &attempt : result.attempts)
    EXPECT_TRUE(attempt.before.empty() || attempt.step.pass != "unroll-loop") << attempt.text();
}
