//===- WarpShuffleReduction.cpp - Let the last steps of a block's reduction run through warp
// SPDX-License-Identifier: Apache-2.0
//
// shuffles ===//
//
// Owns no more than which keys of a schedule the pass sets: team.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createWarpShuffleReduction() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"rows"});
}
} // namespace kbopt
