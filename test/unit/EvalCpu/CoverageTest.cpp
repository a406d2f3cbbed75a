//===- CoverageTest.cpp - Which source places a checked run executes ------===//
#include "kbrt/Coverage.h"
#include "CudaProgram.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

/// Line of \p marker in Inputs/ways.cu.
unsigned lineOf(const std::string &marker) {
  std::string text =
      llvm::cantFail(realFileSystem().read(sourcePath("test/unit/EvalCpu/Inputs/ways.cu")));
  return static_cast<unsigned>(llvm::StringRef(text).take_front(text.find(marker)).count('\n')) + 1;
}

std::set<unsigned> linesOf(const std::set<kbrt::SourcePosition> &positions) {
  std::set<unsigned> lines;
  for (const kbrt::SourcePosition &position : positions)
    lines.insert(position.first);
  return lines;
}

TEST(Coverage, TellsWhichLinesOfLaunchedKernelsRan) {
  CudaProgram program("ways.cu", kbrt::ImageMode::Check);
  int *out = program.upload(std::vector<int>(32, 2));
  EXPECT_TRUE(kbrt::coverageOf(*program.image).reached.empty());
  program.expectRun("ways", {1}, {1}, out, 1);
  kbrt::Coverage coverage = kbrt::coverageOf(*program.image);
  EXPECT_TRUE(linesOf(coverage.reached).count(lineOf("line: loop")));
  EXPECT_TRUE(linesOf(coverage.reached).count(lineOf("line: other ways")));
  const std::set<unsigned> unreached = linesOf(coverage.unreached);
  EXPECT_TRUE(unreached.count(lineOf("line: third way")));
  EXPECT_FALSE(unreached.count(lineOf("line: gives up")));
  EXPECT_FALSE(unreached.count(lineOf("line: never launched")));
  // The other way: what any run executed is executed.
  program.expectRun("ways", {1}, {1}, out, 3);
  coverage = kbrt::coverageOf(*program.image);
  EXPECT_TRUE(coverage.unreached.empty());
  EXPECT_TRUE(linesOf(coverage.reached).count(lineOf("line: shared function")));
}

TEST(Coverage, TellsHowNearARunCameToOtherWays) {
  CudaProgram program("ways.cu", kbrt::ImageMode::Search);
  program.expectRun("ways", {1}, {1}, program.upload(std::vector<int>(32, 2)), 1);
  EXPECT_TRUE(linesOf(kbrt::coverageOf(*program.image).reached).count(lineOf("line: other ways")));
  const std::vector<kbrt::NearPlace> places = kbrt::nearPlaces(*program.image);
  auto third = llvm::find_if(places, [](const kbrt::NearPlace &place) {
    return place.position.first == lineOf("line: third way");
  });
  ASSERT_NE(third, places.end());
  EXPECT_EQ(third->branches, 1u);
  EXPECT_EQ(third->left, 1);
  EXPECT_EQ(third->right, 3);
  EXPECT_EQ(third->distance, 3);
}

TEST(Coverage, IsOfCheckedRunsAlone) {
  CudaProgram program("ways.cu");
  program.expectRun("ways", {1}, {1}, program.upload(std::vector<int>(32, 2)), 1);
  EXPECT_TRUE(kbrt::coverageOf(*program.image).reached.empty());
}

} // namespace
