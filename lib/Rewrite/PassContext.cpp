//===- PassContext.cpp - The program as passes see it ----------------------===//

#include "kb-opt/Rewrite/PassContext.h"

using namespace kbopt;

PassContext::PassContext(const ParsedProgram &parsed, const ImportedProgram &imported,
                         unsigned chip)
    : program(&parsed), ir(&imported), computeCapability(chip) {
  for (KernelFact &fact : findKernels(parsed)) {
    if (!fact.inMainFile)
      continue;
    KernelView view;
    for (kb::KernelOp op : imported.kernelsOf(fact))
      view.ops.push_back(op);
    view.launches = findLaunches(parsed, fact.usr);
    view.fact = std::move(fact);
    views.push_back(std::move(view));
  }
}

Answer PassContext::forAllInstances(const KernelView &kernel,
                                    llvm::function_ref<Answer(kb::KernelOp)> question) const {
  if (kernel.ops.empty())
    return Answer::dontKnow("kernel '" + kernel.name().str() +
                            "' is not in the device code, so nothing is known about it");
  for (kb::KernelOp op : kernel.ops) {
    Answer answer = question(op);
    if (!answer.proven())
      return answer;
  }
  return Answer::yes();
}
