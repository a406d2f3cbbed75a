//===- CudaMemory.h - The arena's addresses on a GPU -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the memory of programs that are recorded on a GPU. It lies in the range
// of addresses that the CPU device's arena has, so that a pointer in the plan
// is told from other numbers in the same way, and the CPU device can put the
// buffers where they were. The larger part of the range is device memory,
// mapped by CUDA's virtual memory management; the rest is memory of the host
// that the device sees at the same addresses.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_CUDAMEMORY_H
#define KBRT_RECORD_CUDAMEMORY_H

#include "AddressSpace.h"
#include "Handles.h"
#include "kbrt/Memory.h"

namespace kbrt {

class CudaMemory {
public:
  /// Where host-visible memory starts.
  static constexpr uint64_t hostBase = arenaBase + arenaBytes - (uint64_t(16) << 30);

  /// Reserves the addresses.
  static std::unique_ptr<CudaMemory> create(cuda::Device::Handles &handles, cuda::Problem &problem);
  /// Null if there is no room; the content is not set.
  void *allocate(uint64_t bytes, bool isHostVisible);
  void free(void *p);
  uint64_t getLiveBytes() const { return liveBytes; }

  static bool isHostVisible(const void *p) {
    return reinterpret_cast<uint64_t>(p) - hostBase < arenaBase + arenaBytes - hostBase;
  }

private:
  CudaMemory(cuda::Device::Handles &handles, uint64_t granularity)
      : h(handles), granularity(granularity), deviceSpace(arenaBase + granularity, hostBase),
        hostSpace(hostBase, arenaBase + arenaBytes) {}

  /// What backs [start, start + bytes): several small buffers or one large one.
  struct Chunk {
    uint64_t bytes = 0, used = 0;
    unsigned buffers = 0;
  };
  struct Placed {
    uint64_t bytes = 0, chunk = 0; ///< `chunk` is its start
  };

  uint64_t placeOnDevice(uint64_t extent);
  uint64_t mapChunk(uint64_t bytes);
  uint64_t placeOnHost(uint64_t extent);

  cuda::Device::Handles &h;
  uint64_t granularity, liveBytes = 0;
  AddressSpace deviceSpace, hostSpace;
  std::map<uint64_t, Chunk> chunks;
  std::map<uint64_t, Placed> live; ///< by the buffer's address
  uint64_t openChunk = 0;          ///< the one that takes small buffers; 0: none
};

} // namespace kbrt

#endif // KBRT_RECORD_CUDAMEMORY_H
