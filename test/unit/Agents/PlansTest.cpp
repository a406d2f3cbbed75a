//===- PlansTest.cpp - What planner and coder know before they choose -----===//

#include "AssistantFixture.h"

using namespace kbopt;
using namespace kbopt::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

using Plans = AssistantTest;

constexpr llvm::StringLiteral withMacros =
    R"(#define TWICE(x) x += 1; for (int j = 0; j < n; ++j) x += j
#define RUN(x) k<<<1, 32>>>(x, 3)
__global__ void k(float *out, int n) {
  int i = threadIdx.x;
  TWICE(out[i]);
  for (int m = 0; m < n; ++m)
    out[i] *= m;
}
void run(float *out, int n) {
  k<<<1, 32>>>(out, n);
  RUN(out);
}
)";

TEST_F(Plans, PromiseAndAnchorsOfEachPassAreTold) {
  open(smallProgram, {"thread-coarsening", "invent", "unroll-loop"});
  say(ModelRole::Planner, {planFor("invent")});
  say(ModelRole::Coder, {codeFor("invent")});
  ASSERT_TRUE(propose().step);
  const std::string planner = told(ModelRole::Planner), coder = told(ModelRole::Coder);
  EXPECT_THAT(planner, HasSubstr("  - promise: reassociates\n"));
  EXPECT_THAT(planner, HasSubstr("  - promise: bitwise\n"));
  EXPECT_THAT(planner, HasSubstr("the parameters of kernel 'k'; the body of kernel 'k'; the launch "
                                 "of kernel 'k' at line 7"));
  EXPECT_THAT(coder, HasSubstr("(promise: reassociates)"));
}

TEST_F(Plans, APlaceInAMacroIsNoChoice) {
  open(withMacros, {"unroll-loop", "invent"});
  const std::string at = R"(,"places":[{"first":5,"last":5,"instruction":"unroll it"}])";
  say(ModelRole::Planner, {planFor("unroll-loop", at), planFor("none")});
  EXPECT_EQ(propose().failure, FailureClass::Declined);
  const std::string planner = told(ModelRole::Planner);
  EXPECT_THAT(planner, HasSubstr("line 6: loop"));
  EXPECT_THAT(planner, Not(HasSubstr("line 5: loop")));
  EXPECT_THAT(planner, HasSubstr("## What cannot be changed"));
  EXPECT_THAT(planner, HasSubstr("macro 'RUN'"));
  EXPECT_EQ(timesAsked(ModelRole::Planner), 2u) << "the lines were refused";
  EXPECT_THAT(planner, HasSubstr("Your reply cannot be used: "));
}

TEST_F(Plans, TheCoderIsToldWhatHasNoAnchor) {
  open(withMacros, {"invent"});
  say(ModelRole::Planner, {planFor("invent")});
  say(ModelRole::Coder, {codeFor("invent")});
  propose();
  EXPECT_THAT(told(ModelRole::Coder),
              HasSubstr("- no anchor for the launch of kernel 'k' at line"));
}

TEST_F(Plans, WhereNothingCanBeChangedNobodyIsAsked) {
  open("#define KERNEL __global__ void k(float *out) { *out = 1; }\nKERNEL\n", {"invent"});
  Proposal proposal = propose();
  EXPECT_EQ(proposal.failure, FailureClass::Declined);
  EXPECT_THAT(proposal.reason, HasSubstr("macro 'KERNEL'"));
  EXPECT_FALSE(proposal.chosen);
  EXPECT_TRUE(model.asked.empty());
}

TEST_F(Plans, CannotIsAnAnswer) {
  open(smallProgram, {"thread-coarsening", "invent"});
  say(ModelRole::Planner, {planFor("invent")});
  say(ModelRole::Coder,
      {R"({"pass":"invent","summary":"","cannot":"two launches\nare in a macro","edits":[]})"});
  Proposal proposal = propose();
  EXPECT_FALSE(proposal.step);
  EXPECT_EQ(proposal.failure, FailureClass::Declined);
  EXPECT_THAT(proposal.reason, HasSubstr("it cannot be done: two launches are in a macro"));
  EXPECT_EQ(proposal.chosen->pass, "invent");
  EXPECT_THAT(proposal.unfit, ElementsAre("invent"));
  EXPECT_EQ(timesAsked(ModelRole::Coder), 1u);
}

} // namespace
