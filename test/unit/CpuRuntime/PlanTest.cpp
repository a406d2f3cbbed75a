//===- PlanTest.cpp - executing plans -------------------------------------===//
#include "TestImage.h"
#include "kbrt/PlanExecutor.h"

using namespace kbrt;
using namespace kbrt::test;

namespace {

/// out[i] = in[i] + add, through the variable `calls` that counts launches.
void *callsSlot;
void addTo(void **args, const Block *block, Thread *thread) {
  auto *in = argument<int *>(args, 0), *out = argument<int *>(args, 1);
  uint32_t i = block->ctaid.x * block->ntid.x + thread->tid.x;
  if (i == 0)
    ++*static_cast<int *>(callsSlot);
  out[i] = in[i] + argument<int>(args, 2);
}

/// Writes through its pointer to const.
void cheat(void **args, const Block *, Thread *thread) {
  argument<int *>(args, 0)[thread->linear] += 1;
}

constexpr uint64_t place = arenaBase + (uint64_t(1) << 30);

template <typename T> std::vector<uint8_t> bytesOf(T value) {
  auto *p = reinterpret_cast<uint8_t *>(&value);
  return {p, p + sizeof value};
}

struct PlanTest : testing::Test {
  PlanTest() {
    image.variables.push_back(
        {"calls", VariableKind::Device, 0, 4, 4, nullptr, &callsSlot, nullptr, 0, "int", 1});
    image.kernel("addTo", addTo, {8, 8, 4});
    // The first parameter is `const int *in`.
    image.parameters.back()[0].isConst = 1;
    image.parameters.back()[0].name = "in";
    plan.buffers.resize(3);
    for (int i = 0; i < 2; ++i) {
      plan.buffers[i].bytes = 256;
      plan.buffers[i].address = place + uint64_t(i) * 65536;
    }
    plan.buffers[2].bytes = 4;
    plan.buffers[2].kind = BufferKind::Symbol;
    plan.buffers[2].symbol = "calls";
    for (int i = 0; i < 64; ++i)
      input[i] = i;
    LaunchStep launch;
    launch.kernel = "addTo";
    launch.grid = {2};
    launch.block = {32};
    launch.arguments = {{bytesOf(plan.buffers[0].address), {{0, {0, 0}}}},
                        {bytesOf(plan.buffers[1].address), {{0, {1, 0}}}},
                        {bytesOf(int(5)), {}}};
    plan.steps = {AllocStep{0},
                  AllocStep{1},
                  UploadStep{Region::linear({0, 0}, 256), 0, 0},
                  launch,
                  launch,
                  ReadStep{Region::linear({1, 0}, 256), 0, 0},
                  ReadStep{Region::linear({2, 0}, 4), 256, 0},
                  FreeStep{0}};
    options.inputs.data = {reinterpret_cast<const char *>(input), sizeof input};
  }
  ~PlanTest() override { DeviceMemory::get().setLimitBytes(limit); } // a plan sets its own
  int output(const PlanResult &result, size_t i) {
    int value;
    memcpy(&value, result.observables.data() + i * 4, 4);
    return value;
  }
  LaunchStep &launchAt(size_t i) { return std::get<LaunchStep>(plan.steps[i]); }

  TestImage image;
  Plan plan;
  PlanOptions options;
  int input[64];
  uint64_t limit = DeviceMemory::get().getLimitBytes();
};

} // namespace

TEST_F(PlanTest, ExecutesAndCleansUp) {
  Image &loaded = image.load();
  uint64_t before = DeviceMemory::get().getLiveBytes();
  for (int i = 0; i < 2; ++i) {
    PlanResult result = executePlan(plan, loaded, options);
    ASSERT_EQ(result.status, LaunchStatus::Ok) << result.message;
    EXPECT_EQ(result.observables.size(), 260u);
    EXPECT_EQ(output(result, 63), 68);
    EXPECT_EQ(output(result, 64), 2) << "the variable counts from its initial value";
    EXPECT_EQ(result.launches.size(), 2u);
    EXPECT_EQ(result.launches[1].step, 4u);
    EXPECT_EQ(result.peakDeviceBytes, before + 512);
    EXPECT_EQ(DeviceMemory::get().getLiveBytes(), before);
  }
}

TEST_F(PlanTest, PutsBuffersWhereTheyWere) {
  options.inputs.onStep = [&](size_t step) {
    if (step == 5)
      EXPECT_EQ(*reinterpret_cast<int *>(place + 65536), 5);
  };
  EXPECT_EQ(executePlan(plan, image.load(), options).status, LaunchStatus::Ok);
}

TEST_F(PlanTest, MovesBuffersWithoutAPlace) {
  plan.buffers[0].address = plan.buffers[1].address = 0;
  PlanResult result = executePlan(plan, image.load(), options);
  ASSERT_EQ(result.status, LaunchStatus::Ok) << result.message;
  EXPECT_EQ(output(result, 63), 68);
}

TEST_F(PlanTest, ReplacesUploads) {
  std::string other(256, '\0');
  options.inputs.overrides.emplace_back(2u, other);
  EXPECT_EQ(output(executePlan(plan, image.load(), options), 63), 5);
  options.inputs.overrides[0].second = "short";
  PlanResult result = executePlan(plan, image.load(), options);
  EXPECT_EQ(result.status, LaunchStatus::InvalidLaunch);
  EXPECT_EQ(result.message, "step 2 uploads 256 bytes, its data has 5");
}

TEST_F(PlanTest, FillsCopiesAndPitches) {
  Region rows{{0, 0}, 4, 4, 16};
  plan.steps = {AllocStep{0},
                AllocStep{1},
                FillStep{Region::linear({0, 0}, 256), 1, 0},
                FillStep{rows, 2, 0},
                CopyStep{Region{{1, 0}, 4, 4, 4}, rows, 0},
                ReadStep{Region::linear({1, 0}, 16), 0, 0},
                ReadStep{Region{{0, 0}, 8, 2, 16}, 16, 0}};
  PlanResult result = executePlan(plan, image.load(), options);
  ASSERT_EQ(result.status, LaunchStatus::Ok) << result.message;
  EXPECT_EQ(result.observables, std::string(16, '\2') + "\2\2\2\2\1\1\1\1\2\2\2\2\1\1\1\1");
}

TEST_F(PlanTest, NoticesAChangedConstInput) {
  image.kernel("cheat", cheat, {8, 8, 4});
  image.parameters.back()[0].isConst = 1;
  image.parameters.back()[0].name = "in";
  launchAt(3).kernel = "cheat";
  PlanResult result = executePlan(plan, image.load(), options);
  ASSERT_EQ(result.launches[0].result.findings.size(), 1u);
  EXPECT_EQ(result.launches[0].result.findings[0].kind, FindingKind::ConstInputChanged);
  EXPECT_EQ(result.launches[0].result.findings[0].array, "in");
  EXPECT_TRUE(result.launches[1].result.findings.empty());
  // A buffer that is passed as output, too, may change.
  launchAt(3).arguments[1] = launchAt(3).arguments[0];
  EXPECT_TRUE(executePlan(plan, image.load(), options).launches[0].result.findings.empty());
}

TEST_F(PlanTest, SaysWhatDoesNotFit) {
  Image &loaded = image.load();
  launchAt(3).kernel = "other";
  PlanResult result = executePlan(plan, loaded, options);
  EXPECT_EQ(result.status, LaunchStatus::InvalidLaunch);
  EXPECT_EQ(result.message, "the image has no kernel 'other', which the plan launches");
  launchAt(3).kernel = "addTo";
  launchAt(3).arguments.pop_back();
  EXPECT_EQ(executePlan(plan, loaded, options).message,
            "the plan launches addTo with 2 arguments, it takes 3");
  plan.buffers[2].symbol = "missing";
  plan.steps = {ReadStep{Region::linear({2, 0}, 4), 0, 0}};
  EXPECT_EQ(executePlan(plan, loaded, options).message,
            "the image has no variable 'missing' of 4 bytes, which the plan uses");
  plan.steps = {ReadStep{Region::linear({0, 0}, 4), 0, 0}};
  EXPECT_EQ(executePlan(plan, loaded, options).message,
            "the plan uses buffer 0 while it is not allocated");
}

TEST_F(PlanTest, EndsWhenMemoryRunsOut) {
  image.load();
  options.deviceBytes = DeviceMemory::get().getLiveBytes() + 300;
  PlanResult result = executePlan(plan, image.load(), options);
  EXPECT_EQ(result.status, LaunchStatus::OutOfMemory);
  EXPECT_NE(result.message.find("allocates too much"), std::string::npos) << result.message;
}

TEST_F(PlanTest, PoisonsFreshBuffers) {
  options.poison = 0x77;
  plan.steps = {AllocStep{0}, ReadStep{Region::linear({0, 0}, 4), 0, 0}};
  EXPECT_EQ(executePlan(plan, image.load(), options).observables, "wwww");
}
