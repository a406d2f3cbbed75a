//===- LineDirectivesTest.cpp ---------------------------------------------===//
#include "kb-opt/Lock/LineDirectives.h"
#include "gtest/gtest.h"

using namespace kbopt;

static std::string lined(llvm::StringRef original, llvm::StringRef rewritten) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.CPlusPlus17 = language.RawStringLiterals =
      true;
  language.LineComment = true;
  return withLineDirectives(original, rewritten, "a.cu", language);
}

TEST(LineDirectives, UnchangedFileNamesTheOriginalOnce) {
  EXPECT_EQ("#line 1 \"a.cu\"\na;\nb;\n", lined("a;\nb;\n", "a;\nb;\n"));
}

TEST(LineDirectives, AddedLinesHaveTheNumberOfTheLastThatTheyReplace) {
  EXPECT_EQ("#line 1 \"a.cu\"\na;\nx;\n#line 2 \"a.cu\"\ny;\n#line 2 \"a.cu\"\nz;\nc;\n",
            lined("a;\nb;\nc;\n", "a;\nx;\ny;\nz;\nc;\n"));
}

TEST(LineDirectives, RemovedLines) {
  EXPECT_EQ("#line 1 \"a.cu\"\na;\n#line 3 \"a.cu\"\nc;\n", lined("a;\nb;\nc;\n", "a;\nc;\n"));
}

TEST(LineDirectives, NoneInsideARawString) {
  EXPECT_EQ("#line 1 \"a.cu\"\nq = R\"(x\ny\nz)\";\n#line 2 \"a.cu\"\nb;\n",
            lined("q = R\"(z)\";\nb;\n", "q = R\"(x\ny\nz)\";\nb;\n"));
}

TEST(LineDirectives, NoneInsideAMacroOrItsArguments) {
  EXPECT_EQ("#line 1 \"a.cu\"\n#define A \\\n  x \\\n  y\n#line 3 \"a.cu\"\nb;\n",
            lined("#define A \\\n  y\nb;\n", "#define A \\\n  x \\\n  y\nb;\n"));
  EXPECT_EQ("#line 1 \"a.cu\"\nCHECK(\nx,\ny,\nz);\n#line 4 \"a.cu\"\nb;\n",
            lined("CHECK(\nx,\nz);\nb;\n", "CHECK(\nx,\ny,\nz);\nb;\n"));
}
