//===- Races.cpp - cells and reports --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the cells; the clocks are in Clocks.cpp.
//
//===----------------------------------------------------------------------===//
#include "Races.h"
#include "Clocks.h"
#include "Findings.h"
#include <cstring>
#include <string_view>
#include <sys/mman.h>

namespace kbrt::races {

bool hasPending = false;

namespace {

/// The last accesses to one granule. Of reads that are not ordered among themselves two are kept,
/// so that a writer that is one of the readers still meets the other.
/// Of additions and their kin whose old value is not used, one that later ones are not ordered
/// after is kept: a thread that takes the sum away must come after all of them.
struct Cell {
  Stamp write, read, otherRead, reduction;
};

/// Cells of 4096 bytes. Granules are words until less than a word is accessed.
struct ShadowPage {
  Cell *cells;
  uint64_t generation;
  uint8_t shift;
};

constexpr uint64_t pageBytes = 4096, shadowLimitBytes = uint64_t(3) << 30;
constexpr uint64_t globalPages = arenaBytes / pageBytes, sharedPages = 128;

ShadowPage **globalDirectory = nullptr;
ShadowPage *sharedDirectory[sharedPages];
std::vector<Cell *> freeCells[3];
uint64_t shadowBytes = 0;
uint64_t launchGeneration = 0, blockGeneration = 0;

Cell *allocateCells(unsigned shift) {
  if (!freeCells[shift].empty()) {
    Cell *cells = freeCells[shift].back();
    freeCells[shift].pop_back();
    return cells;
  }
  uint64_t bytes = (pageBytes >> shift) * sizeof(Cell);
  if (shadowBytes + bytes > shadowLimitBytes)
    return nullptr;
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return nullptr;
  shadowBytes += bytes;
  return static_cast<Cell *>(p);
}

/// Granules become smaller: every one inherits the cell it lay in.
bool refine(ShadowPage &page, unsigned shift) {
  Cell *fine = allocateCells(shift);
  if (!fine)
    return false;
  unsigned ratio = page.shift - shift;
  for (uint64_t i = 0; i < pageBytes >> shift; ++i)
    fine[i] = page.cells[i >> ratio];
  freeCells[page.shift].push_back(page.cells);
  page.cells = fine;
  page.shift = static_cast<uint8_t>(shift);
  return true;
}

ShadowPage *pageFor(Space space, uint64_t offset) {
  ShadowPage **slot;
  uint64_t generation;
  if (space == Space::Global) {
    if (!globalDirectory) {
      void *p = mmap(nullptr, globalPages * sizeof(ShadowPage *), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (p == MAP_FAILED)
        return nullptr;
      globalDirectory = static_cast<ShadowPage **>(p);
    }
    slot = &globalDirectory[offset / pageBytes];
    generation = launchGeneration;
  } else {
    if (offset / pageBytes >= sharedPages)
      return nullptr;
    slot = &sharedDirectory[offset / pageBytes];
    generation = blockGeneration;
  }
  if (!*slot) {
    Cell *cells = allocateCells(2);
    if (!cells)
      return nullptr;
    *slot = new ShadowPage{cells, 0, 2};
  }
  ShadowPage *page = *slot;
  if (page->generation != generation) {
    memset(static_cast<void *>(page->cells), 0, (pageBytes >> page->shift) * sizeof(Cell));
    page->generation = generation;
  }
  return page;
}

/// What is right on this device and not promised by CUDA.
void reportWeak(uint32_t site, const Stamp &previous, const char *message,
                const Thread &thread = machine.current()) {
  if (!findings::isNew(FindingKind::WeakOrder, site, previous.site, Severity::Benign))
    return;
  Finding finding = findings::make(FindingKind::WeakOrder, site, thread);
  finding.severity = Severity::Benign;
  finding.other = placeOf(previous.site, unflatten(previous.block, machine.gridDim),
                          unflatten(previous.thread, machine.blockDim));
  finding.message = finding.place.access + " " + message;
  findings::add(std::move(finding));
}

/// Two atomic accesses of which one is for the threads of its block alone.
void checkScope(const Stamp &previous, const Stamp &self) {
  if (previous.isValid && previous.isAtomic && self.isAtomic && previous.block != self.block &&
      (previous.isOfBlock || self.isOfBlock))
    reportWeak(self.site, previous,
               "and an atomic operation of another block: one of them is atomic for the "
               "threads of its own block alone");
}

/// `isOrdered`, and a finding if a fence of the block's scope is all that orders two blocks.
bool isOrderedFor(const Stamp &previous, const Stamp &self) {
  orderedByBlockFence = false;
  const bool ordered = isOrdered(previous);
  if (orderedByBlockFence)
    reportWeak(self.site, previous,
               "after an access of another block, and the fence between them is for the "
               "threads of one block alone");
  return ordered;
}

/// A write over a conflicting write, to be judged when it has happened.
struct Pending {
  Space space;
  uint64_t address, offset;
  unsigned bytes;
  uint8_t before[16];
  Stamp previous;
  uint32_t site;
  Thread thread;
  bool isVolatile; ///< both are
} pending;

void report(Space space, uint64_t address, unsigned bytes, const Stamp &previous,
            const char *previousKind, uint32_t site, Severity severity, const Thread &thread,
            bool isLoadBesideAtomic = false) {
  FindingKind kind = space == Space::Shared ? FindingKind::RaceShared
                     : isLoadBesideAtomic   ? FindingKind::RaceWithAtomic
                                            : FindingKind::RaceGlobal;
  if (!findings::isNew(kind, site, previous.site, severity))
    return;
  Finding finding = findings::make(kind, site, thread);
  finding.severity = severity;
  finding.address = address;
  finding.bytes = bytes;
  if (space == Space::Global) {
    if (const MemoryBuffer *buffer = DeviceMemory::get().find(address)) {
      finding.offset = address - buffer->address;
      if (finding.array.empty())
        finding.array = buffer->name;
    }
  } else {
    finding.offset = address - reinterpret_cast<uint64_t>(machine.block.shared);
  }
  finding.other = placeOf(previous.site, unflatten(previous.block, machine.gridDim),
                          unflatten(previous.thread, machine.blockDim));
  bool isOtherBlock = previous.block != machine.blockLinear;
  finding.message = finding.place.access + " of " + std::to_string(bytes) +
                    " bytes is not ordered with a " + previousKind + " of " +
                    (isOtherBlock ? "another block" : "another thread of the block") +
                    (severity == Severity::Benign ? "; both wrote the same value" : "");
  findings::add(std::move(finding));
}

Stamp now(AccessKind kind, uint32_t site, bool isAtomic) {
  Stamp stamp = currentStamp();
  stamp.site = site;
  stamp.isAtomic = isAtomic;
  return stamp;
}

void onRead(Cell &cell, const Stamp &self, Space space, uint64_t address, unsigned bytes) {
  if (cell.write.isValid && !(cell.write.isAtomic && self.isAtomic) &&
      !isOrderedFor(cell.write, self))
    report(space, address, bytes, cell.write, cell.write.isAtomic ? "atomic" : "store", self.site,
           Severity::Error, machine.current(), cell.write.isAtomic && !self.isAtomic);
  // Lanes of a warp run in no order since Volta; warps hand each other flags in this way.
  if (space == Space::Shared && cell.write.isVolatileStore && self.isAtomic &&
      !cell.write.isSameThread(self) && cell.write.block == self.block &&
      cell.write.thread / warpLanes == self.thread / warpLanes && !isOrdered(cell.write))
    reportWeak(self.site, cell.write,
               "of what another lane of the warp stores: volatile orders nothing");
  // Which reads are kept needs no exact answer, so that the quick one serves.
  if (cell.read.isSameThread(self) || !cell.read.isValid)
    cell.read = self;
  else if (cell.otherRead.isSameThread(self) || !cell.otherRead.isValid)
    cell.otherRead = self;
  else if (isSurelyOrdered(cell.read))
    cell.read = self;
  else if (isSurelyOrdered(cell.otherRead))
    cell.otherRead = self;
}

void onWrite(Cell &cell, const Stamp &self, Space space, uint64_t offset, uint64_t address,
             unsigned bytes, bool isReadToo) {
  for (const Stamp *read : {&cell.read, &cell.otherRead})
    if (read->isValid && !(read->isAtomic && self.isAtomic) && !isOrderedFor(*read, self))
      report(space, address, bytes, *read, "load", self.site, Severity::Error, machine.current(),
             self.isAtomic && !read->isAtomic);
  if (space == Space::Global)
    checkScope(cell.write, self);
  if (self.isTaking && cell.reduction.isValid && !isOrderedFor(cell.reduction, self))
    report(space, address, bytes, cell.reduction, "atomic", self.site, Severity::Error,
           machine.current());
  if (self.isReduction && (!cell.reduction.isValid || cell.reduction.isSameThread(self) ||
                           isSurelyOrdered(cell.reduction)))
    cell.reduction = self;
  const bool areVolatile = cell.write.isVolatileStore && self.isVolatileStore;
  if (cell.write.isValid && (!(cell.write.isAtomic && self.isAtomic) || areVolatile) &&
      !isOrderedFor(cell.write, self)) {
    if (areVolatile ? false : cell.write.isAtomic || self.isAtomic || isReadToo)
      report(space, address, bytes, cell.write, cell.write.isAtomic ? "atomic" : "store", self.site,
             Severity::Error, machine.current());
    else if (!hasPending) {
      hasPending = true;
      pending = {space,
                 address,
                 offset,
                 bytes,
                 {},
                 cell.write,
                 uint32_t(self.site),
                 machine.current(),
                 areVolatile};
      memcpy(pending.before, reinterpret_cast<const void *>(address), bytes);
    }
  }
  cell.write = self;
}

} // namespace

/// Whether \p a and \p b are quiet NaNs without a payload: a GPU's arithmetic makes one of them,
/// this host's one of either sign.
template <typename T>
static bool areNaNs(const uint8_t *a, const uint8_t *b, unsigned bytes, T nan) {
  T x = 0, y = 0;
  if (bytes != sizeof(T))
    return false;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  const T sign = T(1) << (8 * sizeof(T) - 1);
  return (x & T(~sign)) == nan && (y & T(~sign)) == nan;
}

// The store may be the last access of its block, so that no thread runs any more.
void settle() {
  if (!hasPending)
    return;
  hasPending = false;
  const auto *after = reinterpret_cast<const uint8_t *>(pending.address);
  bool isSame = memcmp(pending.before, after, pending.bytes) == 0 ||
                areNaNs<uint32_t>(pending.before, after, pending.bytes, 0x7fc00000) ||
                areNaNs<uint64_t>(pending.before, after, pending.bytes, uint64_t(0x7ff8) << 48);
  if (pending.isVolatile) {
    if (!isSame)
      reportWeak(pending.site, pending.previous,
                 "over a store of another thread: volatile makes nothing atomic, "
                 "and one of the two is lost",
                 pending.thread);
    return;
  }
  report(pending.space, pending.address, pending.bytes, pending.previous, "store", pending.site,
         isSame ? Severity::Benign : Severity::Error, pending.thread);
}

void onLaunch() {
  ++launchGeneration;
  hasPending = false;
  resetClocksForLaunch();
}

void onBlock() {
  ++blockGeneration;
  resetClocksForBlock();
}

void onAccess(Space space, uint64_t offset, uint64_t address, unsigned bytes, AccessKind kind,
              uint32_t site) {
  if (hasPending)
    settle();
  ShadowPage *page = pageFor(space, offset);
  if (!page) {
    findings::note(
        "races were not checked on all memory: the limit of the check's own memory was reached");
    return;
  }
  unsigned need = (offset | bytes) & 1 ? 0 : (offset | bytes) & 2 ? 1 : 2;
  if (need < page->shift && !refine(*page, need)) {
    findings::note(
        "races were not checked on all memory: the limit of the check's own memory was reached");
    return;
  }
  const SiteInfo *info = site < machine.info->siteCount ? &machine.info->sites[site] : nullptr;
  bool isAtomic = kind == AccessKind::Atomic || (info && info->isVolatile);
  Stamp self = now(kind, site, isAtomic);
  self.isVolatileStore = isAtomic && kind == AccessKind::Store;
  self.isOfBlock =
      kind == AccessKind::Atomic && info && info->detail && strstr(info->detail, ".cta");
  const std::string_view operation =
      kind == AccessKind::Atomic && info && info->detail ? info->detail : "";
  self.isReduction = operation.starts_with("red.");
  self.isTaking = operation.starts_with("atom.xchg");
  const bool isReadOnly =
      kind == AccessKind::Load && space == Space::Global && info && info->isReadOnly;
  uint64_t first = (offset & (pageBytes - 1)) >> page->shift;
  uint64_t last = ((offset & (pageBytes - 1)) + bytes - 1) >> page->shift;
  for (uint64_t i = first; i <= last; ++i) {
    Cell &cell = page->cells[i];
    if (isReadOnly && cell.write.isValid)
      reportWeak(site, cell.write, "through the read-only cache of what this kernel writes");
    if (kind == AccessKind::Load)
      onRead(cell, self, space, address, bytes);
    else
      onWrite(cell, self, space, offset, address, bytes, kind == AccessKind::Atomic);
  }
  if (isAtomic)
    onSynchronisation(space == Space::Shared ? address ^ (machine.blockLinear + 1) << 44 : address,
                      kind, info && info->detail ? info->detail : "");
}

} // namespace kbrt::races
