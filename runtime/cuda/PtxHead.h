//===- PtxHead.h - how our own PTX begins ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the version and the target of all kernels that kb-run brings along.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_PTXHEAD_H
#define KBRT_CUDA_PTXHEAD_H

#include <string>

namespace kbrt::cuda {

/// The oldest target that CUDA 13 knows, so that every supported driver takes it.
inline const std::string ptxHead = R"PTX(
.version 6.4
.target sm_75
.address_size 64
)PTX";

} // namespace kbrt::cuda

#endif // KBRT_CUDA_PTXHEAD_H
