//===- MetricExpressionTest.cpp - Arithmetic with unknowns ----------------===//
#include "kb-opt/Knowledge/MetricExpression.h"
#include "gtest/gtest.h"

using namespace kbopt;

static std::optional<double> value(llvm::StringRef text, const MetricMap &metrics = {},
                                   std::set<std::string> *missing = nullptr) {
  llvm::Expected<MetricExpression> parsed = MetricExpression::parse(text);
  if (!parsed) {
    ADD_FAILURE() << llvm::toString(parsed.takeError());
    return std::nullopt;
  }
  return parsed->evaluate(metrics, missing);
}

static std::string error(llvm::StringRef text) {
  llvm::Expected<MetricExpression> parsed = MetricExpression::parse(text);
  return parsed ? "none" : llvm::toString(parsed.takeError());
}

TEST(MetricExpression, Precedence) {
  EXPECT_EQ(value("1 + 2 * 3 - 4 / 2"), 5);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("(1 + 2) * -3"), -9);
  EXPECT_EQ(value("1 < 2 && 2 <= 2 || 0"), 1);
  EXPECT_EQ(value("!(1 == 1) || 3 != 3"), 0);
  EXPECT_EQ(value("1 + 1 >= 2 && 2 > 1"), 1);
}

TEST(MetricExpression, MetricNames) {
  MetricMap metrics{{"dram__throughput.avg.pct_of_peak_sustained_elapsed", 80}, {"x", 2}};
  EXPECT_EQ(value("dram__throughput.avg.pct_of_peak_sustained_elapsed / x", metrics), 40);
}

TEST(MetricExpression, UnknownIsContagious) {
  MetricMap metrics{{"x", 2}, {"nan", NAN}};
  std::set<std::string> missing;
  EXPECT_EQ(value("x + y", metrics, &missing), std::nullopt);
  EXPECT_EQ(missing, std::set<std::string>{"y"});
  EXPECT_EQ(value("nan > 1", metrics), std::nullopt);
  EXPECT_EQ(value("!y"), std::nullopt);
  EXPECT_EQ(value("x / 0", metrics), std::nullopt);
}

TEST(MetricExpression, LogicIsThreeValued) {
  EXPECT_EQ(value("y && 0"), 0);
  EXPECT_EQ(value("0 && y"), 0);
  EXPECT_EQ(value("1 && y"), std::nullopt);
  EXPECT_EQ(value("y || 1"), 1);
  EXPECT_EQ(value("y || 0"), std::nullopt);
  EXPECT_EQ(value("y || z"), std::nullopt);
}

TEST(MetricExpression, FunctionsTakeWhatIsKnown) {
  MetricMap metrics{{"a", 2}, {"b", 5}};
  EXPECT_EQ(value("min(a, y, b)", metrics), 2);
  EXPECT_EQ(value("max(a, y, b)", metrics), 5);
  EXPECT_EQ(value("sum(a, y, b)", metrics), 7);
  EXPECT_EQ(value("sum(y, z)", metrics), std::nullopt);
  EXPECT_EQ(value("default(y, b)", metrics), 5);
  EXPECT_EQ(value("known(a) + known(y)", metrics), 1);
  std::set<std::string> missing;
  EXPECT_EQ(value("default(y, z)", metrics, &missing), std::nullopt);
  EXPECT_EQ(missing, std::set<std::string>{"z"});
}

TEST(MetricExpression, ErrorsSayWhere) {
  EXPECT_EQ(error("1 +"), "expression '1 +', column 4: expected a number or a name");
  EXPECT_EQ(error("(1"), "expression '(1', column 3: expected ')'");
  EXPECT_EQ(error("a b"), "expression 'a b', column 3: unexpected 'b'");
  EXPECT_EQ(error("1 + avg(a)"), "expression '1 + avg(a)', column 5: no function 'avg' (there are "
                                 "min, max, sum, default, known)");
  EXPECT_EQ(error("1.2.3"), "expression '1.2.3', column 1: '1.2.3' is no number");
  EXPECT_EQ(error(""), "expression '', column 1: expected a number or a name");
}
