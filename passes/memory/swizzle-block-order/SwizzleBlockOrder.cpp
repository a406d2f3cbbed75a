//===- SwizzleBlockOrder.cpp - Order the tiles so that blocks running together share operands in the
// SPDX-License-Identifier: Apache-2.0
//
// cache ===//
//
// Owns no more than which keys of a schedule the pass sets: group.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createSwizzleBlockOrder() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"contraction"});
}
} // namespace kbopt
