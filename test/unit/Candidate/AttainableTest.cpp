//===- AttainableTest.cpp - What no rewrite goes below --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/Attainable.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

ChipInfo chip() {
  ChipInfo chip;
  chip.dramBytesPerSecond = 1e12; // a byte in a picosecond
  chip.launchOverheadUs = 2;
  return chip;
}

/// Two uploads of 1 MB, of which one is made twice, \p launches, and a result of 2 MB.
kbrt::Plan plan(unsigned launches) {
  constexpr uint64_t megabyte = 1000000;
  kbrt::Plan plan;
  plan.steps = {kbrt::UploadStep{kbrt::Region::linear({0, 0}, megabyte), 0, 0},
                kbrt::UploadStep{kbrt::Region::linear({1, 0}, megabyte), megabyte, 0},
                kbrt::UploadStep{kbrt::Region::linear({0, 0}, megabyte), 0, 0}};
  for (unsigned i = 0; i != launches; ++i)
    plan.steps.push_back(kbrt::LaunchStep());
  plan.steps.push_back(kbrt::ReadStep{kbrt::Region::linear({2, 0}, 2 * megabyte), 0, 0});
  return plan;
}

} // namespace

TEST(Attainable, IsOneLaunchThatMovesEverythingOnce) {
  AttainableTime time = attainableTime(plan(10), /*floorUs=*/100, chip());
  EXPECT_NEAR(time.kernelsUs, 4, 1e-9);
  EXPECT_NEAR(time.launchesUs, 2, 1e-9);
  EXPECT_NEAR(time.us(), 6, 1e-9);
}

TEST(Attainable, IsNoMoreThanTheGivenKernelsNeed) {
  // Ten launches of 2 us and kernels that need 3 us: they read parts of what is uploaded.
  EXPECT_NEAR(attainableTime(plan(10), /*floorUs=*/23, chip()).kernelsUs, 3, 1e-9);
}

TEST(Attainable, IsUnknownWhereTheFloorIs) {
  EXPECT_EQ(attainableTime(plan(1), /*floorUs=*/0, chip()).us(), 0);
}
