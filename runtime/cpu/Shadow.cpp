//===- Shadow.cpp - which bytes of device memory were written -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Shadow.h"
#include <cstring>
#include <sys/mman.h>

namespace kbrt::shadow {

uint8_t *initBits = nullptr;

bool enable() {
  if (initBits)
    return true;
  void *p = mmap(nullptr, arenaBytes / 8, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  initBits = static_cast<uint8_t *>(p);
  for (const MemoryBuffer *buffer : DeviceMemory::get().liveBuffers())
    markRange(buffer->address, buffer->bytes, true);
  return true;
}

void markRange(uint64_t address, uint64_t bytes, bool isInitialised) {
  if (!initBits || !isDeviceAddress(address))
    return;
  uint64_t bit = address - arenaBase, end = bit + bytes;
  auto setBit = [&](uint64_t b) {
    if (isInitialised)
      initBits[b >> 3] |= uint8_t(1u << (b & 7));
    else
      initBits[b >> 3] &= uint8_t(~(1u << (b & 7)));
  };
  while (bit < end && (bit & 7))
    setBit(bit++);
  if (end > bit + 8) {
    memset(initBits + (bit >> 3), isInitialised ? 0xFF : 0, (end - bit) >> 3);
    bit += (end - bit) & ~uint64_t(7);
  }
  while (bit < end)
    setBit(bit++);
}

void onAllocate(uint64_t address, uint64_t bytes, bool isInitialised) {
  markRange(address, bytes, isInitialised);
}

void onFree(uint64_t address, uint64_t bytes) { markRange(address, bytes, false); }

void onHostWrite(uint64_t address, uint64_t bytes) { markRange(address, bytes, true); }

uint64_t firstUnwritten(uint64_t address, uint64_t bytes) {
  if (!initBits)
    return 0;
  for (uint64_t bit = address - arenaBase, end = bit + bytes; bit < end;) {
    if (!(bit & 7) && end - bit >= 8 && initBits[bit >> 3] == 0xFF) {
      bit += 8;
      continue;
    }
    if (!(initBits[bit >> 3] >> (bit & 7) & 1))
      return bit + arenaBase;
    ++bit;
  }
  return 0;
}

bool anyWritten(uint64_t address, uint64_t bytes) {
  for (uint64_t bit = address - arenaBase, end = bit + bytes; bit < end; ++bit)
    if (initBits[bit >> 3] >> (bit & 7) & 1)
      return true;
  return false;
}

void onCopy(uint64_t to, uint64_t from, uint64_t bytes) {
  if (!initBits)
    return;
  if (!firstUnwritten(from, bytes)) {
    markRange(to, bytes, true);
    return;
  }
  auto bitAt = [](uint64_t address) {
    uint64_t bit = address - arenaBase;
    return (initBits[bit >> 3] >> (bit & 7) & 1) != 0;
  };
  bool isForward = to <= from;
  for (uint64_t n = 0; n < bytes; ++n) {
    uint64_t i = isForward ? n : bytes - 1 - n;
    markRange(to + i, 1, bitAt(from + i));
  }
}

} // namespace kbrt::shadow
