//===- Allocations.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Allocations.h"
#include "kbrt/CubinTable.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace kbrt;

namespace {

/// Host writes are found in pieces of this many bytes, and gaps of fewer than
/// `mergeBytes` unchanged bytes are uploaded with their neighbours.
constexpr uint64_t pieceBytes = 16, mergeBytes = 256;

/// In larger memory results are not hidden from the host: it takes time after each launch.
constexpr uint64_t mostHiddenBytes = uint64_t(16) << 20;

} // namespace

Allocation *Allocations::allocate(uint64_t bytes, BufferKind kind, std::optional<uint32_t> stream) {
  bool hostSide = kind == BufferKind::Managed || kind == BufferKind::Pinned;
  void *p = backend.allocate(bytes, hostSide);
  if (!p)
    return nullptr;
  Allocation allocation;
  allocation.address = reinterpret_cast<uint64_t>(p);
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.stream = stream;
  allocation.moment = sequence.launchCount;
  Allocation &placed = byAddress[allocation.address] = std::move(allocation);
  if (kind != BufferKind::Pinned)
    buffer(placed);
  return &placed;
}

bool Allocations::release(void *p, bool pinned, std::optional<uint32_t> stream) {
  auto found = byAddress.find(reinterpret_cast<uint64_t>(p));
  if (found == byAddress.end() || found->second.kind == BufferKind::Symbol ||
      (found->second.kind == BufferKind::Pinned) != pinned)
    return false;
  if (found->second.buffer != noBuffer)
    sequence.add(FreeStep{found->second.buffer, stream});
  byAddress.erase(found);
  backend.free(p);
  return true;
}

HeldObjects kbrt::heldAt(std::string what, uint64_t bytes, std::vector<uint64_t> moments) {
  const uint64_t count = moments.size();
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  return {std::move(what), bytes, count, moments.size()};
}

std::vector<HeldObjects> Allocations::held() const {
  std::map<std::pair<BufferKind, uint64_t>, std::vector<uint64_t>> moments;
  for (const auto &[address, allocation] : byAddress)
    if (allocation.kind != BufferKind::Symbol)
      moments[{allocation.kind, allocation.bytes}].push_back(allocation.moment);
  std::vector<HeldObjects> all;
  for (auto &[key, times] : moments)
    all.push_back(heldAt(key.first == BufferKind::Device    ? "device memory"
                         : key.first == BufferKind::Managed ? "managed memory"
                                                            : "page-locked memory",
                         key.second, std::move(times)));
  return all;
}

void Allocations::addSymbol(const DeviceVariable &variable) {
  if (!variable.address) // nothing uses it, so that the image has left it out
    return;
  Allocation &symbol = byAddress[variable.address];
  symbol.address = variable.address;
  symbol.bytes = variable.bytes;
  symbol.kind = BufferKind::Symbol;
  symbol.symbol = variable.name;
  symbols[variable.name] = variable.address;
  symbols.try_emplace(linkageFreeName(variable.name), variable.address);
  uint64_t end = variable.address + variable.bytes;
  if (!isDeviceAddress(variable.address)) {
    bool isFirst = symbolsBegin == ~uint64_t(0);
    uint64_t oldEnd = isFirst ? end : symbolsBegin + symbolsBytes;
    symbolsBegin = std::min(symbolsBegin, variable.address);
    symbolsBytes = std::max(oldEnd, end) - symbolsBegin;
  }
  if (variable.isManaged)
    watch(symbol);
}

Allocation *Allocations::symbol(const std::string &name) {
  auto found = symbols.find(name);
  if (found == symbols.end())
    found = symbols.find(linkageFreeName(name));
  if (found == symbols.end())
    return nullptr;
  Allocation &symbol = byAddress.at(found->second);
  if (symbol.buffer == noBuffer)
    symbol.symbol = name; // plans have the host's names
  return &symbol;
}

Allocation *Allocations::find(const void *p) {
  auto address = reinterpret_cast<uint64_t>(p);
  auto next = byAddress.upper_bound(address);
  if (next == byAddress.begin())
    return nullptr;
  Allocation &candidate = std::prev(next)->second;
  return address <= candidate.address + candidate.bytes ? &candidate : nullptr;
}

bool Allocations::isDevice(const void *p) {
  Allocation *allocation = find(p);
  return allocation && allocation->kind != BufferKind::Pinned;
}

std::optional<Region> Allocations::region(const void *p, uint64_t width, uint64_t height,
                                          uint64_t pitch) {
  Allocation *allocation = find(p);
  uint64_t last = 0, end = 0;
  if (!allocation || __builtin_mul_overflow(height ? height - 1 : 0, pitch, &last) ||
      __builtin_add_overflow(last, width, &end))
    return std::nullopt;
  uint64_t offset = reinterpret_cast<uint64_t>(p) - allocation->address;
  if (end > allocation->bytes - offset)
    return std::nullopt;
  if (height == 1 || pitch == width)
    return Region::linear({buffer(*allocation), offset}, width * height);
  return Region{{buffer(*allocation), offset}, width, height, pitch};
}

uint32_t Allocations::buffer(Allocation &allocation) {
  bool isWatched = allocation.kind == BufferKind::Managed || allocation.kind == BufferKind::Pinned;
  if (!sequence.recording() && isWatched)
    watch(allocation);
  if (allocation.buffer != noBuffer || !sequence.recording())
    return allocation.buffer;
  allocation.buffer = static_cast<uint32_t>(sequence.plan.buffers.size());
  sequence.plan.buffers.push_back({allocation.bytes, allocation.kind, allocation.address,
                                   ElementType::Unknown, allocation.symbol});
  if (allocation.kind != BufferKind::Symbol)
    sequence.add(AllocStep{allocation.buffer, allocation.stream});
  if (isWatched)
    watch(allocation);
  return allocation.buffer;
}

void Allocations::watch(Allocation &allocation) {
  if (allocation.hostVisible)
    return;
  allocation.hostVisible = true;
  bool full = allocation.kind == BufferKind::Pinned;
  // The host may have filled pinned memory long before a device sees it.
  if (full)
    sequence.upload(Region::linear({buffer(allocation), 0}, allocation.bytes),
                    {allocation.data(), allocation.bytes}, 1, 0, /*isStaged=*/true,
                    HostPart::Writes);
  allocation.shadow.assign(allocation.data(), allocation.data() + allocation.bytes);
  if (full)
    backend.noteHostWrite(allocation.data(), allocation.bytes);
}

void Allocations::flush(Allocation &allocation) {
  const auto *now = reinterpret_cast<const uint8_t *>(allocation.data());
  uint8_t *then = allocation.shadow.data();
  uint64_t start = 0, end = 0; // the pending run of changed bytes
  auto emit = [&] {
    if (start == end)
      return;
    sequence.upload(Region::linear({buffer(allocation), start}, end - start),
                    {allocation.data() + start, end - start}, 1, 0, /*isStaged=*/true,
                    HostPart::Writes);
    backend.noteHostWrite(now + start, end - start);
    std::memcpy(then + start, now + start, end - start);
  };
  for (uint64_t at = 0; at < allocation.bytes; at += pieceBytes) {
    uint64_t count = std::min(pieceBytes, allocation.bytes - at);
    if (std::memcmp(now + at, then + at, count) == 0)
      continue;
    if (start == end || at - end >= mergeBytes) {
      emit();
      start = at;
    }
    end = at + count;
  }
  emit();
}

bool Allocations::hasHostVisible() const {
  return std::any_of(byAddress.begin(), byAddress.end(),
                     [](const auto &entry) { return entry.second.hostVisible; });
}

void Allocations::flushHostWrites() {
  for (auto &[address, allocation] : byAddress)
    if (allocation.hostVisible && !allocation.hidden.empty())
      show(allocation);
    else if (allocation.hostVisible)
      flush(allocation);
}

void Allocations::hide(Allocation &allocation) {
  const auto *now = reinterpret_cast<const uint8_t *>(allocation.data());
  if (std::memcmp(now, allocation.shadow.data(), allocation.bytes) == 0)
    return;
  allocation.hidden.assign(now, now + allocation.bytes);
  std::memcpy(allocation.data(), allocation.shadow.data(), allocation.bytes);
}

void Allocations::show(Allocation &allocation) {
  auto *now = reinterpret_cast<uint8_t *>(allocation.data());
  bool hasWritten = false;
  for (uint64_t i = 0; i < allocation.bytes; ++i)
    if (now[i] == allocation.shadow[i]) {
      now[i] = allocation.hidden[i];
    } else { // by the host, meanwhile
      allocation.shadow[i] = now[i];
      hasWritten = true;
    }
  allocation.hidden.clear();
  if (hasWritten)
    backend.noteHostWrite(now, allocation.bytes);
}

void Allocations::showAll() {
  for (auto &[address, allocation] : byAddress)
    if (!allocation.hidden.empty()) {
      show(allocation);
      std::memcpy(allocation.shadow.data(), allocation.data(), allocation.bytes);
    }
}

bool Allocations::hasHidden() const {
  return std::any_of(byAddress.begin(), byAddress.end(),
                     [](const auto &entry) { return !entry.second.hidden.empty(); });
}

void Allocations::deviceWrote(const std::vector<uint64_t> &places, bool isKernel) {
  const Moment &writer = sequence.order.last();
  std::set<const Allocation *> written;
  for (uint64_t place : places)
    if (Allocation *one = find(reinterpret_cast<void *>(place)); one && one->hostVisible) {
      written.insert(one);
      if (writer.stream)
        one->writers[*writer.stream] = writer.number;
    }
  for (auto &[address, allocation] : byAddress)
    if (allocation.hostVisible && (isKernel || written.count(&allocation))) {
      if (sequence.mode == Mode::Run && allocation.bytes <= mostHiddenBytes)
        hide(allocation);
      else
        std::memcpy(allocation.shadow.data(), allocation.data(), allocation.bytes);
      allocation.isUnseen = unseenWrites = true;
    }
}

void Allocations::hostMayLook(uint32_t stream) {
  if (!unseenWrites)
    return;
  unseenWrites = false;
  const Moment now = stream ? sequence.order.functionMoment(stream) : sequence.order.hostMoment();
  for (auto &[address, allocation] : byAddress) {
    if (!allocation.hostVisible || !allocation.isUnseen)
      continue;
    allocation.isUnseen =
        std::any_of(allocation.writers.begin(), allocation.writers.end(),
                    [&](const auto &writer) { return !now.knows(writer.first, writer.second); });
    unseenWrites |= allocation.isUnseen;
    if (allocation.isUnseen)
      continue;
    // Writes of the host since the last launch are not the device's.
    if (allocation.hidden.empty())
      flush(allocation);
    else
      show(allocation);
    sequence.read(Region::linear({buffer(allocation), 0}, allocation.bytes), allocation.data(),
                  allocation.data(), allocation.bytes, stream, /*implicit=*/true);
    std::memcpy(allocation.shadow.data(), allocation.data(), allocation.bytes);
  }
}
