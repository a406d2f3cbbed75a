//===- CudaProgram.h - CUDA text to a loaded image, for tests ---*- C++ -*-===//
//
// Owns the way from a .cu file of Inputs/ to a kbrt::Image in this process.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_EVALCPU_CUDAPROGRAM_H
#define KBOPT_TEST_UNIT_EVALCPU_CUDAPROGRAM_H

#include "../SourceDir.h"
#include "kb-opt/Eval/CpuImage.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/CpuRuntime.h"
#include "gtest/gtest.h"

namespace kbopt::test {

/// Compiles of all tests: their processes compile the same files.
inline CompileCache &keptCompiles() {
  static CompileCache cache(CompileCache::Options{userCacheDirectory() + "/compiles"});
  return cache;
}

/// Device bitcode of Inputs/\p file; empty with a failure recorded.
inline std::string compileDevice(const std::string &file,
                                 const std::vector<std::string> &more = {}) {
  llvm::Expected<TemporaryDirectory> directory = TemporaryDirectory::create("kb-evalcpu");
  if (!directory) {
    ADD_FAILURE() << llvm::toString(directory.takeError());
    return "";
  }
  const char *toolkit = getenv("CUDA_PATH");
  std::string root = toolkit ? toolkit : "/usr/local/cuda";
  std::string output = directory->file("device.bc");
  std::string source = sourcePath("test/unit/EvalCpu/Inputs/" + file);
  ProcessRequest request;
  request.argv = {"clang++-22",
                  "-x",
                  "cuda",
                  "--cuda-device-only",
                  "--cuda-gpu-arch=sm_90",
                  "--cuda-path=" + root,
                  "-I" + root + "/include/cccl",
                  "-Wno-unknown-cuda-version",
                  "-std=c++17",
                  "-emit-llvm",
                  "-c",
                  "-O2",
                  "-Xclang",
                  "-disable-llvm-passes",
                  "-g",
                  "-Xclang",
                  "-debug-info-kind=constructor",
                  source};
  request.argv.insert(request.argv.end(), more.begin(), more.end());
  DigestBuilder key;
  key.add(toolIdentity({findProgram(request.argv[0]).value_or(""), root + "/version.json"}));
  for (const std::string &argument : request.argv)
    key.add(argument);
  request.argv.insert(request.argv.end(), {"-o", output});
  llvm::Expected<CompileOutcome> outcome =
      keptCompiles().getOrCompile(key.finish(), [&]() -> llvm::Expected<NewCompile> {
        llvm::Expected<ProcessResult> result = realProcessRunner().run(request);
        if (!result)
          return result.takeError();
        NewCompile made{{result->exitStatus, result->err, {}}, {source}, result->succeeded()};
        if (result->succeeded())
          made.outcome.outputs["bitcode"] = llvm::cantFail(realFileSystem().read(output));
        return made;
      });
  if (!outcome) {
    ADD_FAILURE() << llvm::toString(outcome.takeError());
    return "";
  }
  if (outcome->exitStatus != 0)
    ADD_FAILURE() << outcome->messages;
  return outcome->outputs["bitcode"];
}

/// One program in one mode, loaded.
class CudaProgram {
public:
  explicit CudaProgram(const std::string &file, kbrt::ImageMode mode = kbrt::ImageMode::Plain,
                       const std::vector<std::string> &flags = {})
      : CudaProgram(Bitcode{compileDevice(file, flags)}, mode) {}
  struct Bitcode {
    std::string bytes;
  };
  CudaProgram(const Bitcode &bitcode, kbrt::ImageMode mode, bool splitBarriers = true) {
    directory.emplace(llvm::cantFail(TemporaryDirectory::create("kb-evalcpu")));
    CpuImageOptions options;
    options.mode = mode;
    options.splitBarriers = splitBarriers;
    options.compiles = &keptCompiles();
    std::string path = directory->file("image.so");
    llvm::Expected<CpuImage> result =
        buildCpuImage(bitcode.bytes, options, realProcessRunner(), path);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return;
    }
    built = std::move(*result);
    std::string error;
    image = kbrt::Image::load(path, error);
    EXPECT_TRUE(image) << error;
  }
  ~CudaProgram() {
    image.reset();
    for (void *buffer : buffers)
      kbrt::DeviceMemory::get().free(buffer);
  }

  /// Device memory with \p values in it.
  template <typename T> T *upload(const std::vector<T> &values) {
    auto &memory = kbrt::DeviceMemory::get();
    void *place = memory.allocate(values.size() * sizeof(T));
    buffers.push_back(place);
    memcpy(place, values.data(), values.size() * sizeof(T));
    memory.noteHostWrite(place, values.size() * sizeof(T));
    return static_cast<T *>(place);
  }
  /// Device memory that the host has not written.
  template <typename T> T *allocate(size_t count) {
    buffers.push_back(kbrt::DeviceMemory::get().allocate(count * sizeof(T)));
    return static_cast<T *>(buffers.back());
  }

  template <typename... Args>
  kbrt::LaunchResult launch(const char *kernel, kbrt::Dim3 grid, kbrt::Dim3 block, Args... args) {
    const kbrt::KernelInfo *info = image ? image->findKernel(kernel) : nullptr;
    if (!info) {
      ADD_FAILURE() << "no kernel " << kernel;
      return {};
    }
    void *pointers[] = {&args..., nullptr};
    return kbrt::launch(*image, *info, pointers, grid, block, dynamicSharedBytes, options);
  }
  /// The same, and it must succeed without findings.
  template <typename... Args>
  kbrt::LaunchResult expectRun(const char *kernel, kbrt::Dim3 grid, kbrt::Dim3 block,
                               Args... args) {
    kbrt::LaunchResult result = launch(kernel, grid, block, args...);
    EXPECT_EQ(result.status, kbrt::LaunchStatus::Ok) << kernel << ": " << result.message;
    for (const kbrt::Finding &finding : result.findings)
      ADD_FAILURE() << toText(finding);
    return result;
  }

  CpuImage built;
  std::unique_ptr<kbrt::Image> image;
  kbrt::LaunchOptions options;
  uint64_t dynamicSharedBytes = 0;

private:
  std::optional<TemporaryDirectory> directory;
  std::vector<void *> buffers;
};

} // namespace kbopt::test

#endif // KBOPT_TEST_UNIT_EVALCPU_CUDAPROGRAM_H
