//===- PassContext.cpp - The program as passes see it ----------------------===//

#include "kb-opt/Rewrite/PassContext.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;

PassContext::PassContext(const ParsedProgram &parsed, const ImportedProgram &imported,
                         unsigned chip, RecordedLaunches recorded)
    : program(&parsed), ir(&imported), computeCapability(chip), recorded(std::move(recorded)) {
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

const RecordedLaunch *PassContext::recordedLaunch(kb::KernelOp kernel) const {
  return recorded ? recorded(kernel.getSymName()) : nullptr;
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

std::string PassContext::freshName(llvm::StringRef base) const {
  llvm::StringRef text = program->text();
  auto isUsed = [&](llvm::StringRef name) {
    auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    for (size_t at = text.find(name); at != llvm::StringRef::npos; at = text.find(name, at + 1)) {
      bool startsWord = at == 0 || !isWord(text[at - 1]);
      bool endsWord = at + name.size() == text.size() || !isWord(text[at + name.size()]);
      if (startsWord && endsWord)
        return true;
    }
    return false;
  };
  std::string name = base.str();
  for (unsigned number = 2; isUsed(name) || givenNames.count(name); ++number)
    name = (base + llvm::Twine(number)).str();
  givenNames.insert(name);
  return name;
}
