//===- MatmulTest.cpp - how a GPU launches matrix products ----------------===//
#include "kbrt/MatmulLaunches.h"
#include <gtest/gtest.h>

using namespace kbrt;

namespace {

TEST(MatmulLaunches, AreOneForMostProducts) {
  MatmulStep step;
  step.m = 33;
  step.n = 16;
  step.k = 5;
  step.batch = 9;
  auto launches = matmulLaunches(step);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].grid, (Dim3{3, 1, 9}));
  EXPECT_EQ(launches[0].columns, 16u);
  step.m = 0;
  EXPECT_TRUE(matmulLaunches(step).empty());
}

TEST(MatmulLaunches, CoverWhatOneGridCannot) {
  MatmulStep step;
  step.m = 1;
  step.n = 65535 * 16 + 1;
  step.k = 1;
  step.batch = 65536;
  auto launches = matmulLaunches(step);
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_EQ(launches[0].grid, (Dim3{1, 65535, 65535}));
  EXPECT_EQ(launches[1].column, 65535u * 16);
  EXPECT_EQ(launches[1].grid, (Dim3{1, 1, 65535}));
  EXPECT_EQ(launches[2].matrix, 65535u);
  EXPECT_EQ(launches[3].grid, (Dim3{1, 1, 1}));
}

} // namespace
