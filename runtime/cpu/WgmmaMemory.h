//===- WgmmaMemory.h - Shared memory that wgmma reads -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the checks know of wgmma: which bytes operations in flight still read, and which bytes
// no fence.proxy.async has shown them, or bulk copies. The device computes at once, so that a
// program which forgets to wait would be right here and nowhere else. Not checked: a thread that
// reads its sums before it has waited.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_WGMMAMEMORY_H
#define KBRT_WGMMAMEMORY_H

#include "Machine.h"

namespace kbrt::wgmma {

inline constexpr unsigned groupThreads = 128; ///< of four warps

/// When a thread wrote something last.
struct Time {
  uint64_t time = 0;
  uint32_t thread = 0;
};

/// Nothing is in flight: a block starts.
void onBlock();
/// The running thread is about to write \p bytes at \p offset of shared memory: a finding if an
/// operation in flight reads them.
void onWrite(uint64_t offset, uint64_t bytes, uint32_t site);
/// The same bytes have been written, for \p cp.async when the thread has waited for them.
void onWritten(uint64_t offset, uint64_t bytes);
/// An operation of the running thread's group reads \p bytes at \p offset: a finding if no fence
/// shows them to it. They are in flight until a thread of the group has waited.
void onRead(uint64_t offset, uint64_t bytes, uint32_t site);
/// Of what the running thread writes now.
Time currentTime();
/// A bulk copy of the running thread is about to write \p bytes at \p offset: a finding if no fence
/// lies between it and other writes there.
void onAsyncWrite(uint64_t offset, uint64_t bytes, uint32_t site);
/// It has written them, which needs no fence.
void onAsyncWritten(uint64_t offset, uint64_t bytes);
/// It completes at a barrier that was initialised at \p written: a finding if no fence shows it.
void onAsyncUse(const Time &written, uint32_t site);
/// Each thread of a group issues an operation.
void onIssue(const Thread &thread, uint32_t site);
/// A thread ends: a finding if it has not waited for what it issued.
void onExit(const Thread &thread);

} // namespace kbrt::wgmma
#endif
