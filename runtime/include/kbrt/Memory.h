//===- Memory.h - the device memory of the CPU device -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the arena at a fixed address from which all device memory of a process
// comes, and the registry of what lies where. Owns no shadow state and no
// kernel semantics: see CpuRuntime.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_MEMORY_H
#define KBRT_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kbrt {

/// First address of device memory, the same in every process, so that device
/// pointers stored in device memory or passed as arguments keep their meaning.
inline constexpr uint64_t arenaBase = 0x600000000000;
/// Address space of the arena in bytes (64 GiB, reserved and not committed).
inline constexpr uint64_t arenaBytes = uint64_t(64) << 30;
/// The part at the arena's end that holds `__device__` and `__constant__` variables, placed by
/// name.
inline constexpr uint64_t symbolAreaBytes = uint64_t(8) << 30;

/// True if \p address lies in the device arena, whether or not a buffer is there.
inline bool isDeviceAddress(uint64_t address) { return address - arenaBase < arenaBytes; }
inline bool isDeviceAddress(const void *p) {
  return isDeviceAddress(reinterpret_cast<uint64_t>(p));
}

enum class MemoryKind : uint8_t {
  Device,   ///< cudaMalloc
  Managed,  ///< cudaMallocManaged; the host may touch it too
  Symbol,   ///< a `__device__` variable
  Constant, ///< a `__constant__` variable: a store by a kernel is an error
  Heap,     ///< device-side malloc or new
};
const char *toString(MemoryKind kind);

/// One live allocation.
struct MemoryBuffer {
  uint32_t id = 0;      ///< unique within the process, never reused, from 1
  uint64_t address = 0; ///< of the first usable byte
  uint64_t bytes = 0;   ///< usable bytes (as asked; guard zones not counted)
  MemoryKind kind = MemoryKind::Device;
  std::string name; ///< of the symbol, or what the allocating call passed; may be empty
};

/// The arena and its registry. One per process, because its address is fixed.
/// Not thread-safe by itself: callers hold `DeviceLock` (CpuRuntime.h) or are single-threaded.
///
/// Every buffer has whole pages of its own: a guard zone of `guardBytes` before it, the buffer, and
/// a guard zone of at least `guardBytes` after it. Guard zones hold `guardPattern`; pages between
/// allocations are not accessible.
class DeviceMemory {
public:
  static constexpr uint64_t pageBytes = 4096;
  static constexpr uint64_t guardBytes = 4096;
  static constexpr uint8_t guardPattern = 0xFD;

  /// The process's arena; reserved at the first call. If the address range is taken, every
  /// allocation fails with that reason in lastError().
  static DeviceMemory &get();

  /// The most bytes that may be live at once (default 32 GiB); an allocation beyond fails.
  void setLimitBytes(uint64_t bytes) { limitBytes = bytes; }
  uint64_t getLimitBytes() const { return limitBytes; }
  /// Bytes live now, and the largest ever.
  uint64_t getLiveBytes() const { return liveBytes; }
  uint64_t getPeakBytes() const { return peakBytes; }
  /// How many buffers came or went; a remembered find() holds while it does not change.
  uint64_t getLayoutVersion() const { return layoutVersion; }
  void resetPeak() { peakBytes = liveBytes; }

  /// New memory is filled with this byte (default 0xCB); the bytes count as uninitialised in check
  /// mode.
  void setPoison(uint8_t pattern) { poison = pattern; }
  uint8_t getPoison() const { return poison; }

  /// Allocates \p bytes (0 is taken as 1) aligned to a page. Returns null on failure, see
  /// lastError().
  void *allocate(uint64_t bytes, MemoryKind kind = MemoryKind::Device, std::string_view name = {});
  /// The same at a given address (a plan's), which must be a page boundary inside the arena and
  /// free.
  void *allocateAt(uint64_t address, uint64_t bytes, MemoryKind kind = MemoryKind::Device,
                   std::string_view name = {});
  /// Where the variable \p name goes: depends on the name and size alone unless the place is taken.
  void *allocateSymbol(std::string_view name, uint64_t bytes, MemoryKind kind);
  /// Frees the buffer that starts at \p p; false if none does. Later touches of the range fault.
  bool free(void *p);
  /// Frees everything, the variables of a loaded image included; ids go on.
  void reset();

  /// The live buffer that contains \p address, or null. O(1).
  const MemoryBuffer *find(uint64_t address) const;
  const MemoryBuffer *find(const void *p) const { return find(reinterpret_cast<uint64_t>(p)); }
  /// The live buffer whose guard zones contain \p address, or null.
  const MemoryBuffer *findGuard(uint64_t address) const;
  /// All live buffers in order of allocation.
  std::vector<const MemoryBuffer *> liveBuffers() const;

  /// True if the guard zones of \p buffer still hold their pattern; else \p firstBad gets an
  /// address.
  bool guardsIntact(const MemoryBuffer &buffer, uint64_t *firstBad = nullptr) const;
  /// Rewrites the guard zones of \p buffer.
  void repairGuards(const MemoryBuffer &buffer);

  /// Tells check mode that the host wrote [p, p + bytes). Cheap when no shadow exists.
  void noteHostWrite(const void *p, uint64_t bytes);
  /// Moves or fills bytes in device memory and notes it as a host write. What
  /// is there already is not a change: see getGeneration().
  void write(void *to, const void *from, uint64_t bytes);
  void fill(void *to, uint8_t value, uint64_t bytes);

  /// Grows whenever memory may have changed other than by a kernel: see RepeatedLaunches.h.
  uint64_t getGeneration() const { return generation; }
  void memoryChanged() { ++generation; }

  /// Why the last allocation failed, in lower case without a full stop.
  const std::string &lastError() const { return error; }

private:
  DeviceMemory();
  struct State;
  State *state = nullptr;
  uint64_t limitBytes = uint64_t(32) << 30, liveBytes = 0, peakBytes = 0, generation = 0,
           layoutVersion = 1;
  uint8_t poison = 0xCB;
  std::string error;

  /// \p isFresh: nothing has ever been there.
  void *place(uint64_t dataAddress, uint64_t bytes, MemoryKind kind, std::string_view name,
              bool isFresh = false);
  bool admit(uint64_t bytes);
};

} // namespace kbrt
#endif
