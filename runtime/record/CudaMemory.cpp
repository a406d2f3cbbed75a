//===- CudaMemory.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CudaMemory.h"

#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

constexpr uint64_t page = DeviceMemory::pageBytes, guard = DeviceMemory::guardBytes;

uint64_t roundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

CUmemAllocationProp propertiesOf(CUdevice device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

} // namespace

std::unique_ptr<CudaMemory> CudaMemory::create(Device::Handles &h, Problem &problem) {
  auto refuse = [&](std::string why) {
    problem = {LaunchStatus::Environment, "cannot record on this device: " + std::move(why),
               "record on the CPU device"};
    return nullptr;
  };
  int usesHostPointers = 0;
  h.driver->cuDeviceGetAttribute(
      &usesHostPointers, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, h.device);
  if (!usesHostPointers)
    return refuse("it cannot use memory of the host at the host's addresses");
  for (bool isThere :
       {h.driver->cuMemGetAllocationGranularity != nullptr,
        h.driver->cuMemAddressReserve != nullptr, h.driver->cuMemCreate != nullptr,
        h.driver->cuMemRelease != nullptr, h.driver->cuMemMap != nullptr,
        h.driver->cuMemUnmap != nullptr, h.driver->cuMemSetAccess != nullptr,
        h.driver->cuMemHostRegister != nullptr, h.driver->cuMemHostUnregister != nullptr})
    if (!isThere)
      return refuse("its driver has no virtual memory management");
  CUmemAllocationProp properties = propertiesOf(h.device);
  size_t granularity = 0;
  CUresult code = h.driver->cuMemGetAllocationGranularity(&granularity, &properties,
                                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (code != CUDA_SUCCESS || granularity % page || !granularity)
    return refuse("it has no virtual memory management: " + describe(*h.driver, code));
  CUdeviceptr reserved = 0;
  code = h.driver->cuMemAddressReserve(&reserved, hostBase - arenaBase, 0, arenaBase, 0);
  if (code != CUDA_SUCCESS || reserved != arenaBase)
    return refuse("the driver does not give the addresses from 0x600000000000 on: " +
                  (code == CUDA_SUCCESS ? "it offers others" : describe(*h.driver, code)));
  constexpr uint64_t hostBytes = arenaBase + arenaBytes - hostBase;
  void *wanted = reinterpret_cast<void *>(hostBase);
  if (mmap(wanted, hostBytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != wanted)
    return refuse("the addresses for memory of the host are taken");
  return std::unique_ptr<CudaMemory>(new CudaMemory(h, granularity));
}

/// Device memory at new addresses; 0 if there is none.
uint64_t CudaMemory::mapChunk(uint64_t bytes) {
  uint64_t start = deviceSpace.take(bytes);
  if (!start)
    return 0;
  CUmemAllocationProp properties = propertiesOf(h.device);
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemGenericAllocationHandle handle = 0;
  bool isMapped = false, isUsable = false;
  if (h.driver->cuMemCreate(&handle, bytes, &properties, 0) == CUDA_SUCCESS) {
    isMapped = h.driver->cuMemMap(start, bytes, 0, handle, 0) == CUDA_SUCCESS;
    isUsable = isMapped && h.driver->cuMemSetAccess(start, bytes, &access, 1) == CUDA_SUCCESS;
    h.driver->cuMemRelease(handle); // the mapping keeps it
  }
  if (isUsable) {
    chunks[start] = {bytes, 0, 0};
    return start;
  }
  if (isMapped)
    h.driver->cuMemUnmap(start, bytes);
  deviceSpace.give(start, bytes);
  return 0;
}

uint64_t CudaMemory::placeOnDevice(uint64_t extent) {
  uint64_t chunk;
  if (extent > granularity / 4) {
    chunk = mapChunk(roundUp(extent, granularity));
  } else {
    if (!openChunk || chunks[openChunk].bytes - chunks[openChunk].used < extent)
      openChunk = mapChunk(granularity);
    chunk = openChunk;
  }
  if (!chunk)
    return 0;
  Chunk &c = chunks[chunk];
  uint64_t start = chunk + c.used;
  c.used += extent;
  ++c.buffers;
  live[start + guard].chunk = chunk;
  return start;
}

uint64_t CudaMemory::placeOnHost(uint64_t extent) {
  uint64_t start = hostSpace.take(extent);
  if (!start)
    return 0;
  void *memory = reinterpret_cast<void *>(start);
  if (mprotect(memory, extent, PROT_READ | PROT_WRITE) == 0 &&
      h.driver->cuMemHostRegister(memory, extent,
                                  CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) ==
          CUDA_SUCCESS)
    return start;
  mprotect(memory, extent, PROT_NONE);
  hostSpace.give(start, extent);
  return 0;
}

void *CudaMemory::allocate(uint64_t bytes, bool isHostVisible) {
  // The CPU device wants the same distances.
  uint64_t extent = roundUp(bytes, page) + 2 * guard;
  if (extent < bytes)
    return nullptr;
  uint64_t start = isHostVisible ? placeOnHost(extent) : placeOnDevice(extent);
  if (!start)
    return nullptr;
  live[start + guard].bytes = bytes;
  liveBytes += bytes;
  return reinterpret_cast<void *>(start + guard);
}

void CudaMemory::free(void *p) {
  auto found = live.find(reinterpret_cast<uint64_t>(p));
  if (found == live.end())
    return;
  Placed placed = found->second;
  live.erase(found);
  liveBytes -= placed.bytes;
  if (isHostVisible(p)) {
    uint64_t extent = roundUp(placed.bytes, page) + 2 * guard;
    void *start = static_cast<char *>(p) - guard;
    h.driver->cuMemHostUnregister(start);
    // A fresh mapping gives the pages back.
    mmap(start, extent, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    hostSpace.give(reinterpret_cast<uint64_t>(start), extent);
    return;
  }
  Chunk &chunk = chunks[placed.chunk];
  if (--chunk.buffers)
    return;
  h.driver->cuMemUnmap(placed.chunk, chunk.bytes);
  deviceSpace.give(placed.chunk, chunk.bytes);
  if (openChunk == placed.chunk)
    openChunk = 0;
  chunks.erase(placed.chunk);
}
