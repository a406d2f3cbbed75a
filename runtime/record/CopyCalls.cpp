//===- CopyCalls.cpp - Copies and fills -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Graphs.h"
#include "Registry.h"
#include "Session.h"
#include "Streams.h"

#include <algorithm>
#include <cstring>

using namespace kbrt;
using cuda::CopyKind;
using cuda::Error;

namespace {

struct Copy {
  Rows to, from;
  uint64_t width, height;
  CopyKind kind;
  uint32_t stream = 0;
  bool blocking = true;
};

void moveRows(const Copy &copy) {
  for (uint64_t y = 0; y < copy.height; ++y)
    std::memmove(copy.to.at + y * copy.to.pitch, copy.from.at + y * copy.from.pitch, copy.width);
}

uint64_t addressOf(const Rows &rows) { return reinterpret_cast<uint64_t>(rows.at); }

/// Simulated time of moving \p bytes: a fixed cost and 25 bytes per nanosecond.
void passTime(Session &session, uint64_t bytes) { session.deviceNanoseconds += 2000 + bytes / 25; }

bool kindFits(CopyKind kind, bool toDevice, bool fromDevice) {
  switch (kind) {
  case CopyKind::HostToHost:
    return !toDevice && !fromDevice;
  case CopyKind::HostToDevice:
    return toDevice;
  case CopyKind::DeviceToHost:
    return fromDevice;
  case CopyKind::DeviceToDevice:
    return toDevice && fromDevice;
  case CopyKind::Default:
    return true;
  }
  return false;
}

/// Whether \p copy is made when the device comes to it, and no sooner: \p p is page-locked.
bool isLate(Session &session, const Copy &copy, const void *p) {
  return !copy.blocking && session.isPageLocked(p);
}

/// What the host has done when \p copy returns.
HostPart hostPart(Session &session, const Copy &copy) {
  if (!copy.blocking)
    return HostPart::Enqueues;
  return session.isPageLocked(copy.from.at) ? HostPart::Waits : HostPart::Stages;
}

Error hostToDevice(Session &session, const Copy &copy, const Region &to) {
  auto bytes = std::make_shared<std::vector<char>>();
  Copy later = copy;
  if (session.holdBack(copy.to.at, [&session, bytes, later, to]() mutable {
        later.from = {bytes->data(), later.width};
        hostToDevice(session, later, to);
      })) {
    for (uint64_t y = 0; y < copy.height; ++y)
      bytes->insert(bytes->end(), copy.from.at + y * copy.from.pitch,
                    copy.from.at + y * copy.from.pitch + copy.width);
    return cuda::success;
  }
  const Rows source = session.sequence.replaced(copy.from, copy.width, copy.height);
  session.backend->write(copy.to, source, copy.width, copy.height);
  session.sequence.upload(to, source, copy.height, copy.stream, session.isPageLocked(copy.from.at),
                          hostPart(session, copy));
  // The original's host is taken at its word: its kernels have run on what was there.
  if (session.sequence.mode == Mode::Oracle && isLate(session, copy, copy.from.at))
    session.sequence.order.addCopy(session.sequence.uploadedLate(copy.from, copy.height));
  session.allocations.deviceWrote({addressOf(copy.to)});
  return cuda::success;
}

Error deviceToHost(Session &session, const Copy &copy, const Region &from) {
  session.makeHeldChanges();
  Region region = from;
  if (from.height == 1 && copy.height > 1) // linear in memory, rows for the host
    region = {from.at, copy.width, copy.height, copy.width};
  if (!isLate(session, copy, copy.to.at)) {
    session.sequence.read(region, copy.from.at, copy.to.at, copy.to.pitch, copy.stream,
                          /*implicit=*/false);
    session.sequence.order.hostWaits(copy.stream); // pageable memory has the bytes on return
    return cuda::success;
  }
  auto bytes = std::make_shared<std::vector<char>>(copy.width * copy.height);
  session.sequence.read(region, copy.from.at, bytes->data(), copy.width, copy.stream,
                        /*implicit=*/false, /*asynchronous=*/true);
  session.sequence.order.addCopy([bytes, copy] {
    for (uint64_t y = 0; y < copy.height; ++y)
      std::memcpy(copy.to.at + y * copy.to.pitch, bytes->data() + y * copy.width, copy.width);
  });
  return cuda::success;
}

Error deviceToDevice(Session &session, const Copy &copy, Region to, Region from) {
  if (to.width != from.width || to.height != from.height) {
    to = {to.at, copy.width, copy.height, copy.to.pitch};
    from = {from.at, copy.width, copy.height, copy.from.pitch};
  }
  if (session.holdBack(copy.to.at, [=, &session] { deviceToDevice(session, copy, to, from); }))
    return cuda::success;
  session.sequence.add(CopyStep{to, from, copy.stream});
  session.backend->copy(copy.to, copy.from, copy.width, copy.height);
  session.allocations.deviceWrote({addressOf(copy.to)});
  return cuda::success;
}

Error run(Session &session, const Copy &copy) {
  if (copy.width == 0 || copy.height == 0)
    return cuda::success;
  Graphs &graphs = Graphs::get();
  if (graphs.captures(copy.stream))
    return graphs.add([copy](Session &now, uint32_t stream) {
      Copy on = copy;
      on.stream = stream;
      return run(now, on);
    });
  if (graphs.isCapturing() && copy.stream == 0)
    return cuda::captureImplicit;
  if (!copy.to.at || !copy.from.at || copy.kind > CopyKind::Default || copy.kind < CopyKind{})
    return cuda::invalidValue;
  Allocations &allocations = session.allocations;
  bool toDevice = allocations.isDevice(copy.to.at), fromDevice = allocations.isDevice(copy.from.at);
  if (!kindFits(copy.kind, toDevice, fromDevice))
    return cuda::invalidValue;
  allocations.flushHostWrites();
  std::optional<Region> to, from;
  if (toDevice && !(to = allocations.region(copy.to.at, copy.width, copy.height, copy.to.pitch)))
    return cuda::invalidValue;
  if (fromDevice &&
      !(from = allocations.region(copy.from.at, copy.width, copy.height, copy.from.pitch)))
    return cuda::invalidValue;
  passTime(session, copy.width * copy.height);
  // Functions of the host that come before may read what the copy overwrites, and fill what it
  // takes. Where nothing is executed, late copies come in their turn.
  const bool takesNow =
      to && (!isLate(session, copy, copy.from.at) || session.sequence.mode != Mode::Oracle);
  if (!(to && from) && (takesNow || (from && !isLate(session, copy, copy.to.at))))
    session.makeDueBefore(copy.stream);
  Error error = cuda::success;
  if (to && from)
    error = deviceToDevice(session, copy, *to, *from);
  else if (to)
    error = hostToDevice(session, copy, *to);
  else if (from)
    error = deviceToHost(session, copy, *from);
  else
    moveRows(copy);
  if (copy.blocking) {
    session.sequence.order.hostWaits(copy.stream);
    allocations.hostMayLook();
  }
  return error;
}

Error linear(const char *call, void *to, const void *from, size_t bytes, CopyKind kind,
             cuda::Stream stream = nullptr, bool blocking = true) {
  return apiCall(call, [&](Session &session) {
    auto id = Streams::get().find(stream);
    if (!id)
      return Error{cuda::invalidResourceHandle};
    auto *source = static_cast<char *>(const_cast<void *>(from));
    return run(session,
               {{static_cast<char *>(to), bytes}, {source, bytes}, bytes, 1, kind, *id, blocking});
  });
}

Error pitched(const char *call, void *to, size_t toPitch, const void *from, size_t fromPitch,
              size_t width, size_t height, CopyKind kind, cuda::Stream stream = nullptr,
              bool blocking = true) {
  return apiCall(call, [&](Session &session) {
    auto id = Streams::get().find(stream);
    if (!id)
      return Error{cuda::invalidResourceHandle};
    if (width > toPitch || width > fromPitch)
      return Error{cuda::invalidPitchValue};
    auto *source = static_cast<char *>(const_cast<void *>(from));
    return run(session, {{static_cast<char *>(to), toPitch},
                         {source, fromPitch},
                         width,
                         height,
                         kind,
                         *id,
                         blocking});
  });
}

/// The variable whose host shadow is \p shadow, or null.
Allocation *variable(Session &session, const void *shadow) {
  auto found = Registry::get().variables.find(shadow);
  if (found == Registry::get().variables.end())
    return nullptr;
  session.loadImage();
  return session.allocations.symbol(found->second);
}

Error symbolCopy(const char *call, const void *symbol, void *other, size_t bytes, size_t offset,
                 CopyKind kind, bool toSymbol, cuda::Stream stream = nullptr,
                 bool blocking = true) {
  return apiCall(call, [&](Session &session) {
    auto id = Streams::get().find(stream);
    Allocation *allocation = variable(session, symbol);
    if (!allocation)
      return Error{cuda::invalidSymbol};
    if (!id)
      return Error{cuda::invalidResourceHandle};
    if (offset > allocation->bytes || bytes > allocation->bytes - offset)
      return Error{cuda::invalidValue};
    Rows inside{allocation->data() + offset, bytes}, outside{static_cast<char *>(other), bytes};
    return run(session, {toSymbol ? inside : outside, toSymbol ? outside : inside, bytes, 1, kind,
                         *id, blocking});
  });
}

Error fillOn(Session &session, void *p, uint64_t pitch, int value, uint64_t width, uint64_t height,
             uint32_t stream) {
  session.allocations.flushHostWrites();
  auto region = session.allocations.region(p, width, height, pitch);
  if (!region)
    return cuda::invalidValue;
  passTime(session, width * height);
  if (session.holdBack(p,
                       [=, &session] { fillOn(session, p, pitch, value, width, height, stream); }))
    return cuda::success;
  session.sequence.add(FillStep{*region, static_cast<uint8_t>(value), stream});
  session.backend->fill({static_cast<char *>(p), pitch}, static_cast<uint8_t>(value), width,
                        height);
  session.allocations.deviceWrote({reinterpret_cast<uint64_t>(p)});
  return cuda::success;
}

Error fill(const char *call, void *p, uint64_t pitch, int value, uint64_t width, uint64_t height,
           cuda::Stream stream) {
  return apiCall(call, [&](Session &session) {
    auto id = Streams::get().find(stream);
    if (!id)
      return Error{cuda::invalidResourceHandle};
    if (width == 0 || height == 0)
      return Error{cuda::success};
    if (height > 1 && width > pitch)
      return Error{cuda::invalidValue};
    Graphs &graphs = Graphs::get();
    if (graphs.captures(*id))
      return graphs.add([=](Session &now, uint32_t on) {
        return fillOn(now, p, pitch, value, width, height, on);
      });
    if (graphs.isCapturing() && *id == 0)
      return Error{cuda::captureImplicit};
    return fillOn(session, p, pitch, value, width, height, *id);
  });
}

} // namespace

KB_API Error cudaMemcpy(void *to, const void *from, size_t bytes, CopyKind kind) {
  return linear(__func__, to, from, bytes, kind);
}
KB_PER_THREAD(cudaMemcpy, _ptds)
KB_API Error cudaMemcpyAsync(void *to, const void *from, size_t bytes, CopyKind kind,
                             cuda::Stream stream) {
  return linear(__func__, to, from, bytes, kind, stream, false);
}
KB_PER_THREAD(cudaMemcpyAsync, _ptsz)
KB_API Error cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes) {
  return linear(__func__, to, from, bytes, CopyKind::DeviceToDevice);
}
KB_API Error cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes,
                                 cuda::Stream stream) {
  return linear(__func__, to, from, bytes, CopyKind::DeviceToDevice, stream, false);
}

KB_API Error cudaMemcpy2D(void *to, size_t toPitch, const void *from, size_t fromPitch,
                          size_t width, size_t height, CopyKind kind) {
  return pitched(__func__, to, toPitch, from, fromPitch, width, height, kind);
}
KB_PER_THREAD(cudaMemcpy2D, _ptds)
KB_API Error cudaMemcpy2DAsync(void *to, size_t toPitch, const void *from, size_t fromPitch,
                               size_t width, size_t height, CopyKind kind, cuda::Stream stream) {
  return pitched(__func__, to, toPitch, from, fromPitch, width, height, kind, stream, false);
}
KB_PER_THREAD(cudaMemcpy2DAsync, _ptsz)

KB_API Error cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                                CopyKind kind) {
  return symbolCopy(__func__, symbol, const_cast<void *>(from), bytes, offset, kind, true);
}
KB_PER_THREAD(cudaMemcpyToSymbol, _ptds)
KB_API Error cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                     size_t offset, CopyKind kind, cuda::Stream stream) {
  return symbolCopy(__func__, symbol, const_cast<void *>(from), bytes, offset, kind, true, stream,
                    false);
}
KB_PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz)
KB_API Error cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                  CopyKind kind) {
  return symbolCopy(__func__, symbol, to, bytes, offset, kind, false);
}
KB_PER_THREAD(cudaMemcpyFromSymbol, _ptds)
KB_API Error cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                       CopyKind kind, cuda::Stream stream) {
  return symbolCopy(__func__, symbol, to, bytes, offset, kind, false, stream, false);
}
KB_PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz)

KB_API Error cudaGetSymbolAddress(void **p, const void *symbol) {
  return apiCall(__func__, [&](Session &session) {
    Allocation *allocation = variable(session, symbol);
    if (!p || !allocation)
      return Error{p ? cuda::invalidSymbol : cuda::invalidValue};
    *p = allocation->data();
    return Error{cuda::success};
  });
}
KB_API Error cudaGetSymbolSize(size_t *bytes, const void *symbol) {
  return apiCall(__func__, [&](Session &session) {
    Allocation *allocation = variable(session, symbol);
    if (!bytes || !allocation)
      return Error{bytes ? cuda::invalidSymbol : cuda::invalidValue};
    *bytes = allocation->bytes;
    return Error{cuda::success};
  });
}

KB_API Error cudaMemset(void *p, int value, size_t bytes) {
  return fill(__func__, p, bytes, value, bytes, 1, nullptr);
}
KB_PER_THREAD(cudaMemset, _ptds)
KB_API Error cudaMemsetAsync(void *p, int value, size_t bytes, cuda::Stream stream) {
  return fill(__func__, p, bytes, value, bytes, 1, stream);
}
KB_PER_THREAD(cudaMemsetAsync, _ptsz)
KB_API Error cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height) {
  return fill(__func__, p, pitch, value, width, height, nullptr);
}
KB_PER_THREAD(cudaMemset2D, _ptds)
KB_API Error cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                               cuda::Stream stream) {
  return fill(__func__, p, pitch, value, width, height, stream);
}
KB_PER_THREAD(cudaMemset2DAsync, _ptsz)
