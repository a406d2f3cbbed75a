//===- CpAsyncPipeline.cpp - Copy tiles to shared memory asynchronously, several stages ahead ===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: stages.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createCpAsyncPipeline() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"contraction"});
}
} // namespace kbopt
