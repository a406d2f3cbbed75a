//===- PartsTest.cpp - Images whose kernels are compiled one by one -------===//
#include "CudaProgram.h"
#include <numeric>

using namespace kbopt;
using namespace kbopt::test;

namespace {

/// Builds images of Inputs/parts.cu with a cache of their own.
struct PartsTest : testing::Test {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("parts"));
  CompileCache cache{CompileCache::Options{folder.file("kept")}};

  /// The image with `-DCHANGED=changed` in \p mode, and how many objects were compiled for it.
  unsigned build(int changed, kbrt::ImageMode mode = kbrt::ImageMode::Plain) {
    CpuImageOptions options;
    options.mode = mode;
    options.compiles = &cache;
    std::string bitcode = compileDevice("parts.cu", {"-DCHANGED=" + std::to_string(changed)});
    unsigned before = cache.misses();
    path = folder.file("image" + std::to_string(images++) + ".so");
    CpuImage built = llvm::cantFail(buildCpuImage(bitcode, options, realProcessRunner(), path));
    EXPECT_EQ(built.kernels.size(), 3u);
    return cache.misses() - before;
  }
  std::string path;
  unsigned images = 0;
};

TEST_F(PartsTest, CompileOnlyTheKernelThatChanged) {
  EXPECT_EQ(build(0), 4u); // three kernels, and the tables with the variables
  EXPECT_EQ(build(0), 0u);
  EXPECT_EQ(build(1), 1u);
  EXPECT_EQ(build(1), 0u);
  EXPECT_EQ(build(0), 0u);
}

TEST_F(PartsTest, ShareVariablesAndFunctions) {
  for (kbrt::ImageMode mode :
       {kbrt::ImageMode::Plain, kbrt::ImageMode::Check, kbrt::ImageMode::Count}) {
    CudaProgram program("parts.cu", mode, {"-DCHANGED=0"});
    std::vector<int> values(64);
    std::iota(values.begin(), values.end(), 0);
    int *data = program.upload(values);
    program.expectRun("first", {1, 1, 1}, {64, 1, 1}, data);  // total = sum of the values
    program.expectRun("second", {1, 1, 1}, {64, 1, 1}, data); // adds total to each
    program.expectRun("third", {1, 1, 1}, {64, 1, 1}, data); // by a function's address, and a table
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(data[i], 2 * (i + 2016) + 10 + i % 4) << i;
  }
}

} // namespace
