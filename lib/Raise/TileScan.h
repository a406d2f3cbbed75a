//===- TileScan.h - Prefix sums in shared memory ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the recognition of the loop by which the threads of a block form the prefix sums of a shared
// array (Hillis and Steele, Data parallel algorithms, CACM 29(12), 1986). Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TILESCAN_H
#define KBOPT_LIB_RAISE_TILESCAN_H

#include "ThreadProgram.h"

namespace kbopt::raise {

/// Elements start + i of a shared array, 0 <= i < length, that each become the sum of those up to
/// them.
struct TileScan {
  Base base;
  Poly start, length;
  std::string type;
  bool waitsBefore = false, waitsAfter = false; ///< the loop has a barrier at that end of its body
};

/// Whether thread i of \p threads does, in every step of \p loop over the distances 1, 2, 4 and so
/// on: `if (i >= distance) a[i] += a[i - distance]`, with barriers so that all load before any
/// stores.
std::optional<TileScan> scanIn(const Space &space, const Statement &loop, const Poly &threads);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TILESCAN_H
