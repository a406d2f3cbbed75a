//===- TwoStageBlockReduction.cpp - Reduce with all threads of a block, then across blocks ===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: team.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createTwoStageBlockReduction() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"rows"});
}
} // namespace kbopt
