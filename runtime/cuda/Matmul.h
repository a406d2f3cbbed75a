//===- Matmul.h - Matrix products of libraries on a GPU ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the execution of `MatmulStep` on CUDA devices by a kernel of our own: a
// plan needs no cuBLAS, and the result has the bits of the CPU device.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_MATMUL_H
#define KBRT_CUDA_MATMUL_H

#include "Handles.h"
#include "kbrt/Plan.h"

namespace kbrt::cuda {

/// Puts the product into the device's stream; \p a, \p b and \p c are where its operands start. The
/// sums are f32 in ascending order of k, without fused operations.
CUresult queueMatmul(Device::Handles &handles, const MatmulStep &step, uint64_t a, uint64_t b,
                     uint64_t c);

} // namespace kbrt::cuda

#endif // KBRT_CUDA_MATMUL_H
