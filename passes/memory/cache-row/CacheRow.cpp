//===- CacheRow.cpp - Keep a row that is read more than once ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: cache.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createCacheRow() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"rows"});
}
} // namespace kbopt
