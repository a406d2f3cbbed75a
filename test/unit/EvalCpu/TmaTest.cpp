//===- TmaTest.cpp - Copies by tensor maps, and barriers in shared memory --===//
#include "CudaProgram.h"
#include "kbrt/TensorMap.h"

using namespace kbopt;
using namespace kbopt::test;
using kbrt::TensorMap;

namespace {

struct alignas(64) Words {
  uint64_t words[kbrt::tensorMapWords];
};

/// A map of halves, 300 x 40 x 3 of them, in rows of 608 bytes.
TensorMap halves(const void *from) {
  TensorMap map;
  map.type = 6, map.rank = 3, map.address = reinterpret_cast<uint64_t>(from);
  map.extents[0] = 300, map.extents[1] = 40, map.extents[2] = 3;
  map.strides[0] = 608, map.strides[1] = 608 * 41;
  map.box[0] = 64, map.box[1] = 8, map.box[2] = 1;
  return map;
}

Words encoded(const TensorMap &map) {
  Words words{};
  EXPECT_TRUE(map.isValid());
  kbrt::encodeTensorMap(map, words.words);
  return words;
}

struct Tma : testing::Test {
  static constexpr unsigned elements = 304 * 41 * 3;
  static std::vector<uint16_t> numbers() {
    std::vector<uint16_t> all(elements);
    for (unsigned i = 0; i < elements; ++i)
      all[i] = static_cast<uint16_t>(i * 40503u >> 4);
    return all;
  }
  static CudaProgram program(kbrt::ImageMode mode) {
    return CudaProgram("tma.cu", mode, {"--cuda-gpu-arch=sm_90a", "--no-cuda-gpu-arch=sm_90"});
  }
};

TEST_F(Tma, EncodesWhatADriverDoes) {
  // Given by driver 580 on an H200.
  TensorMap map;
  map.type = 6, map.rank = 2, map.address = 0x7fb6aa000000;
  map.extents[0] = 128, map.extents[1] = 256, map.strides[0] = 256;
  map.box[0] = 64, map.box[1] = 32;
  auto expectWords = [](const TensorMap &map, std::vector<uint64_t> expected) {
    Words words = encoded(map);
    expected.resize(kbrt::tensorMapWords);
    EXPECT_EQ(std::vector<uint64_t>(std::begin(words.words), std::end(words.words)), expected);
    std::optional<TensorMap> back = kbrt::decodeTensorMap(words.words);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->address, map.address);
    EXPECT_EQ(back->type, map.type);
    EXPECT_TRUE(std::equal(std::begin(map.box), std::end(map.box), back->box));
    EXPECT_TRUE(std::equal(std::begin(map.extents), std::end(map.extents), back->extents));
    EXPECT_TRUE(std::equal(std::begin(map.strides), std::end(map.strides), back->strides));
  };
  constexpr uint64_t at = 0x7fb6aa000000, sides = 0xff0000007f, box = 0x3f00000000000000;
  expectWords(map, {at, 0x1000000310, 0, 0, sides, 0, box, 0x1f, 0x1000, 0x10});
  TensorMap other = map;
  other.swizzle = 3;
  expectWords(other, {at, 0x1000006310, 0, 0, sides, 0, box, 0x1f, 0x1000, 0x400});
  other.swizzle = 0, other.promotion = 3;
  expectWords(other, {at, 0x1000060310, 0, 0, sides, 0, box, 0x1f, 0x1000, 0x10});
  other = map, other.type = 9; // bf16
  expectWords(other, {at, 0x1000000510, 0, 0, sides, 0, box, 0x1f, 0x1000, 0x10});
  other = map, other.type = 11, other.strides[0] = 512; // tf32
  expectWords(other, {at, 0x2000010390, 0, 0, sides, 0, box, 0x1f, 0x2000, 0x10});
  other = map, other.strides[0] = (uint64_t(1) << 40) - 16;
  expectWords(other, {at, 0xffffffff00000310, 0, 0xf00000000, sides, 0, box, 0x1f, 0x1000, 0x10});
  other = map, other.extents[0] = other.extents[1] = uint64_t(1) << 32;
  other.strides[0] = 0x24690;
  expectWords(other, {at, 0x246900000310, 0, 0, ~uint64_t(0), 0, box, 0x1f, 0x1000, 0x10});
  other = map, other.rank = 4, other.swizzle = 3, other.promotion = 3;
  other.extents[2] = 7, other.extents[3] = 5;
  other.strides[1] = 0x10000, other.strides[2] = 0x70000;
  other.box[2] = 2, other.box[3] = 3;
  expectWords(other, {at, 0x1000066330, 0x700000001000, 0, sides, 0x400000006, box, 0x2011f, 0x6000,
                      0x400});
}

TEST_F(Tma, RefusesWhatADriverDoes) {
  TensorMap map;
  map.type = 6, map.rank = 2, map.address = 0x1000;
  map.extents[0] = 128, map.extents[1] = 256, map.strides[0] = 256;
  map.box[0] = 64, map.box[1] = 32;
  EXPECT_TRUE(map.isValid());
  auto refuses = [&](auto change) {
    TensorMap other = map;
    change(other);
    return !other.isValid();
  };
  EXPECT_TRUE(refuses([](TensorMap &m) { m.address += 8; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.address = 0x123456789abcdef0; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.strides[0] = 264; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.strides[0] = uint64_t(1) << 40; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.extents[0] = 0; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.extents[0] = (uint64_t(1) << 32) + 1; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.box[1] = 257; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.box[1] = 0; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.box[0] = 60; }));
  EXPECT_TRUE(refuses([](TensorMap &m) { m.box[0] = 128, m.swizzle = 3; }));
  EXPECT_FALSE(refuses([](TensorMap &m) { m.extents[0] = 8, m.extents[1] = 3; }));
}

TEST_F(Tma, CopiesBoxes) {
  for (kbrt::ImageMode mode : {kbrt::ImageMode::Plain, kbrt::ImageMode::Check}) {
    CudaProgram program = Tma::program(mode);
    ASSERT_TRUE(program.built.unsupported.empty()) << program.built.unsupported[0].describe();
    program.dynamicSharedBytes = 8192;
    const std::vector<uint16_t> all = numbers();
    const uint16_t *from = program.upload(all);
    auto *out = program.allocate<uint32_t>(2048);
    // x, y and z, of which the box may begin before the tensor and end behind it; the swizzle.
    constexpr int places[][4] = {{0, 0, 0, 3},    {64, 8, 1, 3}, {280, 36, 2, 3}, {-8, -3, 0, 3},
                                 {304, 0, 0, 3},  {8, 5, 1, 2},  {24, 5, 1, 1},   {8, 38, 2, 0},
                                 {16, 10, -1, 0}, {8, 1, 3, 3}};
    for (auto &[x, y, z, swizzle] : places) {
      TensorMap map = halves(from);
      map.swizzle = static_cast<uint32_t>(swizzle);
      map.box[0] = swizzle ? 8u << swizzle : 24;
      const uint32_t row = map.box[0] * 2;
      program.expectRun("box", {1}, {64}, encoded(map), out, x, y, z, 3, int(map.boxBytes()));
      for (int r = 0; r < 8; ++r)
        for (uint32_t i = 0; i < map.box[0]; ++i) {
          const int column = x + int(i);
          const bool isInside =
              column >= 0 && column < 300 && y + r >= 0 && y + r < 40 && z >= 0 && z < 3;
          uint32_t place = uint32_t(r) * row + i * 2;
          place ^= (place >> 7 & ((16u << swizzle) / 16 - 1)) << 4;
          ASSERT_EQ(reinterpret_cast<uint16_t *>(out)[place / 2],
                    isInside ? all[(z * 41 + y + r) * 304 + column] : 0)
              << x << ", " << y << ", " << z << " swizzle " << swizzle << ": " << r << ", " << i;
        }
    }
  }
}

TEST_F(Tma, CountsPhases) {
  for (kbrt::ImageMode mode : {kbrt::ImageMode::Plain, kbrt::ImageMode::Check}) {
    CudaProgram program = Tma::program(mode);
    auto *out = program.allocate<int>(96);
    program.expectRun("phases", {1}, {96}, out);
    for (int i = 0; i < 96; ++i)
      EXPECT_EQ(out[i], 0);
  }
}

TEST_F(Tma, FindsMistakes) {
  CudaProgram program = Tma::program(kbrt::ImageMode::Check);
  program.dynamicSharedBytes = 2048;
  const uint16_t *from = program.upload(numbers());
  auto *out = program.allocate<_Float16>(1024);
  TensorMap map = halves(from);
  map.rank = 2, map.swizzle = 3, map.extents[2] = 1, map.strides[1] = 0;
  auto run = [&](int mistake) {
    return program.launch("mistaken", {1}, {64}, encoded(map), out, mistake);
  };
  kbrt::LaunchResult right = run(0);
  EXPECT_EQ(right.status, kbrt::LaunchStatus::Ok) << right.message;
  EXPECT_TRUE(right.findings.empty()) << right.findings[0].message;
  // What each mistake is found by: a finding, or how the launch ends.
  const char *messages[] = {"",
                            "that an asynchronous copy still writes",
                            "every thread waits for something that cannot come",
                            "is not ordered with a",
                            "every thread waits for something that cannot come",
                            "that an asynchronous copy still writes",
                            "initialised without a fence behind it",
                            "is not ordered with a store",
                            "which only instructions for it may use",
                            "needs 0 more arrivals and 16 more bytes of copies",
                            "needs 0 more arrivals and -16 more bytes of copies",
                            "more threads arrive at the mbarrier",
                            "an mbarrier that is not initialised",
                            "to an address that is no multiple of 128",
                            "which begins at no multiple of 16 bytes"};
  for (int mistake = 1; mistake < int(std::size(messages)); ++mistake) {
    kbrt::LaunchResult result = run(mistake);
    std::string all = result.message;
    for (const kbrt::Finding &finding : result.findings)
      all += "\n" + finding.message;
    EXPECT_NE(all.find(messages[mistake]), std::string::npos)
        << "mistake " << mistake << ": " << messages[mistake] << " is not in " << all;
  }
}

} // namespace
