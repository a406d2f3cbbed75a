//===- DeviceBlocks.cpp - device memory that two processes map ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Handles.h"
#include "SlabLayout.h"
#include "kbrt/CudaScreen.h"

#include <cstdint>
#include <fcntl.h>
#include <map>
#include <unistd.h>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

constexpr uint64_t roundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

Problem refusal(const std::string &why) {
  return {LaunchStatus::Environment, "this driver cannot share device memory: " + why,
          "install a newer driver; until then candidates are judged without screening"};
}

CUmemAllocationProp propertiesOf(const Device::Handles &h, bool isShareable) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = h.device;
  if (isShareable)
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

/// What sizes and addresses are multiples of; 0 and \p problem if the driver cannot do it.
uint64_t granularityOf(const Device::Handles &h, Problem &problem) {
  const Driver &driver = *h.driver;
  if (!driver.cuMemGetAllocationGranularity || !driver.cuMemAddressReserve ||
      !driver.cuMemAddressFree || !driver.cuMemCreate || !driver.cuMemRelease || !driver.cuMemMap ||
      !driver.cuMemUnmap || !driver.cuMemSetAccess || !driver.cuMemExportToShareableHandle ||
      !driver.cuMemImportFromShareableHandle) {
    problem = refusal("it has no virtual memory management");
    return 0;
  }
  CUmemAllocationProp properties = propertiesOf(h, /*isShareable=*/true);
  size_t granularity = 0;
  CUresult code = driver.cuMemGetAllocationGranularity(&granularity, &properties,
                                                       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (code == CUDA_SUCCESS && granularity)
    return granularity;
  problem = refusal(describe(driver, code));
  return 0;
}

/// Maps \p handle at \p address of an own reservation.
CUresult mapAt(const Device::Handles &h, uint64_t address, uint64_t bytes,
               CUmemGenericAllocationHandle handle, bool isWritable) {
  CUresult code = h.driver->cuMemMap(address, bytes, 0, handle, 0);
  if (code != CUDA_SUCCESS)
    return code;
  CUmemAccessDesc access = {};
  access.location = propertiesOf(h, false).location;
  access.flags = isWritable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
  code = h.driver->cuMemSetAccess(address, bytes, &access, 1);
  if (code != CUDA_SUCCESS)
    h.driver->cuMemUnmap(address, bytes);
  return code;
}

} // namespace

PlanPlaces PlanPlaces::of(const Plan &plan) {
  PlanPlaces places;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> known; // by place and size in data.bin
  for (const Step &step : plan.steps)
    if (auto *upload = std::get_if<UploadStep>(&step)) {
      const uint64_t bytes = upload->to.bytes();
      auto [entry, isNew] = known.try_emplace({upload->data, bytes}, places.uploadBytes);
      places.uploads.push_back(entry->second);
      places.uploadBytes += isNew ? roundUp(bytes, slabAlignment) : 0;
    } else if (auto *read = std::get_if<ReadStep>(&step)) {
      places.reads.push_back(places.readBytes);
      places.readBytes += roundUp(read->from.bytes(), slabAlignment);
    }
  places.workBytes = roundUp(SlabLayout::of(plan).bytes, slabAlignment);
  return places;
}

uint64_t kbrt::cuda::freeMemory(Device &device) {
  size_t free = 0, total = 0;
  device.getHandles().driver->cuMemGetInfo(&free, &total);
  return free;
}

std::unique_ptr<DeviceBlock> DeviceBlock::create(Device &device, uint64_t bytes, Sharing sharing,
                                                 Problem &problem) {
  Device::Handles &h = device.getHandles();
  const uint64_t granularity = granularityOf(h, problem);
  if (!granularity)
    return nullptr;
  std::unique_ptr<DeviceBlock> block(new DeviceBlock(device));
  const bool isShareable = sharing == Sharing::Shareable;
  int canShare = 0;
  h.driver->cuDeviceGetAttribute(
      &canShare, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, h.device);
  if (isShareable && !canShare) {
    problem = refusal("it gives no file descriptors for it");
    return nullptr;
  }
  const uint64_t size = roundUp(std::max<uint64_t>(bytes, 1), granularity);
  CUmemAllocationProp properties = propertiesOf(h, isShareable);
  CUmemGenericAllocationHandle handle = 0;
  CUresult code = size > device.getFacts().memoryBytes
                      ? CUDA_ERROR_OUT_OF_MEMORY
                      : h.driver->cuMemCreate(&handle, size, &properties, 0);
  if (code == CUDA_SUCCESS) {
    block->handle = handle;
    CUdeviceptr address = 0;
    code = h.driver->cuMemAddressReserve(&address, size, 0, 0, 0);
    if (code == CUDA_SUCCESS) {
      code = mapAt(h, address, size, handle, /*isWritable=*/true);
      if (code == CUDA_SUCCESS) {
        block->start = address;
        block->size = size;
        return block;
      }
      h.driver->cuMemAddressFree(address, size);
    }
    h.driver->cuMemRelease(handle);
    block->handle = 0;
  }
  problem = code == CUDA_ERROR_OUT_OF_MEMORY
                ? Problem{LaunchStatus::OutOfMemory,
                          std::to_string(size >> 20) +
                              " MiB of device memory: " + describe(*h.driver, code),
                          adviceFor(code)}
                : refusal(describe(*h.driver, code));
  return nullptr;
}

DeviceBlock::~DeviceBlock() {
  Device::Handles &h = device.getHandles();
  if (!handle || h.isLost)
    return;
  h.driver->cuMemUnmap(start, size);
  h.driver->cuMemAddressFree(start, size);
  h.driver->cuMemRelease(handle);
}

int DeviceBlock::share(Problem &problem) const {
  Device::Handles &h = device.getHandles();
  int descriptor = -1;
  CUresult code = h.driver->cuMemExportToShareableHandle(
      &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (code != CUDA_SUCCESS || descriptor < 0) {
    problem = refusal(describe(*h.driver, code));
    return -1;
  }
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

/// Waits for what was queued with \p code; \p what names it.
static bool finish(Device::Handles &h, CUresult code, const char *what, Problem &problem) {
  if (code == CUDA_SUCCESS)
    code = h.driver->cuStreamSynchronize(h.stream);
  if (code != CUDA_SUCCESS)
    problem = {LaunchStatus::Environment, std::string(what) + ": " + describe(*h.driver, code),
               adviceFor(code)};
  return code == CUDA_SUCCESS;
}

bool DeviceBlock::write(uint64_t offset, const void *from, uint64_t count, Problem &problem) {
  Device::Handles &h = device.getHandles();
  return finish(
      h, count ? h.driver->cuMemcpyHtoDAsync(start + offset, from, count, h.stream) : CUDA_SUCCESS,
      "an upload", problem);
}

bool DeviceBlock::copy(uint64_t offset, uint64_t from, uint64_t count, Problem &problem) {
  Device::Handles &h = device.getHandles();
  return finish(
      h, count ? h.driver->cuMemcpyDtoDAsync(start + offset, from, count, h.stream) : CUDA_SUCCESS,
      "a copy of results", problem);
}

std::unique_ptr<LentBlocks>
LentBlocks::reserve(Device &device, const std::array<uint64_t, blocks> &bytes, Problem &problem) {
  Device::Handles &h = device.getHandles();
  const uint64_t gap = granularityOf(h, problem);
  if (!gap)
    return nullptr;
  std::unique_ptr<LentBlocks> lent(new LentBlocks(device));
  const uint64_t mostWork =
      roundUp(std::max<uint64_t>(device.getFacts().memoryBytes, bytes[Work]), gap);
  const uint64_t size = gap + bytes[Results] + gap + bytes[Inputs] + gap + mostWork + gap;
  CUdeviceptr start = 0;
  CUresult code = h.driver->cuMemAddressReserve(&start, size, 0, 0, 0);
  if (code != CUDA_SUCCESS) {
    problem = refusal("no addresses for it: " + describe(*h.driver, code));
    return nullptr;
  }
  lent->start = start;
  lent->size = size;
  lent->places[Results].address = start + gap;
  lent->places[Inputs].address = lent->places[Results].address + bytes[Results] + gap;
  lent->places[Work].address = lent->places[Inputs].address + bytes[Inputs] + gap;
  return lent;
}

LentBlocks::~LentBlocks() {
  if (device.getHandles().isLost)
    return;
  for (Block which : {Results, Inputs, Work})
    unmap(which);
  if (start)
    device.getHandles().driver->cuMemAddressFree(start, size);
}

bool LentBlocks::map(Block which, int descriptor, uint64_t bytes, Problem &problem) {
  Device::Handles &h = device.getHandles();
  CUmemGenericAllocationHandle handle = 0;
  CUresult code = h.driver->cuMemImportFromShareableHandle(
      &handle, reinterpret_cast<void *>(static_cast<uintptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (code == CUDA_SUCCESS) {
    code = mapAt(h, places[which].address, bytes, handle, /*isWritable=*/which != Inputs);
    h.driver->cuMemRelease(handle); // the mapping keeps it
  }
  if (code != CUDA_SUCCESS) {
    problem = refusal(describe(*h.driver, code));
    return false;
  }
  places[which].mapped = bytes;
  return true;
}

void LentBlocks::unmap(Block which) {
  Place &place = places[which];
  if (place.mapped)
    device.getHandles().driver->cuMemUnmap(place.address, place.mapped);
  place.mapped = 0;
}
