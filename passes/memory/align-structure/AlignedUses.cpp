//===- AlignedUses.cpp - Whether a structure may be aligned ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AlignedUses.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Templates that hold their arguments at addresses of their own, or not at all.
bool keepsAlignment(llvm::StringRef name) {
  static constexpr llvm::StringLiteral known[] = {"vector",        "unique_ptr",  "shared_ptr",
                                                  "device_vector", "host_vector", "device_ptr",
                                                  "allocator",     "span"};
  return llvm::is_contained(known, name);
}

/// Looks through the user's code for what a larger alignment of a structure would change.
class Uses : public DynamicRecursiveASTVisitor {
public:
  Uses(const PassContext &context, const RecordDecl *structure)
      : context(context), structure(structure->getCanonicalDecl()),
        name("'" + align::nameOf(structure) + "'") {
    ShouldVisitTemplateInstantiations = true;
  }
  std::string obstacle;
  const FunctionDecl *open = nullptr; ///< callers in other files may pass it pointers
  bool hasMain = false;

  bool TraverseDecl(Decl *declaration) override {
    // What headers of the system hold of the user's types is looked at where the user names it.
    if (declaration && !isa<TranslationUnitDecl>(declaration) &&
        context.parsed().sources().isInSystemHeader(declaration->getLocation()))
      return true;
    return DynamicRecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool VisitFieldDecl(FieldDecl *field) override {
    return !holds(field->getType()) ||
           stop("'" + field->getParent()->getNameAsString() + "' holds " + name);
  }
  bool VisitCXXRecordDecl(CXXRecordDecl *record) override {
    if (record->isThisDeclarationADefinition())
      for (const CXXBaseSpecifier &base : record->bases())
        if (holds(base.getType()))
          return stop("'" + record->getNameAsString() + "' is derived from " + name);
    return true;
  }
  bool VisitTemplateSpecializationTypeLoc(TemplateSpecializationTypeLoc type) override {
    const TemplateDecl *made = type.getTypePtr()->getTemplateName().getAsTemplateDecl();
    for (unsigned i = 0; i < type.getNumArgs(); ++i) {
      const TemplateArgument argument = type.getArgLoc(i).getArgument();
      if (argument.getKind() == TemplateArgument::Type && holds(argument.getAsType()) &&
          !(made && keepsAlignment(made->getName())))
        return stop("'" + context.text(type.getSourceRange()).str() + "' may hold " + name);
    }
    return true;
  }
  bool VisitExplicitCastExpr(ExplicitCastExpr *cast) override {
    if (!pointsToIt(cast->getType()) && !refersToIt(cast->getTypeAsWritten()))
      return true;
    const Expr *from = cast->getSubExprAsWritten()->IgnoreParenImpCasts();
    const bool isSame = pointsToIt(from->getType()) || holds(from->getType());
    // What allocates gives memory that is aligned for any type.
    const bool isAllocated = from->getType()->isVoidPointerType() && isa<CallExpr>(from);
    return isSame || isAllocated ||
           from->isNullPointerConstant(context.parsed().context(),
                                       Expr::NPC_ValueDependentIsNotNull) ||
           stop("the cast at " + ast::lineText(context, cast->getBeginLoc()) +
                " makes a pointer to " + name + " of one to something else");
  }
  bool VisitFunctionDecl(FunctionDecl *function) override {
    if (!function->getDefinition() && !function->isImplicit()) {
      bool passes = holds(function->getReturnType());
      for (const ParmVarDecl *parameter : function->parameters())
        passes |= holds(parameter->getType());
      if (passes)
        return stop("'" + function->getNameAsString() + "' passes " + name +
                    " and is defined in another file");
    }
    hasMain |= function->isMain();
    if (function->isThisDeclarationADefinition() && function->hasExternalFormalLinkage() &&
        !function->hasAttr<CUDADeviceAttr>())
      for (const ParmVarDecl *parameter : function->parameters())
        if (pointsToIt(parameter->getType()) || refersToIt(parameter->getType()))
          open = function;
    return true;
  }

private:
  /// Whether a value of \p type is one of the structure, or an array of them.
  bool holds(QualType type) const {
    const auto *record =
        type.isNull() ? nullptr : type->getBaseElementTypeUnsafe()->getAsRecordDecl();
    return record && record->getCanonicalDecl() == structure;
  }
  bool pointsToIt(QualType type) const {
    return type->isPointerType() && holds(type->getPointeeType());
  }
  bool refersToIt(QualType type) const {
    return type->isReferenceType() && holds(type.getNonReferenceType());
  }
  bool stop(const std::string &why) {
    obstacle = why;
    return false;
  }

  const PassContext &context;
  const Decl *structure;
  std::string name;
};

} // namespace

std::string align::nameOf(const RecordDecl *structure) {
  const TypedefNameDecl *alias = structure->getTypedefNameForAnonDecl();
  return alias ? alias->getNameAsString() : structure->getNameAsString();
}

std::string align::obstacleTo(const PassContext &context, const RecordDecl *structure) {
  Uses uses(context, structure);
  uses.TraverseDecl(context.parsed().context().getTranslationUnitDecl());
  if (uses.obstacle.empty() && uses.open && !uses.hasMain)
    return "callers of '" + uses.open->getNameAsString() +
           "' in other files may pass pointers that are not aligned";
  return uses.obstacle;
}
