//===- AsyncCopies.h - Copies to shared memory that are in flight --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what cp.async and bulk copies have copied and no thread has waited for yet. The device
// copies at once, so that a program which forgets to wait would be right here and nowhere else.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_ASYNCCOPIES_H
#define KBRT_ASYNCCOPIES_H

#include "Machine.h"

namespace kbrt::async {

/// Nothing is in flight: a block starts.
void onBlock();
/// The running thread accesses \p bytes at \p offset of shared memory: a finding if they are in
/// flight.
void onAccess(uint64_t offset, uint64_t bytes, uint32_t site);
/// A copy to these bytes that a barrier in shared memory tells of begins, and a thread has waited
/// for it.
void begin(uint64_t offset, uint64_t bytes);
void land(uint64_t offset, uint64_t bytes);

} // namespace kbrt::async
#endif
