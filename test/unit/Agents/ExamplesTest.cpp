//===- ExamplesTest.cpp - Which worked examples a coder is shown ----------===//

#include "AssistantFixture.h"

using namespace kbopt;
using namespace kbopt::test;
using testing::HasSubstr;
using testing::Not;

namespace {

struct Examples : AssistantTest {
  /// What the coder is told where the knowledge base has an example of a kernel of \p family, and
  /// the kernel at hand is elementwise.
  std::string toldWith(llvm::StringRef family) {
    open(smallProgram, {"thread-coarsening", "invent"});
    AssistedReply reply;
    reply.pass = "thread-coarsening";
    reply.kernel = "other";
    reply.summary = "gave each thread a row";
    reply.edits = {{"a1", "int row = 7;"}};
    PromptEntry &entry = request.ofPass.entries.emplace_back();
    entry.pass = "thread-coarsening";
    entry.example = {"attempt", llvm::cantFail(replies.put(reply)), 0.7, family.str(), ""};
    request.shape = "elementwise";
    say(ModelRole::Planner, {planFor("thread-coarsening")});
    say(ModelRole::Coder, {codeFor("thread-coarsening")});
    propose();
    return told(ModelRole::Coder);
  }
};

TEST_F(Examples, OfTheSameFamilyAreShown) {
  EXPECT_THAT(toldWith("elementwise"), HasSubstr("int row = 7;"));
}

TEST_F(Examples, OfAnotherFamilyAreNot) {
  EXPECT_THAT(toldWith("reduction"), Not(HasSubstr("int row = 7;")));
}

TEST_F(Examples, ThePassForAnyChangeHasNone) {
  open(smallProgram, {"invent"});
  say(ModelRole::Planner, {planFor("invent")});
  say(ModelRole::Coder, {codeFor("invent")});
  propose();
  EXPECT_THAT(told(ModelRole::Coder), Not(HasSubstr("A worked example")));
}

} // namespace
