//===- LaunchBounds.cpp - State the largest block at the kernel ------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   __global__ void k(…)          ==>   __global__ void __launch_bounds__(256, 4) k(…)
//   k<<<n / 256, 256>>>(…);
//
// Owns the attribute and the proof that no launch exceeds it. How many blocks
// an SM should hold is the policy's question, and the registers are the compiler's.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/LaunchShape.h"

using namespace kbopt;

namespace {

/// Threads that an SM of compute capability \p chip can hold (CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability").
int64_t threadsPerSm(unsigned chip) {
  if (chip == 75)
    return 1024;
  return chip == 86 || chip == 87 || chip == 89 || chip >= 120 ? 1536 : 2048;
}

class LaunchBounds : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    const KernelView &kernel = *site.kernel;
    if (hasRegisterLimit(context, kernel))
      return Decision::doesNotApply("the kernel has a limit of registers already");
    AnchorOrReason anchor = anchorBeforeName(context.parsed(), kernel.function());
    if (!anchor)
      return Decision::doesNotApply("nothing can be written at the kernel's name: " +
                                    anchor.reason());
    LargestBlock block = largestBlock(context, kernel);
    if (!block.obstacle.empty())
      return Decision::doesNotApply(block.obstacle);
    int64_t blocks = options.integer("blocks");
    if (block.threads > 1024)
      return Decision::doesNotApply("a launch has " + llvm::Twine(block.threads) +
                                    " threads per block, which no chip allows");
    if (block.threads == 1024 && blocks <= 1)
      return Decision::doesNotApply("the compiler assumes blocks of 1024 threads anyway");
    if (blocks * block.threads > threadsPerSm(context.chip()))
      return Decision::doesNotApply("an SM does not hold " + llvm::Twine(blocks) + " blocks of " +
                                    llvm::Twine(block.threads) + " threads");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    LargestBlock block = largestBlock(context, *site.kernel);
    std::string blocks = std::to_string(options.integer("blocks"));
    AnchorOrReason anchor = anchorBeforeName(context.parsed(), site.kernel->function());
    if (!anchor)
      return decline(anchor.reason());
    Rewrite rewrite;
    rewrite.summary = "bounded to " + std::to_string(block.threads) + " threads per block";
    std::string text =
        "__launch_bounds__(" + (block.name.empty() ? std::to_string(block.threads) : block.name);
    if (blocks != "0") {
      rewrite.summary += ", " + blocks + (blocks == "1" ? " block" : " blocks") + " per SM";
      text += ", " + blocks;
    }
    if (llvm::Error error = rewrite.edits.insertBefore(*anchor, text + ") "))
      return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createLaunchBounds() { return std::make_unique<LaunchBounds>(); }
} // namespace kbopt
