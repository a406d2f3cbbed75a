//===- PlanTransformTest.cpp - Comparing, renaming, other inputs ------------===//
#include "kb-opt/Plan/PlanTransform.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

Plan makePlan() {
  Plan plan;
  plan.buffers.push_back({4096, BufferKind::Device, 0x600000001000, ElementType::F32, ""});
  plan.buffers.push_back({256, BufferKind::Device, 0x600000005000, ElementType::I32, ""});
  LaunchStep launch;
  launch.kernel = "_Z1kPf";
  launch.grid = {4, 1, 1};
  launch.block = {256, 1, 1};
  launch.arguments = {{{0, 0x10, 0, 0, 0, 0x60, 0, 0}, {{0, {0, 0}}}}, {{7, 0, 0, 0}, {}}};
  plan.steps = {AllocStep{0},
                AllocStep{1},
                UploadStep{Region::linear({0, 0}, 4096), 0, 0},
                UploadStep{Region::linear({1, 0}, 256), 4096, 0},
                launch,
                ReadStep{Region::linear({0, 0}, 4096), 0, 0, false}};
  return plan;
}

LaunchStep &launchOf(Plan &plan) { return std::get<LaunchStep>(plan.steps[4]); }

TEST(PlanCompare, FindsTheFirstDifferenceOfLaunches) {
  Plan left = makePlan(), right = makePlan();
  EXPECT_EQ(firstLaunchDifference(left, right), std::nullopt);
  launchOf(right).arguments[0].bytes[1] = 0x20; // another address of the same buffer
  EXPECT_EQ(firstLaunchDifference(left, right), std::nullopt);
  launchOf(right).arguments[0].pointers[0].target.offset = 4;
  EXPECT_EQ(firstLaunchDifference(left, right), "launch 1: argument 0: points elsewhere");
  right = makePlan();
  launchOf(right).arguments[1].bytes[0] = 8;
  EXPECT_EQ(firstLaunchDifference(left, right), "launch 1: argument 1: another value");
  right = makePlan();
  launchOf(right).grid = {8, 1, 1};
  EXPECT_EQ(firstLaunchDifference(left, right), "launch 1: grid 4 x 1 x 1 against 8 x 1 x 1");
  right = makePlan();
  right.steps.push_back(launchOf(right));
  EXPECT_EQ(firstLaunchDifference(left, right), "number of launches 1 against 2");
}

TEST(PlanCompare, HostDifferencesIgnoreLaunches) {
  Plan left = makePlan(), right = makePlan();
  launchOf(right).grid = {8, 1, 1};
  EXPECT_EQ(firstHostDifference(left, right), std::nullopt);
  std::get<ReadStep>(right.steps[5]).from.width = 8;
  std::get<ReadStep>(right.steps[5]).from.pitch = 8;
  EXPECT_EQ(firstHostDifference(left, right),
            "read buffer 0+0, 4096 x 1 bytes (pitch 4096) against read buffer 0+0, 8 x 1 bytes "
            "(pitch 8)");
  right = makePlan();
  right.steps.pop_back();
  EXPECT_EQ(firstHostDifference(left, right),
            "read buffer 0+0, 4096 x 1 bytes (pitch 4096) against nothing more");
}

TEST(PlanCompare, RenamesKernels) {
  Plan plan = replaceKernels(makePlan(), {{"_Z1kPf", "_Z1kPKf"}, {"absent", "x"}});
  EXPECT_EQ(launchedKernels(plan), std::vector<std::string>{"_Z1kPKf"});
}

std::vector<float> varied(InputDistribution distribution, uint64_t seed = 1) {
  std::string data(4096 + 256, '\1');
  auto result = varyInputs(makePlan(), data, seed, distribution);
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->data.size(), data.size());
  EXPECT_EQ(result->uploadsVaried, 1u);
  EXPECT_EQ(result->uploadsKept, 1u);
  EXPECT_EQ(result->data.substr(4096), data.substr(4096)); // integers stay
  std::vector<float> values(1024);
  std::memcpy(values.data(), result->data.data(), 4096);
  return values;
}

TEST(VariedInputs, AreWhatTheirNameSays) {
  double sum = 0, squares = 0;
  for (float value : varied(InputDistribution::Normal)) {
    sum += value;
    squares += double(value) * value;
  }
  EXPECT_NEAR(sum / 1024, 0, 0.15);
  EXPECT_NEAR(squares / 1024, 1, 0.2);
  std::vector<float> equal = varied(InputDistribution::AllEqual);
  EXPECT_EQ(std::count(equal.begin(), equal.end(), equal[0]), 1024);
  EXPECT_NE(equal[0], 0);
  unsigned negativeZeros = 0, subnormals = 0;
  for (float value : varied(InputDistribution::Denormal)) {
    negativeZeros += value == 0 && std::signbit(value);
    subnormals += std::fpclassify(value) == FP_SUBNORMAL;
    EXPECT_FALSE(std::isnormal(value));
  }
  EXPECT_GT(negativeZeros, 0u);
  EXPECT_GT(subnormals, 500u);
  unsigned nans = 0, infinities = 0;
  for (float value : varied(InputDistribution::NonFinite)) {
    nans += std::isnan(value);
    infinities += std::isinf(value);
  }
  EXPECT_GT(nans, 0u);
  EXPECT_GT(infinities, 0u);
  for (float value : varied(InputDistribution::LargeMagnitude)) {
    EXPECT_GT(std::abs(value), 1e18f);
    EXPECT_TRUE(std::isfinite(value * value));
  }
  std::vector<float> outliers = varied(InputDistribution::OutlierRows);
  auto large = std::count_if(outliers.begin(), outliers.end(),
                             [](float value) { return std::abs(value) > 20; });
  EXPECT_GT(large, 64);
  EXPECT_LE(large, 128);
}

TEST(VariedInputs, RepeatForASeedAndDifferBetweenSeeds) {
  EXPECT_EQ(varied(InputDistribution::Normal, 7), varied(InputDistribution::Normal, 7));
  EXPECT_NE(varied(InputDistribution::Normal, 7), varied(InputDistribution::Normal, 8));
}

TEST(VariedInputs, StepsBetweenUploadsChangeNoValues) {
  std::string data(4096 + 256, '\1');
  Plan longer = makePlan();
  longer.steps.insert(longer.steps.begin() + 2, SyncStep{});
  auto one = varyInputs(makePlan(), data, 3, InputDistribution::Normal);
  auto other = varyInputs(longer, data, 3, InputDistribution::Normal);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->data, other->data);
}

TEST(NudgedInputs, AreTheNeighboursOfNormalNumbers) {
  std::vector<float> values(1024, 1.0f);
  values[0] = 0;
  values[1] = -3.5f;
  values[2] = std::numeric_limits<float>::infinity();
  values[3] = std::numeric_limits<float>::max();
  values[4] = std::numeric_limits<float>::denorm_min();
  std::string data(4096 + 256, '\1');
  std::memcpy(data.data(), values.data(), 4096);
  auto nudged = nudgeInputs(makePlan(), data, 1), again = nudgeInputs(makePlan(), data, 1),
       other = nudgeInputs(makePlan(), data, 2);
  ASSERT_TRUE(nudged && again && other);
  EXPECT_EQ(*nudged, *again);
  EXPECT_NE(*nudged, *other);
  EXPECT_EQ(nudged->substr(4096), data.substr(4096)); // integers stay
  std::vector<float> results(1024);
  std::memcpy(results.data(), nudged->data(), 4096);
  for (size_t kept : {0, 2, 3, 4})
    EXPECT_EQ(results[kept], values[kept]);
  unsigned larger = 0;
  for (size_t i = 5; i < results.size(); ++i) {
    EXPECT_TRUE(results[i] == std::nextafter(1.0f, 2.0f) ||
                results[i] == std::nextafter(1.0f, 0.0f));
    larger += results[i] > 1;
  }
  EXPECT_GT(larger, 400u);
  EXPECT_LT(larger, 620u);
  EXPECT_NE(results[1], values[1]);
}

/// The integers of the second buffer after \p distribution.
std::vector<int32_t> variedWords(std::vector<int32_t> words, InputDistribution distribution,
                                 Plan plan = makePlan()) {
  words.resize(64, words.back());
  std::string data(4096, '\1');
  data.append(reinterpret_cast<const char *>(words.data()), 256);
  auto inputs = varyRecorded(plan, data, 3, distribution, std::nullopt, {});
  EXPECT_TRUE(bool(inputs));
  if (!inputs)
    return {};
  std::memcpy(words.data(), inputs->data.data() + 4096, 256);
  return words;
}

TEST(VariedInputs, OffsetsOfPartsStayOffsets) {
  // The last is the number of floats in the first buffer.
  const std::vector<int32_t> offsets = {0, 3, 3, 10, 700, 1000, 1024};
  for (InputDistribution distribution :
       {InputDistribution::Shuffled, InputDistribution::FewOfThem, InputDistribution::SomeOther,
        InputDistribution::AnyInteger, InputDistribution::AnyBits}) {
    std::vector<int32_t> other = variedWords(offsets, distribution);
    EXPECT_TRUE(std::is_sorted(other.begin(), other.end()));
    EXPECT_EQ(other.front(), 0);
    EXPECT_EQ(other.back(), 1024);
    EXPECT_NE(std::vector(other.begin(), other.begin() + 6),
              std::vector(offsets.begin(), offsets.begin() + 6));
  }
  // Sorted numbers that end anywhere else are any numbers.
  std::vector<int32_t> other =
      variedWords({0, 3, 3, 10, 700, 1000, 1023}, InputDistribution::Shuffled);
  EXPECT_FALSE(std::is_sorted(other.begin(), other.end()));
}

TEST(VariedInputs, MovedIntegersThatWereEqualStayEqual) {
  const std::vector<int32_t> moved = variedWords({5, -3, 5, 1, 1023}, InputDistribution::Moved);
  EXPECT_EQ(moved[0], moved[2]);
  EXPECT_NE(moved[0], 5);
  EXPECT_LT(moved[1], moved[3]);
  EXPECT_LT(moved[3], moved[0]);
  // Offsets of parts stay what they are.
  const std::vector<int32_t> offsets = {0, 3, 3, 10, 700, 1000, 1024};
  const std::vector<int32_t> same = variedWords(offsets, InputDistribution::Moved);
  EXPECT_EQ(std::vector(same.begin(), same.begin() + 7), offsets);
}

/// A plan that uploads the first and the second half of 4096 bytes, which are alike, to the first
/// buffer.
Plan inHalves() {
  Plan plan = makePlan();
  plan.steps[2] = UploadStep{Region::linear({0, 0}, 2048), 0, 0};
  plan.steps[3] = UploadStep{Region::linear({0, 2048}, 2048), 0, 0};
  return plan;
}

TEST(VariedInputs, EqualHalvesTakeThePlaceOfTheirOwn) {
  const std::string before = std::string(4096, '\1') + std::string(256, '\2');
  const std::string after =
      std::string(2048, '\3') + std::string(2048, '\4') + std::string(256, '\5');
  Plan plan = inHalves();
  auto data = varyLike(makePlan(), before, after, plan, std::string(2048, '\1'));
  ASSERT_TRUE(bool(data));
  auto bytesOf = [&](size_t step) { return (*data)[std::get<UploadStep>(plan.steps[step]).data]; };
  EXPECT_EQ(bytesOf(2), '\3');
  EXPECT_EQ(bytesOf(3), '\4');
  // Both from the same place of the host's memory: the second half has the first one's values.
  plan = inHalves();
  std::get<UploadStep>(plan.steps[3]).source = SharedSource{0, 0};
  data = varyLike(makePlan(), before, after, plan, std::string(2048, '\1'));
  ASSERT_TRUE(bool(data));
  EXPECT_EQ(bytesOf(2), '\3');
  EXPECT_EQ(bytesOf(3), '\3');
}

TEST(VariedInputs, WhatTheOriginalMakesAgainKeepsToItsSecondUpload) {
  Plan original = inHalves();
  std::get<UploadStep>(original.steps[3]).source = SharedSource{0, 0};
  std::get<UploadStep>(original.steps[3]).data = 2048;
  const std::string before(4096, '\1'), after = std::string(2048, '\3') + std::string(2048, '\4');
  Plan plan = original;
  auto data = varyLike(original, before, after, plan, before);
  ASSERT_TRUE(bool(data));
  EXPECT_EQ((*data)[std::get<UploadStep>(plan.steps[2]).data], '\3');
  EXPECT_EQ((*data)[std::get<UploadStep>(plan.steps[3]).data], '\4');
}

TEST(VariedInputs, ShortUploadsThatFollowOneAnotherMakeOne) {
  const std::vector<llvm::StringRef> known = {"ab", "cd", "ef", "gh"};
  auto pieces = findPieces(known, "cdefgh");
  ASSERT_TRUE(pieces.has_value());
  ASSERT_EQ(pieces->size(), 3u);
  EXPECT_EQ(pieces->front().number, 1u);
  EXPECT_FALSE(findPieces(known, "cdghef"));
  EXPECT_FALSE(findPieces(known, "cdefg"));
}

TEST(VariedInputs, HalfTypesAreRoundedAndBounded) {
  std::vector<uint8_t> bytes(2000);
  fillDistribution(bytes, ElementType::F16, InputDistribution::LargeMagnitude, 3);
  for (size_t i = 0; i < bytes.size(); i += 2) {
    unsigned exponent = bytes[i + 1] >> 2 & 31;
    EXPECT_LT(exponent, 31u); // finite
    EXPECT_GT(exponent, 15u);
  }
  fillDistribution(bytes, ElementType::BF16, InputDistribution::Denormal, 3);
  for (size_t i = 0; i < bytes.size(); i += 2)
    EXPECT_EQ((bytes[i + 1] & 0x7f) << 1 | bytes[i] >> 7, 0); // exponent 0
}

TEST(VariedInputs, LargeValuesAreMadeSmallerByRoots) {
  std::vector<float> values(100);
  llvm::MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(values.data()),
                                       values.size() * sizeof(float));
  const InputDistribution large = InputDistribution::LargeMagnitude;
  for (auto [lessenings, least, most] :
       {std::tuple(0u, 0x1p60f, 0x1p63f), std::tuple(1u, 0x1p29f, 0x1p32f),
        std::tuple(mostLessenings(large), 0.5f, 4.0f)}) {
    fillDistribution(bytes, ElementType::F32, large, 3, lessenings);
    for (float value : values) {
      EXPECT_GT(std::fabs(value), least);
      EXPECT_LT(std::fabs(value), most);
    }
  }
  EXPECT_EQ(mostLessenings(InputDistribution::NonFinite), 0u);
}

TEST(VariedInputs, NarrowTypesHaveTheNearestOfTheSameValues) {
  const size_t count = 20000;
  for (InputDistribution distribution :
       {InputDistribution::Normal, InputDistribution::OutlierRows, InputDistribution::NonFinite})
    for (auto [element, semantics] : {std::pair(ElementType::BF16, &llvm::APFloat::BFloat()),
                                      std::pair(ElementType::F16, &llvm::APFloat::IEEEhalf())}) {
      std::vector<uint8_t> wide(count * 8), narrow(count * 2);
      fillDistribution(wide, ElementType::F64, distribution, 9);
      fillDistribution(narrow, element, distribution, 9);
      for (size_t i = 0; i < count; ++i) {
        double value;
        uint16_t bits;
        std::memcpy(&value, wide.data() + i * 8, 8);
        std::memcpy(&bits, narrow.data() + i * 2, 2);
        llvm::APFloat number(value);
        bool losesInfo;
        number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
        ASSERT_EQ(number.bitcastToAPInt().getZExtValue(), bits) << value;
      }
    }
}

TEST(VariedInputs, LargeBuffersHaveTheValuesOfOneStream) {
  // The longest that is filled in one go, and one that is filled in pieces.
  const size_t whole = 4 * (size_t(1) << 18) - 1, more = whole + 5;
  for (InputDistribution distribution : allInputDistributions)
    for (ElementType element : {ElementType::F32, ElementType::BF16}) {
      const size_t size = elementBytes(element);
      std::vector<uint8_t> one(whole * size), many(more * size);
      fillDistribution(one, element, distribution, 5);
      fillDistribution(many, element, distribution, 5);
      EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size()), 0)
          << toString(distribution).str();
      EXPECT_NE(std::memcmp(many.data() + one.size(), std::string(5 * size, 0).data(), 5 * size),
                0);
    }
}

TEST(VariedInputs, SharedBytesShareValuesUnlessTheirTypesDiffer) {
  Plan plan;
  plan.buffers.resize(3);
  for (Buffer &buffer : plan.buffers)
    buffer.bytes = 16;
  plan.buffers[0].element = plan.buffers[1].element = ElementType::F32;
  plan.buffers[2].element = ElementType::I32;
  std::string data(32, '\0');
  for (auto [buffer, place] : {std::pair(0u, 0u), {1u, 0u}, {0u, 16u}, {2u, 16u}})
    plan.steps.push_back(UploadStep{Region::linear({buffer, 0}, 16), place});
  auto both = varyInputs(plan, data, 3, InputDistribution::Normal);
  ASSERT_TRUE(static_cast<bool>(both));
  EXPECT_EQ(both->uploadsVaried, 2u);
  EXPECT_EQ(both->uploadsKept, 2u);
  EXPECT_EQ(both->data.substr(16), data.substr(16)) << "the integers stay";
  plan.steps.erase(plan.steps.begin() + 1);
  auto one = varyInputs(plan, data, 3, InputDistribution::Normal);
  ASSERT_TRUE(static_cast<bool>(one));
  EXPECT_EQ(one->data, both->data) << "the values are those of the first";
}

TEST(VariedInputs, RefuseAShortDataFile) {
  auto result = varyInputs(makePlan(), "short", 1, InputDistribution::Normal);
  EXPECT_EQ(llvm::toString(result.takeError()), "data.bin ends before the upload of step 2");
}

} // namespace
