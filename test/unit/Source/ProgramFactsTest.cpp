//===- ProgramFactsTest.cpp - Kernels and launches ------------------------===//
#include "kb-opt/Source/ProgramFacts.h"
#include "SourceTestUtils.h"

using namespace kbopt;
using namespace kbopt::test;

TEST(ProgramFactsTest, PlainKernelAndLaunch) {
  auto program = parse("__global__ void k(float *a, int n) { a[n] = 0; }\n"
                       "void run(float *a) {\n"
                       "  k<<<dim3(4, 2), 128, 16>>>(a, 7);\n"
                       "}\n");
  auto kernels = findKernels(*program);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "k");
  EXPECT_FALSE(kernels[0].isTemplate);
  EXPECT_TRUE(kernels[0].inMainFile);
  ASSERT_EQ(kernels[0].instances.size(), 1u);
  EXPECT_EQ(kernels[0].instances[0].mangledName, "_Z1kPfi");

  auto launches = findLaunches(*program);
  ASSERT_EQ(launches.size(), 1u);
  const LaunchFact &launch = launches[0];
  EXPECT_EQ(launch.kernel, kernels[0].function);
  EXPECT_EQ(launch.kernelUsr, kernels[0].usr);
  EXPECT_EQ(launch.host->getName(), "run");
  EXPECT_EQ(launch.mangledNames, (std::vector<std::string>{"_Z1kPfi"}));
  EXPECT_EQ(sourceText(*program, launch.grid->getSourceRange()), "dim3(4, 2)");
  EXPECT_EQ(sourceText(*program, launch.block->getSourceRange()), "128");
  EXPECT_EQ(sourceText(*program, launch.shared->getSourceRange()), "16");
  EXPECT_EQ(launch.stream, nullptr);
  ASSERT_EQ(launch.arguments.size(), 2u);
  EXPECT_EQ(sourceText(*program, launch.arguments[1]->getSourceRange()), "7");
  EXPECT_EQ(lineColumn(*program, launch.call->getBeginLoc()).line, 3u);
  EXPECT_EQ(lineColumn(*program, launch.call->getBeginLoc()).column, 3u);
  EXPECT_FALSE(launch.byApi);
}

TEST(ProgramFactsTest, TemplatesAreFoundOnce) {
  auto program = parse("template <class T, int N> __global__ void k(T *a) { a[N] = T(); }\n"
                       "template <class T> void run(T *a) { k<T, 4><<<1, 64>>>(a); }\n"
                       "void all(float *f, double *d) {\n"
                       "  run(f);\n"
                       "  run(d);\n"
                       "  k<int, 1><<<1, 1>>>(nullptr);\n"
                       "}\n");
  auto kernels = findKernels(*program);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_TRUE(kernels[0].isTemplate);
  EXPECT_TRUE(kernels[0].function->isDependentContext());
  std::vector<std::string> names;
  for (const auto &instance : kernels[0].instances)
    names.push_back(instance.mangledName);
  EXPECT_EQ(names,
            (std::vector<std::string>{"_Z1kIdLi4EEvPT_", "_Z1kIfLi4EEvPT_", "_Z1kIiLi1EEvPT_"}));
  auto launches = findLaunches(*program);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, kernels[0].function);
  EXPECT_EQ(launches[0].mangledNames.size(), 2u);
  EXPECT_EQ(launches[0].host->getName(), "run");
  EXPECT_TRUE(launches[0].host->isDependentContext());
  EXPECT_EQ(launches[1].mangledNames, (std::vector<std::string>{"_Z1kIiLi1EEvPT_"}));
  EXPECT_EQ(findLaunches(*program, kernels[0].usr).size(), 2u);
  EXPECT_TRUE(findLaunches(*program, "c:@F@other").empty());
}

TEST(ProgramFactsTest, UninstantiatedTemplateHasNoInstance) {
  auto program = parse("template <class T> __global__ void k(T *a) { *a = 0; }\n"
                       "template <class T> void run(T *a) { k<<<1, 1>>>(a); }\n");
  auto kernels = findKernels(*program);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_TRUE(kernels[0].instances.empty());
  auto launches = findLaunches(*program);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].kernel, kernels[0].function);
  EXPECT_TRUE(launches[0].mangledNames.empty());
}

TEST(ProgramFactsTest, LaunchKernelByApi) {
  auto program = parse("__global__ void k(float *a) { *a = 0; }\n"
                       "void run(float *a, cudaStream_t s) {\n"
                       "  void *args[] = {&a};\n"
                       "  cudaLaunchKernel((const void *)k, dim3(2), dim3(64), args, 0, s);\n"
                       "}\n");
  auto launches = findLaunches(*program);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_TRUE(launches[0].byApi);
  EXPECT_EQ(launches[0].kernel, findKernels(*program)[0].function);
  EXPECT_EQ(sourceText(*program, launches[0].block->getSourceRange()), "dim3(64)");
  EXPECT_EQ(sourceText(*program, launches[0].stream->getSourceRange()), "s");
}

TEST(ProgramFactsTest, LaunchThroughAPointerHasNoKernel) {
  auto program = parse("__global__ void k(float *a) { *a = 0; }\n"
                       "void run(float *a) { auto f = k; f<<<1, 1>>>(a); }\n");
  auto launches = findLaunches(*program);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].kernel, nullptr);
  EXPECT_TRUE(launches[0].kernelUsr.empty());
}

TEST(ProgramFactsTest, LaunchInALambdaBelongsToTheFunction) {
  auto program = parse("__global__ void k() {}\n"
                       "void run() { auto go = [] { k<<<1, 1>>>(); }; go(); }\n");
  auto launches = findLaunches(*program);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].host->getName(), "run");
}

TEST(ProgramFactsTest, KernelsInNamespacesAndDeclaredFirst) {
  auto program = parse("namespace a { __global__ void k(int *p); }\n"
                       "void run(int *p) { a::k<<<1, 1>>>(p); }\n"
                       "namespace a { __global__ void k(int *p) { *p = 1; } }\n"
                       "__global__ void declaredOnly(int *p);\n");
  auto kernels = findKernels(*program);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "a::k");
  EXPECT_TRUE(kernels[0].function->doesThisDeclarationHaveABody());
  auto launches = findLaunches(*program);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].kernel, kernels[0].function);
}

TEST(ProgramFactsTest, KernelsInHeadersAreMarked) {
  TemporaryDirectory folder = makeFolder();
  writeFile(folder.file("k.cu"), "#include \"k.cuh\"\nvoid run() { k<<<1, 1>>>(); }\n");
  writeFile(folder.file("k.cuh"), "__global__ void k() {}\n");
  CommandQuery query;
  query.file = folder.file("k.cu");
  query.flags.emplace();
  ProgramParser parser;
  auto program =
      llvm::cantFail(parser.parseFile(llvm::cantFail(findCompileCommand(query, toolkit()))));
  auto kernels = findKernels(*program);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_FALSE(kernels[0].inMainFile);
  EXPECT_EQ(findLaunches(*program)[0].kernel, kernels[0].function);
}

TEST(ProgramFactsTest, MainAndUsrs) {
  auto program = parse("struct S { __device__ int f() { return 1; } };\n"
                       "__global__ void k(int *p) { *p = S().f(); }\n"
                       "int main() {}\n");
  EXPECT_TRUE(hasMain(*program));
  auto kernel = findKernels(*program)[0];
  EXPECT_EQ(findByUsr(*program, kernel.usr), kernel.function);
  EXPECT_EQ(findByUsr(*program, "c:@F@nothing"), nullptr);
  EXPECT_EQ(findByUsr(*program, ""), nullptr);
  EXPECT_FALSE(hasMain(*parse("int helper() { return 0; }\n")));
}

TEST(ProgramFactsTest, NoKernels) {
  auto program = parse("int main() { return 0; }\n");
  EXPECT_TRUE(findKernels(*program).empty());
  EXPECT_TRUE(findLaunches(*program).empty());
}
