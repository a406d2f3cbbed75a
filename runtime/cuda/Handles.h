//===- Handles.h - what the device holds of the driver -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the driver's handles behind kbrt::cuda::Device; seen by runtime/cuda only.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_HANDLES_H
#define KBRT_CUDA_HANDLES_H

#include "Libraries.h"

namespace kbrt::cuda {

class HelperKernels;
class PinnedCopy;

struct Device::Handles {
  const Driver *driver = nullptr;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;   ///< everything runs here
  CUfunction matmul = nullptr; ///< our kernel, once a plan needs it (Matmul.h)
  const Nvml *nvml = nullptr;
  Nvml::Device nvmlDevice = nullptr;
  std::shared_ptr<HelperKernels> helpers; ///< once they are needed (HelperKernels::of)
  std::shared_ptr<PinnedCopy> pinned;     ///< likewise (PinnedCopy::of)
  /// A kernel went wrong or does not end: calls that wait for the device would fail or never
  /// return, so that nothing is given back any more.
  bool isLost = false;
};

} // namespace kbrt::cuda

#endif // KBRT_CUDA_HANDLES_H
