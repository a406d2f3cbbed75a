//===- AddRestrictConst.cpp - Say what pointers may do ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   void k(float *x, float *y)   ==>   void k(const float *__restrict__ x,
//                                             float *__restrict__ y)
//
// Owns which of the two words a parameter gets, and writing them in every
// declaration of the kernel. Analysis owns the facts about launches and stores.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/TypeLoc.h"

using namespace kbopt;
using namespace clang;

namespace {

PointerTypeLoc pointerLoc(const ParmVarDecl *parameter) {
  if (!parameter->getTypeSourceInfo())
    return {};
  return parameter->getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc().getAs<PointerTypeLoc>();
}

/// The functions that the program names anywhere but in a launch or as an argument of a call: where
/// a kernel is one of them, a changed parameter type could stop the program compiling.
class OtherUses : public DynamicRecursiveASTVisitor {
public:
  bool TraverseCallExpr(CallExpr *) override { return true; }
  bool TraverseCUDAKernelCallExpr(CUDAKernelCallExpr *) override { return true; }
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    const auto *function = dyn_cast<FunctionDecl>(reference->getDecl());
    if (function) {
      if (const FunctionDecl *pattern = function->getTemplateInstantiationPattern())
        function = pattern;
      functions.insert(function->getCanonicalDecl());
    }
    return true;
  }
  bool VisitFunctionDecl(FunctionDecl *function) override {
    if (!function->isTemplateInstantiation() &&
        function->getTemplateSpecializationKind() == TSK_Undeclared)
      return true;
    // template __global__ void k<float>(float *);
    if (const FunctionDecl *pattern = function->getTemplateInstantiationPattern();
        pattern && function->getTemplateSpecializationKind() != TSK_ImplicitInstantiation)
      functions.insert(pattern->getCanonicalDecl());
    return true;
  }

  /// Those of the whole program that are used so.
  static const OtherUses &of(const ParsedProgram &program) {
    return program.derived<OtherUses>([&] {
      OtherUses uses;
      uses.TraverseDecl(program.context().getTranslationUnitDecl());
      return uses;
    });
  }

  llvm::DenseSet<const FunctionDecl *> functions;
};

struct Choice {
  bool addConst = false, addRestrict = false;
  std::string whyNotConst, whyNotRestrict;
};

class AddRestrictConst : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const ParmVarDecl *parameter : kernel.function()->parameters())
      if (parameter->getType()->isPointerType())
        sites.push_back(ast::siteOf(kernel, parameter));
    return sites;
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    const auto *parameter = site.as<ParmVarDecl>();
    std::string name = "'" + parameter->getNameAsString() + "'";
    if (parameter->getName().empty())
      return Decision::doesNotApply("the parameter has no name, so nothing uses it");
    if (pointerLoc(parameter).isNull())
      return Decision::doesNotApply(name + " is not written as a pointer");
    if (pointerLoc(parameter).getPointeeLoc().getType()->isFunctionType())
      return Decision::doesNotApply(name + " points to a function");
    Choice choice = choose(context, site, options);
    if (choice.addConst || choice.addRestrict)
      return Decision::applies();
    if (choice.whyNotConst.empty() && choice.whyNotRestrict.empty())
      return Decision::doesNotApply(name + " says already what it can");
    return Decision::doesNotApply(choice.whyNotRestrict.empty() ? choice.whyNotConst
                                                                : choice.whyNotRestrict);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const auto *parameter = site.as<ParmVarDecl>();
    unsigned index = parameter->getFunctionScopeIndex();
    Choice choice = choose(context, site, options);
    Rewrite rewrite;
    for (const FunctionDecl *declaration : site.kernel->function()->redecls()) {
      const ParmVarDecl *each = declaration->getParamDecl(index);
      PointerTypeLoc pointer = pointerLoc(each);
      if (pointer.isNull())
        return decline("another declaration writes the parameter differently");
      AnchorOrReason anchor =
          anchorOfRange(context.parsed(), each->getSourceRange(), declaration, "ParmVarDecl");
      if (!anchor)
        return decline(anchor.reason());
      const SourceManager &sources = context.parsed().sources();
      if (choice.addConst)
        // The type may be a macro's: then the word stands before its name.
        if (llvm::Error error = rewrite.edits.insertAt(
                *anchor, sources.getFileOffset(sources.getExpansionLoc(each->getBeginLoc())),
                "const "))
          return std::move(error);
      if (choice.addRestrict && !each->getType().isRestrictQualified()) {
        if (pointer.getStarLoc().isMacroID())
          return decline("a macro writes the pointer's '*'");
        unsigned after = sources.getFileOffset(pointer.getStarLoc()) + 1;
        bool spaced = context.parsed().text().substr(after, 1).trim().empty();
        if (llvm::Error error =
                rewrite.edits.insertAt(*anchor, after, spaced ? " __restrict__" : "__restrict__ "))
          return std::move(error);
      }
    }
    rewrite.summary = "declared '" + parameter->getNameAsString() + "' " +
                      (choice.addConst ? "const" : "") +
                      (choice.addConst && choice.addRestrict ? " and " : "") +
                      (choice.addRestrict ? "__restrict__" : "");
    return rewrite;
  }

private:
  Choice choose(const PassContext &context, const Site &site, const PassOptions &options) const {
    const auto *parameter = site.as<ParmVarDecl>();
    unsigned index = parameter->getFunctionScopeIndex();
    QualType pointee = parameter->getType()->getPointeeType();
    Choice choice;
    Answer readOnly = neverStored(context, site, index);
    if (options.boolean("const") && !pointee.isConstQualified()) {
      const OtherUses &uses = OtherUses::of(context.parsed());
      if (!readOnly.proven())
        choice.whyNotConst = readOnly.reason;
      else if (uses.functions.contains(site.kernel->function()->getCanonicalDecl()))
        choice.whyNotConst = "the program names '" + site.kernel->name().str() +
                             "' outside launches, so that its type must stay";
      else
        choice.addConst = true;
    }
    if (options.boolean("restrict") && !parameter->getType().isRestrictQualified()) {
      choice.whyNotRestrict = whyNotRestrict(context, site, index, readOnly.proven());
      choice.addRestrict = choice.whyNotRestrict.empty();
    }
    return choice;
  }

  static Answer neverStored(const PassContext &context, const Site &site, unsigned index) {
    return context.forAllInstances(*site.kernel, [&](kb::KernelOp kernel) {
      return isNeverStoredThrough(context.imported(), kernel, index);
    });
  }

  static std::string whyNotRestrict(const PassContext &context, const Site &site, unsigned index,
                                    bool readOnly) {
    const FunctionDecl *function = site.kernel->function();
    for (kb::KernelOp kernel : site.kernel->ops) {
      std::string stranger;
      kernel->walk([&](kb::AccessOp access) {
        kb::BaseAttr base = access.getBase();
        // A __device__ variable may be what a launch passes the address of.
        bool known = base.getKind() == kb::BaseKind::Local ||
                     access.getSpace() == kb::MemorySpace::Shared ||
                     access.getSpace() == kb::MemorySpace::Constant ||
                     (base.getKind() == kb::BaseKind::Argument && base.getArgument() >= 0 &&
                      unsigned(base.getArgument()) < function->getNumParams() &&
                      function->getParamDecl(base.getArgument())->getType()->isPointerType());
        if (!known && stranger.empty())
          stranger = base.getName().empty() ? "a pointer that it loads or computes"
                                            : "'" + base.getName().str() + "'";
      });
      kernel->walk([&](mlir::Operation *op) {
        if (!stranger.empty())
          return;
        if (auto opaque = mlir::dyn_cast<kb::OpaqueOp>(op))
          stranger = opaque.getReason().str();
        else if (auto call = mlir::dyn_cast<kb::CallOp>(op); call && call.getCallee() != "vprintf")
          stranger = "the call of '" + call.getCallee().str() + "'";
      });
      if (!stranger.empty())
        return "the kernel also reaches memory in a way that is not understood: " + stranger;
    }
    for (const ParmVarDecl *other : function->parameters()) {
      unsigned second = other->getFunctionScopeIndex();
      if (second == index || !other->getType()->isPointerType())
        continue;
      if (readOnly && neverStored(context, site, second).proven())
        continue; // two readers never conflict
      for (kb::KernelOp kernel : site.kernel->ops) {
        Answer overlap = argumentsMayOverlap(context.imported(), kernel, index, second);
        if (!overlap.refuted())
          return overlap.reason.empty() ? "'" + site.as<ParmVarDecl>()->getNameAsString() +
                                              "' and '" + other->getNameAsString() + "' may overlap"
                                        : overlap.reason;
      }
    }
    return site.kernel->ops.empty() ? "nothing is known about the kernel's device code" : "";
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createAddRestrictConst() {
  return std::make_unique<AddRestrictConst>();
}
} // namespace kbopt
