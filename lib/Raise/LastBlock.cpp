//===- LastBlock.cpp - Kernels whose last block ends the work --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the search for the count of the blocks, for the branch that the last one takes, and the two
// bodies without them.
//
//===----------------------------------------------------------------------===//
#include "LastBlock.h"
#include "ThreadReader.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace clang;

namespace kbopt::raise {
namespace {

using Nodes = llvm::SmallPtrSet<const Stmt *, 16>;

/// Calls \p visit for \p node and all that is in it; `threadIdx.x` is one node.
void forEachNode(const Stmt *node, llvm::function_ref<void(const Stmt *)> visit) {
  if (!node)
    return;
  visit(node);
  if (!llvm::isa<PseudoObjectExpr>(node))
    for (const Stmt *child : node->children())
      forEachNode(child, visit);
}

bool contains(const Stmt *node, const Stmt *part) {
  bool does = false;
  forEachNode(node, [&](const Stmt *each) { does |= each == part; });
  return does;
}

/// The variable that \p node, an assignment, changes; null for anything else.
const VarDecl *changedBy(const Stmt *node) {
  const Expr *left = nullptr;
  if (const auto *binary = llvm::dyn_cast<BinaryOperator>(node); binary && binary->isAssignmentOp())
    left = binary->getLHS();
  else if (const auto *unary = llvm::dyn_cast<UnaryOperator>(node);
           unary && (unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf))
    left = unary->getSubExpr();
  else if (const auto *call = llvm::dyn_cast<CXXOperatorCallExpr>(node);
           call && call->isAssignmentOp())
    left = call->getArg(0);
  if (!left || variableOf(left))
    return left ? variableOf(left) : nullptr;
  const VarDecl *root = rootOf(left); // what a pointer leads to is not the pointer
  return root && !root->getType()->isPointerType() ? root : nullptr;
}

/// `&x` and `x`, `p` and `*p` or `p[0]`, in one form.
std::string placeText(const Expr *expr, bool isAddress, const ASTContext &ast) {
  expr = strip(expr);
  auto written = [&](const Expr *each) {
    return Lexer::getSourceText(CharSourceRange::getTokenRange(each->getSourceRange()),
                                ast.getSourceManager(), ast.getLangOpts())
        .str();
  };
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr)) {
    if (isAddress && unary->getOpcode() == UO_AddrOf)
      return placeText(unary->getSubExpr(), false, ast);
    if (!isAddress && unary->getOpcode() == UO_Deref)
      return placeText(unary->getSubExpr(), true, ast);
  }
  if (const auto *element = llvm::dyn_cast<ArraySubscriptExpr>(expr); element && !isAddress) {
    Expr::EvalResult index;
    if (element->getIdx()->EvaluateAsInt(index, ast) && index.Val.getInt() == 0)
      return placeText(element->getBase(), true, ast);
  }
  return (isAddress ? "*" : "") + written(expr);
}

class Splitter {
public:
  explicit Splitter(const FunctionDecl *kernel) : ast(kernel->getASTContext()), kernel(kernel) {}

  std::optional<LastBlock> run() {
    body = llvm::dyn_cast_or_null<CompoundStmt>(kernel->getBody());

    if (!body || !findTicket())
      return std::nullopt;
    followVariables();
    if (!findBranch(body, true) || !result.ticket || !findGuards(body))
      return std::nullopt;
    findCount();
    bool isWhole = buildFirst() && buildLast();
    return isWhole ? std::optional(result) : std::nullopt;
  }

private:
  //===-- The count -------------------------------------------------------===//

  /// The only atomic whose result is used, if it counts by one.
  bool findTicket() {
    forEachNode(body, [&](const Stmt *node) {
      const auto *call = llvm::dyn_cast<CallExpr>(node);
      llvm::StringRef name = call ? calleeName(call) : "";
      bool isAdd = name == "atomicAdd", isIncrement = name == "atomicInc";
      if ((!isAdd && !isIncrement) || call->getNumArgs() != 2 || isDiscarded(call))
        return;
      Expr::EvalResult by;
      bool isOne = isIncrement || (call->getArg(1)->EvaluateAsInt(by, ast) && by.Val.getInt() == 1);
      tickets += 1;
      atomic = isOne ? call : nullptr;
      result.limit = isIncrement ? call->getArg(1) : nullptr;
    });
    if (tickets == 1 && atomic)
      result.counter = placeText(atomic->getArg(0), true, ast);
    return tickets == 1 && atomic;
  }

  bool isDiscarded(const CallExpr *call) const {
    bool is = false;
    forEachNode(body, [&](const Stmt *node) {
      auto isIt = [&](const Stmt *part) {
        const auto *expr = llvm::dyn_cast_or_null<Expr>(part);
        is |= expr && strip(expr) == call;
      };
      if (const auto *block = llvm::dyn_cast<CompoundStmt>(node))
        llvm::for_each(block->body(), isIt);
      if (const auto *branch = llvm::dyn_cast<IfStmt>(node)) {
        isIt(branch->getThen());
        isIt(branch->getElse());
      }
    });
    return is;
  }

  /// Finds the variables that hold the ticket, or whether it is the last one. Other values that
  /// they are given are constants.
  void followVariables() {
    for (size_t before = ~size_t(0); before != held.size() + flags.size();) {
      before = held.size() + flags.size();
      forEachNode(body, [&](const Stmt *node) {
        if (const auto *declaration = llvm::dyn_cast<DeclStmt>(node)) {
          for (const Decl *each : declaration->decls())
            if (const auto *variable = llvm::dyn_cast<VarDecl>(each))
              follow(variable, variable->getInit());
        } else if (const auto *assign = llvm::dyn_cast<BinaryOperator>(node);
                   assign && assign->getOpcode() == BO_Assign) {
          follow(variableOf(assign->getLHS()), assign->getRHS());
        } else if (const auto *branch = llvm::dyn_cast<IfStmt>(node);
                   branch && !branch->getElse() && meansLast(branch->getCond()) == true) {
          // if (ticket == blocks - 1) isLast = true;
          const auto *only =
              llvm::dyn_cast_or_null<BinaryOperator>(onlyStatement(branch->getThen()));
          const VarDecl *variable =
              only && only->getOpcode() == BO_Assign ? variableOf(only->getLHS()) : nullptr;
          bool value = false;
          if (variable && only->getRHS()->EvaluateAsBooleanCondition(value, ast) && value)
            flags.insert(variable);
        }
      });
    }
  }

  void follow(const VarDecl *variable, const Expr *value) {
    if (!variable || !value)
      return;
    if (isTicket(value))
      held.insert(variable);
    else if (meansLast(value) == true)
      flags.insert(variable);
  }

  bool isTicket(const Expr *expr) const {
    expr = strip(expr);
    return expr == atomic || held.count(variableOf(expr));
  }

  /// Whether \p expr is true for the last block alone, or false for it alone.
  std::optional<bool> meansLast(const Expr *expr) {
    expr = strip(expr);
    if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(expr))
      expr = strip(cast->getSubExpr());
    if (const VarDecl *variable = variableOf(expr))
      return flags.count(variable) ? std::optional(true) : std::nullopt;
    if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr);
        unary && unary->getOpcode() == UO_LNot) {
      std::optional<bool> inner = meansLast(unary->getSubExpr());
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    if (const auto *call = llvm::dyn_cast<CallExpr>(expr);
        call && call->getNumArgs() == 1 && calleeName(call) == "__syncthreads_or")
      return meansLast(call->getArg(0));
    const auto *binary = llvm::dyn_cast<BinaryOperator>(expr);
    if (!binary || !binary->isComparisonOp())
      return std::nullopt;
    const Expr *left = strip(binary->getLHS()), *right = strip(binary->getRHS());
    BinaryOperatorKind opcode = binary->getOpcode();
    if (isCounted(right)) {
      std::swap(left, right);
      opcode = BinaryOperator::reverseComparisonOp(opcode);
    }
    if (!isCounted(left) || isCounted(right))
      return std::nullopt;
    bool isLast = opcode == BO_EQ || opcode == BO_GE, isOther = opcode == BO_NE || opcode == BO_LT;
    if (!isLast && !isOther)
      return std::nullopt;
    result.ticket = right;
    result.offset = isTicket(left) ? 0 : 1;
    return isLast;
  }

  /// The ticket, or the ticket and one.
  bool isCounted(const Expr *expr) const {
    if (isTicket(expr))
      return true;
    const auto *sum = llvm::dyn_cast<BinaryOperator>(strip(expr));
    Expr::EvalResult one;
    return sum && sum->getOpcode() == BO_Add && isTicket(sum->getLHS()) &&
           sum->getRHS()->EvaluateAsInt(one, ast) && one.Val.getInt() == 1;
  }

  //===-- The branch ------------------------------------------------------===//

  /// The branch that only the last block takes, as the last thing that the kernel does.
  bool findBranch(const CompoundStmt *block, bool isTop) {
    for (auto at = block->body_begin(); at != block->body_end(); ++at) {
      const auto *branch = llvm::dyn_cast<IfStmt>(*at);
      if (!branch || branch->getElse() || branch->getInit() || branch->getConditionVariable())
        continue;
      llvm::ArrayRef<const Stmt *> rest(std::next(at), block->body_end());
      if (setBranch(branch, rest, isTop))
        return true;
      const auto *inner = llvm::dyn_cast<CompoundStmt>(branch->getThen());
      if (!inner || !contains(branch, atomic) || !rest.empty())
        continue;
      around.push_back(branch);
      if (findBranch(inner, false))
        return true;
      around.pop_back();
    }
    return false;
  }

  bool setBranch(const IfStmt *branch, llvm::ArrayRef<const Stmt *> rest, bool isTop) {
    const Expr *others = nullptr, *condition = strip(branch->getCond());
    std::optional<bool> isLast = meansLast(condition);
    if (const auto *both = llvm::dyn_cast<BinaryOperator>(condition);
        !isLast && both && both->getOpcode() == BO_LAnd) {
      others = meansLast(both->getLHS()) ? both->getRHS() : both->getLHS();
      isLast = meansLast(others == both->getRHS() ? both->getLHS() : both->getRHS());
      if (isLast == false)
        return false;
    }
    if (!isLast)
      return false;
    const Stmt *only = onlyStatement(branch->getThen());
    if (!*isLast && (!isTop || !llvm::isa_and_nonnull<ReturnStmt>(only)))
      return false;
    if (*isLast &&
        llvm::any_of(rest, [](const Stmt *each) { return !llvm::isa<ReturnStmt>(each); }))
      return false;
    taken = branch;
    if (*isLast)
      ending = {others ? guarded(others, branch->getThen()) : branch->getThen()};
    else
      ending.assign(rest.begin(), rest.end());
    cut.insert(branch);
    if (!*isLast)
      cut.insert(rest.begin(), rest.end());
    return true;
  }

  const Stmt *guarded(const Expr *condition, const Stmt *statement) const {
    SourceLocation place = condition->getExprLoc();
    return IfStmt::Create(ast, place, IfStatementKind::Ordinary, nullptr, nullptr,
                          const_cast<Expr *>(condition), place, place,
                          const_cast<Stmt *>(statement));
  }

  /// The branches around the atomic within \p block; false where something else is around it.
  bool findGuards(const CompoundStmt *block) {
    for (const Stmt *each : block->body()) {
      if (!contains(each, atomic))
        continue;
      if (const auto *inner = llvm::dyn_cast<CompoundStmt>(each))
        return findGuards(inner);
      const auto *branch = llvm::dyn_cast<IfStmt>(each);
      if (!branch || contains(branch->getCond(), atomic))
        return llvm::isa<DeclStmt, Expr, IfStmt>(each);
      guards.push_back(branch);
      result.counts.push_back(branch->getCond());
      const auto *inner = llvm::dyn_cast_or_null<CompoundStmt>(branch->getThen());
      return !branch->getElse() && (inner ? findGuards(inner) : llvm::isa<Expr>(branch->getThen()));
    }
    return false;
  }

  /// Whether all threads of a block know of the ticket. Otherwise the thread that took it goes on
  /// alone.
  bool isKnownToBlock() const {
    bool is = false;
    for (const auto *variables : {&held, &flags})
      for (const VarDecl *each : *variables)
        is |= each->hasAttr<CUDASharedAttr>();
    forEachNode(body, [&](const Stmt *node) {
      const auto *call = llvm::dyn_cast<CallExpr>(node);
      is |= call && calleeName(call) == "__syncthreads_or";
    });
    return is;
  }

  //===-- Two bodies ------------------------------------------------------===//

  /// Finds what only counts: it is in neither body.
  void findCount() {
    auto counts = [&](const Stmt *statement) {
      if (const auto *declaration = llvm::dyn_cast<DeclStmt>(statement))
        return declaration->isSingleDecl() && isCount(declaration->getSingleDecl());
      if (const auto *branch = llvm::dyn_cast<IfStmt>(statement))
        return !branch->getElse() && meansLast(branch->getCond()) &&
               onlyStatement(branch->getThen()) &&
               isCount(changedBy(onlyStatement(branch->getThen())));
      const auto *expr = llvm::dyn_cast<Expr>(statement);
      expr = expr ? strip(expr) : nullptr;
      if (const auto *call = llvm::dyn_cast_or_null<CallExpr>(expr))
        return calleeName(call).starts_with("__threadfence");
      return expr && isCount(changedBy(expr));
    };
    forEachNode(body, [&](const Stmt *node) {
      if (const auto *block = llvm::dyn_cast<CompoundStmt>(node))
        for (const Stmt *each : block->body())
          if (counts(each))
            cut.insert(each);
      if (const auto *branch = llvm::dyn_cast<IfStmt>(node))
        for (const Stmt *each : {branch->getThen(), branch->getElse()})
          if (each && counts(each))
            cut.insert(each);
    });
    // The barrier that makes the ticket known is not one of the first body.
    bool isAfter = false;
    for (const Stmt *each : body->body()) {
      const auto *call = llvm::dyn_cast<CallExpr>(each);
      if (isAfter && call && calleeName(call) == "__syncthreads")
        cut.insert(each);
      isAfter |= contains(each, atomic);
    }
  }

  bool isCount(const Decl *decl) const {
    const auto *variable = llvm::dyn_cast_or_null<VarDecl>(decl);
    return variable && (held.count(variable) || flags.count(variable));
  }

  /// \p statement without what is cut; null where nothing is left.
  const Stmt *without(const Stmt *statement) {
    if (!statement || cut.count(statement))
      return nullptr;
    auto isCut = [&](const Stmt *part) { return cut.count(part) != 0; };
    bool has = false;
    forEachNode(statement, [&](const Stmt *node) { has |= isCut(node); });
    if (!has)
      return statement;
    if (const auto *block = llvm::dyn_cast<CompoundStmt>(statement)) {
      llvm::SmallVector<Stmt *> kept;
      for (const Stmt *each : block->body())
        if (const Stmt *inner = without(each))
          kept.push_back(const_cast<Stmt *>(inner));
      return kept.empty() ? nullptr : blockOf(kept);
    }
    if (const auto *branch = llvm::dyn_cast<IfStmt>(statement); branch && !branch->getElse()) {
      const Stmt *inner = without(branch->getThen());
      return inner ? guarded(branch->getCond(), inner) : nullptr;
    }
    isClean = false; // it counts where it should not
    return statement;
  }

  const CompoundStmt *blockOf(llvm::ArrayRef<Stmt *> statements) const {
    return CompoundStmt::Create(ast, statements, FPOptionsOverride(), body->getLBracLoc(),
                                body->getRBracLoc());
  }

  bool buildFirst() {
    result.first = without(body);
    bool isUsed = false, leaves = false;
    forEachNode(result.first, [&](const Stmt *node) {
      leaves |= llvm::isa<ReturnStmt>(node);
      isUsed |= node == atomic;
      if (const auto *name = llvm::dyn_cast<DeclRefExpr>(node))
        isUsed |= isCount(name->getDecl());
    });
    return result.first && isClean && !isUsed && !leaves;
  }

  /// Whether \p statement sets the count to 0.
  bool isReset(const Stmt *statement) const {
    const auto *expr = llvm::dyn_cast_or_null<Expr>(statement);
    expr = expr ? strip(expr) : nullptr;
    const Expr *place = nullptr, *value = nullptr;
    bool isAddress = false;
    if (const auto *assign = llvm::dyn_cast_or_null<BinaryOperator>(expr);
        assign && assign->getOpcode() == BO_Assign) {
      place = assign->getLHS();
      value = assign->getRHS();
    } else if (const auto *call = llvm::dyn_cast_or_null<CallExpr>(expr);
               call && calleeName(call) == "atomicExch" && call->getNumArgs() == 2) {
      place = call->getArg(0);
      value = call->getArg(1);
      isAddress = true;
    }
    Expr::EvalResult zero;
    return place && value->EvaluateAsInt(zero, ast) && zero.Val.getInt() == 0 &&
           placeText(place, isAddress, ast) == result.counter;
  }

  bool buildLast() {
    for (const Stmt *each : ending)
      forEachNode(each, [&](const Stmt *node) {
        if (this->isReset(node)) {
          cut.insert(node);
          result.isReset = true;
        }
      });
    if (!result.isReset && !result.limit)
      return false; // the count is left as it is
    llvm::SmallVector<Stmt *> statements;
    cut.erase(taken);
    for (const Stmt *each : ending)
      cut.erase(each);
    for (const Stmt *each : ending)
      if (const Stmt *inner = this->isReset(each) ? nullptr : without(each))
        statements.push_back(const_cast<Stmt *>(inner));
    const Stmt *whole = blockOf(statements);
    if (!isKnownToBlock())
      around = guards;
    for (const IfStmt *each : llvm::reverse(around))
      whole = guarded(each->getCond(), whole);
    std::optional<llvm::SmallVector<Stmt *>> declared = declarationsFor(whole);
    if (!declared || statements.empty() || !isClean)
      return false;
    declared->push_back(const_cast<Stmt *>(whole));
    result.last = blockOf(*declared);
    return true;
  }

  /// The declarations before the branch that \p last uses. Nothing where they do not say what it
  /// has: the first body changed it, or it was loaded.
  std::optional<llvm::SmallVector<Stmt *>> declarationsFor(const Stmt *last) {
    std::set<const VarDecl *> used, changed;
    auto use = [&](const Stmt *node) {
      forEachNode(node, [&](const Stmt *each) {
        if (const auto *name = llvm::dyn_cast<DeclRefExpr>(each))
          if (const auto *variable = llvm::dyn_cast<VarDecl>(name->getDecl()))
            used.insert(variable);
      });
    };
    use(last);
    forEachNode(result.first, [&](const Stmt *node) {
      if (const VarDecl *variable = changedBy(node))
        changed.insert(variable);
    });
    llvm::SmallVector<Stmt *> kept;
    for (Stmt *each : llvm::reverse(body->body())) {
      auto *declaration = llvm::dyn_cast<DeclStmt>(each);
      if (!declaration || cut.count(each))
        continue;
      bool isUsed = false;
      for (const Decl *decl : declaration->decls()) {
        const auto *variable = llvm::dyn_cast<VarDecl>(decl);
        if (!variable || !used.count(variable))
          continue;
        bool isShared = variable->hasAttr<CUDASharedAttr>();
        if (!isShared && changed.count(variable) && !startsByAssigning(last, variable))
          return std::nullopt;
        isUsed = true;
      }
      if (!isUsed)
        continue;
      for (const Decl *decl : declaration->decls())
        if (const auto *variable = llvm::dyn_cast<VarDecl>(decl)) {
          if (!isUniformValue(variable->getInit()))
            return std::nullopt;
          use(variable->getInit());
        }
      kept.push_back(declaration);
    }
    for (const ParmVarDecl *each : kernel->parameters())
      if (used.count(each) && changed.count(each))
        return std::nullopt;
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  /// Whether \p init needs no memory and no function but those of a cooperative group.
  static bool isUniformValue(const Expr *init) {
    bool is = true;
    forEachNode(init, [&](const Stmt *node) {
      const auto *call = llvm::dyn_cast<CallExpr>(node);
      const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
      is &=
          !call ||
          (callee &&
           llvm::StringRef(callee->getQualifiedNameAsString()).starts_with("cooperative_groups::"));
      const auto *unary = llvm::dyn_cast<UnaryOperator>(node);
      is &= !llvm::isa<ArraySubscriptExpr, MemberExpr, LambdaExpr>(node) &&
            !(unary && (unary->getOpcode() == UO_Deref || unary->isIncrementDecrementOp()));
    });
    return is;
  }

  /// Whether the first that \p last does with \p variable is to give it a value.
  static bool startsByAssigning(const Stmt *last, const VarDecl *variable) {
    const auto *block = llvm::dyn_cast<CompoundStmt>(last);
    if (!block)
      return false;
    for (const Stmt *each : block->body()) {
      if (!countMentions(each, variable))
        continue;
      if (const auto *inner = llvm::dyn_cast<CompoundStmt>(each))
        return startsByAssigning(inner, variable);
      if (const auto *branch = llvm::dyn_cast<IfStmt>(each)) // nothing else has it
        return countMentions(branch->getThen(), variable) == countMentions(last, variable) &&
               startsByAssigning(branch->getThen(), variable);
      const auto *assign = llvm::dyn_cast<BinaryOperator>(each);
      return assign && assign->getOpcode() == BO_Assign &&
             variableOf(assign->getLHS()) == variable && !countMentions(assign->getRHS(), variable);
    }
    return false;
  }

  const ASTContext &ast;
  const FunctionDecl *kernel;
  const CompoundStmt *body = nullptr;
  const CallExpr *atomic = nullptr;
  unsigned tickets = 0;
  std::set<const VarDecl *> held, flags; ///< the ticket; whether it is the last one
  const IfStmt *taken = nullptr;
  llvm::SmallVector<const IfStmt *> around; ///< branches around it
  llvm::SmallVector<const IfStmt *> guards; ///< branches around the atomic
  llvm::SmallVector<const Stmt *> ending;   ///< what the last block does
  Nodes cut;
  bool isClean = true;
  LastBlock result;
};

} // namespace

std::optional<LastBlock> findLastBlock(const FunctionDecl *kernel) {
  return Splitter(kernel).run();
}

} // namespace kbopt::raise
