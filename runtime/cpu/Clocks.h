//===- Clocks.h - which accesses happened before ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the stamps and the knowledge that barriers, warp operations and
// fence + atomic pass from thread to thread.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CLOCKS_H
#define KBRT_CLOCKS_H

#include "Machine.h"

namespace kbrt::races {

/// The thread and time of an access. The stamps count what synchronised so far in the block and in
/// the warp: an access with a lower stamp than the one at which a thread synchronised happened
/// before it.
struct Stamp {
  uint64_t block : 32;
  uint64_t site : 24;
  uint64_t isValid : 1;
  uint64_t isAtomic : 1;
  uint64_t isVolatileStore : 1; ///< and no atomic operation
  uint64_t isOfBlock : 1;       ///< an atomic operation of the block's scope
  uint64_t isReduction : 1;     ///< an atomic operation whose old value is not used
  uint64_t isTaking : 1;        ///< an exchange whose old value is used
  uint64_t : 2;
  uint64_t thread : 10;
  uint64_t blockStamp : 27;
  uint64_t warpStamp : 27;

  bool isSameThread(const Stamp &other) const {
    return block == other.block && thread == other.thread;
  }
};
static_assert(sizeof(Stamp) == 16);

void resetClocksForLaunch();
void resetClocksForBlock();
bool isOrderedSlow(const Stamp &previous);

/// State of the running block that the fast path needs.
struct BlockClock {
  uint32_t blockStamp = 1;
  uint32_t fullStamp = 0; ///< accesses with a lower block stamp are ordered for all threads
  uint32_t warpStamp[maxWarps];
  uint32_t warpFull[maxWarps];
};
extern BlockClock blockClock;

/// The running thread's stamp, with no site.
inline Stamp currentStamp() {
  const Thread &self = machine.current();
  Stamp stamp{};
  stamp.block = machine.blockLinear;
  stamp.isValid = 1;
  stamp.thread = self.linear;
  stamp.blockStamp = blockClock.blockStamp;
  stamp.warpStamp = blockClock.warpStamp[self.warp];
  return stamp;
}

/// True if \p previous happened before what the running thread does now by program order, a barrier
/// of the block or one of the whole warp.
inline bool isSurelyOrdered(const Stamp &previous) {
  if (previous.block != (machine.blockLinear & 0xffffffffu))
    return false;
  const Thread &self = machine.current();
  return previous.thread == self.linear || previous.blockStamp < blockClock.fullStamp ||
         (previous.thread / warpLanes == self.warp &&
          previous.warpStamp < blockClock.warpFull[self.warp]);
}

/// Set by `isOrderedSlow` where only a fence of the block's scope orders two blocks.
extern bool orderedByBlockFence;

/// True if \p previous happened before what the running thread does now, in any way.
inline bool isOrdered(const Stamp &previous) {
  return isSurelyOrdered(previous) || isOrderedSlow(previous);
}

/// The running thread performs an atomic or volatile access to \p address: passes on what it
/// fenced, and learns what others passed on there. \p detail is the site's mnemonic.
void onSynchronisation(uint64_t address, AccessKind kind, const char *detail);

} // namespace kbrt::races
#endif
