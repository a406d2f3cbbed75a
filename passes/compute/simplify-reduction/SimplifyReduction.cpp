//===- SimplifyReduction.cpp - Form sums of fewer terms --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   y[j] = sum over k of x[k] * ((k == j) - x[j])   ==>   s = sum over k of x[k];  y[j] = x[j] * (1
//   - s)
//
// Owns no more than which key of a schedule the pass sets: simplify.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/SchedulePass.h"

using namespace kbopt;

namespace {

class SimplifyReduction : public SchedulePass {
  llvm::Expected<Schedule> reschedule(const PassContext &context, kb::NestOp nest,
                                      const Schedule *before, const PassOptions &) const override {
    return simplified(context, nest, before);
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createSimplifyReduction() {
  return std::make_unique<SimplifyReduction>();
}
} // namespace kbopt
