//===- OnlineSinglePass.cpp - Fold several passes over a row into one ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: online.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createOnlineSinglePass() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"rows"});
}
} // namespace kbopt
