//===- MbarrierAbi.h - What a CPU image calls for mbarriers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the part of the contract of DeviceAbi.h that is for barriers in shared memory, and for
// copies of boxes of a tensor that complete at one.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_MBARRIERABI_H
#define KBRT_MBARRIERABI_H

#include "kbrt/DeviceAbi.h"

extern "C" {

/// mbarrier.init and mbarrier.inval.
void kbrt_mbarrier_init(uint32_t site, void *barrier, uint32_t count);
void kbrt_mbarrier_inval(uint32_t site, void *barrier);
/// mbarrier.arrive of \p count threads, after the present phase expects \p bytes more of copies
/// (arrive.expect_tx; with a count of 0 expect_tx). Gives the phase that the threads arrived in.
uint64_t kbrt_mbarrier_arrive(uint32_t site, void *barrier, uint32_t count, uint32_t bytes);
/// mbarrier.try_wait and test_wait: whether the phase \p phase, or the present one if \p isParity
/// and it has the parity \p phase, is complete. With \p waits the thread sleeps until it is.
uint32_t kbrt_mbarrier_wait(uint32_t site, void *barrier, uint64_t phase, uint32_t isParity,
                            uint32_t waits);

/// cp.async.bulk.tensor of a box of \p rank dimensions at \p coordinates, the innermost first, of
/// the tensor that \p map describes, to shared memory; completes at \p barrier. Copies at once:
/// what is in flight only the checks know.
void kbrt_tensor_copy(uint32_t site, void *destination, const void *map, void *barrier,
                      uint32_t rank, const int32_t *coordinates);
/// Its reads of global memory: modes Check and Count only, before the copy.
void kbrt_tensor_read(uint32_t site, const void *map, uint32_t rank, const int32_t *coordinates);

} // extern "C"

#endif // KBRT_MBARRIERABI_H
