//===- StoredPointers.cpp - Device pointers inside uploaded data ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the search for device addresses in the bytes of uploads. Recorded
// addresses come from an arena that no other integers usually lie in (those of
// variables on a GPU from a place that the driver chose), but two
// neighbouring 32-bit numbers can look like one; so a buffer that kernels take
// for numbers is not searched.
//
//===----------------------------------------------------------------------===//
#include "kbrt/Memory.h"
#include "kbrt/Plan.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace kbrt;

namespace {

bool mayHoldPointers(const Buffer &buffer) {
  return buffer.element == ElementType::Unknown || buffer.element == ElementType::I64 ||
         buffer.element == ElementType::U64;
}

} // namespace

void kbrt::noteStoredPointers(Plan &plan, std::string_view data) {
  std::map<uint64_t, uint32_t> live; // address to buffer
  // A driver places variables outside the arena.
  uint64_t symbolsBegin = ~uint64_t(0), symbolsEnd = 0;
  for (uint32_t i = 0; i < plan.buffers.size(); ++i)
    if (const Buffer &buffer = plan.buffers[i]; buffer.kind == BufferKind::Symbol) {
      live[buffer.address] = i;
      symbolsBegin = std::min(symbolsBegin, buffer.address);
      symbolsEnd = std::max(symbolsEnd, buffer.address + buffer.bytes);
    }
  auto find = [&](uint64_t address) -> std::optional<Location> {
    auto next = live.upper_bound(address);
    if (next == live.begin())
      return std::nullopt;
    auto [start, buffer] = *std::prev(next);
    if (address - start > plan.buffers[buffer].bytes)
      return std::nullopt;
    return Location{buffer, address - start};
  };
  for (Step &step : plan.steps) {
    if (auto *alloc = std::get_if<AllocStep>(&step))
      live[plan.buffers[alloc->buffer].address] = alloc->buffer;
    if (auto *free = std::get_if<FreeStep>(&step))
      live.erase(plan.buffers[free->buffer].address);
    auto *upload = std::get_if<UploadStep>(&step);
    if (!upload || !mayHoldPointers(plan.buffers[upload->to.at.buffer]) ||
        upload->to.at.offset % 8 || (upload->to.height > 1 && upload->to.width % 8) ||
        upload->data + upload->to.bytes() > data.size())
      continue;
    upload->pointers.clear();
    for (uint64_t at = 0; at + 8 <= upload->to.bytes(); at += 8) {
      uint64_t word;
      std::memcpy(&word, data.data() + upload->data + at, sizeof word);
      if (!isDeviceAddress(word) && (word < symbolsBegin || word > symbolsEnd))
        continue;
      if (auto target = find(word))
        upload->pointers.push_back({at, *target});
    }
  }
}
