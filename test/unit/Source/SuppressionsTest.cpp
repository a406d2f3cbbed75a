//===- SuppressionsTest.cpp -----------------------------------------------===//
#include "kb-opt/Source/Suppressions.h"
#include "gtest/gtest.h"

using kbopt::Suppressions;

TEST(SuppressionsTest, BareCommentCoversItsLineForEveryPass) {
  Suppressions s = Suppressions::parse("int a;\nint b; // NOKBOPT\nint c;\n");
  EXPECT_FALSE(s.covers(1, "unroll-loop"));
  EXPECT_TRUE(s.covers(2, "unroll-loop"));
  EXPECT_TRUE(s.covers(2, "pad-shared-array"));
  EXPECT_FALSE(s.covers(3, "unroll-loop"));
}

TEST(SuppressionsTest, NamedPassesOnly) {
  Suppressions s =
      Suppressions::parse("int b; // NOKBOPT(unroll-loop, pad-shared-array): measured\n");
  EXPECT_TRUE(s.covers(1, "unroll-loop"));
  EXPECT_TRUE(s.covers(1, "pad-shared-array"));
  EXPECT_FALSE(s.covers(1, "vectorize-loads"));
}

TEST(SuppressionsTest, NextLine) {
  Suppressions s = Suppressions::parse("// NOKBOPTNEXTLINE(unroll-loop)\nfor(;;);\nint c;\n");
  EXPECT_FALSE(s.covers(1, "unroll-loop"));
  EXPECT_TRUE(s.covers(2, "unroll-loop"));
  EXPECT_FALSE(s.covers(2, "vectorize-loads"));
  EXPECT_FALSE(s.covers(3, "unroll-loop"));
}

TEST(SuppressionsTest, BeginEndIncludesBothLines) {
  Suppressions s = Suppressions::parse("a\n/* NOKBOPTBEGIN */\nb\n// NOKBOPTEND\nc\n");
  EXPECT_FALSE(s.covers(1, "x"));
  EXPECT_TRUE(s.covers(2, "x"));
  EXPECT_TRUE(s.covers(3, "x"));
  EXPECT_TRUE(s.covers(4, "x"));
  EXPECT_FALSE(s.covers(5, "x"));
  EXPECT_TRUE(s.coversAny(4, 9, "x"));
  EXPECT_FALSE(s.coversAny(5, 9, "x"));
  EXPECT_TRUE(s.problems().empty());
}

TEST(SuppressionsTest, NestedBlocksCloseByName) {
  Suppressions s = Suppressions::parse("// NOKBOPTBEGIN(p)\n// NOKBOPTBEGIN(q)\nx\n"
                                       "// NOKBOPTEND(p)\ny\n// NOKBOPTEND(q)\nz\n");
  EXPECT_TRUE(s.covers(3, "p"));
  EXPECT_FALSE(s.covers(5, "p"));
  EXPECT_TRUE(s.covers(5, "q"));
  EXPECT_FALSE(s.covers(7, "q"));
}

TEST(SuppressionsTest, UnbalancedBlocksAreReported) {
  Suppressions open = Suppressions::parse("a\n// NOKBOPTBEGIN\nb\n");
  ASSERT_EQ(open.problems().size(), 1u);
  EXPECT_EQ(open.problems()[0].line, 2u);
  EXPECT_TRUE(open.covers(1000, "x"));
  Suppressions close = Suppressions::parse("// NOKBOPTEND\n");
  ASSERT_EQ(close.problems().size(), 1u);
  EXPECT_FALSE(close.covers(1, "x"));
}

TEST(SuppressionsTest, OnlyCommentsCount) {
  Suppressions s = Suppressions::parse("const char *t = \"// NOKBOPT\";\n"
                                       "int NOKBOPT;\n"
                                       "int x; // MYNOKBOPT NOKBOPTS\n"
                                       "auto r = R\"(/* NOKBOPT */)\";\n");
  EXPECT_TRUE(s.empty());
}

TEST(SuppressionsTest, MultiLineCommentMarksTheLineItStandsOn) {
  Suppressions s = Suppressions::parse("/* one\n two NOKBOPT\n three */ int x;\n");
  EXPECT_FALSE(s.covers(1, "p"));
  EXPECT_TRUE(s.covers(2, "p"));
  EXPECT_FALSE(s.covers(3, "p"));
}
