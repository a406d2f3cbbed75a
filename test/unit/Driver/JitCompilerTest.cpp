//===- JitCompilerTest.cpp - NVRTC beside nvcc, with the real compilers ---===//
#include "kb-opt/Eval/JitCompiler.h"
#include "kb-opt/Source/CodeEmission.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

struct JitCompilerTest : testing::Test {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("kb-opt-jit"));
  NvccCompiler nvcc{realProcessRunner(), folder.path().str()};
  JitCompiler jit{nvcc, realProcessRunner(), findProgram("kb-run").value_or(""),
                  folder.path().str(), false};
  ProgramParser parser;

  void SetUp() override {
    if (nvcc.nvcc().empty() || !findProgram("kb-run"))
      GTEST_SKIP() << "needs nvcc and kb-run in PATH";
  }

  ProgramArtefacts program(llvm::StringRef text, std::vector<std::string> flags = {}) {
    std::string path = folder.file("program.cu");
    llvm::cantFail(realFileSystem().write(path, text));
    auto toolkit = llvm::cantFail(findCudaToolkit(ToolkitSearch::fromEnvironment()));
    CommandQuery query;
    query.file = path;
    query.flags = std::move(flags);
    auto command = llvm::cantFail(findCompileCommand(query, toolkit));
    auto parsed = llvm::cantFail(parser.parseFile(command));
    ProgramArtefacts result;
    result.name = result.sourcePath = path;
    result.text = parsed->text().str();
    result.workingDirectory = folder.path().str();
    result.flags = command.nvccFlags;
    result.slice = [slice = deviceSlice(*parsed)] { return slice; };
    return result;
  }
};

constexpr const char scale[] = R"(#include <cstdio>
#include <vector>
#include "factor.h"
#include <cuda_bf16.h>
namespace numbers { template <typename T> __device__ T half(T x) { return x * T(0.5f); } }
struct Options { std::vector<int> host; };
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = numbers::half(x[i]) * FACTOR * factor(x[i]) + (x[i] > 3 ? -INFINITY : FLT_MAX);
}
template <typename T, int N> __global__ void fill(T *x) { x[threadIdx.x] = T(N); }
int main() {
  std::vector<float> values(10);
  fill<float, 4><<<1, 32>>>(nullptr);
  scale<<<1, 32>>>(values.data(), 3);
  printf("%d\n", hostOnly(Options().host));
}
)";

constexpr const char factorHeader[] = R"(#pragma once
#include <cfloat>
#include <cmath>
#include <string>
#include <vector>
#define FACTOR 3
inline std::string unused() { return "host"; }
inline int hostOnly(const std::vector<int> &v) { return int(v.size()); }
__device__ inline float factor(float x) { return x > 0 ? sqrtf(x) : 1.0f; }
)";

TEST_F(JitCompilerTest, SliceKeepsLinesAndWhatKernelsReach) {
  llvm::cantFail(realFileSystem().write(folder.file("factor.h"), factorHeader));
  std::optional<DeviceSlice> slice = program(scale).slice();
  ASSERT_TRUE(slice);
  llvm::StringRef text = slice->text;
  EXPECT_EQ(text.count('\n'), llvm::StringRef(scale).count('\n') + 1);
  EXPECT_TRUE(text.contains("__global__ void scale"));
  EXPECT_TRUE(text.contains("T half(T x)"));
  EXPECT_TRUE(text.contains("#include <cuda_bf16.h>"));
  for (llvm::StringRef host : {"main", "std::", "struct Options", "<cstdio>", "<vector>"})
    EXPECT_FALSE(text.contains(host)) << host.str();
  ASSERT_TRUE(slice->headers.count("factor.h"));
  llvm::StringRef header = slice->headers["factor.h"];
  EXPECT_TRUE(header.contains("#define FACTOR 3"));
  EXPECT_TRUE(header.contains("float factor(float x)"));
  EXPECT_FALSE(header.contains("std::"));
  EXPECT_EQ(slice->instances, std::vector<std::string>{"fill<float, 4>"});
}

TEST_F(JitCompilerTest, GivesNvccsMachineCodeAndIsUsedForCandidates) {
  llvm::cantFail(realFileSystem().write(folder.file("factor.h"), factorHeader));
  ProgramArtefacts original = program(scale, {"-O3", "-use_fast_math", "-Xcompiler", "-Wall"});
  jit.setOriginal(original);
  EXPECT_TRUE(jit.applies()) << jit.refusal().str();
  EXPECT_TRUE(llvm::StringRef(llvm::cantFail(jit.compile(original)).producer).starts_with("nvcc"));
  std::string changed = scale;
  changed.replace(changed.find("x[i] > 3"), 8, "x[i] > 4");
  ProgramArtefacts candidate = program(changed, {"-O3", "-use_fast_math", "-Xcompiler", "-Wall"});
  DeviceCode quick = llvm::cantFail(jit.compile(candidate));
  DeviceCode exact = llvm::cantFail(jit.compileExactly(candidate));
  EXPECT_EQ(quick.producer, "NVRTC");
  EXPECT_TRUE(llvm::StringRef(exact.producer).starts_with("nvcc"));
  ASSERT_EQ(quick.kernels.size(), 2u);
  for (auto &[name, kernel] : exact.kernels) {
    EXPECT_EQ(quick.kernels[name].registers, kernel.registers) << name;
    EXPECT_EQ(quick.kernels[name].spillLoadBytes, kernel.spillLoadBytes) << name;
  }
  EXPECT_EQ(quick.digest, exact.digest);
  EXPECT_TRUE(llvm::StringRef(quick.ptx).contains(".entry _Z5scalePfi"));
}

TEST_F(JitCompilerTest, OtherMachineCodeMeansNvcc) {
  ProgramArtefacts original = program("__global__ void k(float *x) { *x = 1; }\n");
  original.slice = [of = digestOf(original.text)] {
    return DeviceSlice{"__global__ void k(float *x) { *x = 2; }\n", {}, {}, {}, of};
  };
  jit.setOriginal(original);
  EXPECT_FALSE(jit.applies());
  EXPECT_EQ(jit.refusal(), "NVRTC gives other machine code than nvcc");
}

TEST_F(JitCompilerTest, NewSharedMemoryIsForNvcc) {
  jit.setOriginal(program("__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"));
  ASSERT_TRUE(jit.applies()) << jit.refusal().str();
  ProgramArtefacts tiled = program("__global__ void k(float *x) {\n  __shared__ float t[64];\n"
                                   "  t[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
                                   "  x[threadIdx.x] = t[63 - threadIdx.x];\n}\n");
  EXPECT_TRUE(llvm::StringRef(llvm::cantFail(jit.compile(tiled)).producer).starts_with("nvcc"));
}

TEST_F(JitCompilerTest, NewVariablesAreForNvcc) {
  jit.setOriginal(program("__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"));
  ASSERT_TRUE(jit.applies()) << jit.refusal().str();
  ProgramArtefacts counting = program("__device__ int calls;\n__global__ void k(float *x) {\n"
                                      "  atomicAdd(&calls, 1);\n  x[threadIdx.x] = calls;\n}\n");
  EXPECT_TRUE(llvm::StringRef(llvm::cantFail(jit.compile(counting)).producer).starts_with("nvcc"));
  ProgramArtefacts keeping =
      program("__global__ void k(float *x) {\n  auto *kept = static_cast<float *>(malloc(4));\n"
              "  *kept = x[threadIdx.x];\n  x[threadIdx.x] = *kept + 1;\n  free(kept);\n}\n");
  EXPECT_TRUE(llvm::StringRef(llvm::cantFail(jit.compile(keeping)).producer).starts_with("nvcc"));
}

TEST_F(JitCompilerTest, ASliceOfAnotherProgramIsNone) {
  ProgramArtefacts original = program("__global__ void k(float *x) { *x = 1; }\n");
  jit.setOriginal(original);
  ASSERT_TRUE(jit.applies()) << jit.refusal().str();
  ProgramArtefacts candidate = program("__global__ void k(float *x) { *x = 2; }\n");
  candidate.slice = original.slice;
  DeviceCode code = llvm::cantFail(jit.compile(candidate));
  EXPECT_TRUE(llvm::StringRef(code.producer).starts_with("nvcc"));
  EXPECT_NE(code.digest, llvm::cantFail(jit.compile(original)).digest);
}

TEST_F(JitCompilerTest, FlagsThatOnlyNvccHasMeanNvcc) {
  EXPECT_FALSE(nvrtcOptions({"-rdc=true"}));
  EXPECT_FALSE(nvrtcOptions({"-G"}));
  std::vector<std::string> options =
      *nvrtcOptions({"-DA=1", "-std=c++17", "-fmad=false", "-O2", "-lineinfo"});
  for (const char *each : {"-DA=1", "--std=c++17", "--fmad=false", "--generate-line-info"})
    EXPECT_TRUE(llvm::is_contained(options, each)) << each;
}

TEST_F(JitCompilerTest, WhatNvrtcRefusesIsForNvccToSay) {
  jit.setOriginal(program("__global__ void k(float *x) { *x = 1; }\n"));
  ASSERT_TRUE(jit.applies()) << jit.refusal().str();
  ProgramArtefacts broken = program("__global__ void k(float *x) { *x = 2; }\n");
  broken.slice = [of = digestOf(broken.text)] {
    return DeviceSlice{"__global__ void k( {", {}, {}, {}, of};
  };
  EXPECT_TRUE(llvm::StringRef(llvm::cantFail(jit.compile(broken)).producer).starts_with("nvcc"));
}

} // namespace
