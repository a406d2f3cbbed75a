//===- NarrowIndexType.cpp - Count in 32 bits where they suffice -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
// ==>
//   int i = blockIdx.x * (int)blockDim.x + threadIdx.x;
//
// Owns the second kernel and the launches that choose it. Which types change, and
// under which condition, is found in NarrowTypes.
//
//===----------------------------------------------------------------------===//

#include "NarrowTypes.h"
#include "kb-opt/Rewrite/Dispatch.h"

using namespace kbopt;
using namespace clang;

namespace {

class NarrowIndexType : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    const KernelView &kernel = *site.kernel;
    if (kernel.launches.empty())
      return Decision::doesNotApply("no launch of the kernel is in sight");
    if (KernelText text(context, kernel); !text.obstacle().empty())
      return Decision::doesNotApply(text.obstacle());
    std::string first;
    for (const LaunchFact &launch : kernel.launches) {
      std::string why = whyNot(context, kernel, launch);
      if (why.empty())
        return Decision::applies();
      first = first.empty() ? why : first;
    }
    return Decision::doesNotApply(first);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const KernelView &kernel = *site.kernel;
    std::vector<const LaunchFact *> launches;
    for (const LaunchFact &launch : kernel.launches)
      if (whyNot(context, kernel, launch).empty())
        launches.push_back(&launch);
    NarrowTypes first(context, kernel, *launches.front());
    std::string own = kernel.function()->getNameAsString();
    std::string name = derivedName(context, own, "narrow");
    KernelText text(context, kernel);
    for (SourceRange range : first.types())
      text.replace(range, "int");
    if (!text.obstacle().empty())
      return decline(text.obstacle());
    Rewrite rewrite;
    rewrite.summary = "counted in 32 bits where the sizes allow it";
    if (llvm::Error error =
            writeKernel(context, kernel, text, name, "'" + own + "' for indices that fit 31 bits.",
                        rewrite.edits))
      return std::move(error);
    for (const LaunchFact *launch : launches) {
      NarrowTypes types(context, kernel, *launch);
      // Launches can differ in what they bound; the kernel is made for the first.
      if (types.types() != first.types())
        continue;
      LaunchChoice choice;
      choice.kernel = name;
      choice.condition = types.condition();
      if (llvm::Error error = writeDispatch(context, *launch, choice, rewrite.edits))
        return std::move(error);
    }
    return rewrite;
  }

private:
  static std::string whyNot(const PassContext &context, const KernelView &kernel,
                            const LaunchFact &launch) {
    std::string why = dispatchObstacle(context, kernel, launch);
    return why.empty() ? NarrowTypes(context, kernel, launch).obstacle() : why;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createNarrowIndexType() { return std::make_unique<NarrowIndexType>(); }
} // namespace kbopt
