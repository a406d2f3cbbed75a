//===- FuseKernelsVertical.cpp - Join producer and consumer ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   scale<<<(n + 255) / 256, 256>>>(x, scaled, a, n);
//   clamp<<<(n + 255) / 256, 256>>>(scaled, y, n);
// ==>
//   scaleClamp<<<(n + 255) / 256, 256>>>(x, y, a, n);
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/Schedule/Fusion.h"
#include "kb-opt/Rewrite/Schedule/LaunchPass.h"

using namespace kbopt;

namespace {

class FuseKernelsVertical : public LaunchPass {
  llvm::Expected<Rewrite> rewriteLaunch(const PassContext &context, const KernelView &kernel,
                                        const LaunchFact &fact) const override {
    return fuseLaunches(context, kernel, fact);
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createFuseKernelsVertical() {
  return std::make_unique<FuseKernelsVertical>();
}
} // namespace kbopt
