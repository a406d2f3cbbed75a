//===- CheckLocal.cpp - local arrays, parameters, struct copies -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "Check.h"
#include "Findings.h"
#include "Races.h"
#include "Shadow.h"
#include <algorithm>
#include <cstring>

namespace kbrt::check {

Locals &locals() {
  static std::vector<Locals> all(maxThreads + 1);
  const Thread *self = kbrt_current;
  // All threads of a plain loop share a stack and end one by one: so do their arrays.
  return all[machine.usesFibers() ? self->linear : maxThreads];
}

namespace {

Local *findLocal(Locals &mine, uint64_t address) {
  for (size_t i = mine.live.size(); i-- > 0;)
    if (address - mine.live[i].begin < mine.live[i].end - mine.live[i].begin)
      return &mine.live[i];
  return nullptr;
}

bool isParameter(uint64_t address, uint64_t bytes) {
  auto begin = reinterpret_cast<uint64_t>(machine.parameters.data());
  return address >= begin && address + bytes <= begin + machine.parameters.size();
}

void report(FindingKind kind, uint32_t site, uint64_t address, uint64_t bytes, uint64_t offset,
            const char *what) {
  if (!findings::isNew(kind, site, ~0u, Severity::Error))
    return;
  Finding finding = findings::make(kind, site);
  finding.address = address;
  finding.offset = offset;
  finding.bytes = static_cast<unsigned>(bytes);
  finding.message = finding.place.access + " of " + std::to_string(bytes) + " bytes " + what;
  findings::add(std::move(finding));
}

/// The array of this name among those alive: what a site that names it must stay in.
Local *findNamed(Locals &mine, uint32_t site) {
  if (site >= machine.info->siteCount)
    return nullptr;
  const SiteInfo &info = machine.info->sites[site];
  if (!*info.array || info.space != MemorySpace::Local)
    return nullptr;
  for (size_t i = mine.live.size(); i-- > 0;)
    if (strcmp(machine.info->sites[mine.live[i].site].array, info.array) == 0)
      return &mine.live[i];
  return nullptr;
}

} // namespace

void accessElsewhere(uint32_t site, uint64_t address, uint64_t bytes, bool isRead, bool isWrite) {
  auto *p = reinterpret_cast<const void *>(address);
  if (machine.stacks.containsStack(p)) {
    Locals &mine = locals();
    if (Local *local = findLocal(mine, address)) {
      if (address + bytes > local->end) {
        report(FindingKind::OutOfBounds, site, address, bytes, address - local->begin,
               "begins inside a local array and ends past its end");
        return;
      }
      uint8_t *written = mine.written.data() + local->firstByte + (address - local->begin);
      if (isRead && !suppressUninitialised && memchr(written, 0, bytes) != nullptr &&
          !(isMove && memchr(written, 1, bytes) != nullptr))
        report(FindingKind::UninitialisedLocal, site, address, bytes, address - local->begin,
               "of a local array that nothing has written");
      if (isWrite)
        memset(written, 1, bytes);
      return;
    }
    unsigned self = machine.usesFibers() ? kbrt_current->linear : 0;
    if (machine.stacks.indexOf(p) != self)
      report(FindingKind::OutOfBounds, site, address, bytes, 0, "to another thread's local memory");
    else if (Local *named = findNamed(mine, site))
      report(FindingKind::OutOfBounds, site, address, bytes, address - named->begin,
             "outside its local array");
    return;
  }
  if (isParameter(address, bytes))
    return;
  if (!isWrite && machine.image->contains(p, bytes))
    return;
  bool isImage = machine.image->contains(p, bytes);
  char hex[96];
  snprintf(hex, sizeof hex, "at 0x%llx, %s", static_cast<unsigned long long>(address),
           isImage          ? "which is read-only"
           : address < 4096 ? "a null pointer"
                            : "which is no device memory");
  report(FindingKind::OutOfBounds, site, address, bytes, 0, hex);
}

} // namespace kbrt::check

using namespace kbrt;

extern "C" {

void kbrt_local_begin(uint32_t site, void *pointer, uint64_t bytes) {
  machine.lastSite = site;
  check::Locals &mine = check::locals();
  auto begin = reinterpret_cast<uint64_t>(pointer);
  // Arrays below the new one belong to frames that were left without telling (exit).
  while (!mine.live.empty() && mine.live.back().begin < begin + bytes &&
         begin < mine.live.back().end) {
    mine.written.resize(mine.live.back().firstByte);
    mine.live.pop_back();
  }
  auto firstByte = static_cast<uint32_t>(mine.written.size());
  mine.live.push_back({begin, begin + bytes, site, firstByte});
  mine.written.resize(firstByte + bytes, 0);
}

void kbrt_local_end(void *pointer) {
  check::Locals &mine = check::locals();
  for (size_t i = mine.live.size(); i-- > 0;)
    if (mine.live[i].begin == reinterpret_cast<uint64_t>(pointer)) {
      if (i + 1 == mine.live.size())
        mine.written.resize(mine.live[i].firstByte);
      mine.live.erase(mine.live.begin() + long(i));
      return;
    }
}

void kbrt_check_copy(uint32_t site, void *destination, const void *source, uint64_t bytes) {
  // Bounds, alignment and races as for a load and a store; the state of bytes that nothing has
  // written (padding, fields not used) travels instead of being reported.
  auto stateOf = [](uint64_t address, uint64_t i) {
    address += i;
    if (isDeviceAddress(address))
      return !shadow::isEnabled() || !DeviceMemory::get().find(address) ||
             shadow::anyWritten(address, 1);
    if (machine.stacks.containsStack(reinterpret_cast<const void *>(address))) {
      check::Locals &mine = check::locals();
      for (size_t n = mine.live.size(); n-- > 0;)
        if (address - mine.live[n].begin < mine.live[n].end - mine.live[n].begin)
          return mine.written[mine.live[n].firstByte + (address - mine.live[n].begin)] != 0;
    }
    return true;
  };
  auto from = reinterpret_cast<uint64_t>(source), to = reinterpret_cast<uint64_t>(destination);
  std::vector<bool> state(bytes);
  bool isAnyWritten = false;
  for (uint64_t i = 0; i < bytes; ++i)
    isAnyWritten |= state[i] = stateOf(from, i);
  check::suppressUninitialised = isAnyWritten;
  check::access(site, from, bytes, AccessKind::Load, false);
  check::suppressUninitialised = false;
  check::access(site, to, bytes, AccessKind::Store, false);
  for (uint64_t i = 0; i < bytes; ++i) {
    if (state[i])
      continue;
    if (isDeviceAddress(to + i)) {
      if (DeviceMemory::get().find(to + i))
        shadow::markRange(to + i, 1, false);
      continue;
    }
    check::Locals &mine = check::locals();
    for (check::Local &local : mine.live)
      if (to + i >= local.begin && to + i < local.end)
        mine.written[local.firstByte + (to + i - local.begin)] = 0;
  }
}
}
