//===- NodeRewritesTest.cpp - Steps on programs of a search ---------------===//
#include "../../../lib/Candidate/NodeRewrites.h"
#include "../Source/SourceTestUtils.h"
#include "CandidateFakes.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "gmock/gmock.h"

using namespace kbopt;
using testing::HasSubstr;

namespace {

constexpr llvm::StringRef passName = "note-kernel";

/// Writes a comment before the body of every kernel.
class NotingPass : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }
  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &) const override {
    AnchorOrReason anchor =
        anchorOf(context.parsed(), site.kernel->function()->getBody(), site.kernel->function());
    if (!anchor)
      return decline(anchor.reason());
    Rewrite made;
    llvm::cantFail(made.edits.insertBefore(*anchor, "/* noted */ "));
    return made;
  }
};

constexpr PassInfo info = {passName,         "test",           {}, "", "", {}, {}, {}, {}, {},
                           SiteKind::Kernel, Promise::Bitwise, {}, 0};

struct NodeRewritesTest : CandidateTest {
  std::unique_ptr<Judge> judge = makeJudge();
  ReplyStore replies{"", realFileSystem()};
  std::optional<CandidateSetup> given;
  std::optional<NodeTable> nodes;
  std::optional<NodeRewrites> rewrites;
  NodeId program;

  void SetUp() override {
    CandidateTest::SetUp();
    command = test::sharedCommand();
    passes.add(
        {&info, []() -> std::unique_ptr<RewritePass> { return std::make_unique<NotingPass>(); }});
    given.emplace(setup(*judge));
    nodes.emplace(*given);
    rewrites.emplace(*given, answers, *nodes, replies);
    program = nodes->add({"__global__ void fill(int *x) { x[threadIdx.x] = 1; }\n", "host", {}});
  }
  StepOutcome apply(Step step) {
    step.pass = passName.str();
    return llvm::cantFail(rewrites->rewrite(program, step));
  }
};

TEST_F(NodeRewritesTest, AStepMakesTheNextProgram) {
  StepOutcome outcome = apply({});
  ASSERT_TRUE(outcome.applied) << outcome.reason;
  EXPECT_THAT(nodes->program(outcome.node).text, HasSubstr("/* noted */ {"));
}

// Proofs and crossovers leave steps out; those behind them need not fit any more.
TEST_F(NodeRewritesTest, AKernelThatOnlyALeftOutStepMadeIsNoError) {
  Step step;
  step.kernel = "fill_wide";
  StepOutcome outcome = apply(step);
  EXPECT_FALSE(outcome.applied);
  EXPECT_THAT(outcome.reason, HasSubstr("has no kernel 'fill_wide'"));
}

TEST_F(NodeRewritesTest, ASiteThatOnlyALeftOutStepMadeIsNoError) {
  Step step;
  step.site = 2;
  StepOutcome outcome = apply(step);
  EXPECT_FALSE(outcome.applied);
  EXPECT_THAT(outcome.reason, HasSubstr("names site 2, but there is 1 site"));
}

} // namespace
