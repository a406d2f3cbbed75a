//===- RelaidInputsTest.cpp - Inputs that a host hands over otherwise -----===//
#include "../../../lib/Eval/Gates/RelaidInputs.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <vector>

using namespace kbopt;

namespace {

template <typename T> llvm::StringRef bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

const std::vector<float> values = {0.5f, 1.5f, -2.5f, 3.25f, 7.125f, 9.5f};
const std::vector<float> sums = {2.0f, 0.75f, 16.625f, 9.5f};

bool isOf(llvm::StringRef upload, bool mayIndex = true) {
  return isRelaid(upload, {bytesOf(values)}, {bytesOf(sums)}, mayIndex);
}

TEST(RelaidInputs, AreWordsOfTheInputsAndIndices) {
  EXPECT_TRUE(isOf(bytesOf(std::vector<float>{0.5f, 0, 1.5f, -2.5f, 3.25f, 0})));
  EXPECT_TRUE(isOf(bytesOf(std::vector<int>{0, 2, 5, 5, 9}))) << "offsets rise";
  EXPECT_FALSE(isOf(bytesOf(std::vector<int>{0, 2, 5, 5, 9}), /*mayIndex=*/false));
  EXPECT_TRUE(isOf(bytesOf(std::vector<float>{0, 1.5f, -2.5f}), /*mayIndex=*/false));
  EXPECT_FALSE(isOf(bytesOf(std::vector<float>{0.5f, 1.5f, 0.25f, 3.25f})));
}

TEST(RelaidInputs, AreNoResults) {
  std::vector<float> upload = values;
  upload.insert(upload.end(), sums.begin(), sums.end());
  EXPECT_FALSE(isOf(bytesOf(upload)));
  EXPECT_FALSE(isOf(bytesOf(sums)));
}

TEST(RelaidInputs, AreNoResultsInAnotherOrderOrPlace) {
  std::vector<int> input, scan, reversed;
  for (int i = 0; i < 40; ++i)
    input.push_back(1 + i % 3);
  for (int total = 0; int value : input)
    scan.push_back(total += value);
  const std::vector<int> shifted(scan.begin(), scan.end() - 1);
  reversed.assign(scan.rbegin(), scan.rend());
  for (const std::vector<int> &upload : {scan, shifted, reversed})
    EXPECT_FALSE(isRelaid(bytesOf(upload), {bytesOf(input)}, {bytesOf(scan)}, true));
  // What a program sorts is its input in another order anyway.
  std::vector<int> sorted = input, padded = input;
  std::sort(sorted.begin(), sorted.end());
  padded.insert(padded.begin() + 20, 0);
  EXPECT_TRUE(isRelaid(bytesOf(padded), {bytesOf(input)}, {bytesOf(sorted)}, true));
}

} // namespace
