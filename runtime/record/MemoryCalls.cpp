//===- MemoryCalls.cpp - Allocation and memory queries ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Graphs.h"
#include "Registry.h"
#include "Session.h"
#include "Streams.h"

using namespace kbrt;
using cuda::Error;

static Error allocate(Session &session, void **p, uint64_t bytes, BufferKind kind,
                      unsigned flags = 0, std::optional<uint32_t> stream = std::nullopt) {
  if (!p)
    return cuda::invalidValue;
  *p = nullptr;
  if (Error error = Graphs::get().checkAllocation())
    return error;
  if (bytes == 0)
    return cuda::success;
  Allocation *allocation = session.allocations.allocate(bytes, kind, stream);
  if (!allocation)
    return cuda::memoryAllocation;
  allocation->hostFlags = flags;
  *p = allocation->data();
  return cuda::success;
}

static Error release(Session &session, void *p, bool pinned,
                     std::optional<uint32_t> stream = std::nullopt) {
  if (!p)
    return cuda::success;
  if (Error error = Graphs::get().checkAllocation())
    return error;
  session.makeHeldChanges();
  return session.allocations.release(p, pinned, stream) ? cuda::success : cuda::invalidValue;
}

KB_API Error cudaMalloc(void **p, size_t bytes) {
  return apiCall(__func__, [&](Session &s) { return allocate(s, p, bytes, BufferKind::Device); });
}

KB_API Error cudaFree(void *p) {
  return apiCall(__func__, [&](Session &s) {
    // Freeing waits for the device.
    s.sequence.order.hostWaits(std::nullopt);
    s.allocations.hostMayLook();
    return release(s, p, false);
  });
}

/// Memory that belongs to a graph.
static void refuseCaptured(Session &session, cuda::Stream stream) {
  auto id = Streams::get().find(stream);
  if (id && Graphs::get().captures(*id))
    session.stop(Ending::Unsupported,
                 "memory of a captured stream is not supported by the recorder");
}

static Error allocateOn(Session &session, void **p, uint64_t bytes, cuda::Stream stream) {
  refuseCaptured(session, stream);
  auto id = Streams::get().find(stream);
  return id ? allocate(session, p, bytes, BufferKind::Device, 0, id) : cuda::invalidResourceHandle;
}

KB_API Error cudaMallocAsync(void **p, size_t bytes, cuda::Stream stream) {
  return apiCall(__func__, [&](Session &s) { return allocateOn(s, p, bytes, stream); });
}
KB_PER_THREAD(cudaMallocAsync, _ptsz)

KB_API Error cudaMallocFromPoolAsync(void **p, size_t bytes, void *, cuda::Stream stream) {
  return apiCall(__func__, [&](Session &s) { return allocateOn(s, p, bytes, stream); });
}
KB_PER_THREAD(cudaMallocFromPoolAsync, _ptsz)

KB_API Error cudaFreeAsync(void *p, cuda::Stream stream) {
  return apiCall(__func__, [&](Session &s) {
    refuseCaptured(s, stream);
    auto id = Streams::get().find(stream);
    return id ? release(s, p, false, id) : cuda::invalidResourceHandle;
  });
}
KB_PER_THREAD(cudaFreeAsync, _ptsz)

KB_API Error cudaMallocManaged(void **p, size_t bytes, unsigned flags) {
  return apiCall(__func__, [&](Session &s) {
    if (bytes == 0 || (flags != 1 && flags != 2)) // cudaMemAttachGlobal, cudaMemAttachHost
      return Error{cuda::invalidValue};
    return allocate(s, p, bytes, BufferKind::Managed);
  });
}

KB_API Error cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
  return apiCall(__func__, [&](Session &s) {
    constexpr size_t alignment = 512; // texturePitchAlignment's multiple that drivers use
    if (!p || !pitch)
      return Error{cuda::invalidValue};
    *pitch = (width + alignment - 1) / alignment * alignment;
    uint64_t bytes;
    if (__builtin_mul_overflow(*pitch, height, &bytes))
      return Error{cuda::memoryAllocation};
    return allocate(s, p, bytes, BufferKind::Device);
  });
}

KB_API Error cudaHostAlloc(void **p, size_t bytes, unsigned flags) {
  return apiCall(__func__, [&](Session &s) {
    Error error = allocate(s, p, bytes, BufferKind::Pinned, flags);
    constexpr unsigned mapped = 2; // cudaHostAllocMapped
    if (error == cuda::success && (flags & mapped) && *p)
      s.allocations.buffer(*s.allocations.find(*p));
    return error;
  });
}

KB_API Error cudaMallocHost(void **p, size_t bytes) {
  return apiCall(__func__, [&](Session &s) { return allocate(s, p, bytes, BufferKind::Pinned); });
}

KB_API Error cudaFreeHost(void *p) {
  return apiCall(__func__, [&](Session &s) {
    s.sequence.order.hostWaits(std::nullopt);
    s.allocations.hostMayLook();
    return release(s, p, true);
  });
}

KB_API Error cudaHostGetDevicePointer(void **device, void *host, unsigned) {
  return apiCall(__func__, [&](Session &s) {
    Allocation *allocation = s.allocations.find(host);
    if (!device || !allocation || allocation->kind != BufferKind::Pinned)
      return Error{cuda::invalidValue};
    s.allocations.buffer(*allocation);
    *device = host;
    return Error{cuda::success};
  });
}

KB_API Error cudaHostGetFlags(unsigned *flags, void *host) {
  return apiCall(__func__, [&](Session &s) {
    Allocation *allocation = s.allocations.find(host);
    if (!flags || !allocation || allocation->kind != BufferKind::Pinned)
      return Error{cuda::invalidValue};
    *flags = allocation->hostFlags;
    return Error{cuda::success};
  });
}

/// The program's own memory becomes page-locked: copies may be made late from then on. That a
/// kernel uses it through a mapping is refused, because it lies outside the device arena.
KB_API Error cudaHostRegister(void *p, size_t bytes, unsigned flags) {
  return apiCall(__func__, [&](Session &s) {
    constexpr unsigned mapped = 2, ioMemory = 4;
    if (flags & (mapped | ioMemory))
      s.stop(Ending::Unsupported,
             "cudaHostRegister with mapped or I/O memory is not supported by the recorder");
    if (!p || !bytes)
      return Error{cuda::invalidValue};
    return Error{s.registered.add(p, bytes) ? cuda::success : cuda::hostMemoryAlreadyRegistered};
  });
}
KB_API Error cudaHostUnregister(void *p) {
  return apiCall(__func__, [&](Session &s) {
    if (!p)
      return Error{cuda::invalidValue};
    s.sequence.order.hostWaits(std::nullopt); // copies that are under way end before
    return Error{s.registered.remove(p) ? cuda::success : cuda::hostMemoryNotRegistered};
  });
}

KB_API Error cudaMemGetInfo(size_t *freeBytes, size_t *totalBytes) {
  return apiCall(__func__, [&](Session &s) {
    if (!freeBytes || !totalBytes)
      return Error{cuda::invalidValue};
    MemoryAmount memory = s.backend->memory();
    *totalBytes = memory.totalBytes;
    *freeBytes = memory.freeBytes;
    return Error{cuda::success};
  });
}

KB_API Error cudaPointerGetAttributes(cuda::PointerAttributes *attributes, const void *p) {
  return apiCall(__func__, [&](Session &s) {
    if (!attributes)
      return Error{cuda::invalidValue};
    enum { unregistered, host, device, managed };
    Allocation *allocation = s.allocations.find(p);
    auto *address = const_cast<void *>(p);
    if (!allocation && s.registered.contains(p))
      *attributes = {host, 0, nullptr, address};
    else if (!allocation)
      *attributes = {unregistered, -2, nullptr, address};
    else if (allocation->kind == BufferKind::Pinned)
      *attributes = {host, 0, address, address};
    else if (allocation->kind == BufferKind::Managed)
      *attributes = {managed, 0, address, address};
    else
      *attributes = {device, 0, address, nullptr};
    return Error{cuda::success};
  });
}

// Hints and pools: nothing to do on a device whose memory is one heap. The
// signatures differ between CUDA 12 and 13; no argument is read.
KB_API Error cudaMemAdvise() {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}
KB_API Error cudaMemAdvise_v2() { return cudaMemAdvise(); }
KB_API Error cudaMemPrefetchAsync() {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}
KB_PER_THREAD(cudaMemPrefetchAsync, _ptsz)
KB_API Error cudaMemPrefetchAsync_v2() { return cudaMemPrefetchAsync(); }
KB_PER_THREAD(cudaMemPrefetchAsync_v2, _ptsz)

static Error givePool(void **pool) {
  static int token;
  if (!pool)
    return cuda::invalidValue;
  *pool = &token;
  return cuda::success;
}
KB_API Error cudaDeviceGetDefaultMemPool(void **pool, int) {
  return apiCall(__func__, [&](Session &) { return givePool(pool); });
}
KB_API Error cudaDeviceGetMemPool(void **pool, int) {
  return apiCall(__func__, [&](Session &) { return givePool(pool); });
}
KB_API Error cudaMemPoolSetAttribute(void *, int, void *) {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}
/// No pool keeps anything: the release threshold (4) is 0.
KB_API Error cudaMemPoolGetAttribute(void *, int attribute, void *value) {
  constexpr int releaseThreshold = 4;
  return apiCall(__func__, [&](Session &session) {
    if (attribute != releaseThreshold)
      session.stop(Ending::Unsupported, "cudaMemPoolGetAttribute is supported by the recorder for "
                                        "cudaMemPoolAttrReleaseThreshold alone");
    if (!value)
      return Error{cuda::invalidValue};
    *static_cast<uint64_t *>(value) = 0;
    return Error{cuda::success};
  });
}
KB_API Error cudaMemPoolTrimTo(void *, size_t) {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}
