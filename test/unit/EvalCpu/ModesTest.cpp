//===- ModesTest.cpp - Checks and counters --------------------------------===//
#include "CudaProgram.h"

using namespace kbopt;
using namespace kbopt::test;
using kbrt::FindingKind;

namespace {

/// Line of \p marker in Inputs/faults.cu.
unsigned lineOf(const std::string &marker) {
  std::string text =
      llvm::cantFail(realFileSystem().read(sourcePath("test/unit/EvalCpu/Inputs/faults.cu")));
  return llvm::StringRef(text).take_front(text.find(marker)).count('\n') + 1;
}

struct Checks : testing::Test {
  CudaProgram program{"faults.cu", kbrt::ImageMode::Check};
  void expectFinding(const kbrt::LaunchResult &result, FindingKind kind, unsigned line,
                     const char *array) {
    for (const kbrt::Finding &finding : result.findings)
      if (finding.kind == kind) {
        bool isOther = finding.other && finding.other->line == line;
        EXPECT_TRUE(finding.place.line == line || isOther) << toText(finding);
        EXPECT_EQ(finding.array, array) << toText(finding);
        return;
      }
    ADD_FAILURE() << "not found: " << toString(kind) << "; " << result.message;
  }
};

TEST_F(Checks, FindDefectsAtTheirLine) {
  std::vector<float> x(65, 1.f);
  expectFinding(
      program.launch("outOfBounds", {2}, {64}, program.upload(x), program.allocate<float>(64), 64),
      FindingKind::OutOfBounds, lineOf("// defect: out of bounds"), "out");
  expectFinding(program.launch("sharedRace", {1}, {64}, program.allocate<int>(64)),
                FindingKind::RaceShared, lineOf("// defect: race"), "box");
  expectFinding(program.launch("uninitialisedLocal", {1}, {1}, program.allocate<int>(1), 4),
                FindingKind::UninitialisedLocal, lineOf("// defect: uninitialised"), "local");
  expectFinding(program.launch("uninitialisedShared", {1}, {32}, program.allocate<float>(32)),
                FindingKind::UninitialisedShared, lineOf("// defect: uninitialised shared"), "box");
}

TEST_F(Checks, AreSilentOnCorrectCode) {
  std::vector<float> x(32 * 4, 1.f);
  program.expectRun("copies", {1}, {32}, program.upload(x), program.allocate<float>(32 * 4), 1);
}

TEST_F(Checks, FindBarriersThatSomeThreadsGoAround) {
  auto *out = program.allocate<int>(64);
  auto expectDivergent = [&](const kbrt::LaunchResult &result, const char *marker) {
    EXPECT_EQ(result.status, kbrt::LaunchStatus::DivergentBarrier) << result.message;
    std::string place = "faults.cu:" + std::to_string(lineOf(marker));
    EXPECT_TRUE(llvm::StringRef(result.message).contains(place)) << result.message;
  };
  expectDivergent(program.launch("barrierSkipped", {1}, {64}, out, 6),
                  "// defect: skipped barrier");
  expectDivergent(program.launch("barrierLeft", {1}, {64}, out), "// defect: left loop");
}

TEST_F(Checks, LetThreadsReturnBeforeBarriers) {
  auto *out = program.allocate<int>(64);
  program.expectRun("earlyReturn", {1}, {64}, out, 40);
  program.expectRun("barrierSkipped", {1}, {64}, out, 0);
  program.expectRun("barrierEverySecondTurn", {1}, {64}, out, 6, 4);
  program.expectRun("barrierLeft", {1}, {32}, out);
}

TEST(CheckedBasics, RunLikePlainOnes) {
  CudaProgram program("basics.cu", kbrt::ImageMode::Check);
  struct {
    int *out;
    short tags[3];
    double weight;
  } arguments{program.allocate<int>(8), {5, 6, 7}, 100.5};
  program.options.print = [](std::string_view) {};
  program.expectRun("objects", {1}, {1}, arguments, 1);
  EXPECT_EQ(std::vector<int>(arguments.out, arguments.out + 8),
            (std::vector<int>{9, 720, 63, 7, 40, 107, 25, 77}));
}

TEST(Counts, TellRequestsOperationsAndDivergence) {
  CudaProgram program("faults.cu", kbrt::ImageMode::Count);
  std::vector<float> x(64 * 8, 1.f);
  kbrt::LaunchResult result =
      program.expectRun("copies", {2}, {32}, program.upload(x), program.allocate<float>(64 * 4), 1);
  ASSERT_TRUE(result.counters);
  std::string text = toJson(result, 1);
  const kbrt::ImageInfo &info = program.image->getInfo();
  ASSERT_GT(info.blockCount, 0u);
  ASSERT_GT(info.branchCount, 0u);
  bool sawVectorLoad = false, sawSharedStore = false, sawFma = false;
  for (uint32_t i = 0; i < info.siteCount; ++i) {
    const kbrt::SiteInfo &site = info.sites[i];
    sawVectorLoad |= site.kind == kbrt::AccessKind::Load && site.bytes == 16 &&
                     site.space == kbrt::MemorySpace::Global && std::string(site.array) == "x";
    sawSharedStore |= site.kind == kbrt::AccessKind::Store &&
                      site.space == kbrt::MemorySpace::Shared && std::string(site.array) == "tile";
  }
  for (uint32_t i = 0; i < info.mixCount; ++i)
    sawFma |= info.mixes[i].ops[unsigned(kbrt::Op::FFma)] > 0 &&
              info.mixes[i].line == lineOf("sum += tile[k][0] * v.y");
  EXPECT_TRUE(sawVectorLoad);
  EXPECT_TRUE(sawSharedStore);
  EXPECT_TRUE(sawFma);
  EXPECT_EQ(result.counters->warps, 2u) << text;
}

TEST(Counts, TellWhichLoadsCanWaitTogether) {
  CudaProgram program("loads.cu", kbrt::ImageMode::Count);
  const kbrt::ImageInfo &info = program.image->getInfo();
  std::map<std::string, std::vector<const kbrt::SiteInfo *>> loads;
  for (uint32_t i = 0; i < info.siteCount; ++i)
    if (info.sites[i].kind == kbrt::AccessKind::Load && info.sites[i].function < info.kernelCount)
      loads[std::string(info.kernels[info.sites[i].function].displayName)].push_back(
          &info.sites[i]);
  auto of = [&](llvm::StringRef kernel) -> std::vector<const kbrt::SiteInfo *> {
    for (auto &[name, sites] : loads)
      if (llvm::StringRef(name).starts_with((kernel + "(").str()))
        return sites;
    return {};
  };
  const std::pair<const char *, bool> loops[] = {{"apart", false},
                                                 {"mayMeet", true},
                                                 {"keptAsItIs", true},
                                                 {"inPlaceByOne", false},
                                                 {"inPlaceByBlocks", true}};
  for (auto [kernel, isAlone] : loops) {
    ASSERT_EQ(of(kernel).size(), 1u) << kernel;
    EXPECT_EQ(of(kernel)[0]->isAlone != 0, isAlone) << kernel;
    EXPECT_GT(of(kernel)[0]->loadGroup, 0u) << kernel;
  }
  ASSERT_EQ(of("together").size(), 2u);
  EXPECT_EQ(of("together")[0]->loadGroup, of("together")[1]->loadGroup);
  ASSERT_EQ(of("inTurn").size(), 2u);
  EXPECT_NE(of("inTurn")[0]->loadGroup, of("inTurn")[1]->loadGroup);
}

TEST(Counts, FollowCallsAndFunctionPointers) {
  CudaProgram program("basics.cu", kbrt::ImageMode::Count);
  struct {
    int *out;
    short tags[3];
    double weight;
  } arguments{program.allocate<int>(8), {5, 6, 7}, 100.5};
  program.options.print = [](std::string_view) {};
  kbrt::LaunchResult result = program.expectRun("objects", {1}, {1}, arguments, 1);
  EXPECT_EQ(std::vector<int>(arguments.out, arguments.out + 8),
            (std::vector<int>{9, 720, 63, 7, 40, 107, 25, 77}));
  ASSERT_TRUE(result.counters);
}

TEST(FastMath, FlushesDenormalsOfSinglePrecisionOnly) {
  CudaProgram program("numbers.cu", kbrt::ImageMode::Plain, {"-fgpu-flush-denormals-to-zero"});
  float *f = program.upload<float>({1e-30f, 1e-10f, 0.f});
  double *d = program.upload<double>({1e-300, 1e-10, 0.0});
  program.expectRun("products", {1}, {1}, f, d);
  EXPECT_EQ(f[2], 0.f);
  EXPECT_EQ(d[2], 1e-300 * 1e-10);
}

TEST(Denormals, AreKeptByDefault) {
  CudaProgram program("numbers.cu");
  float *f = program.upload<float>({1e-30f, 1e-10f, 0.f});
  double *d = program.upload<double>({1e-300, 1e-10, 0.0});
  program.expectRun("products", {1}, {1}, f, d);
  EXPECT_EQ(f[2], 1e-30f * 1e-10f);
}

TEST(BadInput, IsAnErrorNotACrash) {
  llvm::Expected<CpuImage> image =
      buildCpuImage("not bitcode", CpuImageOptions(), realProcessRunner(), "/nonexistent/x.so");
  ASSERT_FALSE(bool(image));
  std::string message = llvm::toString(image.takeError());
  EXPECT_NE(message.find("not readable"), std::string::npos) << message;
}

} // namespace
