//===- MappedMemory.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "MappedMemory.h"
#include "kbrt/Memory.h"
#include <algorithm>
#include <cstring>

using namespace kbopt::hostmap;
using namespace kbrt;

/// The end of \p bytes at \p address with what the arena keeps free behind them.
static uint64_t endOf(uint64_t address, uint64_t bytes) {
  constexpr uint64_t page = DeviceMemory::pageBytes;
  return (address + std::max<uint64_t>(bytes, 1) + page - 1) / page * page +
         2 * DeviceMemory::guardBytes;
}

MappedMemory::MappedMemory(const Plan &recorded)
    : buffers(recorded.buffers), recordedBuffers(recorded.buffers.size()),
      firstFree(arenaBase + 2 * DeviceMemory::guardBytes) {
  for (uint32_t id = 0; id < buffers.size(); ++id) {
    const Buffer &buffer = buffers[id];
    if (buffer.kind == BufferKind::Symbol)
      live[buffer.address] = id; // from the start
    else if (isDeviceAddress(buffer.address))
      firstFree = std::max(firstFree, endOf(buffer.address, buffer.bytes));
  }
}

void MappedMemory::perform(const Step &step) {
  if (const auto *alloc = std::get_if<AllocStep>(&step))
    live[buffers[alloc->buffer].address] = alloc->buffer;
  else if (const auto *free = std::get_if<FreeStep>(&step))
    live.erase(buffers[free->buffer].address);
}

std::optional<uint32_t> MappedMemory::allocate(uint64_t bytes) {
  constexpr uint64_t end = arenaBase + arenaBytes - symbolAreaBytes;
  if (bytes > arenaBytes)
    return std::nullopt;
  uint64_t address = firstFree; // the first gap that is large enough
  for (auto it = live.lower_bound(firstFree); it != live.end() && it->first < end; ++it) {
    if (endOf(address, bytes) <= it->first)
      break;
    address = endOf(it->first, buffers[it->second].bytes);
  }
  if (endOf(address, bytes) > end)
    return std::nullopt;
  buffers.push_back({bytes, BufferKind::Device, address, ElementType::Unknown, {}});
  disputed.push_back(false);
  return static_cast<uint32_t>(buffers.size() - 1);
}

std::optional<uint32_t> MappedMemory::startingAt(uint64_t address) const {
  auto found = live.find(address);
  if (found == live.end() || buffers[found->second].kind == BufferKind::Symbol ||
      buffers[found->second].kind == BufferKind::Pinned)
    return std::nullopt;
  return found->second;
}

std::optional<Location> MappedMemory::find(uint64_t address) const {
  auto next = live.upper_bound(address);
  if (next == live.begin())
    return std::nullopt;
  auto [begin, id] = *std::prev(next);
  if (address - begin > buffers[id].bytes)
    return std::nullopt;
  return Location{id, address - begin};
}

bool MappedMemory::areApart(uint64_t a, uint64_t b) const {
  auto left = find(a), right = find(b);
  auto isInside = [&](const std::optional<Location> &at) {
    return at && at->offset < buffers[at->buffer].bytes;
  };
  return isInside(left) && isInside(right) && left->buffer != right->buffer;
}

std::vector<PointerWord> MappedMemory::pointersIn(const std::vector<uint8_t> &bytes) const {
  std::vector<PointerWord> words;
  for (uint64_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    if (auto target = find(word))
      words.push_back({at, *target});
  }
  return words;
}

void MappedMemory::noteElement(uint64_t address, ElementType type) {
  auto target = find(address);
  if (!target || target->buffer < recordedBuffers || type == ElementType::Unknown)
    return;
  ElementType &known = buffers[target->buffer].element;
  std::vector<bool>::reference isDisputed = disputed[target->buffer - recordedBuffers];
  if (known != ElementType::Unknown && known != type)
    isDisputed = true;
  known = isDisputed ? ElementType::Unknown : type;
}

namespace {

/// Calls `visit` with every buffer that a step names, in the order in which a recording meets them.
template <class Visit> struct BufferVisitor {
  Visit visit;
  void operator()(AllocStep &step) { visit(step.buffer); }
  void operator()(FreeStep &step) { visit(step.buffer); }
  void operator()(UploadStep &step) { visit(step.to.at.buffer); }
  void operator()(FillStep &step) { visit(step.to.at.buffer); }
  void operator()(CopyStep &step) {
    visit(step.to.at.buffer);
    visit(step.from.at.buffer);
  }
  void operator()(LaunchStep &step) {
    for (Argument &argument : step.arguments)
      for (PointerWord &word : argument.pointers)
        visit(word.target.buffer);
  }
  void operator()(ReadStep &step) { visit(step.from.at.buffer); }
  void operator()(MatmulStep &step) {
    visit(step.a.at.buffer);
    visit(step.b.at.buffer);
    visit(step.c.at.buffer);
  }
  template <class Other> void operator()(Other &) {}
};
template <class Visit> BufferVisitor(Visit) -> BufferVisitor<Visit>;

} // namespace

void kbopt::hostmap::renumberBuffers(Plan &plan) {
  constexpr uint32_t none = ~uint32_t(0);
  std::vector<uint32_t> numbers(plan.buffers.size(), none);
  uint32_t count = 0;
  auto number = [&](uint32_t &buffer) {
    uint32_t &known = numbers[buffer];
    if (known == none)
      known = count++;
    buffer = known;
  };
  for (Step &step : plan.steps)
    std::visit(BufferVisitor{number}, step);
  for (uint32_t &each : numbers)
    if (each == none) // nothing names it
      each = count++;
  for (Step &step : plan.steps)
    if (auto *upload = std::get_if<UploadStep>(&step))
      for (PointerWord &word : upload->pointers)
        word.target.buffer = numbers[word.target.buffer];
  std::vector<Buffer> buffers(plan.buffers.size());
  for (size_t id = 0; id < numbers.size(); ++id)
    buffers[numbers[id]] = std::move(plan.buffers[id]);
  plan.buffers = std::move(buffers);
}
