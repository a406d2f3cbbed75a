//===- ParsedProgramTest.cpp - Parsing, errors, the preamble cache --------===//
#include "SourceTestUtils.h"
#include "kb-opt/Source/AstPrograms.h"
#include "clang/AST/Decl.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using namespace kbopt::test;

static constexpr llvm::StringLiteral scale = R"(#include <cstdio>
__global__ void scale(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    a[i] *= 2.0f;
}
int main() {
  scale<<<1, 32>>>(nullptr, 0);
  printf("done\n");
}
)";

TEST(ParsedProgramTest, ParsesInDeviceMode) {
  auto program = parse("#ifdef __CUDA_ARCH__\n__device__ int arch = __CUDA_ARCH__;\n#endif\n");
  ASSERT_EQ(program->declarations().size(), 1u);
  EXPECT_EQ(llvm::cast<clang::NamedDecl>(program->declarations()[0])->getName(), "arch");
  EXPECT_TRUE(program->language().CUDAIsDevice);
}

TEST(ParsedProgramTest, KeepsOnlyTheUsersDeclarations) {
  auto program = parse(scale);
  std::vector<std::string> names;
  for (const clang::Decl *declaration : program->declarations())
    names.push_back(llvm::cast<clang::NamedDecl>(declaration)->getNameAsString());
  EXPECT_EQ(names, (std::vector<std::string>{"scale", "main"}));
}

TEST(ParsedProgramTest, KnowsWhatNvccDeclares) {
  // Host min and max, math in the global namespace, clock, cache hints.
  parse(R"(
__global__ void k(float *p, float4 *q) {
  __stcs(p, __ldcs(p + 1));
  __stcg(q, __ldca(q + 1));
  __stwt(p, __ldlu(p));
  __stwb(p, __ldcv(p));
}
int host(float x, double y) {
  unsigned long long u = max(1ull, 2ll);
  return max(1, 2) + min(1u, 2u) + int(max(x, 1.0f)) + int(min(y, x)) + isnan(x) + isfinite(y) +
         isinf(x) + int(clock() / CLOCKS_PER_SEC) + int(u);
}
)");
}

TEST(ParsedProgramTest, KnowsTheAtomicsOfNvcc) {
  parse(R"(
#if CUDART_VERSION >= 12080
__device__ void k(unsigned *p, const float *f, float *g) {
  unsigned old = __nv_atomic_load_n(p, __NV_ATOMIC_RELAXED), other = 0;
  __nv_atomic_store_n(p, 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  while (!__nv_atomic_compare_exchange_n(p, &old, old + 1, true, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED))
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_BLOCK);
  __nv_atomic_compare_exchange(p, &old, &other, false, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED);
  float seen;
  __nv_atomic_load(f, &seen, __NV_ATOMIC_RELAXED);
  *g = seen + __nv_atomic_fetch_add(g, 1, __NV_ATOMIC_RELAXED);
  __nv_atomic_max(p, __nv_atomic_fetch_or(p, 3, __NV_ATOMIC_RELAXED), __NV_ATOMIC_RELAXED);
  __nv_atomic_load(p, &old, __NV_ATOMIC_ACQUIRE);
  __nv_atomic_store(p, &old, __NV_ATOMIC_RELEASE);
  __nv_atomic_exchange(p, &old, &other, __NV_ATOMIC_ACQ_REL);
  old += __nv_atomic_exchange_n(p, other, __NV_ATOMIC_ACQ_REL);
}
#endif
)");
}

// Clang sees the branch that nvcc compiles, and the toolkit's libraries go on seeing clang.
TEST(ParsedProgramTest, ProgramsAskForNvcc) {
  auto program = parse(R"(
#include <cooperative_groups/reduce.h>
#include <cuda/std/complex>
#include <thrust/sort.h>
#if __CUDACC__ && defined(__NVCC__) && __CUDACC_VER_MAJOR__ == CUDART_VERSION / 1000
__host__ __device__
#endif
float twice(float x) { return 2 * x; }
__global__ void k(float *p) { *p = twice(*p); }
)");
  EXPECT_EQ(program->declarations().size(), 2u);
}

TEST(ParsedProgramTest, OpenMpOfOneThread) {
  auto program = parse("int first;\n"
                       "#include <omp.h>\n"
                       "int host() {\n"
                       "#pragma omp parallel for\n"
                       "  for (int i = 0; i < 4; ++i)\n"
                       "    first += omp_get_thread_num();\n"
                       "  return omp_get_max_threads() + int(omp_get_wtime());\n"
                       "}\n");
  EXPECT_EQ(program->declarations().size(), 2u);
}

TEST(ParsedProgramTest, ReparsingReusesThePreamble) {
  ProgramParser parser;
  auto first = llvm::cantFail(parser.parse(sharedCommand(), scale));
  EXPECT_FALSE(first->usedPreamble);
  std::string edited = scale.str();
  edited.replace(edited.find("2.0f"), 4, "3.0f");
  for (int i = 0; i < 5; ++i) {
    auto again = llvm::cantFail(parser.parse(sharedCommand(), edited));
    EXPECT_TRUE(again->usedPreamble);
    EXPECT_EQ(again->text(), edited);
    EXPECT_EQ(again->declarations().size(), 2u);
  }
  EXPECT_EQ(parser.stats().preamblesBuilt, 1u);
  EXPECT_EQ(parser.stats().preamblesReused, 5u);
}

// Another process may make room in the cache folder at any time.
TEST(ParsedProgramTest, ALostHeaderFileIsMadeAgain) {
  TemporaryDirectory folder = makeFolder();
  const char *before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  setenv("XDG_CACHE_HOME", folder.path().str().c_str(), 1);
  ProgramParser parser;
  auto first = llvm::cantFail(parser.parse(sharedCommand(), scale));
  const std::string cache = folder.file("kb-opt/parsed-headers");
  EXPECT_EQ(realFileSystem().list(cache).size(), 1u);
  llvm::sys::fs::remove_directories(cache);
  auto again = llvm::cantFail(parser.parse(sharedCommand(), scale));
  EXPECT_FALSE(again->usedPreamble);
  EXPECT_EQ(again->declarations().size(), 2u);
  EXPECT_EQ(realFileSystem().list(cache).size(), 1u);
  before ? setenv("XDG_CACHE_HOME", kept.c_str(), 1) : unsetenv("XDG_CACHE_HOME");
}

TEST(ParsedProgramTest, TextWithoutIncludesHasAPreambleToo) {
  auto one = parse("__global__ void a() {}\n");
  auto two = parse("__global__ void b() {}\n");
  EXPECT_TRUE(two->usedPreamble);
}

TEST(ParsedProgramTest, ChangedHeaderRebuildsThePreamble) {
  TemporaryDirectory folder = makeFolder();
  writeFile(folder.file("k.cu"), "#include \"size.h\"\n__device__ float a[SIZE];\n");
  writeFile(folder.file("size.h"), "#define SIZE 4\n__global__ void inHeader() {}\n");
  CommandQuery query;
  query.file = folder.file("k.cu");
  query.flags.emplace();
  CompileCommand command = llvm::cantFail(findCompileCommand(query, toolkit()));
  ProgramParser parser;
  auto size = [&] {
    auto program = llvm::cantFail(parser.parseFile(command));
    EXPECT_EQ(program->declarations().size(), 2u);
    const auto *array = llvm::cast<clang::VarDecl>(program->declarations().back());
    return program->context().getAsConstantArrayType(array->getType())->getZExtSize();
  };
  EXPECT_EQ(size(), 4u);
  EXPECT_EQ(size(), 4u);
  EXPECT_EQ(parser.stats().preamblesBuilt, 1u);
  // Another size: the time stamp alone may not have moved.
  writeFile(folder.file("size.h"), "#define SIZE 1024\n__global__ void inHeader() {}\n");
  EXPECT_EQ(size(), 1024u);
  EXPECT_EQ(parser.stats().preamblesBuilt, 2u);
}

TEST(ParsedProgramTest, SyntaxErrorShowsLineAndCaret) {
  Failure failure = failureOf(
      sharedParser().parse(sharedCommand(), "__global__ void k(float *a) {\n\ta[0] = 1\n}\n"));
  EXPECT_EQ(failure.status, ExitStatus::Diagnostics);
  EXPECT_EQ(failure.message, "'kernel.cu' does not compile\n"
                             "kernel.cu:2:10: error: expected ';' after expression\n"
                             "\ta[0] = 1\n"
                             "\t        ^");
}

TEST(ParsedProgramTest, SaysWhatToChangeWhereClangIsStricter) {
  Failure failure = failureOf(sharedParser().parse(sharedCommand(), R"(
template <class T> struct Copy {
  template <int N> __device__ static void all(T *a, const T *b) { a[N] = b[N]; }
};
template <class T, int N> __global__ void k(T *a, const T *b) {
  Copy<T>::all<N>(a, b);
}
template __global__ void k<float, 4>(float *, const float *);
)"));
  EXPECT_EQ(failure.status, ExitStatus::Diagnostics);
  EXPECT_EQ(failure.note, "kernel.cu:6: say that 'all' is a template: 'Copy<T>::template all<N>', "
                          "which nvcc takes too");
  failure = failureOf(sharedParser().parse(sharedCommand(), R"(
#include <cuda_fp16.h>
__global__ void k(half2 *a) {
  half2 zero;
  zero = {};
  *a = zero;
}
)"));
  EXPECT_EQ(failure.note, "kernel.cu:5: name the type of what is assigned: 'half2{}' in the place "
                          "of '{}', which nvcc takes too");
}

TEST(ParsedProgramTest, ErrorsInTheLeadingIncludesAreReported) {
  Failure failure =
      failureOf(sharedParser().parse(sharedCommand(), "#include \"no_such_header.h\"\nint x;\n"));
  EXPECT_NE(failure.message.find("kernel.cu:1:10: fatal error: 'no_such_header.h' file not found"),
            std::string::npos)
      << failure.message;
  EXPECT_EQ(failure.status, ExitStatus::Diagnostics);
}

TEST(ParsedProgramTest, WarningsAreKept) {
  auto program = parse("int f() { }\n");
  ASSERT_FALSE(program->diagnostics().empty());
  EXPECT_EQ(program->diagnostics()[0].severity, Severity::Warning);
  EXPECT_EQ(program->diagnostics()[0].line, 1u);
}

TEST(ParsedProgramTest, SuppressionsComeWithTheText) {
  auto program = parse("// NOKBOPTNEXTLINE(unroll-loop)\nint x;\n");
  EXPECT_TRUE(program->suppressions().covers(2, "unroll-loop"));
}

TEST(ParsedProgramTest, UnreadableAndBinaryFiles) {
  TemporaryDirectory folder = makeFolder();
  CompileCommand command = sharedCommand();
  command.file = folder.file("gone.cu");
  command.shownFile = "gone.cu";
  EXPECT_EQ(failureOf(readSource(command)).status, ExitStatus::Diagnostics);
  writeFile(command.file, llvm::StringRef("\x7f"
                                          "ELF\0\0",
                                          6));
  EXPECT_EQ(failureOf(readSource(command)).message, "'gone.cu' is not text");
}

TEST(ParsedProgramTest, ManyErrorsAreCut) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += "int x" + std::to_string(i) + " = undeclared" + std::to_string(i) + ";\n";
  Failure failure = failureOf(sharedParser().parse(sharedCommand(), text));
  EXPECT_NE(failure.message.find("undeclared4"), std::string::npos);
  EXPECT_EQ(failure.message.find("undeclared5"), std::string::npos);
  EXPECT_NE(failure.message.find("(and 3 more)"), std::string::npos);
}

TEST(ParsedProgramTest, WhatIsDerivedIsMadeOnce) {
  struct Length {
    size_t bytes;
  };
  auto program = parse("int x;\n");
  unsigned made = 0;
  auto make = [&] {
    ++made;
    return Length{program->text().size()};
  };
  EXPECT_EQ(program->derived<Length>(make).bytes, 7u);
  EXPECT_EQ(program->derived<Length>(make).bytes, 7u);
  EXPECT_EQ(made, 1u);
  // Another program has its own.
  EXPECT_EQ(parse("int y, z;\n")->derived<Length>([] { return Length{10}; }).bytes, 10u);
}

TEST(ParsedProgramTest, AnAstLeadsToItsProgram) {
  auto program = parse("int x;\n");
  auto other = parse("int y;\n");
  const clang::ASTContext &ast = program->context();
  EXPECT_EQ(programOf(ast), program.get());
  EXPECT_EQ(programOf(other->context()), other.get());
}
