//===- SeveralRowsPerBlock.cpp - Give short rows a warp each, and several of them to a block ===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: team, rows.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createSeveralRowsPerBlock() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"rows"});
}
} // namespace kbopt
