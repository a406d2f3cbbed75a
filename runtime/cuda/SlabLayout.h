//===- SlabLayout.h - where a plan's buffers lie ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the arithmetic that gives every buffer of a plan a place, with guard
// zones, in one allocation. Pure.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_SLABLAYOUT_H
#define KBRT_CUDA_SLABLAYOUT_H

#include "kbrt/Plan.h"

namespace kbrt::cuda {

/// Bytes before and after every buffer that no kernel may change; the bytes up to the next
/// multiple of `slabAlignment` belong to the zone after it.
inline constexpr uint64_t guardBytes = 4096;
inline constexpr uint8_t guardPattern = 0xFD;
/// At least cudaMalloc's 256.
inline constexpr uint64_t slabAlignment = 512;

struct SlabLayout {
  std::vector<uint64_t> offset; ///< of each buffer's first byte; unused for symbols
  uint64_t bytes = 0;           ///< of the whole
  uint64_t peakBytes = 0;       ///< of buffers that live at once, without guard zones

  /// Bytes of the zone after a buffer of \p bytes.
  static uint64_t guardAfter(uint64_t bytes) {
    return (bytes + slabAlignment - 1) / slabAlignment * slabAlignment - bytes + guardBytes;
  }
  /// Buffers whose lives do not overlap may share a place.
  static SlabLayout of(const Plan &plan);
};

} // namespace kbrt::cuda

#endif // KBRT_CUDA_SLABLAYOUT_H
