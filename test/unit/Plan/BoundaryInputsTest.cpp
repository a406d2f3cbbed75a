//===- BoundaryInputsTest.cpp - Inputs at which programs branch -----------===//
#include "kb-opt/Plan/BoundaryInputs.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

constexpr uint64_t count = 512;

/// Two uploads of 512 floats, which are 3 and 5, and one of 512 integers, which are 7.
Plan uploads() {
  Plan plan;
  for (ElementType type : {ElementType::F32, ElementType::F32, ElementType::I32}) {
    const uint32_t number = static_cast<uint32_t>(plan.buffers.size());
    plan.buffers.push_back({4 * count, BufferKind::Device, 0x600000001000, type, ""});
    plan.steps.push_back(AllocStep{number});
    plan.steps.push_back(UploadStep{Region::linear({number, 0}, 4 * count), number * 4 * count, 0});
  }
  return plan;
}

struct Varied {
  std::vector<float> first = std::vector<float>(count), second = first;
  std::vector<int32_t> words = std::vector<int32_t>(count);
  unsigned uploadsVaried = 0;
};

Varied vary(InputDistribution distribution, std::optional<unsigned> only,
            const ProgramConstants &constants = {}) {
  std::string data(12 * count, '\0');
  const float three = 3, five = 5;
  const int32_t seven = 7;
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(&data[4 * i], &three, 4);
    std::memcpy(&data[4 * (count + i)], &five, 4);
    std::memcpy(&data[4 * (2 * count + i)], &seven, 4);
  }
  std::string out(data.size(), '\0');
  auto uploads =
      varyAtBoundaries(::uploads(), data, {reinterpret_cast<uint8_t *>(out.data()), out.size()}, 1,
                       distribution, only, constants);
  EXPECT_TRUE(bool(uploads));
  Varied varied;
  varied.uploadsVaried = uploads ? uploads->uploadsVaried : 0;
  std::memcpy(varied.first.data(), out.data(), 4 * count);
  std::memcpy(varied.second.data(), out.data() + 4 * count, 4 * count);
  std::memcpy(varied.words.data(), out.data() + 8 * count, 4 * count);
  return varied;
}

TEST(BoundaryInputs, SprinkledNumbersAreFiniteAndMostlyLikeTheRecorded) {
  const Varied varied = vary(InputDistribution::SprinkledNumbers, std::nullopt, {{0.37}, {1000}});
  EXPECT_EQ(varied.uploadsVaried, 2u);
  EXPECT_EQ(varied.words, std::vector<int32_t>(count, 7));
  size_t usual = 0;
  for (float value : varied.first) {
    EXPECT_TRUE(std::isfinite(value));
    usual += value >= 3 && value < 6;
  }
  EXPECT_GT(usual, count / 2);
  EXPECT_LT(usual, count);
  const float constant = 0.37f;
  for (float value : {constant, std::nextafter(constant, 1.0f), std::nextafter(constant, 0.0f),
                      1000.0f, 2.5f, -0.5f, 0x1p-149f})
    EXPECT_TRUE(llvm::is_contained(varied.first, value) || llvm::is_contained(varied.second, value))
        << value;
  EXPECT_TRUE(llvm::any_of(varied.first, [](float v) { return v == 0 && std::signbit(v); }));
}

TEST(BoundaryInputs, SprinkledIntegersReachTheEndsAndTheConstants) {
  const Varied varied = vary(InputDistribution::SprinkledIntegers, 2, {{}, {1000}});
  EXPECT_EQ(varied.uploadsVaried, 1u);
  EXPECT_EQ(varied.first, std::vector<float>(count, 3));
  for (int32_t value : {INT32_MIN, INT32_MAX, -1, 0, 999, 1000, 1001, 7})
    EXPECT_TRUE(llvm::is_contained(varied.words, value)) << value;
  EXPECT_EQ(vary(InputDistribution::SprinkledIntegers, 0).uploadsVaried, 0u) << "it has floats";
}

TEST(BoundaryInputs, AFewSpecialsOfOneUploadMeetZerosOfTheOthers) {
  const Varied varied = vary(InputDistribution::FewSpecial, 0);
  EXPECT_EQ(llvm::count_if(varied.first, [](float v) { return std::isnan(v); }), 0);
  EXPECT_EQ(llvm::count_if(varied.first, [](float v) { return std::isinf(v); }), 0);
  EXPECT_EQ(llvm::count(varied.first, 3.0f), static_cast<int64_t>(count) - 4);
  EXPECT_GT(llvm::count(varied.second, 0.0f), static_cast<int64_t>(count) / 2);
}

TEST(BoundaryInputs, RunsOfZerosCoverTheEndsAndTheMiddle) {
  const Varied varied = vary(InputDistribution::ZeroRuns, 2);
  for (size_t zero : {size_t(0), size_t(count / 8 - 1), size_t(count / 2), size_t(count - 1)})
    EXPECT_EQ(varied.words[zero], 0);
  EXPECT_EQ(varied.words[count / 4], 7);
  EXPECT_EQ(llvm::count(varied.first, 0.0f), 0);
}

TEST(BoundaryInputs, RunsOfTheEndsOfTypes) {
  const Varied varied = vary(InputDistribution::EndRuns, 2);
  EXPECT_EQ(varied.words[0], INT32_MAX);
  EXPECT_EQ(varied.words[count / 2], INT32_MIN);
  EXPECT_EQ(varied.words[count / 4], 7);
  EXPECT_LT(vary(InputDistribution::EndRuns, 0).first[count / 2], -1e18f);
}

TEST(ProgramConstants, ACandidatesOwnAreTheSmallestThatItsOriginalLacks) {
  const ProgramConstants own = {{0.5, 2}, {1, 64, 4096, 8192}}, original = {{2}, {64}};
  const ProgramConstants rest = own.without(original, 2);
  EXPECT_EQ(rest.numbers, std::set<double>{0.5});
  EXPECT_EQ(rest.integers, (std::set<int64_t>{1, 4096}));
  EXPECT_EQ(describe(rest), "0.5, 1, 4096");
  EXPECT_TRUE(original.without(own, 2).empty());
}

} // namespace
