//===- HostTextTest.cpp - Kernel expressions at a launch ------------------===//

#include "../../../lib/Rewrite/Schedule/HostText.h"
#include "gtest/gtest.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

TEST(HostText, FindsNamesButNoMembersOrNumbers) {
  EXPECT_EQ(namesIn("gridDim.x * blockDim.x >= p.n + 0x1Fu - s->m + ns::k"),
            (std::vector<StringRef>{"gridDim.x", "blockDim.x", "p", "s", "ns"}));
  EXPECT_TRUE(namesIn("4 * (2 + 1.5f)").empty());
}

TEST(HostText, ReplacesWholeNames) {
  auto twice = [](StringRef name) -> std::optional<std::string> {
    return name == "n" ? std::optional<std::string>("(2 * m)") : std::nullopt;
  };
  EXPECT_EQ(replaceNames("n % 4 == 0 && nn > p.n", twice), "(2 * m) % 4 == 0 && nn > p.n");
}

TEST(HostText, PutsParenthesesOnlyWhereTheyMatter) {
  EXPECT_EQ(asOperand("n"), "n");
  EXPECT_EQ(asOperand("sizes[i + 1].rows()"), "sizes[i + 1].rows()");
  EXPECT_EQ(asOperand("p->n"), "p->n");
  EXPECT_EQ(asOperand("(a + b)"), "(a + b)");
  EXPECT_EQ(asOperand("a - b"), "(a - b)");
  EXPECT_EQ(asOperand("(a) + (b)"), "((a) + (b))");
  EXPECT_EQ(asOperand("(int)n"), "((int)n)");
  EXPECT_EQ(asOperand("-n"), "(-n)");
}

std::optional<int64_t> valueOf(StringRef name) {
  if (name == "n")
    return 1000;
  if (name == "blockDim.x")
    return 256;
  return std::nullopt;
}

TEST(HostText, EvaluatesAsCxxDoes) {
  EXPECT_EQ(evaluate("(n + blockDim.x - 1) / blockDim.x", valueOf), 4);
  EXPECT_EQ(evaluate("n % 8 == 0 && n > 0", valueOf), 1);
  EXPECT_EQ(evaluate("1 - 2 - 3", valueOf), -4);
  EXPECT_EQ(evaluate("2 + 3 * 4 < 15 || 0", valueOf), 1);
  EXPECT_EQ(evaluate("(long long)n * n", valueOf), 1000000);
  EXPECT_EQ(evaluate("-7 / 2", valueOf), -3);
}

TEST(HostText, SaysNothingOfWhatItDoesNotKnow) {
  for (StringRef text : {"m + 1", "n / 0", "f(n)", "n +", "n << 2", "n ? 1 : 2", "n.size",
                         "9223372036854775807 + 1", ""})
    EXPECT_EQ(evaluate(text, valueOf), std::nullopt) << text.str();
}

} // namespace
