//===- Races.h - happens-before on shared and global memory -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is remembered of the last accesses to every word and which accesses
// are ordered: by program order, block barriers, warp barriers, and between
// blocks by fence + atomic followed by an atomic on the same address.
//
// The method is that of a vector-clock detector with last-access cells
// (Flanagan and Freund, "FastTrack", PLDI 2009), with clocks shaped like the
// hierarchy of threads: one stamp per block, one per warp.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RACES_H
#define KBRT_RACES_H

#include "Machine.h"

namespace kbrt::races {

enum class Space : uint8_t { Global, Shared };

void onLaunch();
void onBlock();
/// A thread reached barrier \p id (by sync or arrive).
void onBarrierArrival(uint32_t id, const Thread &thread);
/// Barrier \p id is complete; \p isWhole if every live thread of the block waits at it.
void onBlockBarrier(uint32_t id, bool isWhole);
/// \p thread leaves barrier \p id, for which onBlockBarrier has been called.
void onBarrierRelease(uint32_t id, const Thread &thread);
/// What the threads that arrive at a barrier in shared memory hand on, by warp: block stamps below
/// which the warp's accesses happened before.
struct PhaseClock {
  uint32_t arrived[maxWarps] = {}, complete[maxWarps] = {};
};
void onPhaseArrival(PhaseClock &clock, const Thread &thread);
/// A phase of the barrier is complete.
void onPhase(PhaseClock &clock);
/// \p thread has waited for it. As with barriers of some threads, its whole warp knows then.
void onPhaseWait(const PhaseClock &clock, const Thread &thread);
void onWarpSync(uint32_t warp, uint32_t mask);
/// \p isOfBlock: it orders for the threads of the block alone.
void onFence(const Thread &thread, bool isOfBlock);

/// The running thread is about to access [address, address + bytes) at \p site; \p offset is from
/// the start of the arena or of shared memory. \p bytes is at most 16 and does not cross a page.
void onAccess(Space space, uint64_t offset, uint64_t address, unsigned bytes, AccessKind kind,
              uint32_t site);
/// Decides whether the store that was last seen to conflict wrote the same value; call before the
/// next access and at the end of the launch.
void settle();
extern bool hasPending;

} // namespace kbrt::races
#endif
