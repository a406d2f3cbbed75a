//===- DeviceCalls.cpp - Devices, their properties, versions and limits -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the table of device facts and its two ways out: attributes by number,
// and the structure cudaDeviceProp, whose layout differs between CUDA 12 and 13.
//
//===----------------------------------------------------------------------===//
#include "DeviceFacts.h"
#include "Session.h"
#include "Settings.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

using namespace kbrt;
using cuda::Error;

namespace {

/// Offsets are bytes into cudaDeviceProp, -1 where the structure lacks the field;
/// `attribute` is the cudaDeviceAttr, 0 where there is none. The figures are
/// those of an H200 (compute capability 9.0), units as in CUDA.
struct Fact {
  const char *name;
  int offset12, offset13, bytes, attribute;
  uint64_t value;
};

constexpr int structBytes12 = 1032, structBytes13 = 1008, nameBytes = 256;

Fact facts[] = {
    {"totalGlobalMem", 288, 288, 8, 0, uint64_t{141} << 30},
    {"sharedMemPerBlock", 296, 296, 8, 8, 49152},
    {"regsPerBlock", 304, 304, 4, 12, 65536},
    {"warpSize", 308, 308, 4, 10, 32},
    {"memPitch", 312, 312, 8, 11, 2147483647},
    {"maxThreadsPerBlock", 320, 320, 4, 1, 1024},
    {"maxThreadsDim.x", 324, 324, 4, 2, 1024},
    {"maxThreadsDim.y", 328, 328, 4, 3, 1024},
    {"maxThreadsDim.z", 332, 332, 4, 4, 64},
    {"maxGridSize.x", 336, 336, 4, 5, 2147483647},
    {"maxGridSize.y", 340, 340, 4, 6, 65535},
    {"maxGridSize.z", 344, 344, 4, 7, 65535},
    {"clockRate", 348, -1, 4, 13, 1980000},
    {"totalConstMem", 352, 352, 8, 9, 65536},
    {"major", 360, 360, 4, 75, 9},
    {"minor", 364, 364, 4, 76, 0},
    {"textureAlignment", 368, 368, 8, 14, 512},
    {"texturePitchAlignment", 376, 376, 8, 51, 32},
    {"deviceOverlap", 384, -1, 4, 15, 1},
    {"multiProcessorCount", 388, 384, 4, 16, 132},
    {"kernelExecTimeoutEnabled", 392, -1, 4, 17, 0},
    {"integrated", 396, 388, 4, 18, 0},
    {"canMapHostMemory", 400, 392, 4, 19, 1},
    {"computeMode", 404, -1, 4, 20, 0},
    {"concurrentKernels", 576, 560, 4, 31, 1},
    {"ECCEnabled", 580, 564, 4, 32, 1},
    {"asyncEngineCount", 600, 584, 4, 40, 3},
    {"unifiedAddressing", 604, 588, 4, 41, 1},
    {"memoryClockRate", 608, -1, 4, 36, 3201000},
    {"memoryBusWidth", 612, 592, 4, 37, 6144},
    {"l2CacheSize", 616, 596, 4, 38, 62914560},
    {"persistingL2CacheMaxSize", 620, 600, 4, 108, 39321600},
    {"maxThreadsPerMultiProcessor", 624, 604, 4, 39, 2048},
    {"streamPrioritiesSupported", 628, 608, 4, 78, 1},
    {"globalL1CacheSupported", 632, 612, 4, 79, 1},
    {"localL1CacheSupported", 636, 616, 4, 80, 1},
    {"sharedMemPerMultiprocessor", 640, 624, 8, 81, 233472},
    {"regsPerMultiprocessor", 648, 632, 4, 82, 65536},
    {"managedMemory", 652, 636, 4, 83, 1},
    {"isMultiGpuBoard", 656, 640, 4, 84, 0},
    {"hostNativeAtomicSupported", 664, 648, 4, 86, 0},
    {"singleToDoublePrecisionPerfRatio", 668, -1, 4, 87, 2},
    {"pageableMemoryAccess", 672, 652, 4, 88, 0},
    {"concurrentManagedAccess", 676, 656, 4, 89, 1},
    {"computePreemptionSupported", 680, 660, 4, 90, 1},
    {"canUseHostPointerForRegisteredMem", 684, 664, 4, 91, 0},
    {"cooperativeLaunch", 688, 668, 4, 95, 0},
    {"sharedMemPerBlockOptin", 696, 672, 8, 97, 232448},
    {"hostRegisterSupported", 728, 704, 4, 99, 1},
    {"pageableMemoryAccessUsesHostPageTables", 704, 680, 4, 100, 0},
    {"directManagedMemAccessFromHost", 708, 684, 4, 101, 0},
    {"maxBlocksPerMultiProcessor", 712, 688, 4, 106, 32},
    {"accessPolicyMaxWindowSize", 716, 692, 4, 109, 134213632},
    {"reservedSharedMemPerBlock", 720, 696, 8, 111, 1024},
    {"memoryPoolsSupported", 744, 720, 4, 115, 1},
    {"clusterLaunch", 772, 748, 4, 120, 0},
    // No field: what there was to allocate on a recorded GPU.
    {"memoryLimit", -1, -1, 8, 0, 0},
    // No field: of every kernel, where another compiler stands behind it.
    {"kernelRegisters", -1, -1, 4, 0, 0},
};

/// What the recorder has or lacks on every device; not a GPU's to say.
constexpr std::string_view ownFacts[] = {"isMultiGpuBoard",
                                         "pageableMemoryAccess",
                                         "concurrentManagedAccess",
                                         "canUseHostPointerForRegisteredMem",
                                         "cooperativeLaunch",
                                         "clusterLaunch",
                                         "pageableMemoryAccessUsesHostPageTables",
                                         "directManagedMemAccessFromHost",
                                         "hostNativeAtomicSupported"};

// Made at their first use: a constructor of the library begins the record.
std::string &deviceName() {
  static std::string name = "NVIDIA H200";
  return name;
}

Fact *findFact(std::string_view name) {
  for (Fact &fact : facts)
    if (name == fact.name)
      return &fact;
  return nullptr;
}

/// Entries "name=value", separated by semicolons.
void apply(std::string_view rest) {
  while (!rest.empty()) {
    std::string entry(rest.substr(0, rest.find(';')));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    size_t equals = entry.find('=');
    if (equals == std::string::npos)
      continue;
    std::string name = entry.substr(0, equals), value = entry.substr(equals + 1);
    if (name == "name")
      deviceName() = value.substr(0, nameBytes - 1);
    else if (Fact *fact = findFact(name))
      fact->value = std::strtoull(value.c_str(), nullptr, 10);
  }
}

/// Of the file beside the plan.
std::string &recordedFacts() {
  static std::string facts;
  return facts;
}
bool isGpu = false;

/// Asks the GPU, if there is one.
void askDevice(Backend &backend) {
  std::string name = backend.deviceName();
  isGpu = !name.empty();
  if (!isGpu)
    return;
  deviceName() = name.substr(0, nameBytes - 1);
  for (Fact &fact : facts)
    if (fact.attribute &&
        std::find(std::begin(ownFacts), std::end(ownFacts), fact.name) == std::end(ownFacts))
      if (auto value = backend.attribute(fact.attribute))
        fact.value = *value;
  MemoryAmount memory = backend.memory();
  findFact("totalGlobalMem")->value = memory.totalBytes;
  findFact("memoryLimit")->value = memory.freeBytes;
}

Error fillProperties(void *properties, int device, bool cuda13) {
  if (!properties)
    return cuda::invalidValue;
  if (device != 0)
    return cuda::invalidDevice;
  auto *bytes = static_cast<char *>(properties);
  std::memset(bytes, 0, cuda13 ? structBytes13 : structBytes12);
  std::memcpy(bytes, deviceName().c_str(), deviceName().size());
  for (const Fact &fact : facts) {
    int offset = cuda13 ? fact.offset13 : fact.offset12;
    if (offset >= 0)
      std::memcpy(bytes + offset, &fact.value, static_cast<size_t>(fact.bytes)); // little endian
  }
  return cuda::success;
}

Error succeed(const char *call) {
  return apiCall(call, [](Session &) { return Error{cuda::success}; });
}

Error give(const char *call, int *target, int value) {
  return apiCall(call, [&](Session &) {
    if (!target)
      return Error{cuda::invalidValue};
    *target = value;
    return Error{cuda::success};
  });
}

} // namespace

/// The environment has the last word.
void kbrt::settleFacts() {
  static bool done = [] {
    askDevice(*Session::get().backend);
    apply(recordedFacts());
    apply(recorderSetting("DEVICE"));
    return true;
  }();
  (void)done;
}

uint64_t kbrt::deviceFact(std::string_view name) {
  settleFacts();
  Fact *fact = findFact(name);
  return fact ? fact->value : 0;
}

std::string kbrt::factsOfGpu() {
  if (!isGpu)
    return "";
  std::string text = "name=" + deviceName() + ';';
  for (const Fact &fact : facts)
    text += fact.name + ('=' + std::to_string(fact.value)) + ';';
  return text;
}

void kbrt::setRecordedFacts(const std::string &facts) { recordedFacts() = facts; }

/// CUDA 13's name; in CUDA 12's headers it is a macro for the `_v2` form.
KB_API Error cudaGetDeviceProperties(void *properties, int device) {
  return apiCall(__func__, [&](Session &) { return fillProperties(properties, device, true); });
}
KB_API Error cudaGetDeviceProperties_v2(void *properties, int device) {
  return apiCall(__func__, [&](Session &) { return fillProperties(properties, device, false); });
}

KB_API Error cudaDeviceGetAttribute(int *value, int attribute, int device) {
  return apiCall(__func__, [&](Session &) {
    if (!value || attribute <= 0)
      return Error{cuda::invalidValue};
    if (device != 0)
      return Error{cuda::invalidDevice};
    *value = 0;
    for (const Fact &fact : facts)
      if (fact.attribute == attribute)
        *value = static_cast<int>(fact.value);
    return Error{cuda::success};
  });
}

KB_API Error cudaGetDeviceCount(int *count) { return give(__func__, count, 1); }
KB_API Error cudaGetDevice(int *device) { return give(__func__, device, 0); }
KB_API Error cudaRuntimeGetVersion(int *version) { return give(__func__, version, 13000); }
KB_API Error cudaDriverGetVersion(int *version) { return give(__func__, version, 13000); }
KB_API Error cudaGetDeviceFlags(unsigned *flags) {
  return give(__func__, reinterpret_cast<int *>(flags), 0);
}
KB_API Error cudaDeviceCanAccessPeer(int *can, int, int) { return give(__func__, can, 0); }
KB_API Error cudaDeviceGetCacheConfig(int *config) { return give(__func__, config, 0); }
KB_API Error cudaDeviceGetSharedMemConfig(int *config) { return give(__func__, config, 1); }

KB_API Error cudaSetDevice(int device) {
  return apiCall(__func__, [&](Session &) {
    return Error{device == 0 ? cuda::success : cuda::invalidDevice};
  });
}
KB_API Error cudaInitDevice(int device, unsigned, unsigned) {
  return apiCall(__func__, [&](Session &) {
    return Error{device == 0 ? cuda::success : cuda::invalidDevice};
  });
}
KB_API Error cudaChooseDevice(int *device, const void *) { return give(__func__, device, 0); }
KB_API Error cudaDeviceEnablePeerAccess(int, unsigned) {
  return apiCall(__func__, [](Session &) { return Error{cuda::peerAccessUnsupported}; });
}
KB_API Error cudaDeviceDisablePeerAccess(int) {
  return apiCall(__func__, [](Session &) { return Error{cuda::peerAccessNotEnabled}; });
}

KB_API Error cudaSetDeviceFlags(unsigned) { return succeed(__func__); }
KB_API Error cudaDeviceSetCacheConfig(int) { return succeed(__func__); }
KB_API Error cudaDeviceSetSharedMemConfig(int) { return succeed(__func__); }
KB_API Error cudaDeviceSetLimit(int limit, size_t value) {
  return apiCall(__func__, [&](Session &session) {
    session.backend->setLimit(limit, value);
    return Error{cuda::success};
  });
}
KB_API Error cudaCtxResetPersistingL2Cache() { return succeed(__func__); }
KB_API Error cudaProfilerStart() { return succeed(__func__); }
KB_API Error cudaProfilerStop() { return succeed(__func__); }

KB_API Error cudaDeviceGetLimit(size_t *value, int limit) {
  return apiCall(__func__, [&](Session &) {
    enum { stackSize, printfFifo, mallocHeap };
    if (!value)
      return Error{cuda::invalidValue};
    *value = limit == stackSize ? 1024 : limit == printfFifo ? 1 << 20 : 8 << 20;
    return Error{cuda::success};
  });
}

/// Waits; the memory stays, because programs call it last.
KB_API Error cudaDeviceReset() {
  return apiCall(__func__, [](Session &session) {
    session.sequence.add(SyncStep{});
    session.sequence.order.hostWaits(std::nullopt);
    session.allocations.hostMayLook();
    return Error{cuda::success};
  });
}

KB_API Error cudaDeviceGetPCIBusId(char *id, int bytes, int device) {
  return apiCall(__func__, [&](Session &) {
    constexpr const char text[] = "0000:01:00.0";
    if (!id || bytes < static_cast<int>(sizeof text) || device != 0)
      return Error{cuda::invalidValue};
    std::memcpy(id, text, sizeof text);
    return Error{cuda::success};
  });
}
