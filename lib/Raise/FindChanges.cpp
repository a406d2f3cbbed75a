//===- FindChanges.cpp - Variables that are not followed -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the search for variables that are changed deeper than they are declared.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace kbopt::raise {

namespace {

/// Variables that are changed deeper than they are declared, or whose address is taken.
class ChangeFinder : public DynamicRecursiveASTVisitor {
public:
  ChangeFinder(const ASTContext &ast, std::set<const VarDecl *> &untracked, LoopForms &forms,
               LoopMoves &moves, Choices &choices, bool movesIntegers)
      : ast(ast), untracked(untracked), forms(forms), moves(moves), choices(choices),
        movesIntegers(movesIntegers) {}

  /// Variables that are changed elsewhere, too, do not only move on.
  void finish() {
    // Pointers decide which branches are read with what follows them; integers come along.
    for (auto &[variable, branches] : chosen)
      if (variable->getType()->isPointerType() && !untracked.count(variable))
        choices.insert(branches.begin(), branches.end());
    for (auto &[variable, branches] : chosen)
      if (llvm::any_of(branches, [&](const IfStmt *each) { return !choices.count(each); }))
        untracked.insert(variable);
    for (auto &[loop, moved] : moves)
      llvm::erase_if(moved, [&](const LoopMove &each) { return untracked.count(each.variable); });
  }

  bool VisitVarDecl(VarDecl *variable) override {
    depths[variable] = depth;
    return true;
  }
  bool TraverseForStmt(ForStmt *given) override {
    const ForStmt *loop = forms.asFor(given, ast);
    if (!loop || !LoopForms::isCounted(loop, ast))
      return traverseUncounted(given);
    // The header may change the loop's own variable.
    const VarDecl *own = countedVariable(loop);
    if (own && !loop->getInit())
      if (auto at = depths.find(own); at == depths.end() || at->second != depth)
        own = nullptr; // what it is after the loop depends on whether the loop is reached
    ++depth;
    const VarDecl *around = std::exchange(inHeader, own);
    TraverseStmt(const_cast<Stmt *>(loop->getInit()));
    inHeader = around;
    TraverseStmt(const_cast<Expr *>(loop->getCond()));
    const VarDecl *outer = std::exchange(inHeader, own);
    loops.push_back({loop, depth - 1});
    TraverseStmt(const_cast<Expr *>(loop->getInc()));
    inHeader = outer;
    ++depth;
    TraverseStmt(const_cast<Stmt *>(loop->getBody()));
    loops.pop_back();
    depth -= 2;
    return true;
  }
  /// What the loop changes, it changes deeper than that is declared.
  bool traverseUncounted(ForStmt *loop) {
    ++depth;
    TraverseStmt(loop->getInit());
    ++depth;
    for (Stmt *each : {(Stmt *)loop->getCond(), (Stmt *)loop->getInc(), loop->getBody()})
      TraverseStmt(each);
    depth -= 2;
    return true;
  }
  bool TraverseWhileStmt(WhileStmt *loop) override {
    if (const ForStmt *counted = forms.asFor(loop, ast);
        counted && LoopForms::isCounted(counted, ast))
      return TraverseForStmt(const_cast<ForStmt *>(counted));
    return nested(loop, &ChangeFinder::base<WhileStmt>);
  }
  bool TraverseDoStmt(DoStmt *loop) override {
    if (const ForStmt *counted = forms.asFor(loop, ast);
        counted && LoopForms::isCounted(counted, ast))
      return TraverseForStmt(const_cast<ForStmt *>(counted));
    return nested(loop, &ChangeFinder::base<DoStmt>);
  }
  bool TraverseIfStmt(IfStmt *branch) override {
    if (std::optional<const Stmt *> side = constantSide(branch, ast))
      return TraverseStmt(const_cast<Stmt *>(*side));
    branches.push_back({branch, depth});
    nested(branch, &ChangeFinder::base<IfStmt>);
    branches.pop_back();
    return true;
  }
  bool TraverseSwitchStmt(SwitchStmt *branch) override {
    return nested(branch, &ChangeFinder::base<SwitchStmt>);
  }
  bool TraversePseudoObjectExpr(PseudoObjectExpr *) override { return true; }

  bool VisitBinaryOperator(BinaryOperator *op) override {
    if (op->isAssignmentOp())
      change(op->getLHS(), op);
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) override {
    if (op->isIncrementDecrementOp())
      change(op->getSubExpr(), op);
    if (op->getOpcode() == UO_AddrOf)
      escape(op->getSubExpr());
    return true;
  }
  bool VisitCallExpr(CallExpr *call) override {
    const FunctionDecl *callee = call->getDirectCallee();
    for (unsigned i = 0; callee && i < call->getNumArgs() && i < callee->getNumParams(); ++i) {
      QualType type = callee->getParamDecl(i)->getType();
      bool offset = llvm::isa<CXXOperatorCallExpr>(call) && llvm::isa<CXXMethodDecl>(callee);
      if (type->isReferenceType() && !type.getNonReferenceType().isConstQualified() &&
          i + offset < call->getNumArgs())
        escape(call->getArg(i + offset));
    }
    return true;
  }

private:
  template <class Node> bool base(Node *node) {
    for (Stmt *child : node->children())
      TraverseStmt(child);
    return true;
  }
  template <class Node> bool nested(Node *node, bool (ChangeFinder::*visit)(Node *)) {
    ++depth;
    (this->*visit)(node);
    --depth;
    return true;
  }
  void change(const Expr *lvalue, const Expr *by) {
    const VarDecl *variable = variableOf(lvalue);
    if (!variable || variable == inHeader)
      return;
    auto at = depths.find(variable);
    unsigned declared = at == depths.end() ? 0 : at->second;
    if (depth <= declared)
      return;
    if (isChosen(variable, declared))
      return;
    // Once in each iteration of a loop beside which it is declared.
    bool isOnce = !loops.empty() && loops.back().second == declared && depth <= declared + 2 &&
                  moved.insert(variable).second;
    LoopMove move{variable, nullptr, false};
    Statement::Progress progress = Statement::Add;
    QualType type = variable->getType();
    isOnce &= type->isPointerType() ||
              (movesIntegers && type->isIntegerType() && ast.getTypeSize(type) >= 32);
    if (isOnce && readIncrement(by, variable, progress, move.step) &&
        isFixedIn(move.step, loops.back().first) &&
        (progress == Statement::Add || progress == Statement::Down)) {
      move.isDown = progress == Statement::Down;
      moves[loops.back().first].push_back(move);
      return;
    }
    untracked.insert(variable);
  }
  /// Whether only branches stand between the declaration of \p variable and this change; notes
  /// them.
  bool isChosen(const VarDecl *variable, unsigned declared) {
    QualType type = variable->getType();
    if (!type->isPointerType() &&
        !(type->isIntegerType() && !type->isBooleanType() && ast.getTypeSize(type) >= 32))
      return false;
    std::vector<const IfStmt *> around;
    for (unsigned inner = depth; auto &[branch, place] : llvm::reverse(branches)) {
      if (place < declared)
        break;
      if (place + 1 != inner)
        return false;
      around.push_back(branch);
      inner = place;
    }
    if (around.size() != depth - declared)
      return false;
    chosen[variable].insert(around.begin(), around.end());
    return true;
  }
  /// Whether \p expr is computed from variables that \p loop neither declares nor changes.
  bool isFixedIn(const Stmt *expr, const ForStmt *loop) {
    if (!expr)
      return true;
    if (llvm::isa<CallExpr, ArraySubscriptExpr, LambdaExpr>(expr))
      return false;
    if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr);
        unary && unary->getOpcode() == UO_Deref)
      return false;
    if (const auto *reference = llvm::dyn_cast<DeclRefExpr>(expr))
      if (const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl())) {
        auto at = depths.find(variable);
        bool isOutside = at == depths.end() || at->second <= loops.back().second;
        return isOutside && variable != countedVariable(loop) &&
               !changesVariable(loop->getBody(), variable);
      }
    return llvm::all_of(expr->children(),
                        [&](const Stmt *child) { return isFixedIn(child, loop); });
  }
  void escape(const Expr *lvalue) {
    if (const VarDecl *variable = variableOf(lvalue))
      untracked.insert(variable);
  }

  const ASTContext &ast;
  std::set<const VarDecl *> &untracked;
  LoopForms &forms;
  LoopMoves &moves;
  Choices &choices;
  bool movesIntegers;
  std::map<const VarDecl *, Choices> chosen; ///< variables that branches set
  std::vector<std::pair<const IfStmt *, unsigned>>
      branches; ///< around, with the depth that they stand at
  std::set<const VarDecl *> moved;
  std::vector<std::pair<const ForStmt *, unsigned>>
      loops; ///< around, with the depth that they stand at
  std::map<const VarDecl *, unsigned> depths;
  const VarDecl *inHeader = nullptr;
  unsigned depth = 0;
};

} // namespace

std::optional<const Stmt *> constantSide(const IfStmt *branch, const ASTContext &ast) {
  if (branch->getInit() || branch->getConditionVariable() || branch->isConsteval())
    return std::nullopt;
  const Expr *condition = branch->getCond();
  Expr::EvalResult value;
  bool holds = false;
  if (condition->isValueDependent() || !condition->EvaluateAsRValue(value, ast) ||
      value.HasSideEffects || !condition->EvaluateAsBooleanCondition(holds, ast))
    return std::nullopt;
  return holds ? branch->getThen() : branch->getElse();
}

void findUntrackedVariables(const Stmt *body, const ASTContext &ast,
                            std::set<const VarDecl *> &untracked, LoopForms &forms,
                            LoopMoves &moves, Choices &choices, bool movesIntegers) {
  ChangeFinder finder(ast, untracked, forms, moves, choices, movesIntegers);
  finder.TraverseStmt(const_cast<Stmt *>(body));
  finder.finish();
}

} // namespace kbopt::raise
