//===- Shadow.h - which bytes of device memory were written -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns one bit per byte of the arena: set once the byte was written by an
// upload, a fill, a copy or a kernel. Mapped and kept only after enable().
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_SHADOW_H
#define KBRT_SHADOW_H

#include "kbrt/Memory.h"

namespace kbrt::shadow {

/// Null until enable(). Bit (address - arenaBase) % 8 of byte (address - arenaBase) / 8.
extern uint8_t *initBits;

/// Starts tracking; what is live now counts as written. False if the shadow cannot be mapped.
bool enable();
inline bool isEnabled() { return initBits != nullptr; }

void onAllocate(uint64_t address, uint64_t bytes, bool isInitialised);
void onFree(uint64_t address, uint64_t bytes);
void onHostWrite(uint64_t address, uint64_t bytes);
/// A device-to-device copy: the state of each byte travels.
void onCopy(uint64_t to, uint64_t from, uint64_t bytes);

void markRange(uint64_t address, uint64_t bytes, bool isInitialised);
/// The first byte in the range that was never written, or 0.
uint64_t firstUnwritten(uint64_t address, uint64_t bytes);
bool anyWritten(uint64_t address, uint64_t bytes);

/// Fast path for accesses that lie inside one aligned 16-byte piece.
inline void markSmall(uint64_t address, uint64_t bytes) {
  uint64_t offset = address - arenaBase;
  uint32_t mask = ((1u << bytes) - 1) << (offset & 7);
  uint8_t *p = initBits + (offset >> 3);
  p[0] |= static_cast<uint8_t>(mask);
  if (mask >> 8)
    p[1] |= static_cast<uint8_t>(mask >> 8);
  if (mask >> 16)
    p[2] |= static_cast<uint8_t>(mask >> 16);
}
inline bool isWrittenSmall(uint64_t address, uint64_t bytes) {
  uint64_t offset = address - arenaBase;
  uint32_t mask = ((1u << bytes) - 1) << (offset & 7);
  const uint8_t *p = initBits + (offset >> 3);
  uint32_t have = p[0];
  if (mask >> 8)
    have |= uint32_t(p[1]) << 8;
  if (mask >> 16)
    have |= uint32_t(p[2]) << 16;
  return (have & mask) == mask;
}

} // namespace kbrt::shadow
#endif
