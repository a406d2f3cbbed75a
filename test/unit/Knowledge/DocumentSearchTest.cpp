//===- DocumentSearchTest.cpp ---------------------------------------------===//
#include "kb-opt/Knowledge/DocumentSearch.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

DocumentIndex library() {
  DocumentIndex index;
  index.add("shared-memory-tiling",
            "Loads a tile into shared memory.\n\nThe tile needs a barrier.");
  index.add("pad-shared-array", "Adds a column to a shared array, so that banks differ.");
  index.add("unroll-loop", "Repeats the body of a loop. A loop in a loop is left alone.");
  return index;
}

TEST(DocumentSearch, RareWordsDecide) {
  auto found = library().search("the shared barrier", 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].title, "shared-memory-tiling");
  EXPECT_EQ(found[0].text, "The tile needs a barrier.");
}

TEST(DocumentSearch, TitlesAreSearchedAndCaseIsNot) {
  auto found = library().search("UNROLL", 8);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "unroll-loop");
}

TEST(DocumentSearch, NothingSharedIsNothingFound) {
  EXPECT_TRUE(library().search("tensor cores", 8).empty());
  EXPECT_TRUE(library().search("", 8).empty());
  EXPECT_TRUE(DocumentIndex().search("loop", 8).empty());
}

TEST(DocumentSearch, NoMoreThanAskedFor) {
  EXPECT_EQ(library().search("a loop tile array", 1).size(), 1u);
}

} // namespace
