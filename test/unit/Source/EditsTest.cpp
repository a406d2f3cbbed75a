//===- EditsTest.cpp - Edits, their anchors, and formatting ---------------===//
#include "kb-opt/Source/Edits.h"
#include "SourceTestUtils.h"
#include "kb-opt/Source/Declined.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

/// An anchor over \p piece of \p text.
Anchor over(llvm::StringRef text, llvm::StringRef piece) {
  Anchor anchor;
  anchor.nodeKind = "Stmt";
  anchor.begin = text.find(piece);
  anchor.end = anchor.begin + piece.size();
  anchor.line = 1 + text.take_front(anchor.begin).count('\n');
  anchor.column = 1;
  anchor.digest = digestOf(piece);
  return anchor;
}

std::string applied(llvm::StringRef text, const Edits &edits, const FormatChoice &format) {
  return llvm::cantFail(applyEdits(text, edits, format));
}
const FormatChoice raw{FormatChoice::None, ""};

} // namespace

TEST(EditsTest, ReplacesAndInserts) {
  llvm::StringRef text = "a = b;\nc = d;\n";
  Anchor first = over(text, "a = b;"), second = over(text, "c = d;");
  Edits edits;
  llvm::cantFail(edits.replaceAll(second, "c = e;"));
  llvm::cantFail(edits.insertBefore(first, "x; "));
  llvm::cantFail(edits.insertAfter(first, " y;"));
  EXPECT_EQ(edits.size(), 3u);
  EXPECT_EQ(applied(text, edits, raw), "x; a = b; y;\nc = e;\n");
}

TEST(EditsTest, InsertionsAtOnePlaceKeepTheirOrder) {
  llvm::StringRef text = "a = b;\n";
  Anchor anchor = over(text, "a = b;");
  Edits edits;
  llvm::cantFail(edits.insertBefore(anchor, "1"));
  llvm::cantFail(edits.replace(anchor, 0, 1, "A"));
  llvm::cantFail(edits.insertBefore(anchor, "2"));
  EXPECT_EQ(applied(text, edits, raw), "12A = b;\n");
}

TEST(EditsTest, OutsideTheAnchorIsRefused) {
  llvm::StringRef text = "a = b;\nc = d;\n";
  Anchor anchor = over(text, "a = b;");
  Edits edits;
  Failure failure = failureOf(edits.replace(anchor, 5, 3, ""));
  EXPECT_EQ(failure.message, "an edit of bytes 5 to 8 leaves its anchor, the Stmt at 1:1");
  EXPECT_FALSE(failure.note.empty());
  EXPECT_TRUE(edits.empty());
}

TEST(EditsTest, OverlapIsAnError) {
  llvm::StringRef text = "a = b + c;\n";
  Anchor anchor = over(text, "a = b + c;");
  Edits edits;
  llvm::cantFail(edits.replace(anchor, 4, 5, "x"));
  EXPECT_NE(messageOf(edits.replace(anchor, 8, 1, "y")).find("two edits of the same bytes"),
            std::string::npos);
  EXPECT_NE(messageOf(edits.insertAt(anchor, 6, "y")).find("two edits"), std::string::npos);
  // Beside it is fine.
  llvm::cantFail(edits.insertAt(anchor, 4, "("));
  llvm::cantFail(edits.insertAt(anchor, 9, ")"));
  EXPECT_EQ(applied(text, edits, raw), "a = (x);\n");
}

// A pass that meets one leaves its site as it is, and no run ends by it.
TEST(EditsTest, TextOfAMacroIsDeclined) {
  auto program = parse("#define SCALE(x) ((x) * 2.0f)\n"
                       "__global__ void k(float *a) { a[0] = SCALE(a[1]); }\n");
  const clang::FunctionDecl *kernel = findKernels(*program).front().function;
  Anchor anchor = *anchorOf(*program, kernel);
  clang::SourceLocation end; // of the last statement, which the macro makes
  for (const clang::Stmt *each : llvm::cast<clang::CompoundStmt>(kernel->getBody())->body())
    end = each->getEndLoc();
  Edits edits;
  std::string reason;
  llvm::handleAllErrors(edits.replace(anchor, *program, {end, end}, "x"),
                        [&](const Declined &why) { reason = why.reason; });
  EXPECT_EQ(reason, "the text at line 2 cannot be changed: it comes from the macro 'SCALE'");
  EXPECT_TRUE(edits.empty());
}

TEST(EditsTest, MergeReportsConflicts) {
  llvm::StringRef text = "a = b;\nc = d;\n";
  Edits one, two, three;
  llvm::cantFail(one.replaceAll(over(text, "a = b;"), "A;"));
  llvm::cantFail(two.replaceAll(over(text, "c = d;"), "C;"));
  llvm::cantFail(three.replaceAll(over(text, "b;\nc"), "?"));
  llvm::cantFail(one.merge(two));
  EXPECT_EQ(applied(text, one, raw), "A;\nC;\n");
  EXPECT_FALSE(messageOf(one.merge(three)).empty());
}

TEST(EditsTest, ChangedTextIsRefused) {
  llvm::StringRef text = "a = b;\n";
  Edits edits;
  llvm::cantFail(edits.replaceAll(over(text, "a = b;"), "x;"));
  Failure failure = failureOf(applyEdits("a = B;\n", edits));
  EXPECT_EQ(failure.message, "the text of the Stmt at 1:1 has changed since the edit was made");
}

TEST(EditsTest, NoEditsNoChange) {
  llvm::StringRef text = "int   weird ( ) {\n\t  return 1;}\n";
  EXPECT_EQ(applied(text, Edits(), {}), text);
  Edits same;
  llvm::cantFail(same.replaceAll(over(text, "return 1;"), "return 1;"));
  EXPECT_EQ(applied(text, same, {}), text);
}

TEST(EditsTest, OneLineEditLeavesTheRestOfTheLineAlone) {
  llvm::StringRef text = "int f( int   x ){ return   x; }\n";
  Edits edits;
  llvm::cantFail(edits.replaceAll(over(text, "int   x"), "long x"));
  EXPECT_EQ(applied(text, edits, {}), "int f( long x ){ return   x; }\n");
}

TEST(EditsTest, FormatsWithTheFilesIndentation) {
  llvm::StringRef text = "void f(float *a)\n"
                         "{\n"
                         "      a[0]   = 1;   // odd, and left alone\n"
                         "   if (a)\n"
                         "   {\n"
                         "      a[1] = 2;\n"
                         "   }\n"
                         "}\n"
                         "void g(float *a)\n"
                         "{\n"
                         "   a[2] = 3;\n"
                         "}\n";
  Edits edits;
  llvm::cantFail(
      edits.replaceAll(over(text, "a[2] = 3;"), "for (int i = 0; i < 4; ++i) {\na[i] = 3;\n}"));
  EXPECT_EQ(applied(text, edits, {}), "void f(float *a)\n"
                                      "{\n"
                                      "      a[0]   = 1;   // odd, and left alone\n"
                                      "   if (a)\n"
                                      "   {\n"
                                      "      a[1] = 2;\n"
                                      "   }\n"
                                      "}\n"
                                      "void g(float *a)\n"
                                      "{\n"
                                      "   for (int i = 0; i < 4; ++i)\n"
                                      "   {\n"
                                      "      a[i] = 3;\n"
                                      "   }\n"
                                      "}\n");
}

TEST(EditsTest, FormatsWithTabs) {
  llvm::StringRef text = "void f(float *a) {\n\tif (a) {\n\t\ta[0] = 1;\n\t}\n}\n";
  Edits edits;
  llvm::cantFail(edits.replaceAll(over(text, "a[0] = 1;"), "a[0] = 1;\na[1] = 2;"));
  EXPECT_EQ(applied(text, edits, {}),
            "void f(float *a) {\n\tif (a) {\n\t\ta[0] = 1;\n\t\ta[1] = 2;\n\t}\n}\n");
}

TEST(EditsTest, FormatsWithTheNearestStyleFile) {
  TemporaryDirectory folder = makeFolder();
  writeFile(folder.file(".clang-format"), "BasedOnStyle: LLVM\nIndentWidth: 6\n");
  llvm::StringRef text = "void f(float *a) {\n  a[0] = 1;\n}\n";
  Edits edits;
  llvm::cantFail(edits.replaceAll(over(text, "a[0] = 1;"), "a[0] = 1;\na[1] = 2;"));
  // The margin before the edit is no part of it.
  EXPECT_EQ(applied(text, edits, {FormatChoice::FileStyle, folder.file("k.cu")}),
            "void f(float *a) {\n  a[0] = 1;\n      a[1] = 2;\n}\n");
}

TEST(EditsTest, LaunchSyntaxSurvivesFormatting) {
  llvm::StringRef text =
      "void run(float *a, int n) {\n    int b = 256;\n    k<<<n / b, b>>>(a);\n}\n";
  Edits edits;
  llvm::cantFail(edits.replaceAll(over(text, "k<<<n / b, b>>>(a);"),
                                  "if (n % 4 == 0)\nk<<<n / b, b>>>(a);\nelse\nk<<<n, 1>>>(a);"));
  EXPECT_EQ(applied(text, edits, {}), "void run(float *a, int n) {\n"
                                      "    int b = 256;\n"
                                      "    if (n % 4 == 0)\n"
                                      "        k<<<n / b, b>>>(a);\n"
                                      "    else\n"
                                      "        k<<<n, 1>>>(a);\n"
                                      "}\n");
}
