//===- HostFunctions.cpp - Functions that launches call --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostFunctions.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

const FunctionDecl *kbopt::functionCalled(const ASTContext &ast, StringRef name) {
  for (const NamedDecl *each : ast.getTranslationUnitDecl()->lookup(&ast.Idents.get(name)))
    if (const auto *found = dyn_cast<FunctionDecl>(each))
      return found;
  return nullptr;
}

llvm::Expected<bool> kbopt::addDefinitionForAll(const PassContext &context,
                                                const std::string &definition, Edits &edits) {
  if (context.kernels().size() < 2)
    return false;
  if (definition.empty())
    return true;
  if (context.parsed().text().contains("#include"))
    if (AnchorOrReason top = anchorAfterIncludes(context.parsed())) {
      if (llvm::Error error = edits.insertAfter(*top, definition))
        return std::move(error);
      return true;
    }
  const SourceManager &sources = context.parsed().sources();
  const FunctionDecl *first = nullptr;
  for (const KernelView &kernel : context.kernels())
    if (sources.isInMainFile(kernel.function()->getLocation()) &&
        (!first ||
         sources.isBeforeInTranslationUnit(kernel.function()->getLocation(), first->getLocation())))
      first = kernel.function();
  AnchorOrReason anchor =
      first ? anchorBefore(context.parsed(), first) : AnchorOrReason::refuse("");
  if (!anchor)
    return false;
  if (llvm::Error error = edits.insertAfter(*anchor, StringRef(definition).trim().str() + "\n\n"))
    return std::move(error);
  return true;
}
