//===- ArenaBackend.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ArenaBackend.h"
#include "DeviceFacts.h"
#include "Settings.h"
#include "kbrt/Memory.h"

#include <algorithm>
#include <cstring>

using namespace kbrt;

ArenaBackend::ArenaBackend() : isDry(!recorderSetting("DRY").empty()) {
  // As in a fresh process on a GPU, whose driver clears memory: there are programs that count on
  // it. That they read what nothing wrote is for the judge to find.
  DeviceMemory::get().setPoison(0);
}

void *ArenaBackend::allocate(uint64_t bytes, bool isHostVisible) {
  return DeviceMemory::get().allocate(bytes,
                                      isHostVisible ? MemoryKind::Managed : MemoryKind::Device);
}

void ArenaBackend::free(void *p) { DeviceMemory::get().free(p); }

MemoryAmount ArenaBackend::memory() {
  DeviceMemory &memory = DeviceMemory::get();
  uint64_t limit = memory.getLimitBytes();
  // A recording on a GPU says how much there was.
  uint64_t recorded = deviceFact("memoryLimit");
  uint64_t total = recorded ? deviceFact("totalGlobalMem") : limit;
  if (recorded)
    limit = std::min(limit, recorded);
  return {limit - std::min(limit, memory.getLiveBytes()), total};
}

void ArenaBackend::write(Rows to, Rows from, uint64_t width, uint64_t height) {
  if (isDry)
    return;
  for (uint64_t y = 0; y < height; ++y)
    DeviceMemory::get().write(to.at + y * to.pitch, from.at + y * from.pitch, width);
}

void ArenaBackend::read(Rows to, Rows from, uint64_t width, uint64_t height) {
  if (isDry)
    return;
  for (uint64_t y = 0; y < height; ++y)
    std::memmove(to.at + y * to.pitch, from.at + y * from.pitch, width);
}

void ArenaBackend::copy(Rows to, Rows from, uint64_t width, uint64_t height) {
  write(to, from, width, height);
}

void ArenaBackend::fill(Rows to, uint8_t value, uint64_t width, uint64_t height) {
  if (isDry || fills.isThere(to.at, to.pitch, width, height, value))
    return;
  for (uint64_t y = 0; y < height; ++y)
    DeviceMemory::get().fill(to.at + y * to.pitch, value, width);
  fills.done(to.at, to.pitch, width, height, value);
}

void ArenaBackend::noteHostWrite(const void *p, uint64_t bytes) {
  if (!isDry)
    DeviceMemory::get().noteHostWrite(p, bytes);
}
