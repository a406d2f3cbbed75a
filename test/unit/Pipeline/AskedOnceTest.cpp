//===- AskedOnceTest.cpp - How often a session asks a pass ----------------===//

#include "../Source/SourceTestUtils.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

constexpr llvm::StringRef counted = "counted";
std::map<std::string, unsigned> asked; ///< by kernel and options

/// Applies with width=2 and 4, and declines otherwise; writes a comment before the kernel.
class CountingPass : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }
  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    std::string width = std::to_string(options.integer("width"));
    ++asked[site.kernel->name().str() + " " + width];
    if (site.kernel->name() == "broken")
      return llvm::make_error<UsageError>("the pass is broken", "");
    if (width == "1")
      return decline("a width of 1 changes nothing");
    AnchorOrReason anchor =
        anchorOf(context.parsed(), site.kernel->function()->getBody(), site.kernel->function());
    if (!anchor)
      return decline(anchor.reason());
    Rewrite made;
    llvm::cantFail(
        made.edits.insertBefore(*anchor, "/* " + width + " " + context.freshName("name") + " */ "));
    made.summary = "width " + width;
    return made;
  }
};

constexpr llvm::StringRef widths[] = {"1", "2", "4"};
constexpr OptionInfo options[] = {{"width", OptionType::Integer, "1", "", widths, 1, 4}};
constexpr PassInfo info = {counted,          "test",           {}, "", "", options, {}, {}, {}, {},
                           SiteKind::Kernel, Promise::Bitwise, {}, 0};

struct AskedOnceTest : testing::Test {
  PassRegistry registry;
  PipelineOptions pipeline;

  void SetUp() override {
    asked.clear();
    registry.add(
        {&info, []() -> std::unique_ptr<RewritePass> { return std::make_unique<CountingPass>(); }});
    pipeline.registry = &registry;
    pipeline.parser = &sharedParser();
  }
  std::unique_ptr<RewriteSession> open(llvm::StringRef text) {
    return llvm::cantFail(RewriteSession::create(text, sharedCommand(), pipeline));
  }
};

TEST_F(AskedOnceTest, ForEachSiteAndOptions) {
  auto session = open("__global__ void k(int *x) { x[threadIdx.x] = 1; }\n");
  auto opportunities = llvm::cantFail(session->opportunities());
  ASSERT_EQ(opportunities.size(), 1u);
  EXPECT_TRUE(opportunities[0].applies);
  EXPECT_EQ(opportunities[0].reason, "a width of 1 changes nothing");
  EXPECT_EQ(opportunities[0].step.parameters.at("width"), "2");
  llvm::cantFail(session->opportunities());
  StepResult result;
  ASSERT_TRUE(llvm::cantFail(session->derive(opportunities[0].step, result)));
  ASSERT_TRUE(llvm::cantFail(session->derive(opportunities[0].step, result)));
  EXPECT_EQ(asked, (std::map<std::string, unsigned>{{"k 1", 1}, {"k 2", 1}}));

  // Another program is asked anew.
  EXPECT_EQ(llvm::cantFail(session->apply(opportunities[0].step)).rewritten, 1u);
  llvm::cantFail(session->opportunities());
  EXPECT_EQ(asked.at("k 1"), 2u);
}

TEST_F(AskedOnceTest, NamesDependOnTheProgramAlone) {
  constexpr llvm::StringRef program = "__global__ void k(int *x) { x[threadIdx.x] = 1; }\n"
                                      "__global__ void l(int *x) { x[threadIdx.x] = 2; }\n";
  Step both{counted.str()};
  both.parameters["width"] = "4";
  auto fresh = open(program), used = open(program);
  llvm::cantFail(used->opportunities());
  StepResult result;
  llvm::cantFail(used->derive(both, result));
  for (auto *session : {&fresh, &used}) {
    EXPECT_EQ(llvm::cantFail((*session)->apply(both)).rewritten, 2u);
    EXPECT_EQ((*session)->text(),
              "__global__ void k(int *x) /* 4 name */ { x[threadIdx.x] = 1; }\n"
              "__global__ void l(int *x) /* 4 name2 */ { x[threadIdx.x] = 2; }\n");
  }
}

TEST_F(AskedOnceTest, OnlyDecliningIsAMissedRemark) {
  auto session = open("__global__ void broken(int *x) { x[threadIdx.x] = 1; }\n");
  EXPECT_EQ(messageOf(session->opportunities()), "the pass is broken");
}

} // namespace
