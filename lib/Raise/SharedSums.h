//===- SharedSums.h - Sums of a block in shared memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from atomic additions to a shared array, which the block adds to global memory at
// its end, to atomic additions to global memory. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_SHAREDSUMS_H
#define KBOPT_LIB_RAISE_SHAREDSUMS_H

#include "ThreadProgram.h"

namespace kbopt::raise {

/// for (i = tid; i < n; i += size) s[i] = 0;  ...  atomicAdd(&s[j], x);  ...  for (i = tid; i < n;
/// i += size) atomicAdd(&g[i], s[i]); becomes  atomicAdd(&g[j], x). Leaves alone what it does not
/// understand.
void forwardSharedSums(ThreadProgram &program);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_SHAREDSUMS_H
