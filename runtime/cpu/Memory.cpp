//===- Memory.cpp - the arena and its registry ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the address space of device memory: a page table from pages to buffers,
// so that a lookup is one load, and guard zones that are whole pages.
//
//===----------------------------------------------------------------------===//
#include "kbrt/Memory.h"
#include "Shadow.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace kbrt {

const char *toString(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::Device:
    return "device";
  case MemoryKind::Managed:
    return "managed";
  case MemoryKind::Symbol:
    return "symbol";
  case MemoryKind::Constant:
    return "constant";
  case MemoryKind::Heap:
    return "heap";
  }
  return "?";
}

namespace {
constexpr uint64_t page = DeviceMemory::pageBytes, guard = DeviceMemory::guardBytes;
constexpr uint64_t symbolArea = arenaBase + arenaBytes - symbolAreaBytes;
constexpr uint64_t pageCount = arenaBytes / page;

uint64_t roundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }
uint64_t pagesOf(uint64_t bytes) { return roundUp(bytes, page) + 2 * guard; }

/// FNV-1a with a final mix: the place of a symbol must not depend on the library or compiler.
uint64_t hashName(std::string_view name) {
  uint64_t h = 1469598103934665603ull;
  for (unsigned char c : name)
    h = (h ^ c) * 1099511628211ull;
  h ^= h >> 29;
  return h * 0xbf58476d1ce4e5b9ull;
}

bool allEqual(const uint8_t *p, uint64_t bytes, uint8_t value, uint64_t *firstBad) {
  // Equal to itself one byte on: the library's comparison is faster than a loop that may stop.
  if (!bytes || (*p == value && memcmp(p, p + 1, bytes - 1) == 0))
    return true;
  for (uint64_t i = 0; i < bytes; ++i)
    if (p[i] != value) {
      if (firstBad)
        *firstBad = reinterpret_cast<uint64_t>(p + i);
      return false;
    }
  return true;
}
} // namespace

struct DeviceMemory::State {
  uint32_t *pages = nullptr;            ///< id of the buffer that owns the page, 0 for none
  std::deque<MemoryBuffer> buffers;     ///< by id - firstId; freed ones have bytes 0
  std::map<uint64_t, uint32_t> live;    ///< data address → id
  std::map<uint64_t, uint64_t> holes;   ///< freed ranges: start → bytes, merged
  uint64_t top = arenaBase + (1 << 20); ///< everything from here to the symbol area is fresh
  uint64_t used = 0;                    ///< what lies behind has never been touched
  std::string unusable;

  MemoryBuffer &byId(uint32_t id) { return buffers[id - 1]; }
};

DeviceMemory &DeviceMemory::get() {
  static DeviceMemory memory;
  return memory;
}

DeviceMemory::DeviceMemory() : state(new State) {
  void *want = reinterpret_cast<void *>(arenaBase);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void *got = mmap(want, arenaBytes, PROT_NONE, flags, -1, 0);
  if (got != want) {
    state->unusable = std::string("cannot reserve the device arena at 0x600000000000: ") +
                      (got == MAP_FAILED ? strerror(errno) : "the kernel chose another address");
    return;
  }
  void *table = mmap(nullptr, pageCount * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED)
    state->unusable =
        std::string("cannot map the page table of the device arena: ") + strerror(errno);
  else
    state->pages = static_cast<uint32_t *>(table);
}

bool DeviceMemory::admit(uint64_t bytes) {
  if (!state->unusable.empty()) {
    error = state->unusable;
    return false;
  }
  if (bytes > limitBytes || liveBytes + bytes > limitBytes) {
    error = "the program allocates too much: " + std::to_string(liveBytes) + " bytes are in use, " +
            std::to_string(bytes) + " more were asked for and the limit is " +
            std::to_string(limitBytes);
    return false;
  }
  return true;
}

void *DeviceMemory::place(uint64_t address, uint64_t bytes, MemoryKind kind, std::string_view name,
                          bool isFresh) {
  uint64_t start = address - guard, extent = pagesOf(bytes);
  if (start < symbolArea)
    state->used = std::max(state->used, start + extent);
  if (mprotect(reinterpret_cast<void *>(start), extent, PROT_READ | PROT_WRITE) != 0) {
    error = std::string("cannot commit device memory: ") + strerror(errno);
    return nullptr;
  }
  memoryChanged();
  MemoryBuffer buffer;
  buffer.id = static_cast<uint32_t>(state->buffers.size() + 1);
  buffer.address = address;
  buffer.bytes = bytes;
  buffer.kind = kind;
  buffer.name = name;
  state->buffers.push_back(buffer);
  state->live[address] = buffer.id;
  std::fill_n(state->pages + (start - arenaBase) / page, extent / page, buffer.id);
  liveBytes += bytes;
  ++layoutVersion;
  peakBytes = std::max(peakBytes, liveBytes);
  if (poison || !isFresh) // the kernel's pages are zero, and come when they are touched
    memset(reinterpret_cast<void *>(address), poison, bytes);
  repairGuards(buffer);
  shadow::onAllocate(address, bytes, kind == MemoryKind::Managed);
  return reinterpret_cast<void *>(address);
}

void *DeviceMemory::allocate(uint64_t bytes, MemoryKind kind, std::string_view name) {
  bytes = std::max<uint64_t>(bytes, 1);
  if (!admit(bytes))
    return nullptr;
  uint64_t extent = pagesOf(bytes), start = 0;
  // Fresh addresses first, so that a stale pointer faults instead of hitting a new buffer.
  if (state->top + extent <= symbolArea) {
    start = state->top;
    state->top += extent;
  } else {
    for (auto it = state->holes.begin(); it != state->holes.end(); ++it)
      if (it->second >= extent) {
        start = it->first;
        uint64_t rest = it->second - extent;
        state->holes.erase(it);
        if (rest)
          state->holes[start + extent] = rest;
        break;
      }
    if (!start) {
      error = "the device arena has no room for " + std::to_string(bytes) + " bytes in one piece";
      return nullptr;
    }
  }
  return place(start + guard, bytes, kind, name, start >= state->used);
}

void *DeviceMemory::allocateAt(uint64_t address, uint64_t bytes, MemoryKind kind,
                               std::string_view name) {
  bytes = std::max<uint64_t>(bytes, 1);
  uint64_t start = address - guard, end = start + pagesOf(bytes);
  if (address % page || address < arenaBase + guard || end > arenaBase + arenaBytes ||
      end < start) {
    error = "a buffer of the plan does not lie in the device arena";
    return nullptr;
  }
  if (!admit(bytes))
    return nullptr;
  for (uint64_t p = start; p < end; p += page)
    if (state->pages[(p - arenaBase) / page]) {
      error = "two buffers of the plan overlap";
      return nullptr;
    }
  if (end <= symbolArea && end > state->top) {
    if (start > state->top)
      state->holes[state->top] = start - state->top;
    state->top = end;
  } else if (end <= symbolArea) {
    // Take the range out of the hole that has it.
    auto it = state->holes.upper_bound(start);
    if (it != state->holes.begin()) {
      auto [holeStart, holeBytes] = *--it;
      if (holeStart + holeBytes > start) {
        state->holes.erase(it);
        if (start > holeStart)
          state->holes[holeStart] = start - holeStart;
        if (holeStart + holeBytes > end)
          state->holes[end] = holeStart + holeBytes - end;
      }
    }
  }
  return place(address, bytes, kind, name);
}

void *DeviceMemory::allocateSymbol(std::string_view name, uint64_t bytes, MemoryKind kind) {
  bytes = std::max<uint64_t>(bytes, 1);
  if (!admit(bytes))
    return nullptr;
  uint64_t extent = pagesOf(bytes), slots = (symbolAreaBytes - extent) / page;
  uint64_t slot = hashName(name) % slots;
  for (unsigned attempt = 0; attempt < 4096; ++attempt) {
    uint64_t start = symbolArea + slot * page;
    bool isFree = true;
    for (uint64_t p = 0; p < extent && isFree; p += page)
      isFree = state->pages[(start + p - arenaBase) / page] == 0;
    if (isFree)
      return place(start + guard, bytes, kind, name);
    slot = (slot + extent / page) % slots;
  }
  error = "no room for the variable " + std::string(name);
  return nullptr;
}

bool DeviceMemory::free(void *p) {
  auto it = state->live.find(reinterpret_cast<uint64_t>(p));
  if (it == state->live.end())
    return false;
  memoryChanged();
  MemoryBuffer &buffer = state->byId(it->second);
  uint64_t start = buffer.address - guard, extent = pagesOf(buffer.bytes);
  shadow::onFree(buffer.address, buffer.bytes);
  // A fresh mapping gives the pages back and makes stale pointers fault.
  mmap(reinterpret_cast<void *>(start), extent, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  std::fill_n(state->pages + (start - arenaBase) / page, extent / page, 0u);
  liveBytes -= buffer.bytes;
  ++layoutVersion;
  buffer.bytes = 0;
  state->live.erase(it);
  if (start >= symbolArea)
    return true;
  auto next = state->holes.lower_bound(start);
  if (next != state->holes.end() && next->first == start + extent) {
    extent += next->second;
    next = state->holes.erase(next);
  }
  if (next != state->holes.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == start) {
      previous->second += extent;
      return true;
    }
  }
  state->holes[start] = extent;
  return true;
}

void DeviceMemory::reset() {
  while (!state->live.empty())
    free(reinterpret_cast<void *>(state->live.begin()->first));
  state->holes.clear();
  state->top = arenaBase + (1 << 20);
  peakBytes = 0;
  error.clear();
}

const MemoryBuffer *DeviceMemory::find(uint64_t address) const {
  if (!isDeviceAddress(address) || !state->pages)
    return nullptr;
  uint32_t id = state->pages[(address - arenaBase) / page];
  if (!id)
    return nullptr;
  const MemoryBuffer &buffer = state->byId(id);
  return address - buffer.address < buffer.bytes ? &buffer : nullptr;
}

const MemoryBuffer *DeviceMemory::findGuard(uint64_t address) const {
  if (!isDeviceAddress(address) || !state->pages)
    return nullptr;
  uint32_t id = state->pages[(address - arenaBase) / page];
  if (!id)
    return nullptr;
  const MemoryBuffer &buffer = state->byId(id);
  return address - buffer.address < buffer.bytes ? nullptr : &buffer;
}

std::vector<const MemoryBuffer *> DeviceMemory::liveBuffers() const {
  std::vector<const MemoryBuffer *> result;
  for (auto &[address, id] : state->live)
    result.push_back(&state->byId(id));
  std::sort(result.begin(), result.end(),
            [](const MemoryBuffer *a, const MemoryBuffer *b) { return a->id < b->id; });
  return result;
}

bool DeviceMemory::guardsIntact(const MemoryBuffer &buffer, uint64_t *firstBad) const {
  auto *before = reinterpret_cast<const uint8_t *>(buffer.address - guard);
  auto *after = reinterpret_cast<const uint8_t *>(buffer.address + buffer.bytes);
  uint64_t tail = roundUp(buffer.bytes, page) - buffer.bytes + guard;
  return allEqual(after, tail, guardPattern, firstBad) &&
         allEqual(before, guard, guardPattern, firstBad);
}

void DeviceMemory::repairGuards(const MemoryBuffer &buffer) {
  memset(reinterpret_cast<void *>(buffer.address - guard), guardPattern, guard);
  uint64_t tail = roundUp(buffer.bytes, page) - buffer.bytes + guard;
  memset(reinterpret_cast<void *>(buffer.address + buffer.bytes), guardPattern, tail);
}

void DeviceMemory::noteHostWrite(const void *p, uint64_t bytes) {
  memoryChanged();
  shadow::onHostWrite(reinterpret_cast<uint64_t>(p), bytes);
}

void DeviceMemory::write(void *to, const void *from, uint64_t bytes) {
  if (bytes && std::memcmp(to, from, bytes) != 0) {
    std::memmove(to, from, bytes);
    memoryChanged();
  }
  shadow::onHostWrite(reinterpret_cast<uint64_t>(to), bytes);
}

void DeviceMemory::fill(void *to, uint8_t value, uint64_t bytes) {
  const auto *first = static_cast<const uint8_t *>(to);
  // All bytes hold the value if the first one does and each equals the next.
  if (bytes && (first[0] != value || std::memcmp(first, first + 1, bytes - 1) != 0)) {
    std::memset(to, value, bytes);
    memoryChanged();
  }
  shadow::onHostWrite(reinterpret_cast<uint64_t>(to), bytes);
}

} // namespace kbrt
