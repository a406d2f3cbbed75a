//===- Cache.cpp - the first-level cache and the footprint ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Cache.h"
#include "kbrt/Counters.h"
#include "kbrt/Memory.h"
#include <algorithm>
#include <map>

namespace kbrt::count {

void SectorCache::reset(uint64_t bytes) {
  sets = std::max<uint64_t>(1, bytes / lineBytes / ways);
  lines.assign(sets * ways, Line{});
  clock = 0;
}

bool SectorCache::load(uint64_t sector) {
  uint64_t tag = sector / 4;
  auto bit = static_cast<uint8_t>(1u << (sector % 4));
  // Upper bits are folded in, so that power-of-two strides do not fall into one set.
  Line *set = &lines[((tag ^ tag / sets) % sets) * ways];
  Line *victim = set;
  ++clock;
  for (unsigned i = 0; i < ways; ++i) {
    if (set[i].tag == tag) {
      set[i].lastUse = clock;
      bool isHit = set[i].valid & bit;
      set[i].valid |= bit;
      return isHit;
    }
    if (set[i].lastUse < victim->lastUse)
      victim = &set[i];
  }
  *victim = {tag, clock, bit};
  return false;
}

void Footprint::clear() {
  regions.clear();
  lastRegion = nullptr;
  lastNumber = ~0ull;
}

void Footprint::touch(uint64_t sector, uint32_t block) {
  uint64_t number = sector / regionSectors;
  if (number != lastNumber) {
    auto &region = regions[number];
    if (region.empty())
      region.resize(regionSectors, 0);
    lastRegion = &region;
    lastNumber = number;
  }
  uint32_t &by = (*lastRegion)[sector % regionSectors];
  if (!by)
    by = block;
  else if (by != block)
    by = shared;
}

uint64_t Footprint::sampledBytes() const {
  uint64_t sectors = 0;
  for (auto &[number, region] : regions)
    sectors += static_cast<uint64_t>(
        std::count_if(region.begin(), region.end(), [](uint32_t by) { return by; }));
  return sectors * sectorBytes;
}

double Footprint::extrapolatedBytes(const std::vector<double> &weights) const {
  struct Use {
    double alone = 0, several = 0;
  };
  std::map<uint32_t, Use> byBuffer;
  for (auto &[number, region] : regions)
    for (uint64_t i = 0; i < regionSectors; ++i) {
      if (!region[i])
        continue;
      uint64_t address = (number * regionSectors + i) * sectorBytes;
      const MemoryBuffer *buffer = DeviceMemory::get().find(address);
      Use &use = byBuffer[buffer ? buffer->id : 0];
      if (region[i] == shared)
        use.several += sectorBytes;
      else
        use.alone += sectorBytes * weights[region[i] - 1];
    }
  double total = 0;
  std::map<uint32_t, double> sizes;
  for (const MemoryBuffer *buffer : DeviceMemory::get().liveBuffers())
    sizes[buffer->id] = double((buffer->bytes + sectorBytes - 1) / sectorBytes * sectorBytes);
  for (auto &[id, use] : byBuffer) {
    double bytes = use.several + use.alone;
    if (auto it = sizes.find(id); it != sizes.end())
      bytes = std::min(bytes, it->second);
    total += bytes;
  }
  return total;
}

} // namespace kbrt::count
