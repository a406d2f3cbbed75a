//===- GroundingTest.cpp - Anchors of kernels, and finding them again -------===//

#include "AssistedFixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace kbopt;
using namespace kbopt::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr llvm::StringLiteral program = R"(// line 1
__device__ float half_(float x) {
  float y = x;
  return y / 2;
}
namespace ns {
__global__ void k(float *out, int n) {
  int i = threadIdx.x;
  for (int j = 0; j < n; ++j) {
    float a = j;
    float b = a + 1;
    out[j] = half_(b);
  }
  out[i] = 1;
}
} // namespace ns
template <class T> __global__ void t(T *out) { *out = T(); }
__global__ void unused(float *out) {
#if 1
  *out = 1;
#endif
}
#define RUN(x) ns::k<<<1, 32>>>(x, 3)
void run(float *out, int n) {
  ns::k<<<1, 32>>>(out, n);
  t<float><<<1, 1>>>(out);
  if (n)
    ns::k<<<2, 32>>>(out, n);
  RUN(out);
}
)";

std::vector<std::string> ids(const GroundedSource &source) {
  std::vector<std::string> names;
  for (const GroundedAnchor &each : source.anchors)
    names.push_back(each.id);
  return names;
}

GroundedSource grounded(const ParsedProgram &parsed, std::vector<LineSpan> lines = {},
                        std::string kernel = "k") {
  GroundingRequest request;
  request.kernel = kernel;
  request.lines = lines;
  return llvm::cantFail(ground(parsed, request));
}

llvm::StringRef textOf(const GroundedSource &source, llvm::StringRef id) {
  const Anchor &anchor = source.anchor(id)->anchor;
  return llvm::StringRef(source.text).slice(anchor.begin, anchor.end);
}

std::string failure(llvm::StringRef text, GroundingRequest request) {
  auto parsed = parse(text);
  auto source = ground(*parsed, request);
  EXPECT_FALSE(source);
  return source ? "" : failureOf(source.takeError()).message;
}

TEST(Grounding, ABodyItsLaunchesAndTheSlots) {
  auto parsed = parse(program);
  GroundedSource source = grounded(*parsed);
  EXPECT_EQ(source.kernel, "ns::k");
  EXPECT_THAT(ids(source), ElementsAre("includes", "helper1", "decls", "a1", "launch1", "launch2"));
  EXPECT_TRUE(textOf(source, "a1").starts_with("\n  int i = threadIdx.x;"));
  EXPECT_TRUE(textOf(source, "a1").ends_with("out[i] = 1;\n"));
  EXPECT_EQ(textOf(source, "launch2"), "ns::k<<<2, 32>>>(out, n);");
  ASSERT_EQ(source.left.size(), 1u);
  EXPECT_THAT(source.left[0], HasSubstr("macro 'RUN'"));
}

TEST(Grounding, MarksTheText) {
  auto parsed = parse(program);
  std::string marked = grounded(*parsed).marked();
  EXPECT_THAT(marked, HasSubstr("k(float *out, int n) {/* <<<KB:BEGIN a1>>> */\n  int i"));
  EXPECT_THAT(marked, HasSubstr("out[i] = 1;\n/* <<<KB:END a1>>> */}"));
  EXPECT_THAT(marked,
              HasSubstr("/* <<<KB:BEGIN decls>>> */ /* <<<KB:END decls>>> */\n__global__ void k"));
  EXPECT_THAT(
      marked,
      HasSubstr("/* <<<KB:BEGIN launch1>>> */ns::k<<<1, 32>>>(out, n);/* <<<KB:END launch1>>> */"));
}

TEST(Grounding, LongTextsKeepWhatIsNearTheAnchors) {
  std::string text = program.str();
  for (int i = 0; i < 200; ++i)
    text += "int far" + std::to_string(i) + ";\n";
  auto parsed = parse(text);
  GroundedSource source = grounded(*parsed);
  EXPECT_THAT(source.marked(), HasSubstr("far199"));
  std::string excerpt = source.marked(1000);
  EXPECT_THAT(excerpt, HasSubstr("KB:BEGIN a1"));
  EXPECT_THAT(excerpt, HasSubstr("lines are not shown]"));
  EXPECT_EQ(excerpt.find("far150"), std::string::npos);
}

TEST(Grounding, LinesBecomeStatements) {
  auto parsed = parse(program);
  EXPECT_EQ(textOf(grounded(*parsed, {{10, 11}}), "a1"), "float a = j;\n    float b = a + 1;");
  EXPECT_EQ(textOf(grounded(*parsed, {{14, 14}}), "a1"), "out[i] = 1;");
  // From inside the loop to behind it: the loop as a whole.
  EXPECT_TRUE(textOf(grounded(*parsed, {{11, 14}}), "a1").starts_with("for (int j"));
  // The loop's head names the loop.
  EXPECT_TRUE(textOf(grounded(*parsed, {{9, 9}}), "a1").ends_with("out[j] = half_(b);\n  }"));
}

TEST(Grounding, SeveralPlaces) {
  auto parsed = parse(program);
  GroundedSource apart = grounded(*parsed, {{14, 14}, {3, 3}, {10, 10}});
  EXPECT_EQ(textOf(apart, "a1"), "float y = x;");
  EXPECT_EQ(textOf(apart, "a2"), "float a = j;");
  EXPECT_EQ(textOf(apart, "a3"), "out[i] = 1;");
  // In the order of the text; which line was asked for first is kept.
  EXPECT_THAT(apart.anchor("a1")->spans, ElementsAre(1));
  EXPECT_THAT(apart.anchor("a2")->spans, ElementsAre(2));
  EXPECT_THAT(apart.anchor("a3")->spans, ElementsAre(0));
  // New declarations stand before the first function that may use them.
  EXPECT_LT(apart.anchor("decls")->anchor.begin, apart.anchor("a1")->anchor.begin);
  // One inside the other, and two that share a statement: one anchor.
  GroundedSource nested = grounded(*parsed, {{10, 10}, {9, 13}});
  EXPECT_FALSE(nested.anchor("a2"));
  EXPECT_TRUE(textOf(nested, "a1").starts_with("for (int j"));
  GroundedSource shared = grounded(*parsed, {{10, 11}, {11, 12}});
  EXPECT_FALSE(shared.anchor("a2"));
  EXPECT_THAT(shared.anchor("a1")->spans, ElementsAre(0, 1));
  EXPECT_TRUE(textOf(shared, "a1").ends_with("out[j] = half_(b);"));
}

TEST(Grounding, KernelsToBeJoined) {
  auto parsed = parse(program);
  GroundingRequest request;
  request.kernel = "k";
  request.alsoKernels = {"t"};
  GroundedSource source = llvm::cantFail(ground(*parsed, request));
  EXPECT_THAT(ids(source), ElementsAre("includes", "helper1", "decls", "a1", "a2", "launch1",
                                       "launch2", "launch3"));
  EXPECT_EQ(textOf(source, "a2"), " *out = T(); ");
  EXPECT_EQ(textOf(source, "launch2"), "t<float><<<1, 1>>>(out);");
}

TEST(Grounding, Failures) {
  GroundingRequest request;
  request.kernel = "missing";
  EXPECT_THAT(failure(program, request), HasSubstr("has no kernel 'missing'"));
  request.kernel = "unused";
  EXPECT_THAT(failure(program, request), HasSubstr("a preprocessor directive stands in it"));
  request.kernel = "k";
  request.lines = {{25, 25}};
  EXPECT_THAT(failure(program, request), HasSubstr("lie in no kernel and in no device function"));
  request.lines = {{9, 30}};
  EXPECT_THAT(failure(program, request), HasSubstr("lie in no kernel"));
  request.lines = {{7, 7}};
  EXPECT_THAT(failure(program, request), HasSubstr("there is no statement at lines 7 to 7"));
  request.lines = {};
  EXPECT_THAT(failure("// /* <<<KB:BEGIN a1>>> */\n__global__ void k() {}\n", request),
              HasSubstr("line 1 of"));
  EXPECT_THAT(failure("__global__ void k() {}\n__global__ void k(int) {}\n", request),
              HasSubstr("several kernels"));
}

TEST(Grounding, AnswersAreTiedToAnchors) {
  auto parsed = parse(program);
  GroundedSource source = grounded(*parsed);
  PassInfo info{};
  info.name = "tile";
  info.promise = Promise::Reassociates;
  CoderReply answer;
  answer.summary = "tiled";
  answer.edits = {{"launch1", "x"}, {"a1", "y"}};
  ReplyOrRefusal made = makeReply(source, info, answer);
  EXPECT_FALSE(made.refusal);
  EXPECT_EQ(made.reply.kernel, "ns::k");
  EXPECT_EQ(made.reply.promise, Promise::Reassociates);
  ASSERT_EQ(made.reply.anchors.size(), 2u);
  EXPECT_EQ(made.reply.anchors[0].id, "a1");
  answer.edits.push_back({"launch3", "z"});
  made = makeReply(source, info, answer);
  ASSERT_TRUE(made.refusal);
  EXPECT_EQ(made.refusal->rule, EditRule::UnknownAnchor);
}

/// Every anchor of \p source in \p text: its place there, or the reason.
std::string found(const GroundedSource &source, llvm::StringRef id, llvm::StringRef text) {
  auto parsed = parse(text);
  const Anchor &anchor = source.anchor(id)->anchor;
  SavedAnchor saved{id.str(),
                    anchor.usr,
                    anchor.nodeKind,
                    anchor.begin,
                    anchor.end,
                    anchor.digest,
                    source.anchor(id)->numberless};
  AnchorOrReason now = locate(*parsed, source.kernel, saved);
  return now ? text.slice(now->begin, now->end).str() : now.reason().str();
}

TEST(Grounding, AnchorsAreFoundAgain) {
  auto parsed = parse(program);
  GroundedSource source = grounded(*parsed, {{10, 11}, {14, 14}});
  GroundedSource whole = grounded(*parsed);
  std::string moved = "// one line more\n" + program.str();
  for (const GroundedSource *each : {&source, &whole})
    for (const GroundedAnchor &anchor : each->anchors) {
      EXPECT_EQ(found(*each, anchor.id, program), textOf(*each, anchor.id));
      EXPECT_EQ(found(*each, anchor.id, moved), textOf(*each, anchor.id)) << anchor.id;
    }
}

std::string replaced(llvm::StringRef text, llvm::StringRef from, llvm::StringRef to) {
  auto [head, tail] = text.split(from);
  return (head + to + tail).str();
}

TEST(Grounding, ChangedPlacesAreNotFound) {
  auto parsed = parse(program);
  GroundedSource source = grounded(*parsed, {{10, 11}}), whole = grounded(*parsed);
  std::string other = replaced(program, "float b = a + 1", "float b = a + 2");
  EXPECT_THAT(found(source, "a1", other), HasSubstr("the program has changed at 'a1'"));
  EXPECT_THAT(found(whole, "a1", other), HasSubstr("the program has changed at 'a1'"));
  EXPECT_EQ(found(whole, "launch1", other), "ns::k<<<1, 32>>>(out, n);");
  EXPECT_THAT(
      found(whole, "launch1", replaced(program, "<<<1, 32>>>(out, n)", "<<<3, 32>>>(out, n)")),
      HasSubstr("has changed at 'launch1'"));
  EXPECT_THAT(found(whole, "a1",
                    replaced(program, "void k(", "void renamed(")
                        .replace(0, 0, "namespace ns { __global__ void k(float *, int); }\n")),
              HasSubstr("has changed at 'a1'"));
}

TEST(Grounding, NumbersOfEarlierRepliesMayChange) {
  const std::string text = R"(__global__ void k(float *out, int n) {
  float sum = 0;
  for (int j = 0; j < 16; ++j)
    sum += out[j] * 3;
  out[0] = sum;
}
void run(float *out, int n) { k<<<n / 16, 256>>>(out, n); }
)";
  auto parsed = parse(text);
  GroundingRequest request;
  request.kernel = "k";
  request.openNumbers = {"16"};
  GroundedSource whole = llvm::cantFail(ground(*parsed, request));
  request.lines = {{3, 4}};
  GroundedSource loop = llvm::cantFail(ground(*parsed, request));
  auto with = [&](llvm::StringRef number) {
    return replaced(replaced(text, "< 16", ("< " + number).str()), "/ 16", ("/ " + number).str());
  };
  EXPECT_TRUE(llvm::StringRef(found(whole, "a1", with("8"))).contains("j < 8;"));
  EXPECT_EQ(found(whole, "launch1", with("1024")), "k<<<n / 1024, 256>>>(out, n);");
  EXPECT_TRUE(llvm::StringRef(found(loop, "a1", with("4"))).starts_with("for (int j = 0; j < 4"));
  // What is no number of theirs has to be the same.
  EXPECT_THAT(found(loop, "a1", replaced(with("8"), "sum +=", "sum -=")),
              HasSubstr("has changed at 'a1'"));
  EXPECT_THAT(found(grounded(*parsed), "a1", with("8")), HasSubstr("has changed at 'a1'"));
}

TEST(Grounding, FunctionsThatOneKernelCallsHaveAnchors) {
  auto parsed = parse(R"(__device__ float both(float x) { return x; }
template <class T> __device__ T inner(T x) { return x + 1; }
__device__ float outer(float x) { return inner(x) + both(x); }
__device__ float unused(float x) { return x; }
__global__ void k(float *out) { *out = outer(*out); }
__global__ void other(float *out) { *out = both(*out); }
)");
  GroundedSource source = grounded(*parsed);
  EXPECT_THAT(ids(source), ElementsAre("includes", "helper1", "helper2", "decls", "a1"));
  EXPECT_EQ(textOf(source, "helper1"), " return x + 1; ");
  EXPECT_EQ(textOf(source, "helper2"), " return inner(x) + both(x); ");
  // A reply that changes one is found again.
  EXPECT_EQ(found(source, "helper2", parsed->text()), " return inner(x) + both(x); ");
}

TEST(Grounding, OfEqualPlacesTheOneThatDidNotMove) {
  const char *twice = "__global__ void k(int *out) {\n  { *out = 1; }\n  { *out = 1; }\n}\n";
  auto parsed = parse(twice);
  GroundedSource source = grounded(*parsed, {{3, 3}});
  EXPECT_EQ(found(source, "a1", twice), "{ *out = 1; }");
  EXPECT_THAT(found(source, "a1", std::string("\n") + twice),
              HasSubstr("there are 2 places like 'a1'"));
}

} // namespace
