//===- Check.cpp - the checks of every access -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kbrt_check_* functions: bounds, alignment, initialisation, writes to
// constants; hands every access on to the race check.
//
//===----------------------------------------------------------------------===//
#include "Check.h"
#include "AsyncCopies.h"
#include "Findings.h"
#include "Mbarrier.h"
#include "Races.h"
#include "Shadow.h"
#include "Touches.h"
#include "WgmmaMemory.h"
#include <algorithm>
#include <cstring>
#include <string_view>

namespace kbrt::check {

bool suppressUninitialised = false;
bool isMove = false;

namespace {

/// Bounds of the shared array that a site names, as offsets from Block::shared.
struct SharedBounds {
  uint32_t begin = 0, end = 0;
  bool isKnown = false, isSet = false;
};
std::vector<SharedBounds> sharedBounds; ///< by site
std::vector<uint32_t> sharedWritten;    ///< by byte: number of the block that wrote it
uint32_t blockNumber = 0;
uint64_t sharedBegin = 0, sharedUsable = 0;

const char *verb(AccessKind kind) { return toString(kind); }

std::string bytesText(uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

void reportBounds(uint32_t site, AccessKind kind, uint64_t address, uint64_t bytes,
                  const char *space, std::string_view name, uint64_t begin, uint64_t size) {
  if (!findings::isNew(FindingKind::OutOfBounds, site, ~0u, Severity::Error))
    return;
  Finding finding = findings::make(FindingKind::OutOfBounds, site);
  finding.address = address;
  finding.bytes = static_cast<unsigned>(bytes);
  std::string text = std::string(verb(kind)) + " of " + bytesText(bytes) + " ";
  if (size) {
    if (finding.array.empty())
      finding.array = name;
    finding.offset = address - begin;
    if (address < begin)
      text += bytesText(begin - address) + " before the start of ";
    else if (address >= begin + size)
      text += bytesText(address - begin - size) + " past the end of ";
    else
      text += "that begins inside and ends past the end of ";
    text += (finding.array.empty() ? "a " + std::string(space) + " buffer" : finding.array) + " (" +
            bytesText(size) + ")";
  } else {
    char hex[32];
    snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(address));
    text += std::string("at ") + hex + ", where no " + space + " is";
  }
  finding.message = text;
  findings::add(std::move(finding));
}

void reportUninitialised(FindingKind kind, uint32_t site, uint64_t address, uint64_t bytes,
                         uint64_t offset, std::string_view name) {
  if (suppressUninitialised || !findings::isNew(kind, site, ~0u, Severity::Error))
    return;
  Finding finding = findings::make(kind, site);
  finding.address = address;
  finding.offset = offset;
  finding.bytes = static_cast<unsigned>(bytes);
  if (finding.array.empty())
    finding.array = name;
  finding.message = "read of " + bytesText(bytes) + " that nothing has written, at byte " +
                    std::to_string(offset) + (finding.array.empty() ? "" : " of " + finding.array);
  findings::add(std::move(finding));
}

void checkAlignment(uint32_t site, AccessKind kind, uint64_t address, uint64_t bytes) {
  if (bytes > 16 || (bytes & (bytes - 1)) || !(address & (bytes - 1)))
    return;
  if (!findings::isNew(FindingKind::Misaligned, site, ~0u, Severity::Error))
    return;
  Finding finding = findings::make(FindingKind::Misaligned, site);
  finding.address = address;
  finding.bytes = static_cast<unsigned>(bytes);
  if (const MemoryBuffer *buffer = DeviceMemory::get().find(address)) {
    finding.offset = address - buffer->address;
    if (finding.array.empty())
      finding.array = buffer->name;
  }
  finding.message = std::string(verb(kind)) + " of " + bytesText(bytes) +
                    " at an address that is not a multiple of " + std::to_string(bytes);
  findings::add(std::move(finding));
}

void raceCheck(races::Space space, uint64_t offset, uint64_t address, uint64_t bytes,
               AccessKind kind, uint32_t site) {
  // Pieces that neither cross a page nor exceed 16 bytes.
  while (bytes) {
    uint64_t piece = std::min<uint64_t>({bytes, 16, 4096 - (offset & 4095)});
    races::onAccess(space, offset, address, static_cast<unsigned>(piece), kind, site);
    offset += piece;
    address += piece;
    bytes -= piece;
  }
}

/// The buffer that a site's last access went to: mostly it is the next one's, too.
struct Remembered {
  const MemoryBuffer *buffer = nullptr;
  uint64_t address = 0, bytes = 0;
};
std::vector<Remembered> rememberedBuffers;
uint64_t rememberedLayout = 0;

const MemoryBuffer *findBuffer(uint32_t site, uint64_t address) {
  DeviceMemory &memory = DeviceMemory::get();
  if (site >= rememberedBuffers.size())
    return memory.find(address);
  if (rememberedLayout != memory.getLayoutVersion()) {
    std::fill(rememberedBuffers.begin(), rememberedBuffers.end(), Remembered{});
    rememberedLayout = memory.getLayoutVersion();
  }
  Remembered &last = rememberedBuffers[site];
  if (address - last.address < last.bytes)
    return last.buffer;
  const MemoryBuffer *buffer = memory.find(address);
  if (buffer)
    last = {buffer, buffer->address, buffer->bytes};
  return buffer;
}

/// A volatile load is none.
bool isAtomicLoad(uint32_t site) {
  const SiteInfo *info = site < machine.info->siteCount ? &machine.info->sites[site] : nullptr;
  return info && info->isVolatile && info->detail && strstr(info->detail, ".atomic");
}

touches::Use useOf(AccessKind kind, uint32_t site) {
  if (kind == AccessKind::Atomic)
    return touches::Atomics;
  if (kind == AccessKind::Load)
    return isAtomicLoad(site) ? touches::Atomics : touches::Reads;
  return touches::Writes;
}

void accessGlobal(uint32_t site, uint64_t address, uint64_t bytes, AccessKind kind) {
  const MemoryBuffer *buffer = findBuffer(site, address);
  if (!buffer || address + bytes > buffer->address + buffer->bytes) {
    const MemoryBuffer *near = buffer ? buffer : DeviceMemory::get().findGuard(address);
    reportBounds(site, kind, address, bytes, "global memory", near ? near->name : "",
                 near ? near->address : 0, near ? near->bytes : 0);
    return;
  }
  bool isSmall = bytes <= 16 && bytes;
  if (kind != AccessKind::Store) {
    bool isWritten =
        isSmall ? shadow::isWrittenSmall(address, bytes) : !shadow::firstUnwritten(address, bytes);
    if (!isWritten && !(isMove && shadow::anyWritten(address, bytes)))
      reportUninitialised(FindingKind::UninitialisedGlobal, site, address, bytes,
                          address - buffer->address, buffer->name);
  }
  if (kind != AccessKind::Load) {
    if (buffer->kind == MemoryKind::Constant &&
        findings::isNew(FindingKind::WriteToConstant, site, ~0u, Severity::Error)) {
      Finding finding = findings::make(FindingKind::WriteToConstant, site);
      finding.array = buffer->name;
      finding.address = address;
      finding.offset = address - buffer->address;
      finding.bytes = static_cast<unsigned>(bytes);
      finding.message = std::string(verb(kind)) + " to constant memory";
      findings::add(std::move(finding));
    }
    if (isSmall)
      shadow::markSmall(address, bytes);
    else
      shadow::markRange(address, bytes, true);
  }
  if (touches::isRecording)
    touches::note(address - arenaBase, bytes, useOf(kind, site));
  if (buffer->kind != MemoryKind::Constant)
    raceCheck(races::Space::Global, address - arenaBase, address, bytes, kind, site);
}

const SharedBounds &boundsOf(uint32_t site) {
  static const SharedBounds unknown;
  if (site >= sharedBounds.size())
    return unknown;
  SharedBounds &bounds = sharedBounds[site];
  if (bounds.isSet)
    return bounds;
  bounds.isSet = true;
  const SiteInfo &info = machine.info->sites[site];
  if (info.space != MemorySpace::Shared || !*info.array)
    return bounds;
  unsigned matches = 0;
  for (uint32_t i = 0; i < machine.kernel->sharedCount; ++i) {
    const SharedInfo &array = machine.kernel->shared[i];
    if (strcmp(array.name, info.array) != 0)
      continue;
    ++matches;
    bounds.begin = array.bytes ? array.offset : machine.kernel->sharedSpan;
    bounds.end = array.bytes ? array.offset + array.bytes
                             : machine.kernel->sharedSpan + machine.block.dynamicSharedBytes;
  }
  bounds.isKnown = matches == 1;
  return bounds;
}

void accessShared(uint32_t site, uint64_t address, uint64_t bytes, AccessKind kind) {
  uint64_t offset = address - sharedBegin;
  const SharedBounds &bounds = boundsOf(site);
  if (bounds.isKnown && (offset < bounds.begin || offset + bytes > bounds.end)) {
    reportBounds(site, kind, address, bytes, "shared memory", machine.info->sites[site].array,
                 sharedBegin + bounds.begin, bounds.end - bounds.begin);
  } else if (offset > sharedUsable || offset + bytes > sharedUsable) {
    reportBounds(site, kind, address, bytes, "shared memory", "shared memory", sharedBegin,
                 sharedUsable);
  }
  if (offset > sharedWritten.size() || offset + bytes > sharedWritten.size())
    return;
  if (kind != AccessKind::Store) {
    const auto *begin = &sharedWritten[offset];
    const auto written = std::count(begin, begin + bytes, blockNumber);
    if (written != long(bytes) && !(isMove && written))
      reportUninitialised(FindingKind::UninitialisedShared, site, address, bytes,
                          offset - (bounds.isKnown ? bounds.begin : 0), "shared memory");
  }
  if (kind != AccessKind::Load)
    for (uint64_t i = 0; i < bytes; ++i)
      sharedWritten[offset + i] = blockNumber;
  async::onAccess(offset, bytes, site);
  mbarrier::onAccess(offset, bytes, site);
  if (kind != AccessKind::Load) {
    wgmma::onWrite(offset, bytes, site);
    wgmma::onWritten(offset, bytes);
  }
  raceCheck(races::Space::Shared, offset, address, bytes, kind, site);
}

bool isShared(uint64_t address) {
  auto begin = reinterpret_cast<uint64_t>(machine.sharedArena);
  return address - begin < machine.sharedArenaBytes;
}

} // namespace

void onLaunch() {
  sharedBounds.assign(machine.info->siteCount, SharedBounds{});
  rememberedBuffers.assign(machine.info->siteCount, Remembered{});
  sharedBegin = reinterpret_cast<uint64_t>(machine.block.shared);
  sharedUsable = machine.kernel->sharedSpan + machine.block.dynamicSharedBytes;
  sharedWritten.assign(sharedUsable, 0);
  blockNumber = 0;
  races::onLaunch();
}

void onBlock() {
  ++blockNumber;
  races::onBlock();
  async::onBlock();
  wgmma::onBlock();
}

void access(uint32_t site, uint64_t address, uint64_t bytes, AccessKind kind, bool isAligned) {
  machine.lastSite = site;
  if (races::hasPending)
    races::settle();
  if (!bytes)
    return;
  if (isAligned)
    checkAlignment(site, kind, address, bytes);
  if (isDeviceAddress(address))
    accessGlobal(site, address, bytes, kind);
  else if (isShared(address))
    accessShared(site, address, bytes, kind);
  else
    accessElsewhere(site, address, bytes, kind != AccessKind::Store, kind != AccessKind::Load);
}

} // namespace kbrt::check

using namespace kbrt;

static bool isFenceOfBlock(uint32_t site) {
  const SiteInfo *info = site < machine.info->siteCount ? &machine.info->sites[site] : nullptr;
  return info && info->detail && std::strstr(info->detail, "cta");
}

extern "C" {

void kbrt_check_load(uint32_t site, const void *pointer, uint64_t bytes) {
  check::access(site, reinterpret_cast<uint64_t>(pointer), bytes, AccessKind::Load);
}

void kbrt_check_move(uint32_t site, const void *pointer, uint64_t bytes) {
  check::isMove = true;
  kbrt_check_load(site, pointer, bytes);
  check::isMove = false;
}

void kbrt_check_store(uint32_t site, void *pointer, uint64_t bytes) {
  check::access(site, reinterpret_cast<uint64_t>(pointer), bytes, AccessKind::Store);
}

void kbrt_check_atomic(uint32_t site, void *pointer, uint64_t bytes) {
  check::access(site, reinterpret_cast<uint64_t>(pointer), bytes, AccessKind::Atomic);
}

void kbrt_fence(uint32_t site) {
  machine.lastSite = site;
  if (machine.info->mode == ImageMode::Check && kbrt_current)
    races::onFence(*kbrt_current, isFenceOfBlock(site));
}
}
