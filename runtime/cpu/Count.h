//===- Count.h - counting on sampled blocks ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is counted while a sampled block runs, and the sum over the
// launch. The rules for one request are in Requests.cpp, the caches in Cache.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_COUNT_H
#define KBRT_COUNT_H

#include "Machine.h"
#include <span>

namespace kbrt::count {

void beginLaunch();
/// Whether the launch has more blocks than are sampled, so that it matters which ones are.
bool needsSurvey();
/// From now on no block is sampled; what each one executes is told by `workSoFar`.
void beginSurvey();
uint64_t workSoFar();
/// Samples blocks by what each of them executes (see `blocksByWork`). Without this call they are
/// spread over the grid.
void chooseBlocks(std::span<const uint64_t> work);
/// True if the block is sampled: its threads run the counted body as fibers.
bool beginBlock(uint64_t linear);
/// Of every block, sampled or not.
void endBlock();
KernelCounters endLaunch();

void onBarrier(const Thread &thread);
/// A bulk copy of the running thread reads \p bytes of global memory.
void onBulkRead(uint32_t site, uint64_t address, uint64_t bytes);
void onWarpOp(const Thread &thread, WarpOpKind kind);

} // namespace kbrt::count
#endif
