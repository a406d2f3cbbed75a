//===- BatchLaunches.cpp - One launch in place of a loop of them -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for (int i = 0; i < batch; ++i)
//     scale<<<(n + 255) / 256, 256>>>(y + i * n, x + i * n, n);
// ==>
//   scaleBatch<<<(batch * n + 255) / 256, 256>>>(y, x, n, batch);
//
// Owns the sites; lib/Rewrite/Schedule/Batch.cpp does the work.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/Schedule/Batch.h"
#include "kb-opt/Rewrite/Schedule/LaunchPass.h"

using namespace kbopt;

namespace {

class BatchLaunches : public LaunchPass {
  bool isSite(const PassContext &context, const LaunchFact &fact) const override {
    return standsInLoop(context, fact);
  }

  llvm::Expected<Rewrite> rewriteLaunch(const PassContext &context, const KernelView &kernel,
                                        const LaunchFact &fact) const override {
    return batchLaunches(context, kernel, fact);
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createBatchLaunches() { return std::make_unique<BatchLaunches>(); }
} // namespace kbopt
