//===- ComposeTest.cpp - One question for one step ------------------------===//

#include "AssistantFixture.h"
#include <cmath>

using namespace kbopt;
using namespace kbopt::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A thread sums a row; what stands before the kernel and in main is of no use to a model.
constexpr llvm::StringLiteral rowSums = R"(// Sums of rows, by a company that is not to be named.
static int answerOfTheHost() { return 42; }
#define FACTOR 2.0f
// Rows are contiguous.
__global__ void k(float *y, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i)
    sum += x[row * columns + i];
  y[row] = sum;
}
void run(float *y, const float *x, int rows, int columns) {
  k<<<(rows + 127) / 128, 128>>>(y, x, rows, columns);
}
int main() {
  run(nullptr, nullptr, answerOfTheHost(), 7);
  return 0;
}
)";

struct Compose : AssistantTest {
  /// As `open`, with one question for a step.
  void begin(llvm::StringRef text, std::vector<std::string> passes) {
    open(text, std::move(passes));
    request.roles = StepRoles::Compose;
  }
  void offerSchedules() {
    Action sketch{"schedule", "k", 0, {{"as", {"rows team=32", "rows team=16"}, "rows team=32"}}};
    sketch.sketch = true;
    choices.push_back(sketch);
  }
  std::string asked() const { return told(ModelRole::Compose); }
  size_t times() const { return timesAsked(ModelRole::Compose); }
  Digest keep(llvm::StringRef pass, llvm::StringRef summary, llvm::StringRef text) {
    AssistedReply reply;
    reply.pass = pass.str();
    reply.kernel = "k";
    reply.summary = summary.str();
    reply.edits = {{"a1", text.str()}};
    return llvm::cantFail(replies.put(reply));
  }
};

std::string edit(llvm::StringRef anchor, llvm::StringRef more = "",
                 llvm::StringRef pass = "invent") {
  return (R"({"pass":")" + pass + R"(","summary":"did it","edits":[{"anchor":")" + anchor +
          R"(","text":"\n  y[threadIdx.x] = 0.0f;\n"}])" + more + "}")
      .str();
}

TEST_F(Compose, TheProgramStandsFromTheFirstDeviceDeclarationToMain) {
  begin(rowSums, {"invent"});
  say(ModelRole::Compose, {edit("a1")});
  ASSERT_TRUE(propose().step);
  EXPECT_THAT(asked(), HasSubstr("    3| #define FACTOR 2.0f\n     | /* <<<KB:BEGIN decls>>> */ /* "
                                 "<<<KB:END decls>>> */\n    4| // Rows are contiguous.\n"));
  EXPECT_THAT(asked(), HasSubstr("END parameters>>> */) {/* <<<KB:BEGIN a1>>> */\n"));
  EXPECT_THAT(asked(), HasSubstr("/* <<<KB:BEGIN launch1>>> */k<<<(rows + 127) / 128, 128>>>"));
  EXPECT_THAT(asked(), Not(HasSubstr("int main()")));
  EXPECT_THAT(asked(), Not(HasSubstr("not to be named")));
  EXPECT_TRUE(model.asked.size() == 1 && timesAsked(ModelRole::Planner) == 0);
}

TEST_F(Compose, LaunchesInMainKeepTheirMarks) {
  begin("__global__ void k(float *y) { *y = 1; }\nint main() {\n  int a = 1;\n" +
            std::string(30, '\n') + "  k<<<1, 32>>>(nullptr);\n\n  int secret;\n}\n",
        {"invent"});
  say(ModelRole::Compose, {edit("a1")});
  propose();
  EXPECT_THAT(asked(), HasSubstr("   34|   /* <<<KB:BEGIN launch1>>> */k<<<1, 32>>>(nullptr);"));
  EXPECT_THAT(asked(), HasSubstr("lines are not shown]"));
  EXPECT_THAT(asked(), Not(HasSubstr("int a = 1;")));
  EXPECT_THAT(asked(), Not(HasSubstr("secret")));
}

TEST_F(Compose, ShapesTimesLinesAndLimitsAreTold) {
  begin(rowSums, {"invent"});
  programs.shapes = {"k<<<(16, 1, 1), (128, 1, 1)>>>, 3 times"};
  programs.lines = {"line 11: 61 % of samples; long_scoreboard 71 %"};
  request.timeUs = 7.05;
  request.originalUs = 8;
  request.split = {2, 6.14, 0.90, 0};
  request.attainable = {1.5, 2.5};
  request.state.primary = "uncoalesced_access";
  say(ModelRole::Compose, {edit("a1")});
  propose();
  for (const char *part :
       {"## Launches\n\n- k<<<(16, 1, 1), (128, 1, 1)>>>, 3 times",
        "6.14 us to launch (2 launches), 0.90 us in kernels",
        "no rewrite of the program goes below", "- line 11: 61 % of samples; long_scoreboard 71 %",
        "- uncoalesced_access"})
    EXPECT_THAT(asked(), HasSubstr(part));
}

TEST_F(Compose, PromiseRightsAndPredictionOfEachPassAreTold) {
  begin(rowSums, {"thread-coarsening", "invent"});
  PromptEntry &entry = request.knowledge.entries.emplace_back();
  entry.pass = "invent";
  entry.prediction.logGain = std::log(1.5);
  entry.prediction.success = 0.75;
  say(ModelRole::Compose, {edit("a1")});
  propose();
  for (const char *part :
       {"- invent on 'k': ", "(predicted: 1.50 times as fast where it works, in 75 % of tries)",
        "  - promise: reassociates\n", "  - promise: bitwise\n",
        "  - may use: constant-memory, function-attributes, launches, signatures\n",
        "  - may change: a1; attributes; decls; includes; launch1; parameters\n",
        "  - may change: a1; decls; includes; launch1\n",
        "- signature: the kernel's name and parameters stay (not for invent)",
        "- signatures: kernels may get other parameters", "## Pass 'thread-coarsening' on kernel"})
    EXPECT_THAT(asked(), HasSubstr(part));
}

TEST_F(Compose, TheNestItsBestSchedulesAnExampleAndAContrastAreShown) {
  begin(rowSums, {"invent"});
  offerSchedules();
  request.shape = "reduction";
  Attempt tried;
  tried.step = choices.back().step({{"as", "rows team=16"}});
  tried.verdict = VerdictKind::Correct;
  tried.timeUs = 4;
  tried.parentTimeUs = 8;
  request.schedules = {tried};
  for (auto [gain, shape, text] :
       {std::tuple(0.3, "reduction", "int slower;"), std::tuple(0.7, "reduction", "int best;"),
        std::tuple(0.9, "elementwise", "int other;")}) {
    PromptEntry &entry = request.knowledge.entries.emplace_back();
    entry.pass = "invent";
    entry.example = {"attempt", keep("invent", "was good", text), gain, shape, ""};
  }
  Attempt failed;
  failed.step = {"invent", "k", 0, {}, keep("invent", "left out a row", "int wrong;")};
  failed.verdict = VerdictKind::Incorrect;
  failed.failure = FailureClass::Correctness;
  failed.reason = "y[3] is 0, expected 7";
  request.contrast = failed;
  say(ModelRole::Compose, {edit("a1")});
  propose();
  for (const char *part :
       {"kb.nest", "## The best schedules so far", "rows team=16", "2.00 times as fast",
        "  - rows team=32\n", "was good, 2.01 times", "int best;", "## For contrast",
        "left out a row", "int wrong;", "y[3] is 0, expected 7"})
    EXPECT_THAT(asked(), HasSubstr(part));
  for (const char *part : {"int slower;", "int other;"})
    EXPECT_THAT(asked(), Not(HasSubstr(part)));
}

TEST_F(Compose, EditsWithOpenNumbersAreAStep) {
  begin(rowSums, {"thread-coarsening", "invent"});
  say(ModelRole::Compose,
      {R"({"pass":"invent","unfit":["thread-coarsening"],"summary":"set the block","edits":[
           {"anchor":"launch1","text":"k<<<(rows + {{N}} - 1) / {{N}}, {{N}}>>>(y, x, rows, columns);"}],
           "parameters":[{"name":"N","values":["64","128"],"default":"64"}],"promise":"bitwise"})"});
  Proposal proposal = propose();
  ASSERT_TRUE(proposal.step) << proposal.reason;
  EXPECT_EQ(proposal.step->pass, "invent");
  EXPECT_EQ(proposal.chosen->pass, "invent");
  EXPECT_THAT(proposal.unfit, ElementsAre("thread-coarsening"));
  EXPECT_EQ(proposal.step->parameters.at("N"), "64");
  ASSERT_EQ(proposal.ranges.size(), 1u);
  EXPECT_EQ(llvm::cantFail(replies.get(proposal.step->reply)).promise, Promise::Bitwise);
}

TEST_F(Compose, AScheduleIsAStepWithoutCode) {
  begin(rowSums, {"invent"});
  offerSchedules();
  say(ModelRole::Compose, {R"({"pass":"schedule","schedule":"rows teams=4"})",
                           R"({"pass":"schedule","schedule":"rows team=32"})"});
  Proposal proposal = propose();
  ASSERT_TRUE(proposal.step) << proposal.reason;
  EXPECT_EQ(proposal.step->text(), "schedule{as=\"rows team=32\" kernel=k}");
  EXPECT_TRUE(proposal.step->reply.empty());
  EXPECT_EQ(times(), 2u);
  EXPECT_THAT(asked(), HasSubstr("schedule 'rows teams=4' cannot be had: "));
}

TEST_F(Compose, WhatWasNotOfferedIsAskedForAgain) {
  const std::pair<std::string, const char *> faults[] = {
      {edit("a9"), "there is no anchor 'a9'"},
      {edit("a1", R"(,"promise":"lower-precision")"), "promises 'reassociates'"},
      {edit("parameters", "", "thread-coarsening"),
       "pass 'thread-coarsening' may not change the anchor 'parameters'"},
      {edit("a1", R"(,"delete":["a1"])"), "no anchor of something unused"},
      {R"({"pass":"schedule","schedule":"rows team=32"})", "no pass of the list takes a schedule"},
      {edit("a1", R"(,"schedule":"rows team=32")"), "has more than one of"},
      {R"({"pass":"invent","summary":"s"})", "has none of"},
      {edit("a1", R"(,"unfit":["invent"])"), "is among 'unfit' as well"}};
  for (const auto &[answer, fault] : faults) {
    model.asked.clear();
    choices.clear();
    begin(rowSums, {"thread-coarsening", "invent"});
    say(ModelRole::Compose, {answer, edit("a1")});
    EXPECT_TRUE(propose().step) << fault;
    EXPECT_EQ(times(), 2u) << fault;
    EXPECT_THAT(asked(), HasSubstr(fault));
  }
}

TEST_F(Compose, CannotIsOfThePassOrOfAll) {
  begin(rowSums, {"thread-coarsening", "invent"});
  say(ModelRole::Compose, {R"({"pass":"invent","cannot":"a macro\nis in the way"})",
                           R"({"pass":"none","cannot":"it is at its floor"})"});
  Proposal one = propose();
  EXPECT_EQ(one.failure, FailureClass::Declined);
  EXPECT_EQ(one.reason, "it cannot be done: a macro is in the way");
  EXPECT_EQ(one.chosen->pass, "invent");
  EXPECT_THAT(one.unfit, ElementsAre("invent"));
  Proposal all = propose();
  EXPECT_EQ(all.failure, FailureClass::Declined);
  EXPECT_FALSE(all.chosen);
  EXPECT_THAT(all.reason, HasSubstr("it is at its floor"));
}

TEST_F(Compose, WhatNothingUsesCanBeDeleted) {
  begin(R"(__device__ float old(float v) { return v; }
__global__ void k(float *y) { *y = 1.0f; }
void run(float *y) { k<<<1, 1>>>(y); }
)",
        {"invent"});
  programs.texts["original"] = "__global__ void k(float *y) { *y = 2.0f; }\n";
  request.original = "original";
  request.pipeline = {Step{"invent", "k", 0, {}, "earlier"}};
  say(ModelRole::Compose, {R"({"pass":"invent","summary":"s","delete":["unused1"]})"});
  Proposal proposal = propose();
  ASSERT_TRUE(proposal.step) << proposal.reason;
  EXPECT_EQ(llvm::cantFail(replies.get(proposal.step->reply)).edits,
            (std::vector<ReplyEdit>{{"unused1", ""}}));
  EXPECT_THAT(asked(), HasSubstr("- unused1: 'old', which nothing uses any more"));
}

TEST_F(Compose, WhereTheBodyCannotBeChangedPlacesInItCan) {
  begin(R"(#define OPEN {
__global__ void k(float *y, int n) OPEN
  for (int m = 0; m < n; ++m)
    y[m] *= 2.0f;
}
void run(float *y) { k<<<1, 1>>>(y, 7); }
)",
        {"unroll-loop", "invent"});
  say(ModelRole::Compose, {edit("a1")});
  Proposal proposal = propose();
  ASSERT_TRUE(proposal.step) << proposal.reason;
  EXPECT_THAT(asked(), HasSubstr("/* <<<KB:BEGIN a1>>> */for (int m = 0; m < n; ++m)"));
  EXPECT_THAT(asked(), HasSubstr("- no anchor for the body of kernel 'k': "));
}

TEST_F(Compose, ADirectiveInTheBodyIsNoErrorOfTheSearch) {
  begin("__global__ void k(float *y) {\n#ifdef NEVER\n  y = 0;\n#endif\n  *y = 1;\n}\n",
        {"invent"});
  Proposal proposal = propose();
  EXPECT_EQ(proposal.failure, FailureClass::Declined);
  EXPECT_THAT(proposal.reason, HasSubstr("a preprocessor directive stands in it"));
}

TEST_F(Compose, NothingIsAskedWhereNothingCanBeChanged) {
  begin("#define KERNEL __global__ void k(float *out) { *out = 1; }\nKERNEL\n", {"invent"});
  Proposal proposal = propose();
  EXPECT_EQ(proposal.failure, FailureClass::Declined);
  EXPECT_THAT(proposal.reason, HasSubstr("macro 'KERNEL'"));
  EXPECT_TRUE(model.asked.empty());
}

TEST_F(Compose, ADebuggerSeesThePassThatTheChangeIs) {
  begin(rowSums, {"thread-coarsening", "invent"});
  say(ModelRole::Compose, {edit("a1")});
  Attempt failed;
  failed.step = *propose().step;
  failed.verdict = VerdictKind::Incorrect;
  failed.gate = GateId::G6;
  failed.reason = "y[0] is 1, expected 2";
  say(ModelRole::Debugger, {edit("a1")});
  ASSERT_TRUE(llvm::cantFail(assistant->repair("node", request, failed)).step);
  EXPECT_THAT(told(ModelRole::Debugger), HasSubstr("## Pass 'invent' on kernel 'k'"));
  EXPECT_THAT(told(ModelRole::Debugger), Not(HasSubstr("- signature: ")));
}

} // namespace
