//===- Check.h - bounds and initialisation ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what check mode knows of shared memory, local arrays and parameters.
// The kbrt_check_* functions are in Check.cpp; races in Races.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CHECK_H
#define KBRT_CHECK_H

#include "Machine.h"

namespace kbrt::check {

void onLaunch();
void onBlock();

/// A local array of a thread, kept on its stack.
struct Local {
  uint64_t begin, end;
  uint32_t site;
  uint32_t firstByte; ///< of its initialisation bytes in the thread's pool
};

/// The local arrays of one thread; arrays end in the reverse order of their beginning.
struct Locals {
  std::vector<Local> live;
  std::vector<uint8_t> written; ///< one byte per byte
};

/// The running thread's.
Locals &locals();

/// Checks one access of the running thread; \p isAligned says that it must be naturally aligned.
void access(uint32_t site, uint64_t address, uint64_t bytes, AccessKind kind,
            bool isAligned = true);

/// While set, reads of what nothing has written are not reported: the bytes are copied, not used.
extern bool suppressUninitialised;
/// The value that is read is only stored again: bytes of it that nothing has written are padding
/// or fields not used, as long as others were written.
extern bool isMove;

/// An access to memory that is neither in the arena nor shared. \p isWrite counts as initialising.
void accessElsewhere(uint32_t site, uint64_t address, uint64_t bytes, bool isRead, bool isWrite);

} // namespace kbrt::check
#endif
