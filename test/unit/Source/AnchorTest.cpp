//===- AnchorTest.cpp - What can be anchored, and what is refused ---------===//
#include "kb-opt/Source/Anchor.h"
#include "SourceTestUtils.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

/// The first node of class \p Node in the user's declarations whose text (or
/// expansion) is reached in source order, with its function.
template <class Node> struct Found {
  const Node *node = nullptr;
  const clang::FunctionDecl *owner = nullptr;
};

template <class Node> Found<Node> findStmt(const ParsedProgram &program, unsigned index = 0) {
  struct Visitor : clang::DynamicRecursiveASTVisitor {
    unsigned left;
    Found<Node> found;
    const clang::FunctionDecl *current = nullptr;
    bool VisitFunctionDecl(clang::FunctionDecl *function) override {
      current = function;
      return true;
    }
    bool VisitStmt(clang::Stmt *statement) override {
      const auto *node = llvm::dyn_cast<Node>(statement);
      if (!node)
        return true;
      if (left--)
        return true;
      found = {node, current};
      return false;
    }
  } visitor;
  visitor.left = index;
  for (const clang::Decl *declaration : program.declarations())
    if (!visitor.TraverseDecl(const_cast<clang::Decl *>(declaration)))
      break;
  return visitor.found;
}

std::string textOf(const ParsedProgram &program, const AnchorOrReason &anchor) {
  if (!anchor)
    return ("refused: " + anchor.reason()).str();
  return program.text().slice(anchor->begin, anchor->end).str();
}

template <class Node> std::string anchoredText(const ParsedProgram &program, unsigned index = 0) {
  Found<Node> found = findStmt<Node>(program, index);
  EXPECT_TRUE(found.node);
  return textOf(program, anchorOf(program, found.node, found.owner));
}

} // namespace

TEST(AnchorTest, LoopIsItsWholeText) {
  auto program = parse("__global__ void k(float *a) {\n"
                       "  for (int i = 0; i < 4; ++i)\n"
                       "    a[i] = 0;\n"
                       "}\n");
  auto loop = findStmt<clang::ForStmt>(*program);
  AnchorOrReason anchor = anchorOf(*program, loop.node, loop.owner);
  ASSERT_TRUE(anchor);
  EXPECT_EQ(textOf(*program, anchor), "for (int i = 0; i < 4; ++i)\n    a[i] = 0;");
  EXPECT_EQ(anchor->kind, AnchorKind::Node);
  EXPECT_EQ(anchor->nodeKind, "ForStmt");
  EXPECT_EQ(anchor->usr, usrOf(loop.owner));
  EXPECT_EQ(anchor->line, 2u);
  EXPECT_EQ(anchor->column, 3u);
  EXPECT_TRUE(anchor->matches(program->text()));
}

TEST(AnchorTest, DigestNoticesChangedText) {
  auto program = parse("__global__ void k(int *a) { a[0] = 1; }\n");
  auto statement = findStmt<clang::BinaryOperator>(*program);
  Anchor anchor = *anchorOf(*program, statement.node, statement.owner);
  std::string text = program->text().str();
  EXPECT_TRUE(anchor.matches(text));
  text[anchor.begin] = 'b';
  EXPECT_FALSE(anchor.matches(text));
  EXPECT_FALSE(anchor.matches("short"));
}

TEST(AnchorTest, StatementTakesItsSemicolonAndExpressionDoesNot) {
  auto program = parse("__global__ void k(int *a, int n) { a[0] = n + 1; }\n");
  EXPECT_EQ(anchoredText<clang::BinaryOperator>(*program, 0), "a[0] = n + 1;");
  EXPECT_EQ(anchoredText<clang::BinaryOperator>(*program, 1), "n + 1");
}

TEST(AnchorTest, BodyWithoutBracesTakesItsSemicolon) {
  auto program = parse("__global__ void k(int *a, int n) {\n"
                       "  if (n > 1) a[0] = 2; else a[1] = 3;\n"
                       "}\n");
  EXPECT_EQ(anchoredText<clang::BinaryOperator>(*program, 0), "n > 1");
  EXPECT_EQ(anchoredText<clang::BinaryOperator>(*program, 1), "a[0] = 2;");
  EXPECT_EQ(anchoredText<clang::BinaryOperator>(*program, 2), "a[1] = 3;");
}

TEST(AnchorTest, DeclarationsAndParameters) {
  auto program =
      parse("__device__ float table[4];\n"
            "__global__ void k(const float *a) { __shared__ float t[32]; t[0] = *a; }\n");
  const clang::Decl *variable = program->declarations()[0];
  EXPECT_EQ(textOf(*program, anchorOf(*program, variable)), "__device__ float table[4];");
  const auto *kernel = llvm::cast<clang::FunctionDecl>(program->declarations()[1]);
  AnchorOrReason parameter = anchorOf(*program, kernel->getParamDecl(0));
  EXPECT_EQ(textOf(*program, parameter), "const float *a");
  EXPECT_EQ(parameter->nodeKind, "ParmVarDecl");
  EXPECT_EQ(parameter->usr, usrOf(kernel));
  EXPECT_EQ(anchoredText<clang::DeclStmt>(*program), "__shared__ float t[32];");
  // A function begins with a macro: __global__ itself is one.
  AnchorOrReason whole = anchorOf(*program, kernel);
  EXPECT_TRUE(llvm::StringRef(textOf(*program, whole)).starts_with("__global__ void k("));
}

TEST(AnchorTest, InsideAMacroIsRefused) {
  auto program = parse("int first;\n#define ZERO(p) for (int i = 0; i < 4; ++i) p[i] = 0\n"
                       "__global__ void k(float *a) { ZERO(a); }\n");
  EXPECT_EQ(anchoredText<clang::ForStmt>(*program), "refused: it comes from the macro 'ZERO'");
  EXPECT_EQ(anchoredText<clang::ArraySubscriptExpr>(*program),
            "refused: it comes from the macro 'ZERO'");
}

TEST(AnchorTest, MacroArgumentIsRefused) {
  auto program = parse("int first;\n#define TWICE(x) x; x\n"
                       "__global__ void k(float *a) { TWICE(a[0] += 1); }\n");
  EXPECT_EQ(anchoredText<clang::CompoundAssignOperator>(*program),
            "refused: it comes from the macro 'TWICE'");
}

TEST(AnchorTest, MacrosInsideANodeAreFine) {
  auto program = parse("int first;\n#define N 16\n"
                       "__global__ void k(float *a) { for (int i = 0; i < N; ++i) a[i] = N; }\n");
  EXPECT_EQ(anchoredText<clang::ForStmt>(*program), "for (int i = 0; i < N; ++i) a[i] = N;");
  EXPECT_EQ(anchoredText<clang::BinaryOperator>(*program, 0), "i < N");
  EXPECT_EQ(anchoredText<clang::IntegerLiteral>(*program, 1),
            "refused: it comes from the macro 'N'");
}

TEST(AnchorTest, PartOfAMacrosExpansionIsRefused) {
  // What the compiler sees is n * 1 + 2: the product ends inside the macro.
  auto program = parse("int first;\n#define SUM 1 + 2\n"
                       "__global__ void k(int *a, int n) { a[0] = n * SUM; }\n");
  EXPECT_EQ(anchoredText<clang::BinaryOperator>(*program, 2),
            "refused: it comes from the macro 'SUM'");
}

TEST(AnchorTest, DirectiveInsideIsRefused) {
  auto program = parse("__global__ void k(float *a) {\n"
                       "  for (int i = 0; i < 4; ++i) {\n"
                       "#ifdef EXTRA\n"
                       "    a[i] = 1;\n"
                       "#endif\n"
                       "    a[i] = 0;\n"
                       "  }\n"
                       "}\n");
  EXPECT_EQ(anchoredText<clang::ForStmt>(*program),
            "refused: a preprocessor directive stands in it");
}

TEST(AnchorTest, PragmaInsideIsFine) {
  auto program = parse("__global__ void k(float *a) {\n"
                       "  for (int j = 0; j < 4; ++j) {\n"
                       "#pragma unroll\n"
                       "    for (int i = 0; i < 4; ++i) a[i] = j;\n"
                       "  }\n"
                       "}\n");
  auto loop = findStmt<clang::ForStmt>(*program);
  EXPECT_TRUE(anchorOf(*program, loop.node, loop.owner));
}

TEST(AnchorTest, BeforeAFunctionIsBeforeItsCommentAndTemplate) {
  llvm::StringRef text = "int x;\n"
                         "\n"
                         "/* Adds. */\n"
                         "// Quickly.\n"
                         "template <class T>\n"
                         "__global__ void k(T *a) { *a += 1; }\n";
  auto program = parse(text);
  AnchorOrReason anchor = anchorBefore(*program, findKernels(*program)[0].function);
  ASSERT_TRUE(anchor);
  EXPECT_EQ(anchor->kind, AnchorKind::BeforeFunction);
  EXPECT_EQ(anchor->begin, text.find("/* Adds"));
  EXPECT_EQ(anchor->begin, anchor->end);
  EXPECT_EQ(anchor->line, 3u);
}

TEST(AnchorTest, BeforeAFunctionOnAnOccupiedLineIsRefused) {
  auto program = parse("int x; __global__ void k(int *a) { *a = 1; }\n");
  AnchorOrReason anchor = anchorBefore(*program, findKernels(*program)[0].function);
  EXPECT_EQ(textOf(*program, anchor), "refused: something else stands on the line it begins on");
}

TEST(AnchorTest, LaunchSiteIsTheStatement) {
  auto program = parse("__global__ void k(int *a) { *a = 1; }\n"
                       "void run(int *p) {\n"
                       "  if (p)\n"
                       "    k<<<1, 32>>>(p);\n"
                       "}\n");
  LaunchFact launch = findLaunches(*program)[0];
  AnchorOrReason anchor = anchorOfLaunch(*program, launch.call, launch.host);
  ASSERT_TRUE(anchor);
  EXPECT_EQ(anchor->kind, AnchorKind::LaunchSite);
  EXPECT_EQ(textOf(*program, anchor), "k<<<1, 32>>>(p);");
  EXPECT_EQ(anchor->usr, usrOf(launch.host));
}

TEST(AnchorTest, LaunchInsideAMacroIsRefused) {
  auto program = parse("int first;\n#define RUN(f, ...) f<<<1, 32>>>(__VA_ARGS__)\n"
                       "__global__ void k(int *a) { *a = 1; }\n"
                       "void run(int *p) { RUN(k, p); }\n");
  LaunchFact launch = findLaunches(*program)[0];
  AnchorOrReason anchor = anchorOfLaunch(*program, launch.call, launch.host);
  EXPECT_EQ(textOf(*program, anchor), "refused: it comes from the macro 'RUN'");
}

TEST(AnchorTest, AfterIncludes) {
  auto with =
      parse("// File.\n#include <cstdio>\n#define A 1\n#include <cmath>\n#define B 2\nint x;\n");
  EXPECT_EQ(anchorAfterIncludes(*with)->line, 5u);
  auto without = parse("int x;\n#include <cstdio>\n");
  EXPECT_EQ(anchorAfterIncludes(*without)->line, 1u);
  EXPECT_EQ(anchorAfterIncludes(*without)->kind, AnchorKind::Includes);
}

TEST(AnchorTest, CodeInAHeaderIsRefused) {
  TemporaryDirectory folder = makeFolder();
  writeFile(folder.file("k.cu"), "#include \"k.cuh\"\n");
  writeFile(folder.file("k.cuh"), "__global__ void k() {}\n");
  CommandQuery query;
  query.file = folder.file("k.cu");
  query.flags.emplace();
  auto program = llvm::cantFail(
      sharedParser().parseFile(llvm::cantFail(findCompileCommand(query, toolkit()))));
  auto kernel = findKernels(*program)[0];
  EXPECT_EQ(textOf(*program, anchorOf(*program, kernel.function)), "refused: it lies in a header");
  EXPECT_EQ(textOf(*program, anchorBefore(*program, kernel.function)),
            "refused: it lies in a header");
}
