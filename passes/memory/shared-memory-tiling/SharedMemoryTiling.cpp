//===- SharedMemoryTiling.cpp - Load a tile into shared memory once and let the whole block read it
// SPDX-License-Identifier: Apache-2.0
//===//
//
// Owns no more than which keys of a schedule the pass sets: bm, bn, bk.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createSharedMemoryTiling() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"contraction", "stencil"});
}
} // namespace kbopt
