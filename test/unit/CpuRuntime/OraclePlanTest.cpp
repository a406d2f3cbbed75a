//===- OraclePlanTest.cpp - what an oracle image's plan observes ----------===//
#include "TestImage.h"
#include "kbrt/PlanExecutor.h"
#include <cmath>

using namespace kbrt;
using namespace kbrt::test;

namespace {

/// Stores a number and says that it is another in float64.
void shadowed(void **args, const Block *, Thread *thread) {
  auto *out = argument<float *>(args, 0) + thread->linear;
  *out = static_cast<float>(thread->linear);
  OracleSum sum{};
  sum.value = *out;
  kbrt_oracle_exact(&sum);
  sum.value += 0.25;
  sum.error = 0.5;
  sum.longest = 9;
  kbrt_oracle_store(FloatFormat::F32, out, &sum);
}

constexpr unsigned count = 32;

struct OraclePlan : testing::Test {
  OraclePlan() {
    image.kernel("shadowed", shadowed);
    plan.buffers.resize(3);
    for (uint32_t i = 0; i < 3; ++i) {
      plan.buffers[i].bytes = count * sizeof(float);
      plan.buffers[i].address = arenaBase + (uint64_t(1) << 30) + uint64_t(i) * 65536;
      plan.buffers[i].element = ElementType::F32;
      plan.steps.push_back(AllocStep{i});
    }
    LaunchStep launch;
    launch.kernel = "shadowed";
    launch.block = {count};
    std::vector<uint8_t> address(8);
    memcpy(address.data(), &plan.buffers[0].address, 8);
    launch.arguments = {{address, {{0, {0, 0}}}}};
    plan.steps.push_back(launch);
  }

  static Region whole(uint32_t buffer) {
    return Region::linear({buffer, 0}, count * sizeof(float));
  }

  std::vector<OracleElement> run() {
    PlanResult result = executePlan(plan, image.load(), options);
    EXPECT_EQ(result.status, LaunchStatus::Ok) << result.message;
    std::vector<OracleElement> elements(result.observables.size() / sizeof(OracleElement));
    memcpy(elements.data(), result.observables.data(), result.observables.size());
    return elements;
  }

  TestImage image{ImageMode::Oracle};
  Plan plan;
  PlanOptions options;
};

} // namespace

TEST_F(OraclePlan, ObservesReferencesOfNumbersAlone) {
  plan.buffers[2].element = ElementType::I32;
  plan.steps.push_back(CopyStep{whole(1), whole(0)});
  plan.steps.push_back(ReadStep{whole(0), 0, 0});
  plan.steps.push_back(ReadStep{whole(2), 0, 0});
  plan.steps.push_back(ReadStep{whole(1), 0, 0});
  const std::vector<OracleElement> elements = run();
  ASSERT_EQ(elements.size(), 2 * count);
  for (unsigned i = 0; i < 2 * count; ++i) {
    EXPECT_EQ(elements[i].value, i % count + 0.25) << i;
    EXPECT_EQ(elements[i].error, 0);
    EXPECT_EQ(elements[i].inherited, 0.5);
    EXPECT_EQ(elements[i].terms, 9);
  }
}

TEST_F(OraclePlan, ForgetsWhatTheHostOverwrites) {
  plan.steps.push_back(FillStep{whole(0), 0x3f});
  plan.steps.push_back(ReadStep{whole(0), 0, 0});
  for (const OracleElement &element : run()) {
    EXPECT_NEAR(element.value, 0.7470588, 1e-6);
    EXPECT_EQ(element.inherited, 0);
  }
}

TEST_F(OraclePlan, FollowsProductsOfLibraries) {
  // One row times one column of 32 numbers.
  MatmulStep product;
  product.m = product.n = 1;
  product.k = count;
  product.a = {{0, 0}, 1, 0, false};
  product.b = {{0, 0}, count, 0, false};
  product.c = {{1, 0}, 1, 0, false};
  plan.steps.push_back(product);
  plan.steps.push_back(ReadStep{Region::linear({1, 0}, sizeof(float)), 0, 0});
  const std::vector<OracleElement> elements = run();
  ASSERT_EQ(elements.size(), 1u);
  double sum = 0;
  for (unsigned i = 0; i < count; ++i)
    sum += (i + 0.25) * (i + 0.25);
  EXPECT_NEAR(elements[0].value, sum, 1e-9);
  EXPECT_EQ(elements[0].terms, count + 1);
  EXPECT_GT(elements[0].inherited, count * 0.5);
}
