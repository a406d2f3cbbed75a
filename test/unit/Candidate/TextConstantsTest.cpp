//===- TextConstantsTest.cpp - The numbers that a source names ------------===//
#include "kb-opt/Candidate/TextConstants.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

TEST(TextConstants, AreLiteralsOfBothKindsInAnySpelling) {
  const ProgramConstants constants =
      textConstants("float f(float x) { return x > 0.25f ? x * 1e3 : 0x1p-3f; }\n"
                    "int g(int n) { return n % 1'000 + 0xffu + 100ull; }\n");
  EXPECT_EQ(constants.numbers, (std::set<double>{0.125, 0.25, 1000}));
  EXPECT_EQ(constants.integers, (std::set<int64_t>{100, 255, 1000}));
}

TEST(TextConstants, OfNeighboursAreFolded) {
  const ProgramConstants constants = textConstants("int a = 1 << 20, b = 4 * 1024, c = 96 / 8;");
  for (int64_t value : {1 << 20, 4096, 12})
    EXPECT_TRUE(constants.integers.count(value)) << value;
  EXPECT_FALSE(textConstants("int a = 3 + 5;").integers.count(8));
}

TEST(TextConstants, OfCommentsStringsAndNamesDoNotCount) {
  EXPECT_TRUE(textConstants("// 12\n/* 3.5 */ const char *s = \"77\"; int x9;").empty());
}

} // namespace
