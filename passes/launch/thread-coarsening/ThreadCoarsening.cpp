//===- ThreadCoarsening.cpp - Let each thread compute several elements -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: inflight.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createThreadCoarsening() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"map", "rows", "columns"});
}
} // namespace kbopt
