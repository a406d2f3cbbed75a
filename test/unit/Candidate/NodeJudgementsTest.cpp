//===- NodeJudgementsTest.cpp - The original is judged once ---------------===//
#include "../../../lib/Candidate/NodeJudgements.h"
#include "CandidateFakes.h"

using namespace kbopt;

namespace {

/// Everything that judges, as one run has it; the journal outlives it.
struct OneRun {
  explicit OneRun(CandidateTest &test)
      : judge(test.makeJudge()), setup(test.setup(*judge)), answers(*test.journal, "run"),
        nodes(setup), models(setup, answers, nodes), counters(setup, answers, nodes),
        speeds(setup, nodes, models, counters), judgements(setup, answers, nodes, speeds) {}

  std::unique_ptr<Judge> judge;
  CandidateSetup setup;
  JournaledAnswers answers;
  NodeTable nodes;
  NodeModels models;
  NodeCounters counters;
  NodeSpeeds speeds;
  NodeJudgements judgements;
};

struct NodeJudgementsTest : CandidateTest {
  /// An original that ends with a fault is left alone.
  void SetUp() override {
    CandidateTest::SetUp();
    device.programs["original"] = [](RunMode, llvm::StringRef, const RunOptions &) {
      RunResult result;
      result.status = RunStatus::Fault;
      result.message = "an illegal address";
      return result;
    };
  }
  NodeJudgement judge(OneRun &run) {
    return llvm::cantFail(run.judgements.judge(run.nodes.root(), JudgeEffort::Search));
  }
};

TEST_F(NodeJudgementsTest, AnEarlierRunsAnswerIsTaken) {
  OneRun first(*this);
  EXPECT_FALSE(llvm::cantFail(first.judgements.isJudged(first.nodes.root())));
  NodeJudgement judged = judge(first);
  EXPECT_NE(judged.verdict, VerdictKind::Correct);
  EXPECT_FALSE(judged.reason.empty());
  EXPECT_FALSE(device.log.empty());
  EXPECT_TRUE(llvm::cantFail(first.judgements.isJudged(first.nodes.root())));
  device.log.clear();
  OneRun second(*this);
  EXPECT_TRUE(llvm::cantFail(second.judgements.isJudged(second.nodes.root())));
  NodeJudgement again = judge(second);
  EXPECT_EQ(again.verdict, judged.verdict);
  EXPECT_EQ(again.gate, judged.gate);
  EXPECT_EQ(again.failure, judged.failure);
  EXPECT_EQ(again.reason, judged.reason);
  EXPECT_TRUE(device.log.empty()) << "nothing is run again";
}

TEST_F(NodeJudgementsTest, WhatIsKnownOfTheOriginalOutlivesARun) {
  OneRun run(*this);
  judge(run);
  auto kept = JournaledGates(run.answers).find("original");
  ASSERT_TRUE(kept.has_value());
  EXPECT_NE(kept->find("illegal address"), std::string::npos) << *kept;
}

TEST_F(NodeJudgementsTest, AnAnswerOfAnotherFormIsAskedAgain) {
  llvm::cantFail(journal->put("judge", answers.request({OneRun(*this).nodes.root()}),
                              R"({"verdict":"another form"})"));
  OneRun run(*this);
  EXPECT_NE(judge(run).verdict, VerdictKind::Correct);
  EXPECT_FALSE(device.log.empty());
}

TEST_F(NodeJudgementsTest, OnlyTheFinalCheckLeavesGates) {
  OneRun run(*this);
  judge(run);
  EXPECT_TRUE(run.judgements.gates(run.nodes.root()).empty());
  llvm::cantFail(run.judgements.judge(run.nodes.root(), JudgeEffort::Final));
  EXPECT_FALSE(run.judgements.gates(run.nodes.root()).empty());
  EXPECT_FALSE(run.judgements.timing(run.nodes.root()).has_value());
}

} // namespace
