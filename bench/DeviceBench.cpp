//===- DeviceBench.cpp - The CPU device against plain C++ -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The same loops as kernels of a CPU image, without and with checks and
// counters, and as plain C++ compiled at -O2 by the same clang.
//
//===----------------------------------------------------------------------===//
#include "PlainLoop.h"
#include "kb-opt/Eval/CpuImage.h"
#include "kb-opt/Source/CodeEmission.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/CpuRuntime.h"
#include <benchmark/benchmark.h>

using namespace kbopt;

static const TemporaryDirectory &folder() {
  static const TemporaryDirectory instance =
      llvm::cantFail(TemporaryDirectory::create("kb-opt-bench"));
  return instance;
}

static const std::string &bitcode() {
  static const std::string instance = [] {
    auto toolkit = llvm::cantFail(findCudaToolkit(ToolkitSearch::fromEnvironment()));
    CommandQuery query;
    query.file = KBOPT_SOURCE_DIR "/bench/programs/kernels.cu";
    query.flags.emplace();
    auto command = llvm::cantFail(findCompileCommand(query, toolkit));
    auto text = llvm::cantFail(readSource(command));
    return llvm::cantFail(CodeEmitter(realProcessRunner()).emitDeviceBitcode(command, text));
  }();
  return instance;
}

static kbrt::Image &image(kbrt::ImageMode mode) {
  static std::map<kbrt::ImageMode, std::unique_ptr<kbrt::Image>> images;
  std::unique_ptr<kbrt::Image> &slot = images[mode];
  if (!slot) {
    std::string path = folder().file("image" + std::to_string(static_cast<int>(mode)) + ".so");
    CpuImageOptions options;
    options.mode = mode;
    llvm::cantFail(buildCpuImage(bitcode(), options, realProcessRunner(), path));
    std::string error;
    slot = kbrt::Image::load(path, error);
    if (!slot)
      llvm::report_fatal_error(llvm::StringRef(error));
  }
  return *slot;
}

static float *floats(size_t count) {
  static std::map<size_t, float *> buffers;
  float *&slot = buffers[count];
  if (!slot) {
    slot = static_cast<float *>(kbrt::DeviceMemory::get().allocate(3 * count * sizeof(float)));
    for (size_t i = 0; i < 3 * count; ++i)
      slot[i] = float(i % 127) * 0.5f;
    kbrt::DeviceMemory::get().noteHostWrite(slot, 3 * count * sizeof(float));
  }
  return slot;
}

static void launch(benchmark::State &state, kbrt::ImageMode mode, const char *kernel,
                   std::vector<void *> arguments, kbrt::Dim3 grid, kbrt::Dim3 block) {
  kbrt::Image &loaded = image(mode);
  const kbrt::KernelInfo *info = loaded.findKernel(kernel);
  for (auto _ : state) {
    auto result = kbrt::launch(loaded, *info, arguments.data(), grid, block, 0);
    if (result.status != kbrt::LaunchStatus::Ok)
      state.SkipWithError(result.message.c_str());
  }
}

static constexpr int saxpyCount = 1 << 20, matmulSize = 192, sumCount = 1 << 18;

static void saxpyOnDevice(benchmark::State &state, kbrt::ImageMode mode) {
  int n = saxpyCount;
  float a = 2, *x = floats(saxpyCount), *y = x + saxpyCount;
  launch(state, mode, "saxpy", {&n, &a, &x, &y}, {saxpyCount / 256, 1, 1}, {256, 1, 1});
}
static void matmulOnDevice(benchmark::State &state, kbrt::ImageMode mode) {
  int n = matmulSize;
  float *a = floats(matmulSize * matmulSize), *b = a + n * n, *c = b + n * n;
  launch(state, mode, "matmul", {&n, &a, &b, &c}, {matmulSize / 32, matmulSize / 8, 1}, {32, 8, 1});
}
static void sumOnDevice(benchmark::State &state, kbrt::ImageMode mode) {
  int n = sumCount;
  float *x = floats(sumCount), *out = x + sumCount;
  launch(state, mode, "blockSum", {&n, &x, &out}, {sumCount / 256, 1, 1}, {256, 1, 1});
}
static void warpSumOnDevice(benchmark::State &state, kbrt::ImageMode mode) {
  int n = sumCount;
  float *x = floats(sumCount), *out = x + sumCount;
  launch(state, mode, "warpSum", {&n, &x, &out}, {sumCount / 256, 1, 1}, {256, 1, 1});
}

static void saxpyPlain(benchmark::State &state) {
  float *x = floats(saxpyCount);
  for (auto _ : state)
    plainSaxpy(saxpyCount, 2, x, x + saxpyCount);
}
static void matmulPlain(benchmark::State &state) {
  float *a = floats(matmulSize * matmulSize);
  for (auto _ : state)
    plainMatmul(matmulSize, a, a + matmulSize * matmulSize, a + 2 * matmulSize * matmulSize);
}
static void sumPlain(benchmark::State &state) {
  float *x = floats(sumCount);
  for (auto _ : state)
    plainBlockSum(sumCount, x, x + sumCount);
}
static void warpSumPlain(benchmark::State &state) { sumPlain(state); }

#define ON_DEVICE(name)                                                                            \
  BENCHMARK(name##Plain)->Unit(benchmark::kMicrosecond);                                           \
  BENCHMARK_CAPTURE(name##OnDevice, plain, kbrt::ImageMode::Plain)->Unit(benchmark::kMicrosecond); \
  BENCHMARK_CAPTURE(name##OnDevice, check, kbrt::ImageMode::Check)->Unit(benchmark::kMicrosecond); \
  BENCHMARK_CAPTURE(name##OnDevice, count, kbrt::ImageMode::Count)->Unit(benchmark::kMicrosecond)
ON_DEVICE(saxpy);
ON_DEVICE(matmul);
ON_DEVICE(sum);
ON_DEVICE(warpSum);
BENCHMARK_MAIN();
