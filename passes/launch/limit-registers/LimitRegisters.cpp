//===- LimitRegisters.cpp - Cap the registers of a kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   __global__ void k(…)          ==>   __global__ void __maxnreg__(64) k(…)
//
// Owns the attribute and the proof that every launch still has enough registers.
// Which number is best is the policy's question.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/LaunchShape.h"

using namespace kbopt;

namespace {

/// Registers that one block may have, and the unit in which a thread gets them, on
/// every chip since compute capability 5.0.
constexpr int64_t registersPerBlock = 65536, registerUnit = 8;

class LimitRegisters : public RewritePass {
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
    int64_t registers = options.integer("registers");
    int64_t allotted = (registers + registerUnit - 1) / registerUnit * registerUnit;
    if (allotted * 1024 <= registersPerBlock)
      return Decision::applies();
    LargestBlock block = largestBlock(context, kernel);
    if (!block.obstacle.empty())
      return Decision::doesNotApply(block.obstacle);
    if (allotted * block.threads > registersPerBlock)
      return Decision::doesNotApply("a block of " + llvm::Twine(block.threads) +
                                    " threads cannot have " + llvm::Twine(registers) +
                                    " registers each");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    AnchorOrReason anchor = anchorBeforeName(context.parsed(), site.kernel->function());
    if (!anchor)
      return decline(anchor.reason());
    std::string registers = std::to_string(options.integer("registers"));
    Rewrite rewrite;
    rewrite.summary = "limited to " + registers + " registers per thread";
    if (llvm::Error error = rewrite.edits.insertBefore(*anchor, "__maxnreg__(" + registers + ") "))
      return std::move(error);
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createLimitRegisters() { return std::make_unique<LimitRegisters>(); }
} // namespace kbopt
