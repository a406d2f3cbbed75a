//===- ColumnsTest.cpp - A block for a few columns of a matrix -------------===//
#include "Nests.h"

using namespace kbopt;

namespace {

struct Columns : Nests {
  static std::string element(llvm::StringRef base, int argument, llvm::StringRef loops,
                             llvm::StringRef at) {
    return ("<element <argument \"" + base + "\" argument " + llvm::Twine(argument) +
            "> : \"float\" bytes 4 at <over [" + loops + "] with [R, C] : " + at + ">>")
        .str();
  }
  /// out[c] += the sum of a column of in, whose elements lie at \p at; a column has \p rows rows.
  kb::NestOp sums(const Schedule &schedule, llvm::StringRef at = "r * C + c",
                  llvm::StringRef rows = "R", llvm::StringRef order = "reduction") {
    return parse(program(R"(#kb.param<"out" : "float *" bytes 8 pointer true element 4>,
        #kb.param<"in" : "const float *" bytes 8 pointer true element 4 const true>, #kb.param<"R" : "int" bytes 4>,
        #kb.param<"C" : "int" bytes 4>)",
                         R"(kb.nest @k dims ["c"] extents [#kb.expr<over [c] with [R, C] : C>]
          symbols [#kb.symbol<"R" param argument 2>, #kb.symbol<"C" param argument 3>] {
        kb.let "sum" : "float" "0.0f" []
        kb.over "r" )" + order.str() +
                             " extent <over [c] with [R, C] : " + rows.str() + R"(> {
          kb.reduce "sum" "add" "%a + %b" identity "0.0f" "$0" [#kb.operand)" +
                             element("in", 1, "c, r", at) + R"(]
        }
        kb.store )" + element("out", 0, "c", "c") +
                             R"( "$0 + sum" [#kb.operand)" + element("out", 0, "c", "c") + "]\n}"),
                 schedule);
  }
  GeneratedKernel print(kb::NestOp nest) {
    auto kernel = findSketch("columns")->print(nest, "fast", chip);
    if (kernel)
      return *kernel;
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return {};
  }
  std::string whyNot(kb::NestOp nest) { return findSketch("columns")->whyNot(nest); }
};

Schedule columns(int64_t columns, int64_t vector, int64_t block) {
  Schedule schedule("columns");
  return schedule.set("columns", columns)
      .set("vector", vector)
      .set("block", block)
      .set("inflight", 8);
}

TEST_F(Columns, SharesTheRowsOfAColumn) {
  GeneratedKernel kernel = print(sums(columns(8, 1, 256)));
  EXPECT_EQ(kernel.definition,
            R"(/// Combines `value` over the threads of a column; all of them get the result.
__device__ float fast_sum(float value) {
  __shared__ float ofWarp[8][8];
  const int warp = (threadIdx.y * 8 + threadIdx.x) / 32;
#pragma unroll
  for (int offset = 16; offset >= 8; offset /= 2)
    value += __shfl_xor_sync(0xffffffff, value, offset);
  __syncthreads(); // an earlier call has been read
  if (threadIdx.y % 4 == 0)
    ofWarp[warp][threadIdx.x] = value;
  __syncthreads();
  value = ofWarp[0][threadIdx.x];
#pragma unroll
  for (int other = 1; other < 8; ++other)
    value += ofWarp[other][threadIdx.x];
  return value;
}

// Neighbouring lanes take neighbouring columns, so that a warp reads whole sectors; the other threads of the
// block share the rows.
__global__ void __launch_bounds__(256) fast(float *__restrict__ out, const float *__restrict__ in, int R, int C) {
  constexpr int columns = 8, parts = 32;
  const int column = blockIdx.x * columns + threadIdx.x;
  const int c = min(column, C - 1);
  float sum = 0.0f;
#pragma unroll 8
  for (int r = threadIdx.y; r < R; r += parts)
    sum += in[(size_t)r * C + c];
  sum = fast_sum(sum);
  if (threadIdx.y == 0 && column < C)
    out[c] = out[c] + sum;
}
)");
  EXPECT_EQ(kernel.gridX, "(C + 7) / 8");
  EXPECT_EQ(kernel.blockY, "32");
  EXPECT_TRUE(kernel.reassociates);
}

TEST_F(Columns, TakesSeveralColumnsAThread) {
  GeneratedKernel kernel = print(sums(columns(8, 4, 1024)));
  llvm::StringRef text = kernel.definition;
  EXPECT_TRUE(text.contains("const int first = min(column * width, C - width);")) << text.str();
  EXPECT_TRUE(text.contains("*reinterpret_cast<const float4 *>(&in[(size_t)r * C + first]);"))
      << text.str();
  EXPECT_TRUE(text.contains("sum[e] += ins[e];")) << text.str();
  EXPECT_EQ(kernel.gridX, "(C + 31) / 32");
}

TEST_F(Columns, RefusesWhatIsNotAColumn) {
  EXPECT_EQ(whyNot(sums({}, "c * R + r")), "neighbouring points do not read neighbouring elements");
  EXPECT_EQ(whyNot(sums({}, "r * C + c", "c + 1")),
            "the extent of 'r' differs from column to column");
  EXPECT_EQ(whyNot(sums({}, "r * C + c", "R", "ascending")),
            "the iterations of 'r' must run in order");
}

TEST_F(Columns, WidensBlocksOnlyWhereEnoughRemain) {
  LaunchSizes sizes;
  sizes["C"] = 768;
  EXPECT_EQ(findSketch("columns")->schedules(sums({}), chip, sizes, {}).front().integer("vector"),
            1);
  sizes["C"] = 3072;
  EXPECT_EQ(findSketch("columns")->schedules(sums({}), chip, sizes, {}).front().integer("vector"),
            4);
  EXPECT_TRUE(
      findSketch("columns")->schedules(sums({}), chip, sizes, {.reassociate = false}).empty());
}

} // namespace
