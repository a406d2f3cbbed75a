//===- Requests.cpp - from lane accesses to warp requests -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Requests.h"
#include <algorithm>
#include <bit>

namespace kbrt::count {

namespace {
/// Open requests of a block, 19 MB of them; half are finished when there are more. Lanes of a warp
/// run in turns of a few accesses, so that those of one request arrive long before it is that old.
constexpr size_t mostOpen = 65536;

uint64_t hashOf(uint32_t warp, uint32_t site, uint64_t key) {
  uint64_t h = (key ^ uint64_t(site) << 32 ^ warp) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 29;
}
} // namespace

RequestTable::Group &RequestTable::groupOf(uint32_t warp, uint32_t site, uint64_t key) {
  if (groups.empty())
    groups.resize(4096);
  if (groupCount * 2 > groups.size())
    rebuild();
  size_t mask = groups.size() - 1;
  for (size_t i = hashOf(warp, site, key) & mask;; i = (i + 1) & mask) {
    Group &group = groups[i];
    if (!group.open) {
      group = {key, site, warp, 0, 0};
      return group;
    }
    if (group.key == key && group.site == site && group.warp == warp)
      return group;
  }
}

/// Drops the groups whose requests are all finished, and makes room.
void RequestTable::rebuild() {
  std::vector<Group> old = std::move(groups);
  size_t live = 0;
  for (Group &group : old)
    live += group.open && group.tail >= base;
  groups.assign(std::max<size_t>(4096, std::bit_ceil(live * 4)), Group{});
  groupCount = live;
  size_t mask = groups.size() - 1;
  for (Group &group : old) {
    if (!group.open || group.tail < base)
      continue;
    size_t i = hashOf(group.warp, group.site, group.key) & mask;
    while (groups[i].open)
      i = (i + 1) & mask;
    groups[i] = group;
  }
}

void RequestTable::add(uint32_t warp, uint32_t lane, uint32_t site, uint64_t key,
                       uint64_t address) {
  if (requests.size() >= mostOpen)
    finishOldest(mostOpen / 2);
  Group &group = groupOf(warp, site, key);
  uint64_t number = group.open;
  if (number && number < base) {
    // Its first requests are finished: go on with the oldest that is not, if any.
    number = group.tail >= base ? group.tail : 0;
    group.open = number ? number : group.open;
  }
  uint32_t bit = 1u << lane;
  while (number && (at(number).mask & bit)) {
    Request &request = at(number);
    uint64_t next = request.next;
    if (number == group.open && next && request.mask == machine.warps[warp].live)
      group.open = next;
    number = next;
  }
  if (!number) {
    number = base + requests.size();
    bool isFresh = !group.open;
    if (group.open && group.tail >= base)
      at(group.tail).next = number;
    else
      group.open = number;
    groupCount += isFresh;
    group.tail = number;
    Request &request = requests.emplace_back();
    request.key = key;
    request.next = 0;
    request.site = site;
    request.mask = 0;
    request.warp = warp;
  }
  Request &request = at(number);
  request.mask |= bit;
  request.address[lane] = address;
}

void RequestTable::finishOldest(size_t n) {
  for (size_t i = 0; i < n; ++i)
    finish(requests[i]);
  requests.erase(requests.begin(), requests.begin() + long(n));
  base += n;
  rebuild();
}

void RequestTable::flush() {
  finishOldest(requests.size());
  clear();
}

void RequestTable::clear() {
  base += requests.size();
  requests.clear();
  groups.clear();
  groupCount = 0;
}

Measures measure(const Request &request, unsigned elementBytes) {
  Measures m{};
  uint64_t address[warpLanes];
  unsigned bytes = elementBytes ? elementBytes : 4;
  for (unsigned i = 0; i < warpLanes; ++i)
    if (request.mask >> i & 1)
      address[m.lanes++] = request.address[i];
  if (!std::is_sorted(address, address + m.lanes))
    std::sort(address, address + m.lanes);
  uint64_t covered = 0, sector = ~0ull;
  unsigned run = 0;
  for (unsigned i = 0; i < m.lanes; ++i) {
    uint64_t begin = address[i], end = begin + bytes;
    run = i && address[i - 1] == begin ? run + 1 : 1;
    m.serialisation = std::max(m.serialisation, run);
    if (end > covered) {
      m.bytesUsed += static_cast<unsigned>(end - std::max(begin, covered));
      covered = end;
    }
    for (uint64_t s = begin / sectorBytes; s <= (end - 1) / sectorBytes; ++s) {
      if (sector != ~0ull && s <= sector)
        continue;
      sector = s;
      if (m.sectors < 2 * warpLanes)
        m.sector[m.sectors++] = s;
    }
  }
  m.idealSectors = (m.bytesUsed + sectorBytes - 1) / sectorBytes;
  return m;
}

/// Lanes whose accesses the L1's data stage takes together.
static unsigned lanesPerPass(unsigned bytes) { return bytes > 8 ? 8 : bytes > 4 ? 16 : 32; }

unsigned lineWavefronts(const Request &request, unsigned elementBytes) {
  unsigned bytes = elementBytes ? elementBytes : 4, step = lanesPerPass(bytes), total = 0;
  for (unsigned first = 0; first < warpLanes; first += step) {
    uint64_t lines[2 * warpLanes];
    unsigned count = 0;
    for (unsigned i = first; i < first + step; ++i)
      if (request.mask >> i & 1) {
        uint64_t begin = request.address[i] / lineBytes;
        uint64_t end = (request.address[i] + bytes - 1) / lineBytes;
        lines[count++] = begin;
        if (end != begin)
          lines[count++] = end;
      }
    std::sort(lines, lines + count);
    total += static_cast<unsigned>(std::unique(lines, lines + count) - lines);
  }
  return total;
}

unsigned sharedWavefronts(const Request &request, unsigned elementBytes, unsigned &ideal) {
  unsigned bytes = elementBytes ? elementBytes : 4, step = lanesPerPass(bytes), total = 0;
  ideal = 0;
  for (unsigned first = 0; first < warpLanes; first += step) {
    uint64_t words[warpLanes * 4];
    unsigned count = 0;
    for (unsigned i = first; i < first + step; ++i)
      if (request.mask >> i & 1)
        for (uint64_t w = request.address[i] / bankBytes;
             w <= (request.address[i] + bytes - 1) / bankBytes; ++w)
          if (count < warpLanes * 4)
            words[count++] = w;
    if (!count)
      continue;
    std::sort(words, words + count);
    count = static_cast<unsigned>(std::unique(words, words + count) - words);
    unsigned perBank[sharedBanks] = {}, most = 0;
    for (unsigned i = 0; i < count; ++i)
      most = std::max(most, ++perBank[words[i] % sharedBanks]);
    total += most;
    ideal += (count + sharedBanks - 1) / sharedBanks;
  }
  return total;
}

} // namespace kbrt::count
