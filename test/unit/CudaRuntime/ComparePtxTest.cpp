#include "ComparePtx.h"
#include "PtxInterpreter.h"
#include "SlabLayout.h"
#include "kbrt/CudaScreen.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace kbrt;
using namespace kbrt::cuda;
using kbtest::PtxKernel;

namespace {

constexpr ElementType types[] = {
    ElementType::Unknown, ElementType::Bool, ElementType::I8,  ElementType::U8,  ElementType::I16,
    ElementType::U16,     ElementType::I32,  ElementType::U32, ElementType::I64, ElementType::U64,
    ElementType::F16,     ElementType::BF16, ElementType::F32, ElementType::F64};

unsigned widthOf(ElementType type) { return std::max(elementBytes(type), 1u); }

/// The value of an element of a floating type.
double valueOf(ElementType type, uint64_t bits) {
  if (type == ElementType::F64)
    return std::bit_cast<double>(bits);
  if (type == ElementType::F32)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == ElementType::BF16)
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

/// Elements at an address as the device has it, and more behind them that are none.
struct Elements {
  Elements(ElementType type, size_t count) : width(widthOf(type)), count(count) {
    words.assign((count * width + 15) / 16 * 2 + 2, 0x7b7b7b7b7b7b7b7b);
  }
  void set(size_t i, uint64_t bits) { std::memcpy(bytes() + i * width, &bits, width); }
  uint64_t get(size_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, const_cast<Elements *>(this)->bytes() + i * width, width);
    return bits;
  }
  char *bytes() { return reinterpret_cast<char *>(words.data()); }
  uint64_t address() { return reinterpret_cast<uint64_t>(words.data()); }
  unsigned width;
  size_t count;
  std::vector<uint64_t> words;
};

struct Pair {
  Elements reference, candidate;
};

/// Bits that come from everywhere, so that there are NaNs, infinities and denormals of the narrow
/// types; of the wide ones they are put in. A third of the candidate's differ.
Pair makePair(ElementType type, size_t count) {
  Pair pair{{type, count}, {type, count}};
  uint64_t state = 12345;
  auto random = [&] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return state >> 13 ^ state << 31;
  };
  const uint64_t special32[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0, 0x80000000};
  const uint64_t special64[] = {
      0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000012345, 0,
      0x8000000000000000};
  auto element = [&]() -> uint64_t {
    const uint64_t bits = random();
    if (type == ElementType::F32)
      return bits % 7 == 0 ? special32[bits / 7 % 6]
                           : std::bit_cast<uint32_t>(float(int64_t(bits)) * 1e-18f);
    if (type == ElementType::F64)
      return bits % 7 == 0 ? special64[bits / 7 % 6]
                           : std::bit_cast<uint64_t>(double(int64_t(bits)) * 1e-18);
    return bits;
  };
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = element();
    pair.reference.set(i, bits);
    pair.candidate.set(i, random() % 3 ? bits : element());
  }
  // What lies behind the last element differs and must not count.
  std::memset(pair.candidate.bytes() + count * pair.candidate.width, 0x31, 16);
  return pair;
}

class ComparePtx : public testing::TestWithParam<ElementType> {};

TEST_P(ComparePtx, CountsAndMeasuresDifferences) {
  const ElementType type = GetParam();
  const std::string text = comparePtx(type), suffix = compareSuffix(type);
  PtxKernel compare(text, "kb_compare_" + suffix);
  ASSERT_FALSE(compare.isEmpty());
  for (size_t count : {1u, 3u, 515u}) {
    Pair pair = makePair(type, count);
    SquareFigures squares, expectedSquares;
    const bool isFloat = isFloatingPoint(type);
    if (isFloat) {
      PtxKernel kernel(text, "kb_squares_" + suffix);
      ASSERT_EQ(kernel.run(2, 32,
                           {{"reference", pair.reference.address()},
                            {"elements", count},
                            {"figures", reinterpret_cast<uint64_t>(&squares)}}),
                "");
    }
    CompareFigures expected;
    double rms = 0;
    for (size_t i = 0; isFloat && i < count; ++i)
      if (double r = valueOf(type, pair.reference.get(i)); std::isfinite(r)) {
        ++expectedSquares.finite;
        expectedSquares.squares += r * r;
      }
    if (expectedSquares.finite)
      rms = std::sqrt(expectedSquares.squares / double(expectedSquares.finite));
    for (size_t i = 0; i < count; ++i) {
      const uint64_t a = pair.reference.get(i), b = pair.candidate.get(i);
      if (a == b)
        continue;
      if (!isFloat) {
        ++expected.differing;
        continue;
      }
      const double r = valueOf(type, a), c = valueOf(type, b);
      if (std::isnan(r) && std::isnan(c))
        continue;
      ++expected.differing;
      if (std::isfinite(r) && std::isfinite(c)) {
        expected.squaredError += (c - r) * (c - r);
        expected.largestError =
            std::fmax(expected.largestError, std::fabs(c - r) / std::max(std::fabs(r), rms));
        continue;
      }
      ++expected.otherClass;
      expected.lostSquares += std::isfinite(r) ? r * r : 0;
    }
    CompareFigures found;
    ASSERT_EQ(compare.run(2, 32,
                          {{"reference", pair.reference.address()},
                           {"candidate", pair.candidate.address()},
                           {"elements", count},
                           {"least", std::bit_cast<uint64_t>(rms)},
                           {"figures", reinterpret_cast<uint64_t>(&found)}}),
              "");
    auto near = [](double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); };
    EXPECT_EQ(squares.finite, expectedSquares.finite);
    EXPECT_TRUE(near(squares.squares, expectedSquares.squares));
    EXPECT_EQ(found.differing, expected.differing) << count;
    EXPECT_EQ(found.otherClass, expected.otherClass) << count;
    EXPECT_EQ(found.largestError, expected.largestError) << count;
    EXPECT_TRUE(near(found.squaredError, expected.squaredError)) << count;
    EXPECT_TRUE(near(found.lostSquares, expected.lostSquares)) << count;
    EXPECT_TRUE(count < 100 || expected.differing > 100);
    EXPECT_TRUE(count < 100 || !isFloat || expected.otherClass > 0);
  }
}

TEST_P(ComparePtx, IsTakenByTheAssembler) {
  const char *toolkit = std::getenv("CUDA_PATH");
  std::string assembler = (toolkit ? toolkit : "/usr/local/cuda") + std::string("/bin/ptxas");
  if (!std::filesystem::exists(assembler))
    GTEST_SKIP() << "no " << assembler;
  const std::string path = testing::TempDir() + "compare-" + compareSuffix(GetParam()) +
                           std::to_string(std::rand()) + ".ptx";
  std::ofstream(path) << comparePtx(GetParam());
  for (const char *arch : {"sm_75", "sm_90"})
    EXPECT_EQ(std::system((assembler + " -arch=" + arch + " -o /dev/null " + path).c_str()), 0);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Types, ComparePtx, testing::ValuesIn(types),
                         [](const auto &info) { return std::string(elementTypeName(info.param)); });

TEST(PlanPlaces, PutsUploadsAndReadsBesideEachOther) {
  Plan plan;
  plan.buffers.resize(1);
  plan.buffers[0].bytes = 2000;
  plan.steps.push_back(AllocStep{0});
  plan.steps.push_back(UploadStep{Region::linear({0, 0}, 513), 0});
  plan.steps.push_back(UploadStep{Region::linear({0, 0}, 0), 513});
  plan.steps.push_back(UploadStep{Region::linear({0, 0}, 1), 513});
  plan.steps.push_back(UploadStep{Region::linear({0, 7}, 513), 0}); // the same bytes again
  plan.steps.push_back(ReadStep{Region{{0, 0}, 10, 3, 100}});
  plan.steps.push_back(ReadStep{Region::linear({0, 0}, 512)});
  PlanPlaces places = PlanPlaces::of(plan);
  EXPECT_EQ(places.uploads, (std::vector<uint64_t>{0, 1024, 1024, 0}));
  EXPECT_EQ(places.uploadBytes, 1536u);
  EXPECT_EQ(places.reads, (std::vector<uint64_t>{0, 512}));
  EXPECT_EQ(places.readBytes, 1024u);
  EXPECT_EQ(places.workBytes, 2048u + 2 * guardBytes);
}

} // namespace
