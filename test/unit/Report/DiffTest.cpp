//===- DiffTest.cpp - Unified diffs -----------------------------------------===//

#include "kb-opt/Report/Diff.h"
#include "gtest/gtest.h"
#include <random>

using namespace kbopt;

namespace {

/// Applies a diff made by unifiedDiff; fails on context that does not fit.
std::string patch(llvm::StringRef before, llvm::StringRef diff) {
  std::vector<std::string> lines, result;
  auto split = [](llvm::StringRef text) {
    std::vector<std::string> all;
    while (!text.empty()) {
      size_t end = text.find('\n');
      size_t length = end == llvm::StringRef::npos ? text.size() : end + 1;
      all.push_back(text.take_front(length).str());
      text = text.drop_front(length);
    }
    return all;
  };
  lines = split(before);
  std::vector<std::string> script = split(diff);
  size_t at = 0;
  for (size_t i = 2; i < script.size(); ++i) {
    llvm::StringRef line = script[i];
    if (line.starts_with("@@ -")) {
      llvm::StringRef numbers = line.drop_front(4).take_until([](char c) { return c == ' '; });
      auto [start, count] = numbers.split(',');
      size_t first = std::stoul(start.str());
      if (count != "0")
        --first;
      EXPECT_LE(at, first);
      for (; at < first; ++at)
        result.push_back(lines[at]);
      continue;
    }
    if (line.starts_with("\\"))
      continue;
    std::string text = line.drop_front().str();
    if (i + 1 < script.size() && script[i + 1][0] == '\\')
      text.pop_back(); // the newline that the file does not have
    if (line[0] != '+') {
      EXPECT_LT(at, lines.size());
      EXPECT_EQ(lines[at], text);
      ++at;
    }
    if (line[0] != '-')
      result.push_back(text);
  }
  for (; at < lines.size(); ++at)
    result.push_back(lines[at]);
  std::string joined;
  for (const std::string &line : result)
    joined += line;
  return joined;
}

TEST(Diff, EqualTextsHaveNone) {
  EXPECT_EQ(unifiedDiff("a\nb\n", "a\nb\n", "k.cu"), "");
  EXPECT_EQ(unifiedDiff("", "", "k.cu"), "");
}

TEST(Diff, ShowsChangeWithContext) {
  EXPECT_EQ(unifiedDiff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "k.cu"),
            "--- a/k.cu\n+++ b/k.cu\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(Diff, SeparatesDistantChanges) {
  std::string before, after;
  for (int i = 0; i < 20; ++i) {
    before += std::to_string(i) + "\n";
    after += i == 2 || i == 17 ? "x\n" : std::to_string(i) + "\n";
  }
  std::string diff = unifiedDiff(before, after, "k.cu", 1);
  EXPECT_NE(diff.find("@@ -2,3 +2,3 @@"), std::string::npos) << diff;
  EXPECT_NE(diff.find("@@ -17,3 +17,3 @@"), std::string::npos) << diff;
}

TEST(Diff, JoinsCloseChanges) {
  std::string diff = unifiedDiff("a\n1\n2\nb\n", "A\n1\n2\nB\n", "k.cu", 1);
  EXPECT_EQ(diff, "--- a/k.cu\n+++ b/k.cu\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n-b\n+B\n");
}

TEST(Diff, SaysThatTheLastNewlineIsMissing) {
  EXPECT_EQ(unifiedDiff("a", "a\n", "k.cu"),
            "--- a/k.cu\n+++ b/k.cu\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST(Diff, FromAndToNothing) {
  EXPECT_EQ(unifiedDiff("", "a\nb\n", "k.cu"), "--- a/k.cu\n+++ b/k.cu\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  EXPECT_EQ(unifiedDiff("a\n", "", "k.cu"), "--- a/k.cu\n+++ b/k.cu\n@@ -1 +0,0 @@\n-a\n");
}

TEST(Diff, PathsAreRelative) {
  EXPECT_TRUE(llvm::StringRef(unifiedDiff("a\n", "b\n", "/x/k.cu")).starts_with("--- a/x/k.cu\n"));
}

TEST(Diff, AppliesToGiveTheNewText) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string before, after;
    for (int i = random() % 30; i > 0; --i) {
      std::string line(1, 'a' + random() % 4);
      if (random() % 4)
        before += line + "\n";
      if (random() % 4)
        after += line + "\n";
    }
    if (random() % 5 == 0 && !after.empty())
      after.pop_back();
    std::string diff = unifiedDiff(before, after, "k.cu", random() % 4);
    EXPECT_EQ(before == after, diff.empty());
    if (!diff.empty()) {
      EXPECT_EQ(patch(before, diff), after) << diff;
    }
  }
}

TEST(Diff, IsShortest) {
  // Myers' own example: five lines differ.
  std::string diff = unifiedDiff("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", "k.cu");
  unsigned changes = 0;
  for (llvm::StringRef rest = diff; !rest.empty();) {
    auto [line, next] = rest.split('\n');
    changes += (line.starts_with("+") || line.starts_with("-")) && !line.starts_with("+++") &&
               !line.starts_with("---");
    rest = next;
  }
  EXPECT_EQ(changes, 5u) << diff;
}

} // namespace
