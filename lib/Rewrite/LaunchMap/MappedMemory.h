//===- MappedMemory.h - The memory of a derived plan ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which buffers live at a step of the derived plan, and where its temporaries lie. Tells
// pointers from numbers as the recorder does: by the address.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_LAUNCHMAP_MAPPEDMEMORY_H
#define KBOPT_LIB_REWRITE_LAUNCHMAP_MAPPEDMEMORY_H

#include "kbrt/Plan.h"
#include <map>

namespace kbopt::hostmap {

class MappedMemory {
public:
  /// \p recorded gives the buffers that the original has.
  explicit MappedMemory(const kbrt::Plan &recorded);

  /// Takes note of a step of the plan.
  void perform(const kbrt::Step &step);

  /// A new buffer of \p bytes for the step that allocates it; nothing if the arena has no room.
  std::optional<uint32_t> allocate(uint64_t bytes);
  /// The live buffer that starts at \p address; nothing if none does, or it is no device memory.
  std::optional<uint32_t> startingAt(uint64_t address) const;
  /// The live buffer that holds \p address, or that ends there, and the offset in it.
  std::optional<kbrt::Location> find(uint64_t address) const;
  /// Whether \p a and \p b lie inside two live buffers.
  bool areApart(uint64_t a, uint64_t b) const;
  /// The words of \p bytes, an argument, that are pointers.
  std::vector<kbrt::PointerWord> pointersIn(const std::vector<uint8_t> &bytes) const;
  /// Kernels see the buffer at \p address as \p type.
  void noteElement(uint64_t address, kbrt::ElementType type);

  /// All buffers, the recorded ones first.
  std::vector<kbrt::Buffer> buffers;

private:
  size_t recordedBuffers;
  std::map<uint64_t, uint32_t> live; ///< by address
  uint64_t firstFree = 0;            ///< beyond all that was recorded
  std::vector<bool> disputed;        ///< of the new ones
};

/// Numbers the buffers of \p plan in the order in which a recording meets them.
void renumberBuffers(kbrt::Plan &plan);

} // namespace kbopt::hostmap

#endif // KBOPT_LIB_REWRITE_LAUNCHMAP_MAPPEDMEMORY_H
