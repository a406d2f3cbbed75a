//===- DoubleBuffer.cpp - Load the next tile while the current one is in use ===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: stages.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createDoubleBuffer() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"contraction"});
}
} // namespace kbopt
