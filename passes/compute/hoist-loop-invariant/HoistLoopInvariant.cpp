//===- HoistLoopInvariant.cpp - Compute before the loop what stays ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for (int k = 0; k < n; ++k)           const float hoistedA = a[i];
//     y[k] = x[k] * a[i];          ==>    for (int k = 0; k < n; ++k)
//                                           y[k] = x[k] * hoistedA;
//
// Owns finding what is worth the move and making it safe for a loop that runs no
// iteration. Analysis owns invariance. Products of floats stay: moving
// one could break up a fused multiply-add and change its rounding.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/ParentMapContext.h"

using namespace kbopt;
using namespace clang;

namespace {

/// One expression that can move.
struct Invariant {
  const Expr *expr;
  /// Its value may be computed even where the loop does not run.
  bool speculatable;
};

struct Findings {
  std::vector<Invariant> invariants;
  std::string obstacle;
};

bool isLoad(const Expr *expr) {
  const auto *cast = dyn_cast<ImplicitCastExpr>(expr);
  return cast && cast->getCastKind() == CK_LValueToRValue &&
         isa<ArraySubscriptExpr>(cast->getSubExpr()->IgnoreParens());
}

/// Whether a compiler's loop optimizer would find \p expr worth keeping: a load,
/// a division, or a function of the math library.
bool isWorthMoving(const Expr *expr) {
  if (!expr->getType()->isArithmeticType() || !expr->isPRValue())
    return false;
  if (isLoad(expr))
    return true;
  if (const auto *binary = dyn_cast<BinaryOperator>(expr))
    return binary->getOpcode() == BO_Div || binary->getOpcode() == BO_Rem;
  if (const auto *call = dyn_cast<CallExpr>(expr))
    if (const FunctionDecl *callee = call->getDirectCallee())
      return callee->getReturnType()->isFloatingType() &&
             callee->getASTContext().getSourceManager().isInSystemHeader(callee->getLocation()) &&
             llvm::all_of(call->arguments(), [](const Expr *argument) {
               return argument->getType()->isArithmeticType();
             });
  return false;
}

class Finder {
public:
  Finder(const PassContext &context, const Stmt *loop, const Stmt *body)
      : context(context), loop(loop) {
    // What follows a jump may not be reached.
    ast::walk(body, [&](const Stmt *each) {
      jumps |= isa<BreakStmt, ContinueStmt, ReturnStmt, GotoStmt>(each);
      return !jumps;
    });
    visit(body, jumps);
  }
  Findings result;

private:
  void visit(const Stmt *statement, bool conditional) {
    if (!statement)
      return;
    if (const auto *pseudo = dyn_cast<PseudoObjectExpr>(statement))
      return visit(pseudo->getSyntacticForm(), conditional);
    if (isa<LambdaExpr>(statement))
      return;
    if (const auto *expr = dyn_cast<Expr>(statement))
      if (isWorthMoving(expr) && consider(expr, conditional))
        return;
    if (const auto *choice = dyn_cast<IfStmt>(statement)) {
      visit(choice->getCond(), conditional);
      visit(choice->getThen(), true);
      return visit(choice->getElse(), true);
    }
    if (const auto *choice = dyn_cast<ConditionalOperator>(statement)) {
      visit(choice->getCond(), conditional);
      visit(choice->getTrueExpr(), true);
      return visit(choice->getFalseExpr(), true);
    }
    if (const auto *logical = dyn_cast<BinaryOperator>(statement);
        logical && logical->isLogicalOp()) {
      visit(logical->getLHS(), conditional);
      return visit(logical->getRHS(), true);
    }
    bool inner =
        conditional || isa<ForStmt, WhileStmt, DoStmt, SwitchStmt, CXXForRangeStmt>(statement);
    for (const Stmt *child : statement->children())
      visit(child, inner);
  }

  /// Whether \p expr moves; if it cannot, its parts still may.
  bool consider(const Expr *expr, bool conditional) {
    Answer invariant = isLoopInvariant(context.imported(), expr, loop);
    if (!invariant.proven()) {
      if (isLoad(expr) && invariant.unknown())
        note(invariant.reason);
      return false;
    }
    if (expr->isValueDependent() || expr->isTypeDependent())
      return false;
    if (expr->isEvaluatable(context.parsed().context()))
      return true; // the compiler folds it
    bool speculatable = isSpeculatable(expr);
    if (!speculatable && conditional) {
      note("'" + text(expr) + "' is computed under a condition");
      return false;
    }
    std::string reason;
    if (!byteRange(context.parsed(), expr->getSourceRange(), &reason)) {
      note("an invariant expression stays: " + reason);
      return false;
    }
    result.invariants.push_back({expr, speculatable});
    return true;
  }

  std::string text(const Expr *expr) const { return context.text(expr->getSourceRange()).str(); }
  void note(const std::string &reason) {
    if (result.obstacle.empty())
      result.obstacle = reason;
  }

  const PassContext &context;
  const Stmt *loop;
  bool jumps = false;
};

const Stmt *bodyOf(const Stmt *loop) {
  if (const auto *each = dyn_cast<ForStmt>(loop))
    return each->getBody();
  if (const auto *each = dyn_cast<WhileStmt>(loop))
    return each->getBody();
  return cast<DoStmt>(loop)->getBody();
}

/// The block that \p loop stands in, and the statement of it that holds the
/// loop (with a pragma, where it has one).
const CompoundStmt *blockOf(const PassContext &context, const Stmt *loop, const Stmt *&statement) {
  statement = loop;
  auto parents = context.parsed().context().getParents(*loop);
  if (!parents.empty())
    if (const auto *attributed = parents[0].get<AttributedStmt>()) {
      statement = attributed;
      parents = context.parsed().context().getParents(*attributed);
    }
  const auto *block = parents.empty() ? nullptr : parents[0].get<CompoundStmt>();
  if (!block)
    return nullptr;
  // A declaration must not be jumped over: by a later case, or by a goto.
  auto above = context.parsed().context().getParents(*block);
  if (!above.empty() && above[0].get<SwitchStmt>())
    return nullptr;
  for (const Stmt *each : block->body())
    if (!ast::findAll<LabelStmt>(each).empty())
      return nullptr;
  return block;
}

class HoistLoopInvariant : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    return ast::loopSites(context, kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    const Stmt *loop = site.as<Stmt>(), *statement = nullptr;
    Findings findings = Finder(context, loop, bodyOf(loop)).result;
    keepSafe(context, site, findings);
    if (findings.invariants.empty())
      return Decision::doesNotApply(
          findings.obstacle.empty() ? "nothing that is worth moving is the same in every iteration"
                                    : findings.obstacle);
    if (!blockOf(context, loop, statement))
      return Decision::doesNotApply("the loop does not stand in a block of its own without labels");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const Stmt *loop = site.as<Stmt>(), *statement = nullptr;
    Findings findings = Finder(context, loop, bodyOf(loop)).result;
    keepSafe(context, site, findings);
    const CompoundStmt *block = blockOf(context, loop, statement);
    AnchorOrReason anchor = anchorOf(context.parsed(), block, site.kernel->function());
    if (!anchor)
      return decline(anchor.reason());
    const ASTContext &ast = context.parsed().context();
    Rewrite rewrite;
    std::string declarations;
    std::vector<std::pair<const Expr *, std::string>> named;
    for (const Invariant &each : findings.invariants) {
      std::string name;
      for (const auto &[other, given] : named)
        if (same(ast, other, each.expr))
          name = given;
      std::string text = context.text(each.expr->getSourceRange()).str();
      if (name.empty()) {
        name = context.freshName(nameFor(each.expr));
        named.emplace_back(each.expr, name);
        declarations += "const " + typeOf(ast, each.expr) + " " + name + " = ";
        std::string guard = each.speculatable || alwaysRuns(context, loop)
                                ? ""
                                : "(" + condition(context, loop) + ") ? ";
        declarations += guard + text + (guard.empty() ? "" : " : 0") + ";\n" +
                        ast::indentation(context, statement->getBeginLoc());
        rewrite.summary += (rewrite.summary.empty() ? "computed '" : ", '") + text + "'";
      }
      if (llvm::Error error =
              rewrite.edits.replace(*anchor, context.parsed(), each.expr->getSourceRange(), name))
        return std::move(error);
    }
    rewrite.summary += " before the loop";
    if (llvm::Error error =
            rewrite.edits.insertAt(*anchor, startOf(context, statement), declarations))
      return std::move(error);
    return rewrite;
  }

private:
  /// Drops what cannot be computed safely before the loop.
  static void keepSafe(const PassContext &context, const Site &site, Findings &findings) {
    const Stmt *loop = site.as<Stmt>();
    if (alwaysRuns(context, loop))
      return;
    const auto *counted = dyn_cast<ForStmt>(loop);
    if (counted && ast::countedLoop(counted) && !condition(context, loop).empty())
      return;
    llvm::erase_if(findings.invariants, [&](const Invariant &each) {
      if (!each.speculatable && findings.obstacle.empty())
        findings.obstacle = "the loop may run no iteration, and then '" +
                            context.text(each.expr->getSourceRange()).str() +
                            "' must not be touched";
      return !each.speculatable;
    });
  }

  static bool alwaysRuns(const PassContext &context, const Stmt *loop) {
    auto ops = context.imported().loopsOf(loop);
    return isa<DoStmt>(loop) || (!ops.empty() && llvm::all_of(ops, [](kb::LoopOp op) {
             return op.getTripCount() && *op.getTripCount() >= 1 && unprovenAssumption(op).empty();
           }));
  }

  /// Whether the first iteration runs, as text: `0 < n`.
  static std::string condition(const PassContext &context, const Stmt *loop) {
    auto header = ast::countedLoop(cast<ForStmt>(loop));
    llvm::StringRef begin = context.text(header->begin->getSourceRange());
    llvm::StringRef end = context.text(header->end->getSourceRange());
    if (begin.empty() || end.empty() || !isSpeculatable(header->begin))
      return "";
    // The comparison must be made in the types of the loop's own.
    std::string type = header->variable->getType().getUnqualifiedType().getAsString(
        context.parsed().context().getPrintingPolicy());
    bool cast = header->begin->IgnoreParenImpCasts()->getType() != header->variable->getType();
    return (cast ? type + "(" + begin.str() + ")" : begin.str()) + " < " + end.str();
  }

  static bool same(const ASTContext &ast, const Expr *a, const Expr *b) {
    llvm::FoldingSetNodeID first, second;
    a->Profile(first, ast, true);
    b->Profile(second, ast, true);
    return first == second;
  }

  static std::string typeOf(const ASTContext &ast, const Expr *expr) {
    return expr->getType().getCanonicalType().getUnqualifiedType().getAsString(
        ast.getPrintingPolicy());
  }

  /// `hoistedA` for a[…], `hoisted` for anything else.
  static std::string nameFor(const Expr *expr) {
    const Expr *base = ast::strip(expr);
    while (const auto *subscript = dyn_cast<ArraySubscriptExpr>(base))
      base = ast::strip(subscript->getBase());
    const VarDecl *variable = ast::variableOf(base);
    if (!variable || variable->getName().empty())
      return "hoisted";
    std::string name = variable->getNameAsString();
    name[0] = llvm::toUpper(name[0]);
    return "hoisted" + name;
  }

  /// Offset of the first character of \p statement; of its pragma's line, where
  /// it has one.
  static unsigned startOf(const PassContext &context, const Stmt *statement) {
    const SourceManager &sources = context.parsed().sources();
    unsigned offset = sources.getFileOffset(sources.getFileLoc(statement->getBeginLoc()));
    if (!isa<AttributedStmt>(statement))
      return offset;
    llvm::StringRef before = context.parsed().text().take_front(offset);
    size_t line = before.rfind('\n') + 1;
    llvm::StringRef indent = context.parsed().text().drop_front(line);
    return line + indent.size() - indent.ltrim(" \t").size();
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createHoistLoopInvariant() {
  return std::make_unique<HoistLoopInvariant>();
}
} // namespace kbopt
