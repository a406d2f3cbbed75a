//===- Allocations.h - Device memory as the program sees it ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what lies where in the arena, its buffer in the plan, and the shadows by
// which host accesses to managed and mapped memory are found out.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_ALLOCATIONS_H
#define KBRT_RECORD_ALLOCATIONS_H

#include "Backend.h"
#include "Sequence.h"
#include "kbrt/Memory.h"
#include <map>
#include <optional>

namespace kbrt {

inline constexpr uint32_t noBuffer = ~uint32_t{0};

/// Objects of the kind \p what that were made at \p moments and are held.
HeldObjects heldAt(std::string what, uint64_t bytes, std::vector<uint64_t> moments);

struct Allocation {
  uint64_t address = 0, bytes = 0;
  BufferKind kind = BufferKind::Device;
  std::string symbol;
  uint32_t buffer = noBuffer; ///< in the plan; given when a device first needs it
  /// The host touches it without calls; `shadow` holds what the plan knows.
  bool hostVisible = false;
  std::vector<uint8_t> shadow;
  /// A device may have written since the host looked; `writers` may have: by stream, the last one.
  bool isUnseen = false;
  StreamClock writers;
  /// What the device has there while the host still sees `shadow`; empty if it sees the same.
  std::vector<uint8_t> hidden;
  unsigned hostFlags = 0;         ///< of cudaHostAlloc
  uint64_t moment = 0;            ///< how many launches came before it
  std::optional<uint32_t> stream; ///< of cudaMallocAsync

  char *data() const { return reinterpret_cast<char *>(address); }
};

class Allocations {
public:
  Allocations(Sequence &sequence, Backend &backend) : sequence(sequence), backend(backend) {}

  /// New memory, or null if there is no room. Pinned memory enters the plan
  /// only when a device sees it (`buffer`).
  /// \p stream: it comes when that stream comes to it.
  Allocation *allocate(uint64_t bytes, BufferKind kind,
                       std::optional<uint32_t> stream = std::nullopt);
  /// False if no allocation of that kind starts at \p p. Any kind but pinned
  /// counts as device memory here. \p stream: it goes when that stream comes to it.
  bool release(void *p, bool pinned, std::optional<uint32_t> stream = std::nullopt);
  void addSymbol(const DeviceVariable &variable);
  /// By the name of the compiler of the host side or of the device side.
  Allocation *symbol(const std::string &name);

  /// Whether \p word may be the address of an allocation; cheap.
  bool mayContain(uint64_t word) const {
    return isDeviceAddress(word) || word - symbolsBegin <= symbolsBytes;
  }
  /// The allocation that contains \p p or ends at it; null if there is none.
  Allocation *find(const void *p);
  /// Whether \p p is device, managed or symbol memory (not pinned).
  bool isDevice(const void *p);
  /// The region at \p p as the plan sees it; nothing unless all of it lies in
  /// one allocation.
  std::optional<Region> region(const void *p, uint64_t width, uint64_t height, uint64_t pitch);
  /// The allocation's buffer in the plan, none if nothing is recorded. Pinned
  /// memory becomes host-visible: its writes by the host are watched, so that
  /// the device memory knows of them, in every mode.
  uint32_t buffer(Allocation &allocation);

  /// Whether there is memory that the host touches without calls.
  bool hasHostVisible() const;
  /// Before the device acts: what the host wrote by itself becomes uploads.
  void flushHostWrites();
  /// After the device acted: the operation that was enqueued last wrote at \p places, and, a
  /// kernel, may have written elsewhere.
  void deviceWrote(const std::vector<uint64_t> &places, bool isKernel = false);
  /// The host has waited: it may look at host-visible memory the device may have written, but for
  /// what it has not waited for. \p stream: it is a function of the host's on that stream.
  void hostMayLook(uint32_t stream = 0);
  /// Everything that is hidden from the host is shown to it.
  void showAll();
  bool hasHidden() const;
  /// What has not been given back.
  std::vector<HeldObjects> held() const;

private:
  void hide(Allocation &allocation);
  /// The device's bytes come back, but for what the host has written; `shadow` stays what it sees.
  void show(Allocation &allocation);
  void watch(Allocation &allocation);
  void flush(Allocation &allocation);

  Sequence &sequence;
  Backend &backend;
  std::map<uint64_t, Allocation> byAddress;
  std::map<std::string, uint64_t> symbols; ///< by name, also without linkage
  /// Variables lie outside the arena where a driver places them. Nothing does at first.
  uint64_t symbolsBegin = ~uint64_t(0), symbolsBytes = 0;
  bool unseenWrites = false;
};

} // namespace kbrt

#endif // KBRT_RECORD_ALLOCATIONS_H
