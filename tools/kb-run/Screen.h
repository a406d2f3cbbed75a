//===- Screen.h - a process that runs candidates -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the worker of `kb-run hold`: it has a device of its own, the blocks that it is
// lent and the code of one original and one candidate at a time. It never sees what
// results should be: it says that a plan has run, and how long it took.
//
// It gets messages and answers each with one (Link.h) that has `status`, `message` and
// `note`. Before the first it says by such an answer whether it has a device.
//
//   {"do": "map", "bytes": [results, inputs, work]}  with three descriptors
//   {"do": "unmapWork"}, {"do": "mapWork", "bytes": N}  with one
//   {"do": "load", "side": 0, "image": PATH, "plans": [FOLDER], "inputs": [[OFFSET]]}
//       side 0 is the original, 1 the candidate; for each set of inputs, where the bytes of each
//       upload lie in the block of inputs
//   {"do": "run", "side": 1, "set": 0, "poison": 203, "seconds": 2}
//       the answer has `launches` ([kernel, microseconds]), `seconds` without waiting for turns,
//       and `findings`
//   {"do": "time", "hasCandidate": true, "poison": 203, "seconds": 2, "mostPairs": 8,
//    "apartRatio": 1.25}
//       the answer has `original` and `candidate`, microseconds, and `isOriginals` where that
//       failed
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_SCREEN_H
#define KBRUN_SCREEN_H

namespace kbrun {

/// Descriptors of a worker: its end of the socket, and the memory of its `Progress`.
inline constexpr int workerSocket = 3, workerProgress = 4;

/// Answers messages until the other end is closed. Returns an exit status; after a fault it does
/// not return but ends the process.
int screenWorker();

} // namespace kbrun
#endif
