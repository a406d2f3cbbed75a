//===- HostValuesTest.cpp - What a changed host hands over otherwise --------===//
#include "kb-opt/Plan/HostValues.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

template <typename T> llvm::StringRef bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

TEST(HostValues, RoundingsAreAllowedAndMistakesAreNot) {
  const std::vector<float> number = {0.25f}, rounded = {0.2500001f}, wrong = {0.250001f};
  EXPECT_TRUE(areSameNumbers(bytesOf(rounded), bytesOf(number), ElementType::F32));
  EXPECT_FALSE(areSameNumbers(bytesOf(wrong), bytesOf(number), ElementType::F32));
  EXPECT_FALSE(areSameNumbers(bytesOf(rounded), bytesOf(number), ElementType::I32));
  EXPECT_FALSE(areSameNumbers(bytesOf(rounded), bytesOf(number), ElementType::Unknown));
}

TEST(HostValues, SixteenRoundingsAreTheMost) {
  const std::vector<float> number = {1, -3}, least = {1 + 0x1p-20f, -3},
                           more = {1 + 0x1.2p-20f, -3}, small = {1, -3 - 0x1p-18f};
  EXPECT_TRUE(areSameNumbers(bytesOf(least), bytesOf(number), ElementType::F32));
  EXPECT_FALSE(areSameNumbers(bytesOf(more), bytesOf(number), ElementType::F32));
  EXPECT_FALSE(areSameNumbers(bytesOf(small), bytesOf(number), ElementType::F32));
  const std::vector<double> one = {1}, near = {1 + 0x1p-49}, far = {1 + 0x1.2p-49};
  EXPECT_TRUE(areSameNumbers(bytesOf(near), bytesOf(one), ElementType::F64));
  EXPECT_FALSE(areSameNumbers(bytesOf(far), bytesOf(one), ElementType::F64));
}

/// A plan that uploads \p bytes and launches with \p argument.
Plan planOf(size_t bytes, llvm::StringRef argument) {
  Plan plan;
  plan.buffers.push_back({bytes, BufferKind::Device, 0x600000001000, ElementType::F32, ""});
  LaunchStep launch;
  launch.kernel = "k";
  launch.arguments = {{std::vector<uint8_t>(argument.bytes_begin(), argument.bytes_end()), {}}};
  plan.steps = {AllocStep{0}, UploadStep{Region::linear({0, 0}, bytes), 0, 0}, launch};
  return plan;
}

TEST(HostValues, TapsInAStructAreVariedLikeTheUpload) {
  const std::vector<float> taps = {1, 2, 3, 4, 5}, others = {9, 8, 7, 6, 5.5f};
  std::vector<float> argument = {0.5f, 1, 2, 3, 4, 5, 0.25f};
  const Plan original = planOf(20, "\1\2\3\4");
  Plan plan = planOf(20, bytesOf(argument));
  EXPECT_EQ(unknownBytes(bytesOf(argument), {bytesOf(taps)}), 8u);
  varyArgumentsLike(original, bytesOf(taps), bytesOf(others), plan);
  const std::vector<float> expected = {0.5f, 9, 8, 7, 6, 5.5f, 0.25f};
  EXPECT_EQ(std::memcmp(std::get<LaunchStep>(plan.steps[2]).arguments[0].bytes.data(),
                        expected.data(), 28),
            0);
}

TEST(HostValues, WhatTheOriginalPassesItselfStays) {
  const std::vector<float> taps = {1, 2, 3, 4, 5}, others = {9, 8, 7, 6, 5.5f};
  const Plan original = planOf(20, bytesOf(taps));
  Plan plan = original;
  varyArgumentsLike(original, bytesOf(taps), bytesOf(others), plan);
  EXPECT_EQ(std::get<LaunchStep>(plan.steps[2]).arguments,
            std::get<LaunchStep>(original.steps[2]).arguments);
}

} // namespace
