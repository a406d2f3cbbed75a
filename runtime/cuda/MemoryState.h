//===- MemoryState.h - whether memory is what it was -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the proof that a period of a plan changes nothing (kbrt/Repetition.h): all
// memory that a program has is hashed on the device before and after it. Salts that
// the program cannot know keep a kernel from making two states look the same.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_MEMORYSTATE_H
#define KBRT_CUDA_MEMORYSTATE_H

#include "Execution.h"
#include "HelperKernels.h"
#include <array>

namespace kbrt::cuda {

class MemoryState {
public:
  /// Of \p bytes bytes at \p base, and of the variables of \p module.
  MemoryState(HelperKernels &helpers, LoadedImage::Module &module, uint64_t base, uint64_t bytes);

  /// False for an image whose memory is not all known, or whose launches do more than change it
  /// (printf, a heap): then nothing may be left out.
  bool isKnown() const { return known; }
  /// Asked after each period, \p periods so far: whether memory is what it was one period before.
  /// It looks at the first few periods only. Waits for the stream.
  bool isAtRest(const Repetition &repetition, size_t periods);

private:
  std::array<uint64_t, 2> hash();

  HelperKernels &helpers;
  std::vector<std::pair<uint64_t, uint64_t>> regions; ///< address and bytes
  bool known = false;
  Repetition last; ///< of which `state` is, after `lastPeriods`
  size_t lastPeriods = 0;
  std::array<uint64_t, 2> state = {};
};

} // namespace kbrt::cuda

#endif // KBRT_CUDA_MEMORYSTATE_H
