//===- SharesTest.cpp - A budget of candidates, and who has it ------------===//
#include "FakeEnvironment.h"
#include "kb-opt/Policy/Explorer.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// Twelve schedules of one kernel, and a model whose replies are \p replies.
void fill(FakeEnvironment &world, std::vector<FakeReply> replies) {
  FakePass schedule{"schedule"};
  schedule.sketch = true;
  schedule.factors.clear();
  for (int i = 0; i != 12; ++i) {
    schedule.values.push_back(std::to_string(i));
    schedule.factors[std::to_string(i)] = 0.9 - 0.01 * i;
    schedule.modelled[std::to_string(i)] = 90 - i;
  }
  schedule.defaultValue = "0";
  FakePass invent{"invent"};
  invent.replies = std::move(replies);
  world.passes = {schedule};
  if (!invent.replies.empty())
    world.passes.push_back(invent);
}

unsigned judgedOf(const SearchResult &result, AttemptPhase phase) {
  return static_cast<unsigned>(llvm::count_if(result.attempts, [&](const Attempt &attempt) {
    return attempt.phase == phase && attempt.judged();
  }));
}

} // namespace

TEST(Shares, SketchesLeaveHalfOfTheBudgetToReplies) {
  FakeEnvironment world, silent;
  fill(world, {{"r", FailureClass::None, {{"", 0.1}}}});
  fill(silent, {});
  SearchOptions options;
  options.budgetCandidates = 8;
  options.tune = false;
  SearchResult result = search(world, options);
  EXPECT_EQ(judgedOf(result, AttemptPhase::Sketch), 4u);
  EXPECT_EQ(result.pipeline.back().reply, "r") << storyOf(result);
  // Without a model all of it is the sketches'.
  EXPECT_EQ(judgedOf(search(silent, options), AttemptPhase::Sketch), 8u);
}

TEST(Shares, AReplyThatWasPaidForIsJudgedBeforeARulesStep) {
  FakeEnvironment world;
  FakePass rule{"unroll-loop", {{"", 0.9}}}, asked{"invent"};
  asked.replies = {{"r", FailureClass::None, {{"", 0.5}}}};
  world.passes = {rule, asked};
  SearchOptions options;
  options.budgetCandidates = 1;
  FakeClock clock;
  Explorer explorer(world, seedKnowledge(), options, clock, nullptr);
  ASSERT_TRUE(llvm::cantFail(explorer.start()));
  std::vector<Attempt> attempts =
      llvm::cantFail(explorer.evaluate({{explorer.root(), {"unroll-loop", "k"}, 0, 1},
                                        {explorer.root(), {"invent", "k"}, 0, 2, 1}}));
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].shortcut, "outranked");
  EXPECT_TRUE(attempts[1].judged());
  EXPECT_TRUE(attempts[1].correct());
  EXPECT_FALSE(explorer.tried(explorer.root(), {"unroll-loop", "k"})) << "it may be drawn again";
}

TEST(Shares, NoMoreIsAskedThanCanBeJudged) {
  FakeEnvironment world;
  for (const char *name : {"invent", "split-k", "async-copy"}) {
    FakePass pass{name};
    pass.replies = {{name, FailureClass::None, {{"", 0.5}}}};
    pass.replies[0].verdict = VerdictKind::Incorrect;
    pass.repairs = {{name, {{std::string(name) + " mended", FailureClass::None, {{"", 0.5}}}}}};
    world.passes.push_back(pass);
  }
  SearchOptions options;
  options.budgetCandidates = 3;
  FakeClock clock;
  Explorer explorer(world, seedKnowledge(), options, clock, nullptr);
  ASSERT_TRUE(llvm::cantFail(explorer.start()));
  auto ask = [&](const char *pass, unsigned trajectory) {
    return ExplorerRequest{explorer.root(), {pass, "k"}, 0, trajectory, 1};
  };
  // Two replies fail, and one candidate is left for the debugger.
  EXPECT_EQ(llvm::cantFail(explorer.evaluate({ask("invent", 1), ask("split-k", 2)})).size(), 2u);
  EXPECT_EQ(world.questions.size(), 3u);
  EXPECT_EQ(explorer.mustEnd(), SearchEnd::BudgetCandidates);
  for (const Attempt &attempt : explorer.attempts())
    EXPECT_TRUE(attempt.judged()) << attempt.step.text();
  EXPECT_TRUE(llvm::cantFail(explorer.evaluate({ask("async-copy", 1)})).empty());
  EXPECT_EQ(world.questions.size(), 3u);
}
