//===- Mentions.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/Mentions.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace kbopt;
using namespace clang;

const Decl *kbopt::unitOf(const Decl *declaration) {
  while (declaration) {
    const DeclContext *outer = declaration->getLexicalDeclContext();
    const auto *linkage = llvm::dyn_cast_or_null<LinkageSpecDecl>(outer);
    if (!outer || outer->isTranslationUnit() || llvm::isa<NamespaceDecl>(outer) ||
        (linkage && linkage->hasBraces()))
      break;
    declaration = llvm::cast<Decl>(outer);
  }
  // An instantiation stands for the template that the user wrote.
  if (const auto *function = llvm::dyn_cast_or_null<FunctionDecl>(declaration)) {
    if (const FunctionDecl *pattern = function->getTemplateInstantiationPattern())
      declaration = pattern;
    if (const FunctionTemplateDecl *described =
            llvm::cast<FunctionDecl>(declaration)->getDescribedFunctionTemplate())
      return described;
  }
  if (const auto *record = llvm::dyn_cast_or_null<CXXRecordDecl>(declaration)) {
    if (const CXXRecordDecl *pattern = record->getTemplateInstantiationPattern())
      record = pattern;
    if (const ClassTemplateDecl *described = record->getDescribedClassTemplate())
      return described;
    return record;
  }
  return declaration;
}

namespace {

/// Collects the declarations that one unit mentions.
class Mentions : public DynamicRecursiveASTVisitor {
public:
  explicit Mentions(std::function<void(const Decl *)> found) : found(std::move(found)) {
    ShouldVisitTemplateInstantiations = true;
    ShouldVisitImplicitCode = true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *expr) override { return note(expr->getDecl()); }
  bool VisitMemberExpr(MemberExpr *expr) override { return note(expr->getMemberDecl()); }
  bool VisitCXXConstructExpr(CXXConstructExpr *expr) override {
    return note(expr->getConstructor());
  }
  bool VisitOverloadExpr(OverloadExpr *expr) override {
    for (const NamedDecl *each : expr->decls())
      note(each);
    return true;
  }
  bool VisitTagTypeLoc(TagTypeLoc type) override { return note(type.getDecl()); }
  bool VisitTypedefTypeLoc(TypedefTypeLoc type) override { return note(type.getDecl()); }
  bool VisitTemplateSpecializationTypeLoc(TemplateSpecializationTypeLoc type) override {
    return note(type.getTypePtr()->getTemplateName().getAsTemplateDecl());
  }
  bool VisitValueDecl(ValueDecl *declaration) override {
    if (const TagDecl *tag = declaration->getType()->getAsTagDecl())
      note(tag);
    return true;
  }

private:
  bool note(const Decl *declaration) {
    if (declaration)
      found(declaration);
    return true;
  }
  std::function<void(const Decl *)> found;
};

} // namespace

void kbopt::forEachMention(const Decl *declaration, std::function<void(const Decl *)> found) {
  Mentions(std::move(found)).TraverseDecl(const_cast<Decl *>(declaration));
}
