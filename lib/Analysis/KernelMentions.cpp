//===- KernelMentions.cpp - Other launches of a kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the search for uses of a kernel that are not launches in sight.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Legality.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/DenseSet.h"

using namespace clang;

namespace kbopt {
namespace {

const FunctionDecl *patternOf(const FunctionDecl *function) {
  const FunctionDecl *pattern = function->getTemplateInstantiationPattern();
  return (pattern ? pattern : function)->getCanonicalDecl();
}

/// Calls that get a kernel and do not run it, or are launches that LaunchFact knows.
bool isHarmless(const FunctionDecl *callee) {
  if (!callee || !callee->getDeclName().isIdentifier())
    return false;
  llvm::StringRef name = callee->getName();
  return name == "cudaLaunchKernel" || name.starts_with("cudaFuncSet") ||
         name == "cudaFuncGetAttributes" || name.starts_with("cudaOccupancy");
}

class MentionFinder : public DynamicRecursiveASTVisitor {
public:
  MentionFinder() { ShouldVisitTemplateInstantiations = true; }

  bool TraverseCUDAKernelCallExpr(CUDAKernelCallExpr *call) override {
    // Not the callee: that is the launch itself.
    for (Expr *argument : call->arguments())
      if (!TraverseStmt(argument))
        return false;
    if (!dyn_cast<DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts()))
      return TraverseStmt(call->getCallee());
    return true;
  }
  bool TraverseCallExpr(CallExpr *call) override {
    return isHarmless(call->getDirectCallee()) ||
           DynamicRecursiveASTVisitor::TraverseCallExpr(call);
  }
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    if (const auto *function = dyn_cast<FunctionDecl>(reference->getDecl()))
      mentioned.insert(patternOf(function));
    return true;
  }

  llvm::DenseSet<const FunctionDecl *> mentioned;
};

/// The functions that a program names other than to launch them.
struct Mentions {
  explicit Mentions(const ParsedProgram &program) {
    MentionFinder finder;
    for (const Decl *declaration : program.declarations())
      finder.TraverseDecl(const_cast<Decl *>(declaration));
    functions = std::move(finder.mentioned);
  }
  llvm::DenseSet<const FunctionDecl *> functions;
};

} // namespace

bool isNamedOutsideLaunches(const ParsedProgram &program, const FunctionDecl *kernel) {
  return program.derived<Mentions>([&] { return Mentions(program); })
      .functions.contains(patternOf(kernel));
}

} // namespace kbopt
