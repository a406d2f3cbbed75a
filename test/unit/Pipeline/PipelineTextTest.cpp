//===- PipelineTextTest.cpp - Textual pipelines -----------------------------===//

#include "kb-opt/Pipeline/PipelineText.h"
#include "kb-opt/Support/Error.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

std::vector<Step> parsed(llvm::StringRef text) {
  auto steps = parsePipeline(text, builtinPasses());
  if (!steps) {
    ADD_FAILURE() << llvm::toString(steps.takeError());
    return {};
  }
  return *steps;
}

struct Problem {
  std::string message, note;
};

Problem problem(llvm::StringRef text) {
  Problem result;
  auto steps = parsePipeline(text, builtinPasses());
  if (steps) {
    ADD_FAILURE() << "'" << text.str() << "' parses";
    return result;
  }
  llvm::handleAllErrors(steps.takeError(), [&](const UsageError &error) {
    result = {error.message, error.note};
    EXPECT_EQ(error.status, ExitStatus::Usage);
  });
  return result;
}

TEST(PipelineText, ParsesNamesAndOptions) {
  auto steps = parsed("coalesce-accesses, vectorize-loads{width=2 kernel=saxpy site=3}");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].pass, "coalesce-accesses");
  EXPECT_TRUE(steps[0].parameters.empty());
  EXPECT_EQ(steps[1].kernel, "saxpy");
  EXPECT_EQ(steps[1].site, 3u);
  EXPECT_EQ(steps[1].parameters, (std::map<std::string, std::string>{{"width", "2"}}));
}

TEST(PipelineText, DefaultsAreLeftOut) {
  EXPECT_EQ(printPipeline(parsed("unroll-loop{factor=4}")), "unroll-loop");
}

TEST(PipelineText, AliasesBecomeNames) {
  EXPECT_EQ(printPipeline(parsed("float4{width=2},restrict")),
            "vectorize-loads{width=2},add-restrict-const");
}

TEST(PipelineText, AcceptsMlirsFullForm) {
  EXPECT_EQ(printPipeline(parsed("kb.program(unroll-loop{factor=8})")), "unroll-loop{factor=8}");
}

TEST(PipelineText, PrintingRoundTrips) {
  for (llvm::StringRef text : {"unroll-loop", "unroll-loop,unroll-loop{factor=8 full=0}",
                               "tune-block-size{size=512 kernel=ns::add site=1}",
                               "add-restrict-const{const=false},hoist-loop-invariant{kernel='("
                               "anonymous namespace)::a b'}"}) {
    std::string printed = printPipeline(parsed(text));
    EXPECT_EQ(parsed(printed), parsed(text)) << printed;
    EXPECT_EQ(printPipeline(parsed(printed)), printed);
  }
}

TEST(PipelineText, EmptyPipeline) {
  EXPECT_EQ(problem("").message, "the pipeline is empty");
  EXPECT_EQ(problem("  ").message, "the pipeline is empty");
}

TEST(PipelineText, UnknownPassHasACaretAndASuggestion) {
  Problem p = problem("unroll-loop,vectorise-loads");
  EXPECT_EQ(p.message, "there is no pass 'vectorise-loads'\n"
                       "  unroll-loop,vectorise-loads\n"
                       "              ^");
  EXPECT_EQ(p.note, "did you mean 'vectorize-loads'?");
  EXPECT_EQ(problem("banana").note, "kb-opt --list-passes shows the passes");
}

TEST(PipelineText, UnknownOptionHasACaretAndASuggestion) {
  Problem p = problem("unroll-loop{facter=8}");
  EXPECT_EQ(p.message, "pass 'unroll-loop' has no option 'facter'\n"
                       "  unroll-loop{facter=8}\n"
                       "              ^");
  EXPECT_EQ(p.note, "did you mean 'factor'?");
}

TEST(PipelineText, BadValues) {
  EXPECT_NE(problem("unroll-loop{factor=99}").message.find("'99' is no value"), std::string::npos);
  EXPECT_NE(problem("unroll-loop{site=0}").message.find("no number of a site"), std::string::npos);
  EXPECT_NE(problem("unroll-loop{site=x}").message.find("no number of a site"), std::string::npos);
  EXPECT_NE(problem("unroll-loop{factor}").message.find("given no value"), std::string::npos);
  EXPECT_NE(problem("unroll-loop{factor=}").message.find("given no value"), std::string::npos);
}

TEST(PipelineText, BadSyntax) {
  EXPECT_NE(problem("unroll-loop,").message.find("a pass name is missing"), std::string::npos);
  EXPECT_NE(problem(",unroll-loop").message.find("a pass name is missing"), std::string::npos);
  EXPECT_NE(problem("unroll-loop{factor=8").message.find("never closed"), std::string::npos);
  EXPECT_NE(problem("unroll-loop}").message.find("a comma is expected"), std::string::npos);
  EXPECT_NE(problem("unroll-loop hoist-loop-invariant").message.find("a comma is expected"),
            std::string::npos);
}

} // namespace
