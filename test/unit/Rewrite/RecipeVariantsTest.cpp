//===- RecipeVariantsTest.cpp - Programs that recipes are tried on ---------===//
#include "../Source/SourceTestUtils.h"
#include "kb-opt/Rewrite/MakeRecipe.h"
#include "gmock/gmock.h"

using namespace kbopt;
using namespace kbopt::test;
using testing::HasSubstr;
using testing::Not;

TEST(RecipeVariants, ExtentsOfArraysAreRenamedWithTheirConstants) {
  auto program = parse(R"(
__global__ void sums(float *y, const float *x, int n) {
  constexpr int bins = 32;
  __shared__ float own[bins];
  int i = threadIdx.x;
  own[i % bins] = i < n ? x[i] : 0.0f;
  __syncthreads();
  y[i] = own[i % bins];
}
void run(float *y, const float *x, int n) { sums<<<1, 32>>>(y, x, n); }
)");
  const std::string other = renamedVariant(*program, "sums");
  parse(other); // it compiles
  EXPECT_THAT(other, HasSubstr("_bins];"));
  EXPECT_THAT(other, Not(HasSubstr("own[bins]")));
  // The parameters stand the other way round, here and at the launch.
  EXPECT_THAT(other, HasSubstr("other_sums<<<1, 32>>>(n, x, y)"));
}
