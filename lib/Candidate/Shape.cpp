//===- Shape.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/Shape.h"
#include "kb-opt/Analysis/Import.h"
#include "kb-opt/Analysis/Signature.h"

using namespace kbopt;

static std::string classify(const StaticSignature &signature) {
  if (signature.atomics > 0 && signature.loops == 0)
    return "histogram";
  if (signature.mmas > 0)
    return "matmul";
  if (signature.shuffles > 0 || (signature.barriers > 1 && signature.sharedStores > 0))
    return "reduction";
  unsigned inputs = signature.loads;
  if (signature.loops == 0 && inputs > 4 * std::max(1u, signature.stores))
    return "stencil";
  if (signature.loops == 0)
    return "elementwise";
  // A product is summed up and stored once; a normalisation goes over its row again.
  return signature.flops > 0 && inputs >= 2 && !signature.storesInLoops ? "matmul" : "reduction";
}

std::string kbopt::shapeOf(RewriteSession &session, llvm::StringRef kernel) {
  auto imported = session.imported();
  if (!imported) {
    llvm::consumeError(imported.takeError());
    return "";
  }
  for (kb::KernelOp op : imported->kernels())
    if (op.getSymName() == kernel)
      return classify(staticSignature(op));
  return "";
}
