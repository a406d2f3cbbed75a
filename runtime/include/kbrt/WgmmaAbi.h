//===- WgmmaAbi.h - What a CPU image calls for wgmma ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the part of the contract of DeviceAbi.h that is for matrix operations of four warps, whose
// operands lie in shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_WGMMAABI_H
#define KBRT_WGMMAABI_H

#include "kbrt/DeviceAbi.h"

namespace kbrt {

/// D = A(64 x k) * B(k x n) + D. Constant data inside the image.
struct WgmmaShape {
  uint32_t rowsOfWarp, n, k; ///< 16 rows, so that the product is the work of one warp
  MmaType aType, bType, dType;
  uint32_t aCount;        ///< elements of A in the registers of a lane; 0: A is in shared memory
  uint8_t transA, transB; ///< neighbours in memory are rows of A, columns of B
  uint8_t negateA, negateB;
};

} // namespace kbrt

extern "C" {

/// wgmma.mma_async, collective over four warps; \p a and \p b are matrix descriptors, or \p
/// aRegisters the lane's fragment of A. \p d are the lane's sums, which D is added to if \p
/// addsToD. Computes at once: what is in flight only the checks know.
void kbrt_wgmma(uint32_t site, const kbrt::WgmmaShape *shape, uint64_t a, uint64_t b,
                uint32_t addsToD, const void *aRegisters, void *d);
/// The others in mode Check only.
void kbrt_wgmma_fence(uint32_t site);
void kbrt_wgmma_commit(uint32_t site);
/// Until at most \p groups of the latest groups are in flight.
void kbrt_wgmma_wait(uint32_t site, uint32_t groups);
/// fence.proxy.async that is for shared memory: what the thread has written there, or knows of,
/// wgmma may read.
void kbrt_proxy_fence(uint32_t site);

} // extern "C"

#endif // KBRT_WGMMAABI_H
