//===- SourceSegmentsTest.cpp - What of a source is executed as one -------===//
#include "../../../lib/Eval/Gates/SourceSegments.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// The piece of \p text in which \p word begins.
unsigned pieceOf(llvm::StringRef text, llvm::StringRef word) {
  const llvm::StringRef before = text.take_front(text.find(word));
  const auto line = static_cast<uint32_t>(before.count('\n') + 1);
  const auto column = static_cast<uint32_t>(before.size() - before.rfind('\n'));
  return SourceSegments(text).at({line, column});
}

TEST(SourceSegments, AreStatementsAndTheirConditions) {
  const llvm::StringRef text = "\nif (a > b) c = d + e; else f = g(h, i);\nx[y] = z;\n";
  EXPECT_EQ(pieceOf(text, "a >"), pieceOf(text, "b)"));
  EXPECT_NE(pieceOf(text, "b)"), pieceOf(text, "c ="));
  EXPECT_EQ(pieceOf(text, "c ="), pieceOf(text, "e;"));
  EXPECT_NE(pieceOf(text, "e;"), pieceOf(text, "f ="));
  EXPECT_EQ(pieceOf(text, "f ="), pieceOf(text, "i);"));
  EXPECT_EQ(pieceOf(text, "x["), pieceOf(text, "z;"));
}

TEST(SourceSegments, OfOperatorsThatDecideAreTheirSides) {
  const llvm::StringRef text = "\ny = a ? b : ns::c; z = d && e || f;";
  for (auto [one, other] :
       {std::pair("a ?", "b :"), {"b :", "c;"}, {"d &&", "e ||"}, {"e ||", "f;"}})
    EXPECT_NE(pieceOf(text, one), pieceOf(text, other));
  EXPECT_EQ(pieceOf(text, "ns"), pieceOf(text, "c;"));
}

TEST(SourceSegments, TheHeadOfAForIsOne) {
  const llvm::StringRef text = "\nfor (int i = 0; i < n && i < m; ++i) sum += x[i];";
  EXPECT_EQ(pieceOf(text, "i = 0"), pieceOf(text, "++i"));
  EXPECT_NE(pieceOf(text, "++i"), pieceOf(text, "sum"));
}

TEST(SourceSegments, CommentsStringsAndSeparatorsEndNothing) {
  const llvm::StringRef text = "\na = f(\"; {\", '?' /* ; */) + 1'000 // ;\n + b; c;";
  EXPECT_EQ(pieceOf(text, "a ="), pieceOf(text, "b;"));
  EXPECT_NE(pieceOf(text, "b;"), pieceOf(text, "c;"));
}

} // namespace
