//===- LoadedImage.cpp - machine code on the device -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Execution.h"

using namespace kbrt;
using namespace kbrt::cuda;

LoadedImage::LoadedImage() : module(std::make_unique<Module>()) {}

LoadedImage::~LoadedImage() {
  if (module->handle && !module->h->isLost)
    module->h->driver->cuModuleUnload(module->handle);
}

std::unique_ptr<LoadedImage> LoadedImage::load(Device &device, std::string bytes,
                                               const std::string &path, Problem &problem) {
  if (!checkImage(bytes, path, device.getFacts(), problem))
    return nullptr;
  std::unique_ptr<LoadedImage> image(new LoadedImage);
  image->module->h = &device.getHandles();
  image->module->bytes = std::move(bytes);
  image->module->path = path;
  return image->reload(problem) ? std::move(image) : nullptr;
}

bool LoadedImage::reload(Problem &problem) {
  const Driver &driver = *module->h->driver;
  if (module->handle)
    driver.cuModuleUnload(module->handle);
  module->handle = nullptr;
  module->functions.clear();
  module->symbols.clear();
  char log[8192] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUresult code =
      driver.cuModuleLoadDataEx(&module->handle, module->bytes.c_str(), 2, options, values);
  if (code == CUDA_SUCCESS)
    return true;
  problem = {statusOf(code), module->path + ": does not load: " + describe(driver, code),
             adviceFor(code)};
  if (log[0])
    problem.message += "; " + std::string(log);
  return false;
}

std::optional<KernelFacts> LoadedImage::kernelFacts(const std::string &name) {
  CUfunction function = module->function(name);
  if (!function)
    return std::nullopt;
  auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    module->h->driver->cuFuncGetAttribute(&value, which, function);
    return static_cast<unsigned>(value);
  };
  KernelFacts facts;
  facts.name = name;
  facts.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  facts.localBytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  facts.staticSharedBytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  facts.maxThreads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  facts.binaryVersion = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  return facts;
}

unsigned LoadedImage::blocksPerMultiprocessor(const std::string &name, unsigned threads,
                                              uint64_t sharedBytes) {
  CUfunction function = module->function(name);
  int blocks = 0;
  if (!function || module->h->driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                       &blocks, function, static_cast<int>(threads), sharedBytes) != CUDA_SUCCESS)
    return 0;
  return static_cast<unsigned>(blocks);
}
