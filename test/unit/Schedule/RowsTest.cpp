//===- RowsTest.cpp - A team of threads for each row -----------------------===//
#include "Nests.h"

using namespace kbopt;

namespace {

struct Rows : Nests {
  /// A sum of `inp[i * C + j]` and a store of the centred row; \p extent is that of the row.
  kb::NestOp centred(const Schedule &schedule, llvm::StringRef extent = "C") {
    std::string over = "over [i, j] with [N, C]";
    auto element = [&](llvm::StringRef name, int argument, llvm::StringRef at,
                       llvm::StringRef loops) {
      return ("<element <argument \"" + name + "\" argument " + llvm::Twine(argument) +
              "> : \"float\" bytes 4 at <over [" + loops + "] with [N, C] : " + at + ">>")
          .str();
    };
    return parse(program(R"(#kb.param<"out" : "float *" bytes 8 pointer true element 4>,
        #kb.param<"inp" : "const float *" bytes 8 pointer true element 4 const true>,
        #kb.param<"N" : "int" bytes 4>, #kb.param<"C" : "int" bytes 4>)",
                         R"(kb.nest @k dims ["i"] extents [#kb.expr<over [i] with [N, C] : N>]
          symbols [#kb.symbol<"N" param argument 2>, #kb.symbol<"C" param argument 3>] {
        kb.let "sum" : "float" "0.0f" []
        kb.over "j" reduction extent <over [i] with [N, C] : )" +
                             extent.str() + R"(> {
          kb.reduce "sum" "add" "%a + %b" identity "0.0f" "$0" [#kb.operand)" +
                             element("inp", 1, "i * C + j", "i, j") + R"(]
        }
        kb.over "j2" any extent <over [i] with [N, C] : )" +
                             extent.str() + R"(> {
          kb.store )" + element("out", 0, "i * C + j2", "i, j2") +
                             R"( "$0 - sum / C" [#kb.operand)" +
                             element("inp", 1, "i * C + j2", "i, j2") + R"(]
        }
      })"),
                 schedule);
  }
  GeneratedKernel print(kb::NestOp nest) {
    auto kernel = findSketch("rows")->print(nest, "fast", chip);
    if (kernel)
      return *kernel;
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return {};
  }
  static bool has(const GeneratedKernel &kernel, llvm::StringRef condition) {
    return llvm::any_of(kernel.conditions,
                        [&](const LaunchCondition &each) { return each.text == condition; });
  }
};

Schedule rows(int64_t team, int64_t rows, int64_t vector, int64_t chunks) {
  Schedule schedule("rows");
  schedule.set("team", team).set("rows", rows).set("vector", vector).set("chunks", chunks);
  return schedule.set("cache", chunks ? "registers" : "none");
}

TEST_F(Rows, KeepsARowInTheRegistersOfAWarp) {
  GeneratedKernel kernel = print(centred(rows(32, 8, 4, 6)));
  EXPECT_EQ(kernel.definition,
            R"(// The lanes of a warp share one 'i', so that neighbouring threads read neighbouring
// elements; what is read again waits in registers.
__global__ void __launch_bounds__(256) fast(float *__restrict__ out, const float *__restrict__ inp, int N, int C) {
  constexpr int lanes = 32, rows = 8, width = 4, chunks = 6;
  const int lane = threadIdx.x;
  const int i = blockIdx.x * rows + threadIdx.y;
  if (i >= N)
    return;
  float sum = 0.0f;
  alignas(16) float inps[chunks][width];
#pragma unroll
  for (int k = 0; k < chunks; ++k) {
    const int first = (k * lanes + lane) * width;
    if (first < C)
      *reinterpret_cast<float4 *>(inps[k]) = *reinterpret_cast<const float4 *>(&inp[(size_t)i * C + first]);
  }
#pragma unroll
  for (int k = 0; k < chunks; ++k) {
    const int first = (k * lanes + lane) * width;
    if (first < C) {
#pragma unroll
      for (int e = 0; e < width; ++e)
        sum += inps[k][e];
    }
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
#pragma unroll
  for (int k = 0; k < chunks; ++k) {
    const int first = (k * lanes + lane) * width;
    if (first < C) {
      alignas(16) float outs[width];
#pragma unroll
      for (int e = 0; e < width; ++e)
        outs[e] = inps[k][e] - sum / C;
      *reinterpret_cast<float4 *>(&out[(size_t)i * C + first]) = *reinterpret_cast<const float4 *>(outs);
    }
  }
}
)");
  EXPECT_EQ(kernel.gridX, "(N + 7) / 8");
  EXPECT_EQ(kernel.blockX, "32");
  EXPECT_EQ(kernel.blockY, "8");
  EXPECT_TRUE(kernel.reassociates);
  for (llvm::StringRef condition : {"N > 0", "C <= 768", "C % 4 == 0"})
    EXPECT_TRUE(has(kernel, condition)) << condition.str();
}

TEST_F(Rows, LoopsWithAStepWithoutACache) {
  GeneratedKernel kernel = print(centred(rows(8, 16, 1, 0)));
  llvm::StringRef text = kernel.definition;
  EXPECT_TRUE(text.contains("const unsigned mates = 0xffu << threadIdx.y * lanes % 32;"))
      << text.str();
  EXPECT_TRUE(
      text.contains("for (int j = lane; j < C; j += lanes)\n    sum += inp[(size_t)i * C + j];"))
      << text.str();
  EXPECT_TRUE(text.contains("sum += __shfl_xor_sync(mates, sum, offset);")) << text.str();
  EXPECT_FALSE(has(kernel, "C % 4 == 0"));
}

TEST_F(Rows, CombinesInSharedMemoryAcrossWarps) {
  GeneratedKernel kernel = print(centred(rows(256, 1, 4, 1)));
  llvm::StringRef text = kernel.definition;
  EXPECT_TRUE(
      text.contains("__device__ float fast_sum(float value) {\n  __shared__ float ofWarp[8];"))
      << text.str();
  EXPECT_TRUE(text.contains("sum = fast_sum(sum);")) << text.str();
  EXPECT_EQ(kernel.gridX, "N");
}

TEST_F(Rows, TakesOneElementAtATimeWhereTheExtentDependsOnTheRow) {
  GeneratedKernel kernel = print(centred(rows(32, 4, 4, 2), "i + 1"));
  EXPECT_TRUE(has(kernel, "N <= 64"));
  EXPECT_FALSE(has(kernel, "C % 4 == 0"));
  EXPECT_TRUE(llvm::StringRef(kernel.definition).contains("if (j < i + 1)")) << kernel.definition;
}

TEST_F(Rows, RefusesWhatDoesNotFit) {
  auto reasonFor = [&](const Schedule &schedule) {
    auto kernel = findSketch("rows")->print(centred(schedule), "fast", chip);
    return kernel ? std::string() : llvm::toString(kernel.takeError());
  };
  EXPECT_EQ(reasonFor(rows(32, 64, 1, 0)),
            "the keys 'team' and 'rows' do not make whole warps of one block");
  EXPECT_EQ(reasonFor(rows(24, 4, 1, 0)), "the key 'team' must be a power of two from 2 to 1024");
}

TEST_F(Rows, RefusesSumsThatAreReadWhileTheyAreFormed) {
  auto nest = parse(program(
      R"(#kb.param<"y" : "float *" bytes 8 pointer true element 4>, #kb.param<"n" : "int" bytes 4>)",
      R"(kb.nest @k dims ["i"] extents [#kb.expr<over [i] with [n] : n>] symbols [#kb.symbol<"n" param argument 1>] {
        kb.let "sum" : "float" "0.0f" []
        kb.over "j" reduction extent <over [i] with [n] : n> {
          kb.reduce "sum" "add" "%a + %b" identity "0.0f" "1.0f" []
          kb.store <element <argument "y" argument 0> : "float" bytes 4 at <over [i, j] with [n] : i * n + j>> "sum" []
        }
      })"));
  EXPECT_EQ(findSketch("rows")->whyNot(nest), "'sum' is read while 'j' forms it");
}

TEST_F(Rows, PrefersAWarpForShortRowsAndABlockForLongOnes) {
  LaunchSizes sizes;
  sizes["N"] = 8192;
  sizes["C"] = 768;
  auto best = findSketch("rows")->schedules(centred({}), chip, sizes, {});
  ASSERT_FALSE(best.empty());
  EXPECT_LE(best.size(), 24u);
  EXPECT_EQ(best.front().integer("team"), 32);
  EXPECT_EQ(best.front().integer("chunks"), 6);
  EXPECT_EQ(best.front().integer("vector"), 4);
  sizes["C"] = 4096;
  EXPECT_GT(findSketch("rows")->schedules(centred({}), chip, sizes, {}).front().integer("team"),
            32);
  EXPECT_TRUE(
      findSketch("rows")->schedules(centred({}), chip, sizes, {.reassociate = false}).empty());
}

} // namespace
