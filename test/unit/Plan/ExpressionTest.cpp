//===- ExpressionTest.cpp ---------------------------------------------------===//
#include "kb-opt/Plan/Expression.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

const SizeMap sizes{{"n", 1000}, {"k", 7}};

int64_t valueOf(llvm::StringRef text) {
  auto value = evaluateExpression(text, sizes);
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    return INT64_MIN;
  }
  return *value;
}

std::string errorOf(llvm::StringRef text) {
  auto value = evaluateExpression(text, sizes);
  EXPECT_FALSE(static_cast<bool>(value)) << text.str();
  return value ? "" : llvm::toString(value.takeError());
}

TEST(Expression, FollowsPrecedenceAndParentheses) {
  EXPECT_EQ(valueOf("n*k + 3"), 7003);
  EXPECT_EQ(valueOf("n * (k + 3)"), 10000);
  EXPECT_EQ(valueOf("20 - 3 - 2"), 15);
  EXPECT_EQ(valueOf("100 / 7 % 5"), 4);
  EXPECT_EQ(valueOf("-k - -3"), -4);
  EXPECT_EQ(valueOf(" 9223372036854775807 "), INT64_MAX);
}

TEST(Expression, HasMinMaxCeildiv) {
  EXPECT_EQ(valueOf("ceildiv(n, 256)"), 4);
  EXPECT_EQ(valueOf("ceildiv(1024, 256)"), 4);
  EXPECT_EQ(valueOf("ceildiv(0, 256)"), 0);
  EXPECT_EQ(valueOf("ceildiv(-1, 256)"), 0);
  EXPECT_EQ(valueOf("min(n, max(k, 9)) * 2"), 18);
}

TEST(Expression, ErrorsNameTheColumn) {
  EXPECT_EQ(errorOf("n*q"), "expression 'n*q', column 3: no size 'q' (sizes: k, n)");
  EXPECT_EQ(errorOf("n / (k - 7)"), "expression 'n / (k - 7)', column 3: division by zero");
  EXPECT_EQ(errorOf("n *"), "expression 'n *', column 4: expected a number or a name");
  EXPECT_EQ(errorOf("(n"), "expression '(n', column 3: expected ')'");
  EXPECT_EQ(errorOf("n k"), "expression 'n k', column 3: unexpected 'k'");
  EXPECT_EQ(errorOf("9223372036854775807 + 1"),
            "expression '9223372036854775807 + 1', column 21: the value does not fit into 64 bits");
  EXPECT_EQ(errorOf("pow(n, 2)"),
            "expression 'pow(n, 2)', column 1: no function 'pow' (there are min, max, ceildiv)");
  EXPECT_EQ(errorOf("12q"), "expression '12q', column 1: '12q' is no decimal number of 64 bits");
  EXPECT_EQ(errorOf(""), "expression '', column 1: expected a number or a name");
  EXPECT_NE(errorOf(std::string(5000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(errorOf("1 + " + std::string(5000, '-')).find("nested too deeply"), std::string::npos);
}

TEST(Expression, NamesInOrderOfAppearance) {
  auto names = namesInExpression("ceildiv(m, 4) * n / (m - m)");
  ASSERT_TRUE(static_cast<bool>(names));
  EXPECT_EQ(*names, (std::vector<std::string>{"m", "n"}));
}

} // namespace
