//===- HelperKernels.cpp - our own kernels on the device ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HelperKernels.h"

#include <algorithm>
#include <cstring>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

constexpr size_t sharedBytes = 64;
constexpr size_t clockOffset = 16;
constexpr uint64_t holdNanoseconds = 2'000'000'000;
constexpr uint64_t clockNanoseconds = 20'000;

} // namespace

HelperKernels *HelperKernels::of(Device &device, Problem &problem) {
  std::shared_ptr<HelperKernels> &helpers = device.getHandles().helpers;
  if (!helpers)
    helpers = create(device, problem);
  return helpers.get();
}

void kbrt::cuda::warmUp(Device &device) {
  Problem later; // reported when they are needed
  HelperKernels::of(device, later);
}

std::shared_ptr<HelperKernels> HelperKernels::create(Device &device, Problem &problem) {
  std::shared_ptr<HelperKernels> helpers(new HelperKernels(device));
  Device::Handles &h = helpers->h;
  const Driver &driver = *h.driver;
  void *memory = nullptr;
  CUresult code = driver.cuModuleLoadData(&helpers->module, helperPtx().c_str());
  auto get = [&](CUfunction &function, const char *name) {
    if (code == CUDA_SUCCESS)
      code = driver.cuModuleGetFunction(&function, helpers->module, name);
  };
  get(helpers->holdKernel, "kb_hold");
  get(helpers->flushKernel, "kb_flush");
  get(helpers->emptyKernel, "kb_empty");
  get(helpers->hashWords, "kb_hash4");
  get(helpers->hashBytes, "kb_hash1");
  get(helpers->clockKernel, "kb_clock");
  if (code == CUDA_SUCCESS)
    code = driver.cuMemHostAlloc(&memory, sharedBytes, CU_MEMHOSTALLOC_DEVICEMAP);
  if (code == CUDA_SUCCESS) {
    std::memset(memory, 0, sharedBytes);
    helpers->shared = static_cast<volatile uint32_t *>(memory);
    code = driver.cuMemHostGetDevicePointer(&helpers->sharedOnDevice, memory, 0);
  }
  if (code == CUDA_SUCCESS)
    code = driver.cuMemAlloc(&helpers->hashes, hashSlots * sizeof(uint64_t));
  if (code == CUDA_SUCCESS)
    return helpers;
  LaunchStatus status = statusOf(code);
  problem = {status == LaunchStatus::OutOfMemory ? status : LaunchStatus::Environment,
             "kb-run's own kernels do not load: " + describe(driver, code), adviceFor(code)};
  return nullptr;
}

HelperKernels::~HelperKernels() {
  if (h.isLost)
    return;
  if (flushBuffer)
    h.driver->cuMemFree(flushBuffer);
  if (hashes)
    h.driver->cuMemFree(hashes);
  if (shared)
    h.driver->cuMemFreeHost(const_cast<uint32_t *>(shared));
  if (module)
    h.driver->cuModuleUnload(module);
}

void HelperKernels::launch(CUfunction kernel, unsigned blocks, unsigned threads, void **arguments) {
  h.driver->cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, h.stream, arguments, nullptr);
}

void HelperKernels::hold() {
  shared[0] = 0;
  uint64_t limit = holdNanoseconds;
  void *arguments[] = {&sharedOnDevice, &limit};
  launch(holdKernel, 1, 1, arguments);
}

void HelperKernels::release() { shared[0] = 1; }

bool HelperKernels::timedOut() {
  bool result = shared[1];
  shared[1] = 0;
  return result;
}

bool HelperKernels::emptyL2() {
  if (!flushBuffer) {
    flushBytes = std::max<uint64_t>(2 * l2Bytes, 1 << 20) / 16 * 16;
    if (h.driver->cuMemAlloc(&flushBuffer, flushBytes) != CUDA_SUCCESS) {
      flushBuffer = 0;
      return false;
    }
    h.driver->cuMemsetD8Async(flushBuffer, 0, flushBytes, h.stream);
  }
  void *arguments[] = {&flushBuffer, &flushBytes};
  launch(flushKernel, 1024, 256, arguments);
  return true;
}

void HelperKernels::launchEmpty() { launch(emptyKernel, 1, 1, nullptr); }

void HelperKernels::hash(uint64_t address, uint64_t bytes, uint64_t salt, unsigned slot,
                         bool isWords) {
  uint64_t count = isWords ? bytes / 4 : bytes, out = hashes + slot * sizeof(uint64_t);
  if (!count)
    return;
  void *arguments[] = {&address, &count, &salt, &out};
  launch(isWords ? hashWords : hashBytes,
         static_cast<unsigned>(std::min<uint64_t>((count + 255) / 256, 2048)), 256, arguments);
}

uint64_t kbrt::cuda::contentHash(std::string_view bytes, uint64_t salt, bool isWords) {
  size_t step = isWords ? 4 : 1;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size() / step; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + i * step, step);
    uint64_t x = ((i + salt) * 0x9e3779b97f4a7c15) ^ word;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
    sum += x ^ (x >> 32);
  }
  return sum;
}

void HelperKernels::clearHashes() {
  h.driver->cuMemsetD8Async(hashes, 0, hashSlots * sizeof(uint64_t), h.stream);
}

uint64_t HelperKernels::readHash(unsigned slot) {
  uint64_t value = 0;
  h.driver->cuMemcpyDtoHAsync(&value, hashes + slot * sizeof value, sizeof value, h.stream);
  h.driver->cuStreamSynchronize(h.stream);
  return value;
}

void HelperKernels::startClock() {
  CUdeviceptr out = sharedOnDevice + clockOffset;
  uint64_t limit = clockNanoseconds;
  void *arguments[] = {&out, &limit};
  launch(clockKernel, 1, 1, arguments);
}

ClockReading HelperKernels::readClock() const {
  uint64_t words[4];
  for (int i = 0; i < 4; ++i)
    words[i] = reinterpret_cast<const volatile uint64_t *>(
        reinterpret_cast<const volatile char *>(shared) + clockOffset)[i];
  ClockReading reading;
  reading.nanoseconds = words[3];
  if (words[3] > words[1])
    reading.mhz = 1e3 * double(words[2] - words[0]) / double(words[3] - words[1]);
  return reading;
}
