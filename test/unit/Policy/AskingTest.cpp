//===- AskingTest.cpp - Proposals, repairs, and what they leave -----------===//
#include "FakeEnvironment.h"
#include "kb-opt/Policy/Choice.h"
#include "gtest/gtest.h"
#include <cmath>
#include <condition_variable>

using namespace kbopt;

namespace {

/// Two passes of the model and one of a rule; the best is 20 us: the second reply of
/// the first pass at T=64, and the rule's.
void fillModelWorld(FakeEnvironment &world) {
  FakePass tiling{"shared-memory-tiling"};
  FakeReply wrong{"wrong"}, good{"good"};
  wrong.verdict = VerdictKind::Incorrect;
  good.factors = {{"16", 0.6}, {"32", 0.5}, {"64", 0.4}};
  good.values = {"16", "32", "64"};
  tiling.replies = {wrong, good, {"", FailureClass::Refused}};
  FakePass invent{"invent"};
  invent.replies = {{"", FailureClass::Malformed}, {"broken", FailureClass::Compile}};
  FakePass unroll{"unroll-loop", {{"", 0.5}}};
  world.passes = {tiling, invent, unroll};
}

struct World {
  FakeEnvironment world;
  KnowledgeBase knowledge = seedKnowledge();
  FakeClock clock;
  SearchOptions options;
  std::optional<Explorer> explorer;

  Explorer &start() {
    explorer.emplace(world, knowledge, options, clock, nullptr);
    EXPECT_TRUE(llvm::cantFail(explorer->start()));
    return *explorer;
  }
  std::vector<Attempt> ask(const std::string &pass, unsigned number = 1) {
    ExplorerRequest request{explorer->root(), {pass, "k", 0, {}}, 0.1, 1, number};
    return llvm::cantFail(explorer->evaluate(request));
  }
};

} // namespace

TEST(Asking, AProposalIsAppliedAndJudged) {
  World run;
  FakePass pass{"invent"};
  pass.replies = {{"r1", FailureClass::None, {{"", 0.5}}}};
  run.world.passes = {pass};
  run.start();
  std::vector<Attempt> attempts = run.ask("invent");
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].step.text(), "invent{reply=r1 kernel=k}");
  EXPECT_EQ(attempts[0].word(), "correct");
  EXPECT_EQ(attempts[0].ask, 1u);
  EXPECT_EQ(attempts[0].tokens, 100u);
  EXPECT_NEAR(attempts[0].timeUs, 50, 1e-9);
  SearchResult result = llvm::cantFail(run.explorer->finish(SearchEnd::Done));
  EXPECT_EQ(textOf(result.pipeline), "invent{reply=r1 kernel=k}");
  EXPECT_EQ(result.asked, 1u);
  EXPECT_EQ(result.tokens, 100u);
  EXPECT_NEAR(result.cost, 0.01, 1e-12);
  EXPECT_TRUE(result.costKnown);
}

TEST(Asking, WhatFailsGoesToTheDebugger) {
  World run;
  FakePass pass{"invent"};
  pass.replies = {{"r1", FailureClass::Compile}};
  FakeReply second{"r2"}, third{"r3", FailureClass::None, {{"", 0.25}}};
  second.verdict = VerdictKind::Incorrect;
  third.cost = std::nullopt;
  pass.repairs = {{"r1", {second}}, {"r2", {third, third}}};
  run.world.passes = {pass};
  run.start();
  std::vector<Attempt> attempts = run.ask("invent");
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].step.reply, "r3");
  EXPECT_EQ(attempts[0].repair, 2u);
  ASSERT_EQ(run.explorer->attempts().size(), 3u);
  EXPECT_EQ(run.explorer->attempts()[0].word(), "compile");
  EXPECT_EQ(run.explorer->attempts()[1].word(), "correctness");
  EXPECT_EQ(run.explorer->attempts()[1].repair, 1u);
  // The debugger is shown what was tried at this place.
  ASSERT_EQ(run.world.questions.size(), 3u);
  EXPECT_EQ(run.world.questions[2].first, "invent/1/2");
  EXPECT_EQ(run.world.questions[2].second.here.size(), 2u);
  EXPECT_EQ(run.world.questions[2].second.debugger.attempts.size(), 2u);
  SearchResult result = llvm::cantFail(run.explorer->finish(SearchEnd::Done));
  ASSERT_EQ(result.evidence.size(), 3u);
  EXPECT_EQ(result.evidence[0].failure, FailureClass::Compile);
  EXPECT_EQ(result.evidence[1].failure, FailureClass::Correctness);
  EXPECT_NEAR(*result.evidence[2].creditGain, std::log(4), 1e-12);
  EXPECT_FALSE(result.costKnown) << "one reply has no price";
}

TEST(Asking, RepairsEnd) {
  World run;
  FakePass pass{"invent"};
  pass.replies = {{"r0", FailureClass::Compile}};
  for (int i = 0; i != 9; ++i)
    pass.repairs["r" + std::to_string(i)] =
        std::vector<FakeReply>(9, {"r" + std::to_string(i + 1), FailureClass::Compile});
  run.world.passes = {pass};
  run.options.repairs = 2;
  run.start();
  EXPECT_EQ(run.ask("invent")[0].step.reply, "r2");
  EXPECT_EQ(run.explorer->attempts().size(), 3u);
  // The debugger may give up: that is the end, too.
  World other;
  FakePass hopeless{"invent"};
  hopeless.replies = {{"r0", FailureClass::Compile}};
  other.world.passes = {hopeless};
  other.start();
  EXPECT_EQ(other.ask("invent")[0].word(), "declined");
  EXPECT_EQ(other.explorer->attempts().size(), 2u);
}

TEST(Asking, ADisputedGateIsReportedAndCostsNothing) {
  struct Told : SearchObserver {
    std::vector<Attempt> disputes;
    void disputed(const Attempt &attempt) override { disputes.push_back(attempt); }
  } told;
  World run;
  FakePass pass{"invent"}, other{"split-k"};
  FakeReply wrong{"r1"}, dispute{"", FailureClass::Declined}, good{"r3"};
  wrong.verdict = VerdictKind::Incorrect;
  dispute.dispute = "the tolerance is for half the terms";
  good.factors = {{"", 0.5}};
  pass.replies = {wrong};
  pass.repairs = {{"r1", {dispute}}};
  other.replies = {good};
  run.world.passes = {pass, other};
  run.explorer.emplace(run.world, run.knowledge, run.options, run.clock, &told);
  ASSERT_TRUE(llvm::cantFail(run.explorer->start()));
  std::vector<ExplorerRequest> requests;
  for (const char *name : {"invent", "split-k"})
    requests.push_back({run.explorer->root(), {name, "k", 0, {}}, 0.1, 1, 1});
  std::vector<Attempt> attempts = llvm::cantFail(run.explorer->evaluate(requests));
  // It stays refused, is no attempt more, and no other repair is asked for.
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].verdict, VerdictKind::Incorrect);
  EXPECT_EQ(attempts[0].gate, GateId::G4);
  EXPECT_EQ(attempts[0].dispute, "the tolerance is for half the terms");
  EXPECT_EQ(attempts[0].repair, 0u);
  EXPECT_EQ(attempts[0].tokens, 200u);
  EXPECT_EQ(run.explorer->attempts().size(), 2u);
  EXPECT_EQ(run.world.questions.size(), 3u);
  ASSERT_EQ(told.disputes.size(), 1u);
  EXPECT_EQ(told.disputes[0].step.reply, "r1");
  // What was recorded behind it keeps its credit.
  run.explorer->credit(run.explorer->root(), attempts[1].step, 0.5);
  SearchResult result = llvm::cantFail(run.explorer->finish(SearchEnd::Done));
  ASSERT_EQ(result.evidence.size(), 1u);
  EXPECT_EQ(result.evidence[0].pass, "split-k");
  EXPECT_NEAR(*result.evidence[0].creditGain, std::log(2) + 0.5, 1e-12);
  EXPECT_EQ(textOf(result.pipeline), "split-k{reply=r3 kernel=k}");
}

TEST(Asking, ARefusedProposalIsAnAttemptAndLeavesEvidence) {
  for (FailureClass failure :
       {FailureClass::Refused, FailureClass::Malformed, FailureClass::Truncated,
        FailureClass::Constraints, FailureClass::Library}) {
    World run;
    FakePass pass{"invent"};
    pass.replies = {{"", failure}};
    run.world.passes = {pass};
    run.start();
    std::vector<Attempt> attempts = run.ask("invent");
    ASSERT_EQ(attempts.size(), 1u);
    EXPECT_EQ(attempts[0].word(), toString(failure));
    EXPECT_TRUE(attempts[0].step.reply.empty());
    EXPECT_EQ(run.world.questions.size(), 1u) << "nothing to repair";
    SearchResult result = llvm::cantFail(run.explorer->finish(SearchEnd::Done));
    ASSERT_EQ(result.evidence.size(), 1u);
    EXPECT_EQ(result.evidence[0].failure, failure);
    EXPECT_EQ(result.evidence[0].verdict, VerdictKind::NotApplied);
    EXPECT_NE(result.evidence[0].reason, "");
    EXPECT_EQ(result.judged, 0u);
  }
}

TEST(Asking, TheFailureOfAPlannedPassIsItsOwn) {
  World run;
  FakePass drawn{"invent"}, planned{"shared-memory-tiling"};
  FakeReply refused{"", FailureClass::Malformed};
  refused.chosen = "shared-memory-tiling";
  drawn.replies = {refused};
  planned.replies = {{"r1"}};
  run.world.passes = {drawn, planned};
  run.start();
  std::vector<Attempt> attempts = run.ask("invent");
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].step.pass, "shared-memory-tiling");
  SearchResult result = llvm::cantFail(run.explorer->finish(SearchEnd::Done));
  ASSERT_EQ(result.evidence.size(), 1u);
  EXPECT_EQ(result.evidence[0].pass, "shared-memory-tiling");
}

TEST(Asking, ARepairThatFailsIsFiledUnderThePassOfWhatItMends) {
  World run;
  FakePass drawn{"invent"}, named{"shared-memory-tiling"};
  FakeReply broken{"r1", FailureClass::Compile};
  broken.chosen = "shared-memory-tiling";
  drawn.replies = {broken};
  drawn.repairs = {{"r1", {{"", FailureClass::Malformed}}}};
  named.replies = {broken};
  run.world.passes = {drawn, named};
  run.start();
  run.ask("invent");
  SearchResult result = llvm::cantFail(run.explorer->finish(SearchEnd::Done));
  ASSERT_EQ(result.evidence.size(), 2u);
  EXPECT_EQ(result.evidence[0].failure, FailureClass::Compile);
  EXPECT_EQ(result.evidence[1].failure, FailureClass::Malformed);
  for (const Evidence &record : result.evidence)
    EXPECT_EQ(record.pass, "shared-memory-tiling");
}

TEST(Asking, APassThatDoesNotFitIsNotAskedForAgain) {
  World run;
  FakePass drawn{"shared-memory-tiling"}, other{"invent"};
  FakeReply reply{"r1", FailureClass::None, {{"", 0.5}}};
  reply.chosen = "invent";
  reply.unfit = {"shared-memory-tiling"};
  drawn.replies = other.replies = {reply};
  run.world.passes = {drawn, other};
  Explorer &explorer = run.start();
  llvm::cantFail(explorer.actions(explorer.root()));
  std::vector<Attempt> attempts = run.ask("shared-memory-tiling");
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].step.pass, "invent");
  std::vector<std::string> left;
  for (const StepOption &step : llvm::cantFail(freshSteps(explorer, explorer.root(), {})))
    left.push_back(step.step.pass);
  EXPECT_EQ(left, std::vector<std::string>{"invent"});
  SearchResult result = llvm::cantFail(explorer.finish(SearchEnd::Done));
  ASSERT_EQ(result.evidence.size(), 1u) << "nothing is learnt of what was not tried";
  EXPECT_EQ(result.evidence[0].pass, "invent");
}

TEST(Asking, ADeclineEndsTheQuestionsAboutAProgramAndTeachesNothing) {
  FakeEnvironment world;
  FakePass one{"invent"}, other{"shared-memory-tiling"}, rule{"unroll-loop", {{"", 0.9}}};
  one.replies = other.replies = {{"", FailureClass::Declined}};
  world.passes = {one, other, rule};
  SearchOptions options;
  options.asks = 100;
  options.batch = 1;
  SearchResult result = search(world, options);
  for (const Evidence &record : result.evidence)
    EXPECT_EQ(record.pass, "unroll-loop");
  // Once about the original, and once about what the rule makes of it.
  EXPECT_EQ(world.questions.size(), 2u);
  EXPECT_NEAR(result.bestUs, 90, 1e-9);
}

TEST(Asking, ACoderThatCannotEndsTheQuestionsForOnePass) {
  World run;
  FakePass one{"invent"}, other{"shared-memory-tiling"};
  FakeReply cannot{"", FailureClass::Declined};
  cannot.chosen = "invent";
  cannot.unfit = {"invent"};
  one.replies = other.replies = {cannot};
  run.world.passes = {one, other};
  Explorer &explorer = run.start();
  run.ask("invent");
  EXPECT_FALSE(explorer.isDeclined(explorer.root(), "k"));
  std::vector<std::string> left;
  for (const StepOption &step : llvm::cantFail(freshSteps(explorer, explorer.root(), {})))
    left.push_back(step.step.pass);
  EXPECT_EQ(left, std::vector<std::string>{"shared-memory-tiling"});
  EXPECT_TRUE(llvm::cantFail(explorer.finish(SearchEnd::Done)).evidence.empty());
}

TEST(Asking, AProviderWithoutReplyTeachesNothing) {
  FakeEnvironment world;
  FakePass pass{"invent"}, rule{"unroll-loop", {{"", 0.9}}};
  pass.replies = {{"", FailureClass::Unavailable}};
  world.passes = {pass, rule};
  SearchOptions options;
  options.asks = 100;
  SearchResult result = search(world, options);
  for (const Evidence &record : result.evidence)
    EXPECT_NE(record.pass, "invent");
  // Three silences in a row, and it is asked no more; the rule's pass goes on.
  EXPECT_LE(world.questions.size(), 7u);
  EXPECT_GE(world.questions.size(), 3u);
  EXPECT_EQ(result.end, SearchEnd::BudgetModel);
  EXPECT_NE(result.modelEnd, "");
  EXPECT_NEAR(result.bestUs, 90, 1e-9);
}

TEST(Asking, TheModelsBudgetEndsTheQuestionsAndNotTheSearch) {
  FakeEnvironment world;
  FakePass pass{"invent"}, rule{"unroll-loop", {{"", 0.9}}};
  pass.replies = {{"", FailureClass::Budget}};
  world.passes = {pass, rule};
  SearchResult result = search(world, {});
  EXPECT_NEAR(result.bestUs, 90, 1e-9);
  EXPECT_EQ(result.asked, 0u);
  for (const Attempt &attempt : result.attempts)
    EXPECT_NE(attempt.step.pass, "invent");
  EXPECT_EQ(result.end, SearchEnd::BudgetModel);
}

TEST(Asking, AReplyWithNumbersIsTuned) {
  FakeEnvironment world;
  fillModelWorld(world);
  SearchOptions options;
  options.trajectories = 20;
  SearchResult result = search(world, options);
  EXPECT_NEAR(result.bestUs, 20, 1e-9) << storyOf(result);
  unsigned asked = 0, filled = 0;
  for (const Attempt &attempt : result.attempts)
    if (attempt.step.reply == "good") {
      asked += attempt.ask != 0;
      filled += attempt.ask == 0;
      EXPECT_TRUE(attempt.step.parameters.count("T"));
    }
  EXPECT_GT(asked, 0u);
  EXPECT_GT(filled, 0u) << "the same reply with other numbers needs no question";
}

TEST(Asking, NumbersOfTheWinnerAreTunedAtTheEnd) {
  World run;
  FakePass pass{"invent"};
  FakeReply reply{"r"};
  reply.factors = {{"1", 0.9}, {"2", 0.8}, {"4", 0.5}};
  reply.values = {"1", "2", "4"};
  pass.replies = {reply};
  run.world.passes = {pass};
  run.start();
  run.ask("invent");
  SearchResult result = llvm::cantFail(run.explorer->finish(SearchEnd::Done));
  EXPECT_NEAR(result.bestUs, 50, 1e-9);
  EXPECT_EQ(result.pipeline.at(0).parameters.at("T"), "4");
  EXPECT_EQ(run.world.questions.size(), 1u);
  // What was tried is told, and is no evidence.
  ASSERT_EQ(result.attempts.size(), 3u);
  EXPECT_EQ(result.attempts[0].phase, AttemptPhase::Search);
  for (size_t i : {1, 2}) {
    const Attempt &before = result.attempts[i - 1], &tuned = result.attempts[i];
    EXPECT_EQ(tuned.phase, AttemptPhase::Tune);
    EXPECT_EQ(tuned.trajectory, 0u);
    EXPECT_EQ(tuned.step.parameters.at("T"), i == 1 ? "2" : "4");
    EXPECT_EQ(tuned.parent, before.node);
    EXPECT_EQ(tuned.parentTimeUs, before.timeUs);
    EXPECT_NEAR(tuned.timeUs, i == 1 ? 80 : 50, 1e-9);
    EXPECT_TRUE(tuned.judged());
  }
  EXPECT_EQ(result.attempts[2].node, result.best);
  EXPECT_EQ(result.judged, 3u);
  EXPECT_EQ(result.evidence.size(), 1u);
}

TEST(Asking, NumbersThatFailAreToldToo) {
  World run;
  FakePass pass{"invent"};
  FakeReply reply{"r"};
  reply.factors = {{"1", 0.9}, {"2", 0.8}};
  reply.values = {"1", "2"};
  pass.replies = {reply};
  // What stands behind the tuned step does not go with the other number.
  FakePass after{"unroll-loop", {{"", 0.5}}};
  run.world.passes = {pass, after};
  run.start();
  std::vector<Attempt> first = run.ask("invent");
  ExplorerRequest second{first[0].node, {"unroll-loop", "k", 0, {}}, 0, 1};
  ASSERT_EQ(llvm::cantFail(run.explorer->evaluate(second)).size(), 1u);
  run.world.passes[1].requires_ = "nothing";
  SearchResult result = llvm::cantFail(run.explorer->finish(SearchEnd::Done));
  ASSERT_EQ(result.attempts.size(), 3u);
  const Attempt &tuned = result.attempts[2];
  EXPECT_EQ(tuned.phase, AttemptPhase::Tune);
  EXPECT_EQ(tuned.verdict, VerdictKind::NotApplied);
  EXPECT_EQ(tuned.reason, "unroll-loop{kernel=k} behind it: needs nothing");
  EXPECT_TRUE(tuned.node.empty());
  EXPECT_FALSE(tuned.judged());
  EXPECT_EQ(result.pipeline.at(0).parameters.at("T"), "1");
}

TEST(Asking, AFailedReplyOffersNoNumbers) {
  World run;
  FakePass pass{"invent"};
  FakeReply reply{"r"};
  reply.factors = {{"1", 0.9}, {"2", 0.8}};
  reply.values = {"1", "2"};
  reply.verdict = VerdictKind::Incorrect;
  pass.replies = {reply};
  run.world.passes = {pass};
  run.start();
  run.ask("invent");
  for (const Action &action : llvm::cantFail(run.explorer->actions(run.explorer->root())))
    EXPECT_TRUE(action.reply.empty());
}

TEST(Asking, AsManyQuestionsAtAPlaceAsAllowed) {
  for (unsigned asks : {1, 2, 3}) {
    FakeEnvironment world;
    FakePass pass{"invent"};
    pass.replies = {{"a", FailureClass::Compile},
                    {"b", FailureClass::Compile},
                    {"c", FailureClass::Compile},
                    {"d", FailureClass::Compile}};
    world.passes = {pass};
    SearchOptions options;
    options.asks = asks;
    options.repairs = 0;
    SearchResult result = search(world, options);
    EXPECT_EQ(world.questions.size(), asks);
    std::set<std::string> names;
    for (const auto &question : world.questions)
      names.insert(question.first);
    EXPECT_EQ(names.size(), asks) << "equal questions are told apart";
    EXPECT_EQ(result.end, SearchEnd::NothingLeft);
  }
}

TEST(Asking, OneStoryWithAnyNumberOfThreads) {
  for (const std::string &strategy : strategyNames()) {
    std::string expected;
    for (unsigned jobs : {1, 1, 4, 16}) {
      FakeEnvironment world;
      fillModelWorld(world);
      SearchOptions options;
      options.jobs = jobs;
      options.seed = 5;
      std::string story = storyOf(search(world, options, strategy));
      if (expected.empty())
        expected = story;
      EXPECT_EQ(story, expected) << strategy << " with " << jobs;
    }
  }
}

TEST(Asking, ProposalsOfABatchAreAskedForTogether) {
  // A mailbox that answers only when five letters lie in it.
  struct Mailbox : FakeEnvironment {
    std::mutex door;
    std::condition_variable full;
    unsigned letters = 0;
    llvm::Expected<Proposal> propose(const NodeId &node, const ProposalRequest &request) override {
      std::unique_lock<std::mutex> lock(door);
      if (++letters == 5)
        full.notify_all();
      bool came = full.wait_for(lock, std::chrono::seconds(20), [&] { return letters >= 5; });
      EXPECT_TRUE(came) << "asked one after the other";
      return FakeEnvironment::propose(node, request);
    }
  } world;
  for (const char *name : {"invent", "fuse-kernels", "split-k", "unroll-loop", "async-copy"}) {
    FakePass pass{name};
    pass.replies = {{name, FailureClass::None, {{"", 0.9}}}};
    world.passes.push_back(pass);
  }
  World run;
  Explorer explorer(world, run.knowledge, {}, run.clock, nullptr); // one thread
  ASSERT_TRUE(llvm::cantFail(explorer.start()));
  std::vector<ExplorerRequest> requests;
  for (const FakePass &pass : world.passes)
    requests.push_back({explorer.root(), {pass.name, "k", 0, {}}, 0, 1, 1});
  EXPECT_EQ(llvm::cantFail(explorer.evaluate(requests)).size(), 5u);
}

TEST(Asking, AQuestionShowsWhatTheRolesNeed) {
  World run;
  FakePass pass{"invent"};
  pass.replies = {{"bad", FailureClass::Compile}, {"r", FailureClass::None, {{"", 0.5}}}};
  FakePass left{"unroll-loop", {{"", 0.5}}}, right{"vectorize-loads", {{"", 0.8}}};
  run.world.passes = {pass, left, right};
  run.options.repairs = 0;
  Explorer &explorer = run.start();
  NodeId root = explorer.root();
  std::vector<Attempt> first = llvm::cantFail(explorer.evaluate(
      {{root, {"unroll-loop", "k", 0, {}}, 0, 1}, {root, {"vectorize-loads", "k", 0, {}}, 0, 2}}));
  run.ask("invent", 1);
  run.ask("invent", 2);
  const ProposalRequest &atRoot = run.world.questions[1].second;
  EXPECT_EQ(atRoot.here.size(), 1u);
  EXPECT_EQ(atRoot.here[0].word(), "compile");
  EXPECT_EQ(atRoot.planner.attempts.size(), 3u);
  EXPECT_TRUE(atRoot.planner.leaders.empty()) << "all are below the node itself";
  EXPECT_EQ(atRoot.state.primary, "uncoalesced_access");
  EXPECT_LE(atRoot.knowledge.entries.size(), 4u);
  EXPECT_FALSE(atRoot.knowledge.entries.empty());
  EXPECT_EQ(atRoot.ofPass.entries.size(), 1u);
  EXPECT_NEAR(atRoot.originalUs, 100, 1e-9);
  // At a child: its siblings' children for the coder, two leaders for the planner.
  llvm::cantFail(explorer.evaluate({{first[1].node, {"unroll-loop", "k", 0, {}}, 0, 1}}));
  llvm::cantFail(explorer.evaluate({{first[0].node, {"invent", "k", 0, {}}, 0, 1, 1}}));
  const ProposalRequest &atChild = run.world.questions.back().second;
  ASSERT_EQ(atChild.planner.leaders.size(), 2u);
  EXPECT_LE(atChild.planner.leaders[0].timeUs, atChild.planner.leaders[1].timeUs);
  for (const Leader &leader : atChild.planner.leaders)
    EXPECT_NE(leader.node, first[0].node);
  ASSERT_EQ(atChild.coder.attempts.size(), 1u);
  EXPECT_EQ(atChild.coder.attempts[0].parent, first[1].node);
  EXPECT_EQ(textOf(atChild.pipeline), "unroll-loop{kernel=k}");
}

TEST(Asking, AQuestionSaysWhatTheTimeGoesTo) {
  World run;
  FakePass pass{"invent"};
  pass.replies = {{"r", FailureClass::Compile}};
  run.world.passes = {pass};
  run.world.adjust = [](const FakeEnvironment::Moves &, NodeJudgement &judgement) {
    judgement.split = {2, 60, 30, 10};
  };
  run.options.repairs = 0;
  run.start();
  run.ask("invent");
  EXPECT_EQ(run.world.questions[0].second.split.launches, 2u);
  EXPECT_EQ(run.world.questions[0].second.split.launchesUs, 60);
  World blind;
  blind.world.passes = run.world.passes;
  blind.world.adjust = run.world.adjust;
  blind.options.profile = false;
  blind.options.repairs = 0;
  blind.start();
  blind.ask("invent");
  EXPECT_EQ(blind.world.questions[0].second.split.launches, 0u);
}

TEST(Asking, ShownKnowledgeIsOfWhatMayBeChosen) {
  World run;
  FakePass drawn{"invent"}, other{"aos-to-soa"};
  drawn.replies = other.replies = {{"r", FailureClass::None, {{"", 0.5}}}};
  run.world.passes = {drawn, other, {"coalesce-accesses", {{"", 0.1}}}};
  Explorer &explorer = run.start();
  ASSERT_TRUE(bool(explorer.actions(explorer.root()))); // as every strategy asks first
  run.ask("invent");
  std::vector<std::string> shown;
  for (const PromptEntry &entry : run.world.questions[0].second.knowledge.entries)
    shown.push_back(entry.pass);
  EXPECT_EQ(shown, (std::vector<std::string>{"aos-to-soa", "invent"}))
      << "what a rule does is no choice of a planner's";
}

TEST(Asking, AWindowHasAtMostFivePrograms) {
  World run;
  FakePass pass{"invent"};
  for (int i = 0; i != 12; ++i)
    pass.replies.push_back({"r" + std::to_string(i), FailureClass::Compile});
  run.world.passes = {pass};
  run.options.repairs = 0;
  run.start();
  std::set<std::string> windows;
  for (unsigned i = 1; i != 13; ++i) {
    run.ask("invent", i);
    const ProposalRequest &request = run.world.questions.back().second;
    EXPECT_EQ(request.here.size(), i - 1);
    EXPECT_EQ(request.planner.attempts.size(), std::min(5u, i - 1));
    std::string window;
    for (const Attempt &attempt : request.planner.attempts)
      window += attempt.step.text() + " ";
    if (i > 6)
      windows.insert(window);
  }
  EXPECT_GT(windows.size(), 3u) << "drawn anew for every question";
}

TEST(Asking, AWorkedExampleIsTheBestReplyOfThisStateAndPass) {
  World run;
  EvidenceSet earlier;
  auto add = [&](const char *state, const char *reply, double gain) {
    Evidence record;
    record.primary = state;
    record.pass = "invent";
    record.chip = "h200";
    record.device = "cpu-modelled";
    record.achievedGain = gain;
    record.reply = record.after = reply;
    record.parameters = {{"T", "8"}};
    earlier.insert(record);
  };
  add("uncoalesced_access", "modest", 0.1);
  add("uncoalesced_access", "best", 0.4);
  add("uncoalesced_access", "", 0.9);
  add("memory_latency_bound", "elsewhere", 0.8);
  run.knowledge.learn(earlier);
  FakePass pass{"invent"};
  pass.replies = {{"r", FailureClass::Compile}};
  run.world.passes = {pass};
  run.options.repairs = 0;
  run.start();
  run.ask("invent");
  const WorkedExample *example = run.world.questions[0].second.ofPass.example();
  ASSERT_TRUE(example);
  EXPECT_EQ(example->reply, "best");
  EXPECT_EQ(example->parameters, "T=8");
  // Not so without memory.
  World bare;
  bare.knowledge.learn(earlier);
  bare.world.passes = {pass};
  bare.options.memory = false;
  bare.start();
  bare.ask("invent");
  EXPECT_FALSE(bare.world.questions[0].second.ofPass.example());
  EXPECT_TRUE(bare.world.questions[0].second.knowledge.entries.empty());
}

TEST(Asking, AModelIsAskedOnlyWhereMoreThanATenthIsLeft) {
  for (double kernels : {80.0, 90.0}) { // of 100 us
    World run;
    FakePass pass{"invent"};
    pass.replies = {{"r1", FailureClass::None, {{"", 0.9}}}};
    run.world.passes = {pass};
    run.world.adjust = [kernels](const FakeEnvironment::Moves &moves, NodeJudgement &judgement) {
      if (moves.empty())
        judgement.attainable = {kernels, 2};
    };
    Explorer &explorer = run.start();
    Planned planned;
    auto steps = llvm::cantFail(freshSteps(explorer, explorer.root(), planned));
    EXPECT_EQ(steps.empty(), kernels > 85);
  }
}
