//===- EarlierNumbersTest.cpp - What earlier replies left open ------------===//

#include "AssistantFixture.h"

using namespace kbopt;
using namespace kbopt::test;
using testing::HasSubstr;

namespace {

using EarlierNumbers = AssistantTest;

TEST_F(EarlierNumbers, StayTunable) {
  open(smallProgram, {"invent"});
  AssistedReply earlier;
  earlier.pass = "invent";
  earlier.kernel = "k";
  earlier.summary = "set the block";
  earlier.parameters = {{"BLOCK", {"128", "256"}, "128"}};
  Step step{"invent", "k", 0, {{"BLOCK", "256"}}, llvm::cantFail(replies.put(earlier))};
  request.pipeline = {step};
  say(ModelRole::Planner, {planFor("invent")});
  say(ModelRole::Coder,
      {R"({"pass":"invent","summary":"s","edits":[{"anchor":"launch1","text":"k<<<n, 256>>>(out, in, n);"},
           {"anchor":"a1","text":"\n  out[blockIdx.x] = 2.0f * in[blockIdx.x];\n"}]})"});
  Proposal proposal = propose();
  ASSERT_TRUE(proposal.step) << proposal.reason;
  EXPECT_THAT(told(ModelRole::Coder),
              HasSubstr("BLOCK: 256 in the source, of an earlier change, one of 128, 256"));
  AssistedReply reply = llvm::cantFail(replies.get(proposal.step->reply));
  EXPECT_FALSE(reply.anchor("launch1")->numberless.empty()) << "it holds the number";
  EXPECT_TRUE(reply.anchor("a1")->numberless.empty());
}

} // namespace
