//===- TensorCoreMma.cpp - Multiply matrices on the tensor cores -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns no more than which keys of a schedule the pass sets: core.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

namespace kbopt {
std::unique_ptr<RewritePass> createTensorCoreMma() {
  return std::make_unique<KeysPass>(std::vector<llvm::StringRef>{"contraction"});
}
} // namespace kbopt
