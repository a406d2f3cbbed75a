//===- RegisterTiling.cpp - Let each thread compute a small tile of results in registers ===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: tm, tn.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createRegisterTiling() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"contraction"});
}
} // namespace kbopt
