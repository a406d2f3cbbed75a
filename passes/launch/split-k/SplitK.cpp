//===- SplitK.cpp - Divide the inner dimension of a product among blocks ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: split.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createSplitK() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"contraction", "columns"});
}
} // namespace kbopt
