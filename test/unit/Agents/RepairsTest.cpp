//===- RepairsTest.cpp - What a debugger is told --------------------------===//

#include "AssistantFixture.h"

using namespace kbopt;
using namespace kbopt::test;
using testing::HasSubstr;
using testing::Not;

namespace {

struct Repairs : AssistantTest {
  /// What the debugger is told of a reply that failed at \p gate.
  std::string toldAfter(GateId gate) {
    open(smallProgram, {"invent"});
    say(ModelRole::Planner, {planFor("invent")});
    say(ModelRole::Coder, {codeFor("invent")});
    say(ModelRole::Debugger, {codeFor("invent")});
    programs.failing = {"case n=7919", "buffer 0 is given 7919 f32"};
    Attempt failed;
    failed.step = *propose().step;
    failed.gate = gate;
    failed.reason = "out[0] is 1, expected 2 on case n=7919";
    failed.details = {"3 of 7919 elements are outside their error bounds"};
    llvm::cantFail(assistant->repair("node", request, failed));
    return told(ModelRole::Debugger);
  }
};

TEST_F(Repairs, TheFailingCaseItsInputsAndThePromiseAreTold) {
  std::string text = toldAfter(GateId::G6);
  for (const char *part :
       {"out[0] is 1, expected 2 on case n=7919", "3 of 7919 elements",
        "buffer 0 is given 7919 f32", "It has to keep this promise: reassociates."})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(Repairs, AGateMayBeDisputed) {
  open(smallProgram, {"invent"});
  say(ModelRole::Planner, {planFor("invent")});
  say(ModelRole::Coder, {codeFor("invent")});
  const std::string dispute =
      R"({"pass":"invent","summary":"","edits":[],"dispute":"the tolerance is for\nhalf the terms"})";
  Attempt failed;
  failed.step = *propose().step;
  failed.gate = GateId::G6;
  say(ModelRole::Debugger, {dispute});
  Proposal said = llvm::cantFail(assistant->repair("node", request, failed));
  EXPECT_FALSE(said.step);
  EXPECT_EQ(said.dispute, "the tolerance is for half the terms");
  // Without a gate there is nothing to dispute, and edits are no dispute.
  failed.gate.reset();
  say(ModelRole::Debugger, {dispute, codeFor("invent")});
  EXPECT_TRUE(llvm::cantFail(assistant->repair("node", request, failed)).step);
  EXPECT_THAT(told(ModelRole::Debugger), HasSubstr("no gate refused the change"));
  std::string both = codeFor("invent");
  both.insert(1, R"("dispute":"d",)");
  failed.gate = GateId::G6;
  say(ModelRole::Debugger, {both, codeFor("invent")});
  said = llvm::cantFail(assistant->repair("node", request, failed));
  EXPECT_TRUE(said.step && said.dispute.empty());
}

TEST_F(Repairs, HiddenSizesStayHidden) {
  EXPECT_THAT(toldAfter(GateId::G15), Not(HasSubstr("7919")));
}

} // namespace
