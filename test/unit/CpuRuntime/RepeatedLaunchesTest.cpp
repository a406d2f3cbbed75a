#include "kbrt/RepeatedLaunches.h"
#include "kbrt/Memory.h"
#include "gtest/gtest.h"

using namespace kbrt;

namespace {

/// Launches of a "kernel" that stores one value.
struct RepeatedLaunchesTest : testing::Test {
  DeviceMemory &memory = DeviceMemory::get();
  int *buffer = nullptr;
  RepeatedLaunches launches;
  LaunchKey key{"k", {4, 1, 1}, {32, 1, 1}, 0, {1, 2, 3}};

  void SetUp() override {
    memory.setLimitBytes(1 << 20); // other tests leave theirs behind
    buffer = static_cast<int *>(memory.allocate(1024));
    ASSERT_NE(buffer, nullptr) << memory.lastError();
  }
  ~RepeatedLaunchesTest() override { memory.free(buffer); }
  void run(const LaunchKey &launch, int value, bool repeatable = true) {
    launches.before(launch);
    buffer[7] = value;
    launches.after(launch, repeatable);
  }
};

TEST_F(RepeatedLaunchesTest, SecondLaunchThatChangesNothingIsTheLast) {
  EXPECT_FALSE(launches.changesNothing(key));
  run(key, 5);
  EXPECT_FALSE(launches.changesNothing(key));
  run(key, 5);
  EXPECT_TRUE(launches.changesNothing(key));
}

TEST_F(RepeatedLaunchesTest, AnAccumulatingKernelIsAlwaysExecuted) {
  for (int i = 0; i < 4; ++i) {
    run(key, i);
    EXPECT_FALSE(launches.changesNothing(key)) << i;
  }
}

TEST_F(RepeatedLaunchesTest, OtherLaunchesAndWritesEndIt) {
  LaunchKey other = key;
  other.arguments[0] = 9;
  run(key, 5);
  run(key, 5);
  EXPECT_FALSE(launches.changesNothing(other));
  run(other, 6);
  EXPECT_FALSE(launches.changesNothing(key));
  run(key, 5);
  run(key, 5);
  ASSERT_TRUE(launches.changesNothing(key));
  memory.fill(buffer + 8, 1, 4);
  EXPECT_FALSE(launches.changesNothing(key));
}

TEST_F(RepeatedLaunchesTest, WritesOfWhatIsThereDoNotEndIt) {
  memory.fill(buffer, 3, 16);
  run(key, 5);
  run(key, 5);
  memory.fill(buffer, 3, 16);
  int same = 5;
  memory.write(buffer + 7, &same, sizeof(same));
  EXPECT_TRUE(launches.changesNothing(key));
}

TEST_F(RepeatedLaunchesTest, NewMemoryEndsIt) {
  run(key, 5);
  run(key, 5);
  void *more = memory.allocate(64);
  EXPECT_FALSE(launches.changesNothing(key));
  memory.free(more);
}

TEST_F(RepeatedLaunchesTest, AKernelWithOtherEffectsIsAlwaysExecuted) {
  run(key, 5, /*repeatable=*/false);
  run(key, 5, /*repeatable=*/false);
  EXPECT_FALSE(launches.changesNothing(key));
}

TEST_F(RepeatedLaunchesTest, EveryByteCounts) {
  uint64_t before = digestOfDeviceMemory();
  reinterpret_cast<char *>(buffer)[1023] ^= 1;
  EXPECT_NE(digestOfDeviceMemory(), before);
  reinterpret_cast<char *>(buffer)[1023] ^= 1;
  EXPECT_EQ(digestOfDeviceMemory(), before);
}

} // namespace
