//===- NodeTableTest.cpp - The programs of a search -----------------------===//
#include "../../../lib/Candidate/NodeTable.h"
#include "CandidateFakes.h"

using namespace kbopt;

namespace {

struct NodeTableTest : CandidateTest {
  std::unique_ptr<Judge> judge = makeJudge();
  std::optional<CandidateSetup> given;
  std::optional<NodeTable> nodes;

  void SetUp() override {
    CandidateTest::SetUp();
    given.emplace(setup(*judge));
    nodes.emplace(*given);
  }
  NodeId add(std::string text, Promise promise = Promise::Bitwise) {
    NodeProgram program{std::move(text), "host", {}};
    program.promise.result = promise;
    return nodes->add(std::move(program));
  }
};

JudgedStep step(std::string pass, std::string before = "original") {
  return {std::move(pass), std::move(before), "after", {}};
}

TEST_F(NodeTableTest, BeginsWithTheOriginal) {
  EXPECT_EQ(nodes->program(nodes->root()).text, "original");
  EXPECT_EQ(nodes->program(nodes->root()).host, "host");
  EXPECT_TRUE(nodes->stepsTo(nodes->root()).empty());
}

TEST_F(NodeTableTest, EqualProgramsAreOneNode) {
  EXPECT_EQ(add("a"), add("a"));
  EXPECT_NE(add("a"), add("b"));
  EXPECT_EQ(add("original"), nodes->root());
}

TEST_F(NodeTableTest, ProgramsOfAnotherPromiseAreOthers) {
  EXPECT_NE(add("a"), add("a", Promise::Reassociates));
  NodeProgram aligned{"a", "host", {}};
  aligned.promise.assumes = {Assumption::Aligned};
  EXPECT_NE(add("a"), nodes->add(aligned));
}

TEST_F(NodeTableTest, AProgramStaysWhereItIs) {
  const NodeProgram &program = nodes->program(add("a"));
  for (int i = 0; i < 100; ++i)
    add("b" + std::to_string(i));
  EXPECT_EQ(&program, &nodes->program(add("a")));
  EXPECT_EQ(program.text, "a");
}

TEST_F(NodeTableTest, OfSeveralWaysTheShortestStays) {
  const NodeId id = add("a");
  nodes->keepSteps(id, {step("x"), step("y")});
  nodes->keepSteps(id, {step("z")});
  nodes->keepSteps(id, {step("x"), step("w")});
  ASSERT_EQ(nodes->stepsTo(id).size(), 1u);
  EXPECT_EQ(nodes->stepsTo(id).front().pass, "z");
}

TEST_F(NodeTableTest, OfEquallyLongWaysTheSameStaysInAnyOrder) {
  const NodeId id = add("a"), other = add("b");
  nodes->keepSteps(id, {step("x")});
  nodes->keepSteps(id, {step("y")});
  nodes->keepSteps(other, {step("y")});
  nodes->keepSteps(other, {step("x")});
  EXPECT_EQ(nodes->stepsTo(id).front().pass, nodes->stepsTo(other).front().pass);
}

TEST_F(NodeTableTest, NoStepLeadsToTheOriginal) {
  nodes->keepSteps(nodes->root(), {step("x"), step("back")});
  EXPECT_TRUE(nodes->stepsTo(nodes->root()).empty());
}

TEST_F(NodeTableTest, CodeWithAnotherHostIsAnother) {
  const NodeId a = add("a"), b = add("b"), c = nodes->add({"c", "another host", {}});
  EXPECT_EQ(nodes->codeWithHost("code", a), nodes->codeWithHost("code", b));
  EXPECT_NE(nodes->codeWithHost("code", a), nodes->codeWithHost("code", c));
  EXPECT_NE(nodes->codeWithHost("code", a), nodes->codeWithHost("other", a));
}

TEST_F(NodeTableTest, OnlyTheOriginalHasItsBitcodeAtOnce) {
  original.bitcodePath = "original.bc";
  EXPECT_EQ(nodes->source(nodes->root()).bitcodePath, "original.bc");
  EXPECT_EQ(llvm::cantFail(nodes->artefacts(nodes->root())).bitcodePath, "original.bc");
  ProgramArtefacts source = nodes->source(add("a"));
  EXPECT_EQ(source.text, "a");
  EXPECT_EQ(source.bitcodePath, "");
}

} // namespace
