//===- EditRulesTest.cpp - Each rule refuses, and only what it should -------===//

#include "AssistedFixture.h"
#include "gtest/gtest.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

constexpr llvm::StringLiteral program = R"(
extern "C" int puts(const char *);
#define REPORT(x) puts(#x)
#define CHECK(x) ((x) == 0 ? 0 : REPORT(x))
__device__ float helper(float x) { return x + 1; }
int counted(int);
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = helper(in[i]);
}
__global__ void other(float *out) { out[threadIdx.x] = 0; }
void run(float *out, const float *in, int n) {
  k<<<(n + 255) / 256, 256>>>(out, in, n);
  if (n > 5)
    k<<<counted(n) + CHECK(n), 256>>>(out, in, n);
  other<<<1, 32>>>(out);
}
)";

/// A body that is right, with \p extra before it.
std::string body(const std::string &extra) {
  return extra +
         "\n int i = blockIdx.x * blockDim.x + threadIdx.x;\n if (i < n) out[i] = helper(in[i]);";
}
std::string inBody(const std::string &extra, const Names &allow = {}) {
  return rule(program, {{"a1", body(extra)}}, allow);
}
std::string inDecls(const std::string &text, const Names &allow = {}) {
  return rule(program, {{"decls", text}}, allow);
}
std::string inLaunch(const std::string &extra, const Names &allow = {}) {
  return rule(program, {{"launch1", extra + "\nk<<<(n + 127) / 128, 128>>>(out, in, n);"}}, allow);
}

TEST(EditRules, OrdinaryRewritesPass) {
  EXPECT_EQ(inBody("__shared__ float tile[32][33];\n  __syncthreads();\n#pragma unroll 4\n for "
                   "(int q = 0; q < 4; ++q) tile[0][q] = 1;"),
            "");
  EXPECT_EQ(inBody("extern __shared__ float dynamicTile[]; float4 v = make_float4(0, 0, 0, 0); v.x "
                   "= __ldg(in);"),
            "");
  EXPECT_EQ(inBody("float s = __shfl_down_sync(0xffffffffu, 1.0f, 4); s = sqrtf(s) + expf(s) + "
                   "fmaxf(s, 1.0f); atomicAdd(out, s);"),
            "");
  EXPECT_EQ(inBody("[[maybe_unused]] alignas(16) float v[4]; auto f = [=](float x) { return x * 2; "
                   "}; v[0] = f(1);"),
            "");
  EXPECT_EQ(
      inDecls(
          "constexpr int tileEdge = 32;\n"
          "static __device__ __forceinline__ float twice(float x) { return 2 * x; }\n"
          "template <int N> __device__ float times(float x) { return N * x; }\n"
          "struct Pair { float a, b; };\n"
          "__device__ Pair operator+(Pair x, Pair y) { return {x.a + y.a, x.b + y.b}; }\n"
          "namespace mine { __device__ float helper(float x) { return x; } }\n"
          "__device__ float later(float); __device__ float later(float x) { return x; }\n"
          "static_assert(sizeof(Pair) == 8);\n"
          "__host__ __device__ constexpr int ceilDivide(int a, int b) { return (a + b - 1) / b; }"),
      "");
  EXPECT_EQ(inLaunch("dim3 block(128); int blocks = (n + 127) / 128;"), "");
  EXPECT_EQ(
      rule(program, {{"includes", "#include <cuda_fp16.h>\n\n # include <mma.h>"},
                     {"a1", body("__half h = __float2half(1.0f); out[0] = __half2float(h);")}}),
      "");
}

TEST(EditRules, SeveralStatementsTakeThePlaceOfOne) {
  // The second launch is the body of an if: both statements belong to it.
  EXPECT_EQ(
      rule(program, {{"launch2", "int blocks = counted(n); k<<<blocks, 256>>>(out, in, n);"}}), "");
}

TEST(EditRules, InstantiatedTemplatesAreTheirPatterns) {
  const std::string withTemplates = R"(
template <typename T> T largest(const T *values, int n) {
  T most = values[0];
  for (int i = 1; i < n; ++i)
    most = values[i] > most ? values[i] : most;
  return most;
}
template <typename T> __device__ T doubled(T x) { return x + x; }
)" + program.str() + R"(
template <typename T> __global__ void scaled(T *out) { out[threadIdx.x] = doubled(out[threadIdx.x]); }
int main() {
  float values[] = {1, 2};
  double others[] = {1, 2};
  scaled<<<1, 32>>>(values);
  scaled<<<1, 32>>>(others);
  return largest(values, 2) > 1 && largest(others, 2) > 1;
}
)";
  EXPECT_EQ(rule(withTemplates, {{"a1", body("float v = 1;")}}), "");
  EXPECT_EQ(rule(withTemplates, {{"decls", "__device__ int added(int x) { return x + 1; }"}}), "");
  EXPECT_EQ(rule(withTemplates, {{"launch1", "k<<<(n + 127) / 128, 128>>>(out, in, n);"}}), "");
}

TEST(EditRules, NothingChanged) {
  auto parsed = parse(program);
  GroundingRequest request;
  request.kernel = "k";
  GroundedSource source = llvm::cantFail(ground(*parsed, request));
  const Anchor &anchor = source.anchor("a1")->anchor;
  EXPECT_EQ(rule(program, {{"a1", program.slice(anchor.begin, anchor.end).str()}}),
            "nothing-changed");
}

TEST(EditRules, Marks) {
  EXPECT_EQ(inBody("/* <<<KB:END a1>>> */"), "marker");
  EXPECT_EQ(inBody("// NOKBOPT"), "suppression");
}

TEST(EditRules, Unbalanced) {
  for (const char *text : {"}", "{", ")", "(", "]", "[1", "({)}", "/* comment", "\"text", "'",
                           "R\"(raw", "/*/", "} __global__ void k2() {", "\\"})
    EXPECT_EQ(rule(program, {{"a1", std::string("out[0] = 1;") + text}}), "unbalanced") << text;
  // A comment at the end swallows nothing.
  EXPECT_EQ(rule(program, {{"launch1", "k<<<1, 256>>>(out, in, n); // one block"}}), "");
  EXPECT_EQ(rule(program, {{"a1", body("const char *s = \"}\"; // }")}}), "");
}

TEST(EditRules, TooDeep) {
  std::string deep = std::string(200, '(') + "1" + std::string(200, ')');
  EXPECT_EQ(inBody("int q = " + deep + ";"), "size");
}

TEST(EditRules, IncludesAndDirectives) {
  EXPECT_EQ(rule(program, {{"includes", "#include <cublas_v2.h>"}}), "include");
  EXPECT_EQ(rule(program, {{"includes", "#include \"cuda_fp16.h\""}}), "include");
  EXPECT_EQ(rule(program, {{"includes", "#include <../../etc/passwd>"}}), "include");
  EXPECT_EQ(rule(program, {{"includes", "int x;"}}), "include");
  EXPECT_EQ(inDecls("#include <cuda_fp16.h>"), "include");
  EXPECT_EQ(inBody("%:include <cuda_fp16.h>"), "include");
  for (const char *line :
       {"#define helper(x) 0", "#undef CHECK", "#if 1", "#line 1 \"x\"", "#pragma once",
        "#pragma clang attribute push", "#error x", "#embed \"x\"", "#"})
    EXPECT_EQ(inDecls(std::string(line) + "\n"), "directive") << line;
  EXPECT_EQ(inDecls("#def\\\nine X 1\n"), "directive");
  EXPECT_EQ(inBody("const char *s = \"\\n#define\"; /* \n#define X\n */"), "");
}

TEST(EditRules, CompilerWords) {
  for (const char *word : {"__DATE__", "__TIME__", "__FILE__", "__LINE__", "__COUNTER__"})
    EXPECT_EQ(inBody(std::string("auto w = ") + word + ";"), "compiler-word") << word;
  EXPECT_EQ(inBody("_Pragma(\"unroll\")"), "compiler-word");
}

TEST(EditRules, InlineAsm) {
  EXPECT_EQ(inBody("asm volatile(\"bar.sync 0;\");"), "inline-asm");
  EXPECT_EQ(inBody("__as\\\nm__(\"bar.sync 0;\");"), "inline-asm");
  EXPECT_EQ(inBody("asm volatile(\"bar.sync 0;\");", {"asm"}), "");
}

TEST(EditRules, Libraries) {
  for (const char *text :
       {"cublasSgemm();", "cudnnCreate(0);", "thrust::sort(out, out);", "cub::WarpReduce<float> w;",
        "cutlass::half_t h;", "dlopen(0, 0);", "curand(0);"})
    EXPECT_EQ(inBody(text), "library") << text;
  EXPECT_EQ(inBody("int cubes = 0, thrusts = cubes;"), "");
}

TEST(EditRules, WhatDoesNotParse) {
  std::optional<Refusal> refusal = judged(program, {{"a1", body("int q = undeclared;")}});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->rule, EditRule::Parse);
  EXPECT_NE(refusal->sentence.find("undeclared"), std::string::npos);
}

TEST(EditRules, KernelsAndLaunches) {
  EXPECT_EQ(inDecls("__global__ void k2(float *x) { *x = 0; }"), "kernels");
  EXPECT_EQ(inDecls("__global__ void k2(float *x) { *x = 0; }", {"launches"}), "");
  EXPECT_EQ(rule(program, {{"launch1", "other<<<1, 32>>>(out);"}}), "launches");
  EXPECT_EQ(rule(program, {{"launch1", ""}}), "launches");
  EXPECT_EQ(rule(program, {{"launch1", "// k"}}), "launches");
  EXPECT_EQ(rule(program, {{"launch1", ""}}, {"launches"}), "");
}

TEST(EditRules, Signatures) {
  std::string two = "float *out, const float *in, int n, int stride";
  EXPECT_EQ(rule(program, {{"parameters", two}}, {"signatures"}), "parse");
  EXPECT_EQ(rule(program,
                 {{"parameters", two},
                  {"launch1", "k<<<1, 256>>>(out, in, n, 1);"},
                  {"launch2", "k<<<1, 256>>>(out, in, n, 1);"}},
                 {"signatures"}),
            "");
}

TEST(EditRules, Outputs) {
  EXPECT_EQ(rule(program, {{"a1", "float x = in[n - 1];"}}), "output");
  EXPECT_EQ(rule(program, {{"a1", ""}}), "output");
}

TEST(EditRules, Declarations) {
  for (const char *text :
       {"extern \"C\" int system(const char *);", "extern \"C\" { int atoi2(const char *); }",
        "int undefined(int);", "using namespace std;", "namespace std { struct Mine {}; }",
        "__device__ float2 operator+(float2 a, float2 b) { return a; }",
        "extern __device__ int elsewhere;"}) {
    std::string name = inDecls(text);
    EXPECT_TRUE(name == "declaration" || name == "mutable-state") << text << ": " << name;
  }
  EXPECT_EQ(inDecls("extern \"C\" int system(const char *);"), "declaration");
  EXPECT_EQ(inDecls("int undefined(int);"), "declaration");
  EXPECT_EQ(inDecls("namespace own { using namespace other_; }"), "parse");
}

TEST(EditRules, RedefinedNames) {
  // 'helper' and 'counted' mean something to code that stays.
  EXPECT_EQ(inDecls("__device__ double helper(double x) { return x; }"), "redefined-name");
  EXPECT_EQ(inDecls("struct counted_ {}; inline int counted(counted_) { return 0; }"),
            "redefined-name");
  EXPECT_EQ(inDecls("struct puts { int x; };"), "redefined-name");
  EXPECT_EQ(inDecls("constexpr int __reserved = 3;"), "redefined-name");
  EXPECT_EQ(inDecls("constexpr int _Reserved = 3;"), "redefined-name");
}

TEST(EditRules, MutableState) {
  for (const char *text :
       {"__device__ int calls;", "static int calls = 0;", "int calls;",
        "const int *calls = nullptr;", "__managed__ int calls;", "thread_local int calls;",
        "struct S { static int calls; };",
        "inline int next() { static int calls; return ++calls; }",
        "__device__ int next() { static int calls; return ++calls; }",
        "template <int N> __device__ int next() { static int calls; return ++calls; }"})
    EXPECT_EQ(inDecls(text), "mutable-state") << text;
  EXPECT_EQ(inBody("static int calls; ++calls;"), "mutable-state");
  EXPECT_EQ(inLaunch("static int calls; ++calls;"), "mutable-state");
  EXPECT_EQ(inDecls("const int size = counted(3);"), "mutable-state");
  EXPECT_EQ(inDecls("const int size = 3; static const float table[] = {1, 2};"), "");
}

TEST(EditRules, ConstantMemory) {
  EXPECT_EQ(inDecls("__constant__ float weights[16];"), "constant-memory");
  EXPECT_EQ(inDecls("__constant__ float weights[16];", {"constant-memory"}), "");
  EXPECT_EQ(rule(program,
                 {{"decls", "__constant__ float weights[16];"},
                  {"launch1", "cudaMemcpyToSymbol(weights, in, 64); k<<<1, 256>>>(out, in, n);"}},
                 {"constant-memory"}),
            "");
  EXPECT_EQ(inLaunch("cudaMemcpyToSymbol(out, in, 64);"), "host-call");
}

TEST(EditRules, Attributes) {
  EXPECT_EQ(inDecls("__attribute__((constructor)) static void early() {}"), "attribute");
  EXPECT_EQ(inDecls("__attribute__((weak)) inline int sizeOf() { return 1; }"), "attribute");
  EXPECT_EQ(inBody("__attribute__((cleanup(0))) int q;"), "parse");
  EXPECT_EQ(inBody("if (n) [[likely]] out[0] = 1;"), "");
}

TEST(EditRules, DeviceCalls) {
  for (const char *text :
       {"printf(\"%d\", n);", "clock64();", "clock();", "__trap();", "malloc(4);",
        "__nanosleep(9);", "__builtin_trap();", "__nvvm_read_ptx_sreg_clock();", "delete new int;",
        "auto f = &__trap; f();"})
    EXPECT_EQ(inBody(text), "device-call") << text;
  EXPECT_EQ(inDecls("template <class T> __device__ void show(T x) { printf(\"%d\", x); }"),
            "device-call");
  EXPECT_EQ(inBody("__builtin_assume(n > 0);"), "");
  EXPECT_EQ(rule("#include <cassert>\n__global__ void k(int *out) { *out = 1; }\nvoid run(int *x) "
                 "{ k<<<1, 1>>>(x); }\n",
                 {{"a1", "assert(threadIdx.x == 0); *out = 1;"}}),
            "device-call");
}

TEST(EditRules, WhatEarlierStepsAddedAndNothingUsesMayGo) {
  const char *original = R"(__global__ void idle(float *out) { *out = 1; }
__global__ void k(float *out) { *out = 2; }
void run(float *out) { k<<<1, 1>>>(out); }
)";
  const std::string now = R"(__global__ void idle(float *out) { *out = 1; }
template <class T> __device__ T stale(T x) { return x; }
__global__ void first(float *out) { *out = stale(*out); }
__device__ float used(float x) { return x; }
__global__ void k(float *out) { *out = used(2); }
void run(float *out) { k<<<1, 1>>>(out); }
)";
  EXPECT_FALSE(judged(now, {{"unused1", ""}, {"unused2", ""}}, {"launches"}, original));
  // One of them is still named by the other one.
  EXPECT_EQ(judged(now, {{"unused1", ""}}, {"launches"}, original)->rule, EditRule::Parse);
  EXPECT_EQ(judged(now, {{"unused2", "int x;"}}, {"launches"}, original)->rule,
            EditRule::OutsideAnchor);
  auto parsed = parse(now);
  GroundingRequest request;
  request.kernel = "k";
  request.original = original;
  auto hasUnused = [&] {
    return llvm::cantFail(ground(*parsed, request)).anchor("unused1") != nullptr;
  };
  EXPECT_FALSE(hasUnused()) << "the pass may not remove kernels";
  const llvm::StringRef allow[] = {"launches"};
  request.allow = allow;
  EXPECT_TRUE(hasUnused());
  request.original = now;
  EXPECT_FALSE(hasUnused()) << "what the user wrote stays";
}

TEST(EditRules, LaunchBoundsWhereThePassMayLaunch) {
  EXPECT_EQ(rule(program, {{"attributes", "__launch_bounds__(128)"}}, {"launches"}), "");
  EXPECT_EQ(rule(program, {{"attributes", "__noinline__"}}, {"launches"}), "attribute");
}

TEST(EditRules, HostCalls) {
  for (const char *text : {"puts(\"hello\");", "cudaMalloc(&out, 4);", "float *t = new float[4];",
                           "abort();", "cudaDeviceSynchronize();", "run(out, in, n);",
                           "cudaMemcpy(out, in, 4, cudaMemcpyDeviceToDevice);"})
    EXPECT_EQ(inLaunch(text), "host-call") << text;
  EXPECT_EQ(inLaunch("float *t; cudaMalloc(&t, 4); cudaFree(t);", {"allocations"}), "");
  EXPECT_EQ(
      inLaunch("cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);"),
      "host-call");
  EXPECT_EQ(inLaunch("cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);",
                     {"function-attributes"}),
            "");
  EXPECT_EQ(inDecls("inline void hello() { puts(\"hello\"); }"), "host-call");
  EXPECT_EQ(inDecls("template <class T> void hello(T) { puts(\"hello\"); }"), "host-call");
  // What the statement called before it may call again; CHECK is a macro of the program.
  EXPECT_EQ(rule(program, {{"launch2", "k<<<counted(n) * 2, 128>>>(out, in, n);"}}), "");
  EXPECT_EQ(rule(program, {{"launch1", "k<<<counted(n) * 2, 128>>>(out, in, n);"}}), "host-call");
  EXPECT_EQ(rule(program, {{"launch2", "CHECK(n); k<<<1, 128>>>(out, in, n);"}}), "");
  EXPECT_EQ(rule(program, {{"launch1", "CHECK(n); k<<<1, 128>>>(out, in, n);"}}), "host-call");
}

TEST(EditRules, SentencesNameTheThing) {
  std::optional<Refusal> refusal = judged(program, {{"decls", "__device__ int calls;"}});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->text(),
            "refused by rule 'mutable-state' in decls: the variable 'calls' outlives a launch and "
            "can change");
}

/// Texts that get past the rules on texts are compared as programs.
TEST(EditRules, WhatStandsOutsideIsCompared) {
  auto before = parse(
      "__global__ void k(float *out) { *out = 1; }\nvoid run(float *x) { k<<<1, 1>>>(x); }\n");
  auto after = parse(
      "__global__ void k(float *out) { *out = 1; }\nvoid ran(float *x) { k<<<1, 1>>>(x); }\n");
  auto refusal = checkProgram(*before, *after, {}, {});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->rule, EditRule::Signature);
  after = parse(
      "__global__ void k(float *out) { *out = 1; } void run(float *x) { k<<<1, 1>>>(x); }\n\n");
  EXPECT_FALSE(checkProgram(*before, *after, {}, {}));
  after = parse(
      "__global__ void k(float *out) { *out = 1;  }\nvoid run(float *x) { k<<<1, 1>>>(x); }\n");
  refusal = checkProgram(*before, *after, {}, {});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->rule, EditRule::OutsideAnchor);
}

} // namespace
