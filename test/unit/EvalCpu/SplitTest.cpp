//===- SplitTest.cpp - Loops between barriers against fibers --------------===//
#include "CudaProgram.h"

using namespace kbopt;
using namespace kbopt::test;
using kbrt::Dim3;

namespace {

/// All that one launch shows: status, message, what was printed, what was stored.
struct Seen {
  std::string status, printed;
  std::vector<int> out;
  bool operator==(const Seen &other) const = default;
};

struct Launch {
  const char *kernel;
  Dim3 grid, block;
  int n;
  uint64_t seed;
};

std::ostream &operator<<(std::ostream &stream, const Launch &l) {
  return stream << l.kernel << " grid " << l.grid.count() << " block " << l.block.x << 'x'
                << l.block.y << 'x' << l.block.z << " n " << l.n << " seed " << l.seed;
}

Seen run(CudaProgram &program, const Launch &l) {
  Seen seen;
  size_t threads = l.grid.count() * l.block.count();
  std::vector<int> in(std::max<size_t>(threads, 64));
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = int(i * 2654435761u >> 20) % 97;
  program.options.seed = l.seed;
  program.options.print = [&](std::string_view text) { seen.printed += text; };
  program.dynamicSharedBytes = 4096;
  int *out = program.upload(std::vector<int>(threads, -1));
  struct Pair {
    int left[3], right;
  } changed{{1, 2, 3}, 4}, fixed{{5, 6, 7}, 8};
  kbrt::LaunchResult result =
      std::string(l.kernel) == "structures"
          ? program.launch(l.kernel, l.grid, l.block, program.upload(in), out, l.n, changed, fixed)
          : program.launch(l.kernel, l.grid, l.block, program.upload(in), out, l.n);
  seen.status = toString(result.status) + (": " + result.message);
  if (result.status == kbrt::LaunchStatus::Ok)
    seen.out.assign(out, out + threads);
  return seen;
}

std::vector<Launch> launchesOf(std::initializer_list<const char *> kernels) {
  std::vector<Launch> launches;
  for (const char *kernel : kernels)
    for (Dim3 block : {Dim3{256, 1, 1}, {96, 1, 1}, {33, 1, 1}, {1, 1, 1}, {16, 8, 1}, {7, 5, 3}})
      for (int n : {0, 1, 2, 3, 75, 130})
        for (uint64_t seed : {0, 5})
          launches.push_back({kernel, {3, 1, 1}, block, n, seed});
  return launches;
}

void expectSame(const char *file, kbrt::ImageMode mode, const std::vector<Launch> &launches) {
  CudaProgram::Bitcode bitcode{compileDevice(file)};
  std::vector<Seen> byFibers;
  {
    CudaProgram program(bitcode, mode, /*splitBarriers=*/false);
    for (const Launch &launch : launches) {
      ASSERT_FALSE(program.image->findKernel(launch.kernel)->split) << launch;
      byFibers.push_back(run(program, launch));
    }
  }
  CudaProgram program(bitcode, mode);
  for (size_t i = 0; i < launches.size(); ++i) {
    ASSERT_TRUE(program.image->findKernel(launches[i].kernel)->split) << launches[i];
    Seen seen = run(program, launches[i]);
    EXPECT_EQ(seen.status, byFibers[i].status) << launches[i];
    EXPECT_EQ(seen.printed, byFibers[i].printed) << launches[i];
    EXPECT_EQ(seen.out, byFibers[i].out) << launches[i];
  }
}

const std::initializer_list<const char *> barrierKernels = {"uniformLoop",
                                                            "bothBranches",
                                                            "earlyReturn",
                                                            "localArrays",
                                                            "breaks",
                                                            "nested",
                                                            "callsFunctions",
                                                            "remembersTypes",
                                                            "structures",
                                                            "meetsElsewhere",
                                                            "endsAtDifferentTimes",
                                                            "reductions",
                                                            "switches",
                                                            "recursesBetween",
                                                            "counts",
                                                            "tiles",
                                                            "prints",
                                                            "asserts"};

const std::initializer_list<const char *> warpKernels = {
    "sumsWarps", "asksWarps", "partsWarps", "endsLanes", "sharesBetweenLanes", "waitsForever"};

TEST(SplitWarps, DoWhatFibersDo) {
  std::vector<Launch> launches = launchesOf(warpKernels);
  // Of several lanes outside their masks the first one is named; in another order, another.
  for (int n : {0, 1, 2, 3})
    launches.push_back({"leavesItsMask", {2, 1, 1}, {80, 1, 1}, n, 0});
  expectSame("barriers.cu", kbrt::ImageMode::Plain, launches);
}

TEST(SplitBarriers, DoWhatFibersDo) {
  expectSame("barriers.cu", kbrt::ImageMode::Plain, launchesOf(barrierKernels));
}

TEST(SplitBarriers, DoWhatFibersDoBesideCountedBlocks) {
  std::vector<Launch> launches;
  for (const auto &kernels : {barrierKernels, warpKernels})
    for (const char *kernel : kernels)
      launches.push_back({kernel, {40, 1, 1}, {96, 1, 1}, 75, 0});
  expectSame("barriers.cu", kbrt::ImageMode::Count, launches);
}

TEST(SplitBarriers, EndAtTheTimeLimit) {
  CudaProgram program("barriers.cu");
  ASSERT_TRUE(program.image->findKernel("neverEnds")->split);
  program.options.wallSeconds = 0.05;
  int *in = program.allocate<int>(64), *out = program.allocate<int>(64);
  program.expectRun("neverEnds", {1}, {64}, in, out, 0);
  EXPECT_EQ(program.launch("neverEnds", {1}, {64}, in, out, 1).status, kbrt::LaunchStatus::Timeout);
}

// What a loop's vector form leaves unknown is not guessed.
TEST(SplitBarriers, NameNoThreadWhereNoneIsKnown) {
  CudaProgram program("barriers.cu");
  int *out = program.allocate<int>(64);
  kbrt::LaunchResult result =
      program.launch("uniformLoop", {1}, {64}, static_cast<int *>(nullptr), out, 3);
  EXPECT_EQ(result.status, kbrt::LaunchStatus::Fault);
  EXPECT_NE(result.message.find("null pointer"), std::string::npos) << result.message;
  EXPECT_EQ(result.message.find("thread ("), std::string::npos) << result.message;
}

} // namespace
