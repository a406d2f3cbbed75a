//===- PinnedCopy.h - device memory into a file ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns page-locked memory through which device memory goes into files: a copy to
// fresh pageable memory takes forty times as long as one to page-locked memory, and
// writing takes several threads.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_PINNEDCOPY_H
#define KBRT_CUDA_PINNEDCOPY_H

#include "Handles.h"

namespace kbrt::cuda {

class PinnedCopy {
public:
  /// The device's, made once; null and \p problem without memory for it.
  static PinnedCopy *of(Device::Handles &handles, Problem &problem);
  ~PinnedCopy();
  PinnedCopy(const PinnedCopy &) = delete;
  PinnedCopy &operator=(const PinnedCopy &) = delete;

  /// Writes \p bytes of device memory at \p from to the file \p path, once the stream is done.
  /// False with
  /// \p problem; then the file is not there.
  bool toFile(uint64_t from, uint64_t bytes, const std::string &path, Problem &problem);

private:
  explicit PinnedCopy(Device::Handles &handles) : h(handles) {}

  static constexpr size_t pieces = 4;
  static constexpr uint64_t pieceBytes = uint64_t(8) << 20;
  Device::Handles &h;
  char *memory[pieces] = {};
};

} // namespace kbrt::cuda

#endif // KBRT_CUDA_PINNEDCOPY_H
