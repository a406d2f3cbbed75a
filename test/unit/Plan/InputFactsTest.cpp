//===- InputFactsTest.cpp - What stays true of varied inputs ----------------===//
#include "kb-opt/Plan/InputFacts.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

template <typename T>
std::vector<T> held(std::vector<T> values, ElementType element, const InputFacts &facts) {
  holdTo({reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(T)}, element, facts);
  EXPECT_TRUE(fulfils({reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(T)},
                      element, facts));
  return values;
}

TEST(InputFacts, SortedValuesStaySorted) {
  InputFacts facts;
  facts.isSorted = true;
  EXPECT_EQ(held<float>({3, -1, NAN, 2}, ElementType::F32, facts),
            (std::vector<float>{-1, 0, 2, 3}));
  facts.isDescending = true;
  EXPECT_EQ(held<int>({3, -1, 5}, ElementType::I32, facts), (std::vector<int>{5, 3, -1}));
}

TEST(InputFacts, DistinctValuesAreMovedApart) {
  InputFacts facts;
  facts.isDistinct = true;
  facts.isNonzero = true;
  EXPECT_EQ(held<int>({-1, 7, -1, 7}, ElementType::I32, facts), (std::vector<int>{-1, 7, 1, 8}));
  EXPECT_EQ(held<uint8_t>({255, 255}, ElementType::U8, facts), (std::vector<uint8_t>{254, 255}));
  std::vector<float> equal = held<float>({1, 1, 1}, ElementType::F32, facts);
  EXPECT_TRUE(equal[0] < equal[1] && equal[1] < equal[2]);
}

TEST(InputFacts, RangesHoldTheirEnds) {
  InputFacts facts;
  facts.range = {2, 5};
  for (int value : held<int>({-100, 0, 2, 5, 6, 1 << 30}, ElementType::I32, facts))
    EXPECT_TRUE(value >= 2 && value <= 5);
  for (float value : held<float>({-1e30f, INFINITY, 3.5f}, ElementType::F32, facts))
    EXPECT_TRUE(value >= 2 && value <= 5);
}

TEST(InputFacts, OffsetsBeginWithZeroAndEndAsRecorded) {
  InputFacts facts;
  facts.isOffsets = true;
  facts.total = 9;
  EXPECT_EQ(held<int>({5, -3, 12, 4}, ElementType::I32, facts), (std::vector<int>{0, 3, 4, 9}));
  for (const std::vector<int> &wrong : {std::vector<int>{1, 2, 9}, {0, 5, 4, 9}, {0, -1}})
    EXPECT_FALSE(fulfils({reinterpret_cast<const uint8_t *>(wrong.data()), wrong.size() * 4},
                         ElementType::I32, facts));
}

TEST(InputFacts, RowsAreFilledUpToTheirEnds) {
  InputFacts facts;
  facts.padding = {3, -1};
  EXPECT_EQ(held<int>({4, -1, 5, 6, 7, 8, -1, 2, 1}, ElementType::I32, facts),
            (std::vector<int>{4, -1, -1, 6, 7, 8, -1, -1, -1}));
}

TEST(InputFacts, AccumulatorsAreZeroAndOthersFinite) {
  InputFacts zero, finite;
  zero.isZero = finite.isFinite = true;
  EXPECT_EQ(held<float>({1, NAN, -0.0f}, ElementType::F32, zero), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(held<float>({1, NAN, -INFINITY}, ElementType::F32, finite),
            (std::vector<float>{1, 0, 0}));
}

TEST(InputFacts, WhatSomebodyCountedUpIsNotInOrder) {
  const std::vector<int> counted = {0, 3, 6, 9, 12}, sorted = {0, 3, 7, 9, 40};
  for (bool isSorted : {false, true}) {
    const std::vector<int> &values = isSorted ? sorted : counted;
    Plan plan;
    plan.buffers.push_back({20, BufferKind::Device, 0x600000001000, ElementType::I32, ""});
    plan.steps = {AllocStep{0}, UploadStep{Region::linear({0, 0}, 20), 0, 0}};
    const llvm::StringRef data(reinterpret_cast<const char *>(values.data()), 20);
    EXPECT_EQ(orderedUploads(plan, data).size(), isSorted ? 1u : 0u);
  }
}

} // namespace
