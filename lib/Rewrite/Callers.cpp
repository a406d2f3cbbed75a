//===- Callers.cpp - Callers of a function ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the walk over a file that collects calls.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Rewrite/Callers.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace kbopt {

class Callers::Finder : public DynamicRecursiveASTVisitor {
public:
  Finder(const ParsedProgram &program, Callers &found) : program(program), found(found) {
    ShouldVisitTemplateInstantiations = true;
  }

  bool TraverseDecl(Decl *declaration) override {
    if (declaration && !isa<TranslationUnitDecl>(declaration) &&
        program.sources().isInSystemHeader(declaration->getLocation()))
      return true;
    const FunctionDecl *outer = around;
    if (const auto *function = dyn_cast_or_null<FunctionDecl>(declaration))
      around = function;
    const bool result = DynamicRecursiveASTVisitor::TraverseDecl(declaration);
    around = outer;
    return result;
  }
  bool VisitCallExpr(CallExpr *call) override {
    if (const FunctionDecl *callee = call->getDirectCallee())
      found.calls[callee->getCanonicalDecl()].push_back({call, around});
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    if (const auto *function = dyn_cast<FunctionDecl>(reference->getDecl()))
      ++found.mentions[function->getCanonicalDecl()];
    return true;
  }
  bool VisitUnresolvedLookupExpr(UnresolvedLookupExpr *lookup) override {
    found.unresolved.insert(lookup->getName().getAsString());
    return true;
  }

private:
  const ParsedProgram &program;
  Callers &found;
  const FunctionDecl *around = nullptr;
};

const Callers &Callers::in(const ParsedProgram &program) {
  return program.derived<Callers>([&] {
    Callers found;
    Finder(program, found).TraverseDecl(program.context().getTranslationUnitDecl());
    return found;
  });
}

llvm::ArrayRef<Callers::Call> Callers::callsOf(const FunctionDecl *function) const {
  auto at = calls.find(function->getCanonicalDecl());
  return at == calls.end() ? llvm::ArrayRef<Call>() : llvm::ArrayRef(at->second);
}

static const FunctionDecl *patternOf(const FunctionDecl *function) {
  const FunctionDecl *pattern = function->getTemplateInstantiationPattern();
  return (pattern ? pattern : function)->getCanonicalDecl();
}

std::vector<Callers::Call> Callers::callsOfPattern(const FunctionDecl *function) const {
  std::vector<Call> all;
  for (const auto &[callee, each] : calls)
    if (patternOf(callee) == patternOf(function))
      llvm::append_range(all, each);
  return all;
}

bool Callers::hasOtherUses(const FunctionDecl *function) const {
  auto at = mentions.find(function->getCanonicalDecl());
  return at != mentions.end() && at->second != callsOf(function).size();
}

bool Callers::mayBeCalledByTemplate(const FunctionDecl *function) const {
  return unresolved.count(function->getNameAsString());
}

} // namespace kbopt
