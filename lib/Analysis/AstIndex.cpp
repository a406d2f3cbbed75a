//===- AstIndex.cpp - AST nodes by where debug locations point -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the knowledge of which source location clang's code generation attaches
// to the instructions of each kind of node.
//
//===----------------------------------------------------------------------===//
#include "AstIndex.h"

#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Mangle.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace kbopt::analysis {
namespace {

class BodyVisitor : public DynamicRecursiveASTVisitor {
public:
  BodyVisitor(const SourceManager &sources, BodyIndex &index,
              std::vector<const FunctionDecl *> &callees)
      : sources(sources), index(index), callees(callees) {
    ShouldVisitTemplateInstantiations = true;
    ShouldVisitImplicitCode = true;
  }

  bool TraverseLambdaExpr(LambdaExpr *lambda) override {
    // The body is a function of its own; captures belong to this one.
    for (Expr *init : lambda->capture_inits())
      if (init)
        TraverseStmt(init);
    callees.push_back(lambda->getCallOperator());
    return true;
  }

  bool VisitImplicitCastExpr(ImplicitCastExpr *cast) override {
    // The load of a field has the place of the field's name, that of a choice its question mark.
    const Expr *read = cast->getSubExpr();
    if (cast->getCastKind() == CK_LValueToRValue)
      for (SourceLocation place :
           {cast->getExprLoc(), read->getExprLoc(), read->IgnoreParens()->getExprLoc()})
        put(index.loads, place, read);
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    if (op->isAssignmentOp()) {
      put<Expr>(index.stores, op->getOperatorLoc(), op->getLHS());
      if (op->isCompoundAssignmentOp()) {
        put<Expr>(index.loads, op->getOperatorLoc(), op->getLHS());
        put<Expr>(index.loads, op->getLHS()->getExprLoc(), op->getLHS());
      }
    }
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) override {
    if (op->isIncrementDecrementOp()) {
      put<Expr>(index.loads, op->getExprLoc(), op->getSubExpr());
      put<Expr>(index.stores, op->getExprLoc(), op->getSubExpr());
      put<Expr>(index.loads, op->getBeginLoc(), op->getSubExpr());
    }
    return true;
  }
  bool VisitCallExpr(CallExpr *call) override {
    put<Expr>(index.calls, call->getExprLoc(), call);
    if (call->getBeginLoc() != call->getExprLoc())
      put<Expr>(index.calls, call->getBeginLoc(), call);
    if (const FunctionDecl *callee = call->getDirectCallee())
      callees.push_back(callee);
    if (auto *op = dyn_cast<CXXOperatorCallExpr>(call);
        op && op->isAssignmentOp() && op->getNumArgs() == 2) {
      put<Expr>(index.stores, op->getOperatorLoc(), op->getArg(0));
      put<Expr>(index.loads, op->getOperatorLoc(), op->getArg(1)->IgnoreImplicit());
      put<Expr>(index.stores, op->getBeginLoc(), op->getArg(0));
      put<Expr>(index.loads, op->getArg(1)->getExprLoc(), op->getArg(1)->IgnoreImplicit());
    }
    return true;
  }
  bool VisitCXXConstructExpr(CXXConstructExpr *construct) override {
    const CXXConstructorDecl *constructor = construct->getConstructor();
    callees.push_back(constructor);
    if (constructor->isCopyOrMoveConstructor() && construct->getNumArgs() >= 1) {
      const Expr *from = construct->getArg(0)->IgnoreImplicit();
      put<Expr>(index.loads, construct->getExprLoc(), from);
      put<Expr>(index.loads, from->getExprLoc(), from);
    }
    return true;
  }
  bool VisitVarDecl(VarDecl *variable) override {
    if (variable->hasAttr<CUDASharedAttr>())
      index.sharedVariables.push_back(variable);
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *use) override {
    if (auto *variable = dyn_cast<VarDecl>(use->getDecl()))
      if (variable->hasAttr<CUDASharedAttr>() && !variable->isLocalVarDecl())
        index.sharedVariables.push_back(variable);
    return true;
  }

  bool VisitForStmt(ForStmt *loop) override { return addLoop(loop, loop->getCond()); }
  bool VisitWhileStmt(WhileStmt *loop) override { return addLoop(loop, loop->getCond()); }
  bool VisitDoStmt(DoStmt *loop) override { return addLoop(loop, loop->getCond()); }
  bool VisitCXXForRangeStmt(CXXForRangeStmt *loop) override { return addLoop(loop, nullptr); }
  bool VisitIfStmt(IfStmt *branch) override { return addCondition(branch, branch->getCond()); }
  bool VisitSwitchStmt(SwitchStmt *branch) override {
    return addCondition(branch, branch->getCond());
  }
  bool VisitConditionalOperator(ConditionalOperator *branch) override {
    return addCondition(branch, branch->getCond());
  }

private:
  template <typename Node>
  void put(std::multimap<BodyIndex::Place, const Node *> &map, SourceLocation location,
           const Node *node) {
    if (location.isInvalid())
      return;
    // Code generation uses the expansion of a macro, or where its argument was
    // written.
    BodyIndex::Place last;
    for (SourceLocation place : {sources.getExpansionLoc(location), sources.getFileLoc(location)}) {
      PresumedLoc presumed = sources.getPresumedLoc(place);
      if (presumed.isInvalid())
        continue;
      BodyIndex::Place key(presumed.getLine(), presumed.getColumn());
      if (key != last)
        map.emplace(key, node);
      last = key;
    }
  }
  bool addLoop(Stmt *loop, Expr *condition) {
    put<Stmt>(index.loops, loop->getBeginLoc(), loop);
    return true;
  }
  bool addCondition(Stmt *branch, Expr *condition) {
    struct Parts : DynamicRecursiveASTVisitor {
      BodyVisitor *outer;
      const Stmt *branch;
      bool VisitExpr(Expr *part) override {
        outer->put<Stmt>(outer->index.branches, part->getExprLoc(), branch);
        return true;
      }
    } parts;
    parts.outer = this;
    parts.branch = branch;
    if (condition)
      parts.TraverseStmt(condition);
    put<Stmt>(index.branches, branch->getBeginLoc(), branch);
    return true;
  }

  const SourceManager &sources;
  BodyIndex &index;
  std::vector<const FunctionDecl *> &callees;
};

} // namespace

AstIndex::AstIndex(const ParsedProgram &program) : program(program) {}

void AstIndex::add(const FunctionDecl *kernel) {
  const SourceManager &sources = program.sources();
  clang::ASTNameGenerator names(program.context());
  std::vector<const FunctionDecl *> work = {kernel};
  while (!work.empty()) {
    const FunctionDecl *function = work.back();
    work.pop_back();
    const FunctionDecl *definition = nullptr;
    if (!function->hasBody(definition) || definition->isDependentContext() ||
        sources.isInSystemHeader(definition->getLocation()))
      continue;
    auto &slot = bodies[definition->getCanonicalDecl()];
    if (slot)
      continue;
    slot = std::make_unique<BodyIndex>();
    slot->function = definition;
    BodyVisitor visitor(sources, *slot, work);
    visitor.TraverseStmt(definition->getBody());
    if (auto *constructor = dyn_cast<CXXConstructorDecl>(definition))
      for (CXXCtorInitializer *init : constructor->inits())
        visitor.TraverseStmt(init->getInit());
    for (const std::string &name : names.getAllManglings(definition))
      byName[name] = slot.get();
    if (!isa<CXXConstructorDecl, CXXDestructorDecl>(definition))
      byName[mangledNameOf(definition)] = slot.get();
    for (const VarDecl *variable : slot->sharedVariables)
      shared[names.getName(variable)] = variable;
  }
}

const BodyIndex *AstIndex::body(llvm::StringRef mangledName) const {
  return byName.lookup(mangledName);
}

const VarDecl *AstIndex::sharedVariable(llvm::StringRef mangledName) const {
  return shared.lookup(mangledName);
}

} // namespace kbopt::analysis
