//===- QuestionsTest.cpp - What a planner may choose ----------------------===//
#include "../../../lib/Candidate/Questions.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// The passes that may be chosen where \p drawn was drawn, with the entries \p known.
std::vector<std::string> offered(llvm::StringRef drawn, llvm::ArrayRef<const char *> known,
                                 llvm::ArrayRef<Action> actions) {
  ProposalRequest request;
  request.action = {drawn.str(), "k", 0, {}, /*assisted=*/true};
  for (const char *pass : known)
    request.knowledge.entries.emplace_back().pass = pass;
  std::vector<std::string> passes;
  for (const Action &action : choicesFor(request, actions))
    passes.push_back(action.pass);
  return passes;
}

std::vector<Action> assisted(llvm::ArrayRef<const char *> passes) {
  std::vector<Action> actions;
  for (const char *pass : passes)
    actions.push_back({pass, "k", 0, {}, /*assisted=*/true});
  return actions;
}

using Passes = std::vector<std::string>;

} // namespace

TEST(Questions, ThePassForAnyChangeIsAlwaysOffered) {
  std::vector<Action> actions = assisted({"a", "b", "c", "d", "e", "invent"});
  EXPECT_EQ(offered("a", {"b", "c", "d", "e"}, actions),
            (Passes{"a", "invent", "b", "c", "d", "e"}));
  EXPECT_EQ(offered("invent", {"b", "c", "d", "e"}, actions),
            (Passes{"invent", "b", "c", "d", "e"}));
  // Where it may not be used, as with bitwise results, it is no choice.
  EXPECT_EQ(offered("a", {"b", "c", "d"}, assisted({"a", "b", "c", "d"})),
            (Passes{"a", "b", "c", "d"}));
}

TEST(Questions, OtherKernelsAndRulesAreNoChoices) {
  std::vector<Action> actions = assisted({"a", "invent"});
  actions[1].kernel = "other";
  actions.push_back({"b", "k"});
  EXPECT_EQ(offered("a", {"b"}, actions), Passes{"a"});
}
