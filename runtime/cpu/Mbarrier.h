//===- Mbarrier.h - Barriers in shared memory -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the mbarriers of the running block: their phases, the threads that wait for one, and what
// the checks know of copies that complete at one. The bytes of a barrier are not used: it is known
// by its place.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_MBARRIER_H
#define KBRT_MBARRIER_H

#include "Machine.h"

namespace kbrt::mbarrier {

/// There are none: a block starts.
void onBlock();
/// The running thread reads or writes \p bytes at \p offset of shared memory by other instructions
/// than those of mbarriers: a finding if a barrier lies there.
void onAccess(uint64_t offset, uint64_t bytes, uint32_t site);
/// A copy to \p bytes at \p offset of shared memory, in flight until a thread has waited for the
/// phase of \p barrier that it completes at.
void onCopy(void *barrier, uint64_t offset, uint64_t bytes);
/// A copy of \p bytes, which the running thread has issued, is complete.
void complete(uint32_t site, void *barrier, uint64_t bytes);
/// "the full barrier of a.cu:12, phase 3, for 1 more thread and 128 more bytes".
std::string describeWait(const Fiber &fiber);

} // namespace kbrt::mbarrier
#endif
