//===- Definitions.cpp - What an example defines ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Definitions.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include <set>

using namespace kbopt;
using namespace clang;

static bool isForDevice(const Decl *declaration) {
  if (const auto *pattern = llvm::dyn_cast<FunctionTemplateDecl>(declaration))
    declaration = pattern->getTemplatedDecl();
  if (const auto *variable = llvm::dyn_cast<VarDecl>(declaration);
      variable && variable->isConstexpr())
    return true;
  return declaration->hasAttr<CUDAGlobalAttr>() || declaration->hasAttr<CUDADeviceAttr>() ||
         declaration->hasAttr<CUDAConstantAttr>();
}

/// A function of the host that may help a launch, and is none of the program's entries.
static bool isHelper(const FunctionDecl *function) {
  return function && !llvm::isa<CXXMethodDecl>(function) && !function->isMain() &&
         function->doesThisDeclarationHaveABody() &&
         ast::findAll<CUDAKernelCallExpr>(function->getBody()).empty();
}

namespace {

class Definitions {
public:
  Definitions(const ParsedProgram &program, const ParsedProgram &before) : program(program) {
    for (const Decl *each : before.declarations())
      if (const auto *space = llvm::dyn_cast<NamespaceDecl>(each))
        spaces.insert(space->getNameAsString());
  }

  std::vector<Definition> run() {
    addAll(program.declarations());
    return std::move(found);
  }

private:
  void addAll(llvm::ArrayRef<const Decl *> declarations) {
    for (const Decl *each : declarations)
      add(each, declarations);
  }

  /// \p siblings: what is declared beside it. The whole scope would read every header back in.
  void add(const Decl *each, llvm::ArrayRef<const Decl *> siblings) {
    if (each->isImplicit() || !program.sources().isInMainFile(each->getLocation()))
      return;
    const auto *space = llvm::dyn_cast<NamespaceDecl>(each);
    if (space && !spaces.count(space->getNameAsString())) {
      found.push_back({space->getNameAsString(), sourceText(program, each->getSourceRange()).str(),
                       each, false});
      return;
    }
    if (llvm::isa<NamespaceDecl, LinkageSpecDecl>(each)) {
      const auto inner = llvm::cast<DeclContext>(each)->decls();
      addAll(std::vector<const Decl *>(inner.begin(), inner.end()));
      return;
    }
    const auto *function = each->getAsFunction();
    if (function && function->isTemplateInstantiation())
      return;
    const bool isDevice = isForDevice(each);
    if (!llvm::isa<NamedDecl>(each) || !(isDevice || isHelper(function)))
      return;
    std::string text = sourceText(program, each->getSourceRange()).str();
    if (text.empty() || (function && !function->doesThisDeclarationHaveABody()))
      return;
    if (const auto *variable = llvm::dyn_cast<VarDecl>(each))
      text = textOf(variable, siblings, std::move(text));
    found.push_back(
        {llvm::cast<NamedDecl>(each)->getNameAsString(), std::move(text), each, !isDevice});
  }

  /// The declaration of \p variable alone, \p text where it is that.
  std::string textOf(const VarDecl *variable, llvm::ArrayRef<const Decl *> siblings,
                     std::string text) const {
    const bool isOneOfSeveral =
        llvm::count_if(siblings, [&](const Decl *each) {
          return llvm::isa<VarDecl>(each) && each->getBeginLoc() == variable->getBeginLoc();
        }) > 1;
    if (isOneOfSeveral && variable->isConstexpr() && variable->getInit())
      text = "constexpr " + variable->getType().getUnqualifiedType().getAsString() + " " +
             variable->getNameAsString() + " = " +
             sourceText(program, variable->getInit()->getSourceRange()).str();
    return text + ";";
  }

  const ParsedProgram &program;
  std::set<std::string> spaces; ///< of `before`
  std::vector<Definition> found;
};

} // namespace

std::vector<Definition> kbopt::definitionsIn(const ParsedProgram &program,
                                             const ParsedProgram &before) {
  return Definitions(program, before).run();
}
