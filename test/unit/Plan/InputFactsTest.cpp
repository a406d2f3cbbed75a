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
