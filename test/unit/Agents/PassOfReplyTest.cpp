//===- PassOfReplyTest.cpp - Which pass a reply is ------------------------===//

#include "AssistantFixture.h"

using namespace kbopt;
using namespace kbopt::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

using PassOfReply = AssistantTest;

TEST_F(PassOfReply, TheReplySaysIt) {
  open(smallProgram, {"thread-coarsening", "invent", "split-k"});
  say(ModelRole::Planner, {planFor("thread-coarsening")});
  say(ModelRole::Coder, {codeFor("split-k")});
  Proposal proposal = propose();
  ASSERT_TRUE(proposal.step) << proposal.reason;
  EXPECT_EQ(proposal.step->pass, "split-k");
  EXPECT_EQ(proposal.chosen->pass, "split-k");
  EXPECT_EQ(llvm::cantFail(replies.get(proposal.step->reply)).pass, "split-k");
  for (const char *part : {"- thread-coarsening: ", "- invent: ", "- split-k: "})
    EXPECT_THAT(told(ModelRole::Coder), HasSubstr(part));
}

TEST_F(PassOfReply, ANameThatIsNoChoiceIsInvent) {
  open(smallProgram, {"thread-coarsening", "invent"});
  say(ModelRole::Planner, {planFor("thread-coarsening")});
  say(ModelRole::Coder, {codeFor("launch-merging")});
  EXPECT_EQ(propose().step->pass, "invent");
  EXPECT_EQ(timesAsked(ModelRole::Coder), 1u);
}

TEST_F(PassOfReply, WithoutANameItIsAskedAgain) {
  open(smallProgram, {"thread-coarsening", "invent"});
  say(ModelRole::Planner, {planFor("invent")});
  say(ModelRole::Coder, {codeFor(""), codeFor("invent")});
  EXPECT_EQ(propose().step->pass, "invent");
  EXPECT_EQ(timesAsked(ModelRole::Coder), 2u);
}

TEST_F(PassOfReply, ARepairMaySayAnother) {
  open(smallProgram, {"thread-coarsening", "invent"});
  say(ModelRole::Planner, {planFor("thread-coarsening")});
  say(ModelRole::Coder, {codeFor("thread-coarsening")});
  say(ModelRole::Debugger, {codeFor("invent")});
  Attempt failed;
  failed.step = *propose().step;
  failed.reason = "out[0] is 1, expected 2";
  Proposal repaired = llvm::cantFail(assistant->repair("node", request, failed));
  ASSERT_TRUE(repaired.step) << repaired.reason;
  EXPECT_EQ(repaired.step->pass, "invent");
  EXPECT_THAT(told(ModelRole::Debugger), HasSubstr("- invent: "));
}

TEST_F(PassOfReply, TheMinimalAgentKnowsNoPasses) {
  open(smallProgram, {"invent"});
  request.minimal = true;
  say(ModelRole::Minimal, {codeFor("")});
  EXPECT_EQ(propose().step->pass, "invent");
  EXPECT_THAT(told(ModelRole::Minimal), Not(HasSubstr("\"pass\"")));
}

TEST_F(PassOfReply, APlanMaySayThatTheDrawnPassDoesNotFit) {
  open(smallProgram, {"thread-coarsening", "invent"});
  say(ModelRole::Planner, {planFor("thread-coarsening", R"(,"unfit":["thread-coarsening"])"),
                           planFor("invent", R"(,"unfit":["thread-coarsening"])")});
  say(ModelRole::Coder, {codeFor("invent")});
  Proposal proposal = propose();
  EXPECT_THAT(proposal.unfit, ElementsAre("thread-coarsening"));
  EXPECT_EQ(proposal.step->pass, "invent");
  EXPECT_EQ(timesAsked(ModelRole::Planner), 2u) << "what does not fit cannot be chosen";
  EXPECT_THAT(told(ModelRole::Planner), HasSubstr("The search would try 'thread-coarsening'."));
}

} // namespace
