//===- StepTest.cpp - Steps as text ----------------------------------------===//

#include "kb-opt/Core/Step.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

TEST(Step, IsWrittenAsInAPipeline) {
  EXPECT_EQ((Step{"unroll-loop"}).text(), "unroll-loop");
  EXPECT_EQ((Step{"unroll-loop", "gemm", 2, {{"factor", "4"}}}).text(),
            "unroll-loop{factor=4 kernel=gemm site=2}");
  EXPECT_EQ((Step{"invent", "gemm", 0, {{"TILE", "8"}}, "f00d"}).text(),
            "invent{TILE=8 reply=f00d kernel=gemm}");
  EXPECT_EQ(printPipeline({Step{"a"}, Step{"b", "k"}}), "a,b{kernel=k}");
  EXPECT_EQ(printPipeline({}), "");
}

TEST(Step, QuotesWhatTheSyntaxWouldCut) {
  EXPECT_EQ((Step{"a", "(anonymous namespace)::k"}).text(),
            "a{kernel=\"(anonymous namespace)::k\"}");
  EXPECT_EQ((Step{"a", "", 0, {{"as", "rows team=32"}, {"empty", ""}}}).text(),
            "a{as=\"rows team=32\" empty=\"\"}");
  EXPECT_EQ((Step{"a", "", 0, {{"text", "say \"no\""}}}).text(), "a{text='say \"no\"'}");
}

} // namespace
