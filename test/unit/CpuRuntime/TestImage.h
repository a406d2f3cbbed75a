//===- TestImage.h - images written by hand ---------------------*- C++ -*-===//
//
// Owns a builder of image tables over ordinary functions that call the device
// ABI as compiled kernels do, so that the runtime is tested without a compiler.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_TESTIMAGE_H
#define KBOPT_TEST_TESTIMAGE_H

#include "kbrt/CpuRuntime.h"
#include "kbrt/DeviceAbi.h"
#include <cstring>
#include <deque>
#include <gtest/gtest.h>

namespace kbrt::test {

class TestImage {
public:
  explicit TestImage(ImageMode mode = ImageMode::Plain) : mode(mode) {}
  ~TestImage() { image.reset(); }

  /// A site at k.cu:`line`; returns its number. Lines are 1 for the first and so on.
  uint32_t site(AccessKind kind, MemorySpace space = MemorySpace::Global, uint32_t bytes = 4,
                const char *array = "a", bool isVolatile = false) {
    auto n = static_cast<uint32_t>(sites.size());
    sites.push_back({kind, space, isVolatile, false, bytes, 0, n + 1, 3, "dir/k.cu", array, ""});
    return n;
  }

  KernelInfo &kernel(const char *name, BodyFunction body,
                     std::vector<uint32_t> parameterBytes = {8}) {
    auto &list = parameters.emplace_back();
    uint32_t offset = 0;
    for (uint32_t bytes : parameterBytes) {
      list.push_back(
          {"p", "float *", "float", offset, bytes, bytes, 4, bytes == 8, 0, 0, 0, nullptr, 0});
      offset += bytes;
    }
    KernelInfo info{};
    info.name = info.displayName = name;
    info.body = body;
    info.countedBody = mode == ImageMode::Count ? body : nullptr;
    info.params = list.data();
    info.paramCount = static_cast<uint32_t>(list.size());
    info.paramBytes = offset;
    info.needsFibers = 1;
    info.file = "dir/k.cu";
    info.line = 1;
    kernels.push_back(info);
    return kernels.back();
  }

  Image &load() {
    if (image)
      return *image;
    info.abiVersion = imageAbiVersion;
    info.mode = mode;
    info.kernels = kernels.data();
    info.kernelCount = static_cast<uint32_t>(kernels.size());
    info.sites = sites.data();
    info.siteCount = static_cast<uint32_t>(sites.size());
    info.variables = variables.data();
    info.variableCount = static_cast<uint32_t>(variables.size());
    info.blocks = blocks.data();
    info.blockCount = static_cast<uint32_t>(blocks.size());
    info.mixes = mixes.data();
    info.mixCount = static_cast<uint32_t>(mixes.size());
    info.branches = branches.data();
    info.branchCount = static_cast<uint32_t>(branches.size());
    info.unsupported = unsupported.data();
    info.unsupportedCount = static_cast<uint32_t>(unsupported.size());
    info.mainFile = "dir/k.cu";
    std::string error;
    image = Image::fromInfo(info, error);
    EXPECT_TRUE(image) << error;
    return *image;
  }

  template <typename... Args>
  LaunchResult launch(const char *name, Dim3 grid, Dim3 block, uint64_t dynamicShared,
                      Args... args) {
    Image &loaded = load();
    const KernelInfo *found = loaded.findKernel(name);
    EXPECT_TRUE(found);
    void *pointers[] = {static_cast<void *>(&args)..., nullptr};
    return kbrt::launch(loaded, *found, pointers, grid, block, dynamicShared, options);
  }

  ImageMode mode;
  ImageInfo info{};
  LaunchOptions options;
  std::vector<KernelInfo> kernels;
  std::vector<SiteInfo> sites;
  std::vector<VariableInfo> variables;
  std::vector<BlockInfo> blocks;
  std::vector<MixInfo> mixes;
  std::vector<BranchInfo> branches;
  std::vector<UnsupportedInfo> unsupported;
  std::deque<std::vector<ParamInfo>> parameters;

private:
  std::unique_ptr<Image> image;
};

/// A buffer in device memory for the lifetime of a test.
template <typename T> class DeviceArray {
public:
  explicit DeviceArray(size_t n, const char *name = "buffer") : n(n) {
    data = static_cast<T *>(DeviceMemory::get().allocate(n * sizeof(T), MemoryKind::Device, name));
    EXPECT_TRUE(data) << DeviceMemory::get().lastError();
  }
  ~DeviceArray() { DeviceMemory::get().free(data); }
  void fill(T value) {
    for (size_t i = 0; i < n; ++i)
      data[i] = value;
    DeviceMemory::get().noteHostWrite(data, n * sizeof(T));
  }
  T *data;
  size_t n;
};

template <typename T> T argument(void **args, unsigned i) { return *static_cast<T *>(args[i]); }

} // namespace kbrt::test
#endif
