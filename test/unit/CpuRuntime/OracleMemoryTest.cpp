//===- OracleMemoryTest.cpp - the shadow of memory ------------------------===//
#include "OracleMemory.h"
#include "OracleSum.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace kbrt;
using namespace kbrt::oracle;

namespace {

struct OracleMemory : testing::Test {
  void SetUp() override { reset(); }
  void TearDown() override { reset(); }

  /// A shadow that differs from its number.
  static OracleSum near(double value) {
    OracleSum sum = exactly(value);
    sum.value += 1e-9;
    sum.terms = 7;
    return sum;
  }
  static double valueAt(const void *address, FloatFormat format = FloatFormat::F32) {
    return load(address, format).value;
  }
  alignas(8) float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
};

} // namespace

TEST_F(OracleMemory, KeepsWhatWasStored) {
  store(&memory[2], FloatFormat::F32, near(3));
  EXPECT_EQ(valueAt(&memory[2]), 3 + 1e-9);
  EXPECT_EQ(load(&memory[2], FloatFormat::F32).terms, 7);
  EXPECT_EQ(valueAt(&memory[3]), 4);
}

TEST_F(OracleMemory, ForgetsWhatWasOverwritten) {
  store(&memory[2], FloatFormat::F32, near(3));
  memory[2] = 3.5f;
  EXPECT_EQ(valueAt(&memory[2]), 3.5);
  store(&memory[2], FloatFormat::F32, near(3.5));
  // Two halves are another number with the same bits.
  EXPECT_EQ(valueAt(&memory[2], FloatFormat::F16), 0);
}

TEST_F(OracleMemory, KeepsBothHalvesOfAWord) {
  const uint16_t halves[2] = {0x3c00, 0xc000}; // 1 and -2
  store(const_cast<uint16_t *>(&halves[0]), FloatFormat::F16, near(1));
  store(const_cast<uint16_t *>(&halves[1]), FloatFormat::F16, near(-2));
  EXPECT_EQ(valueAt(&halves[0], FloatFormat::F16), 1 + 1e-9);
  EXPECT_EQ(valueAt(&halves[1], FloatFormat::F16), -2 + 1e-9);
  const uint16_t others[] = {0x0001, 0x7bff, 0xfc00};
  EXPECT_EQ(valueAt(&others[0], FloatFormat::F16), 0x1p-24);
  EXPECT_EQ(valueAt(&others[1], FloatFormat::F16), 65504);
  EXPECT_EQ(valueAt(&others[2], FloatFormat::F16), -HUGE_VAL);
}

TEST_F(OracleMemory, CopiesOverlappingBytes) {
  store(&memory[0], FloatFormat::F32, near(1));
  store(&memory[1], FloatFormat::F32, near(2));
  memmove(&memory[1], &memory[0], 2 * sizeof(float));
  copy(&memory[1], &memory[0], 2 * sizeof(float));
  EXPECT_EQ(valueAt(&memory[1]), 1 + 1e-9);
  EXPECT_EQ(valueAt(&memory[2]), 2 + 1e-9);
}
