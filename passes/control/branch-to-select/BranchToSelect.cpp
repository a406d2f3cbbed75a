//===- BranchToSelect.cpp - Select in place of branching --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   if (x > limit)                ==>     x = x > limit ? limit : x;
//     x = limit;
//
// Owns which branches become selects, and their text. That a select is faster is
// the policy's question; that nothing else changes follows from `?:`, which
// evaluates what the branch did.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace clang;

namespace {

/// `variable = value`, in words of either form.
struct Assignment {
  const VarDecl *variable;
  std::string value;
};

/// One `if`, with what it sets.
struct Branch {
  const IfStmt *statement = nullptr;
  std::vector<Assignment> then, otherwise;
  const IfStmt *elseIf = nullptr; ///< the `else` is another branch
  unsigned operations = 0;
  std::string obstacle;
};

/// Reads branches, and writes them as selects.
class Selector {
public:
  Selector(const PassContext &context, const KernelView &kernel, int64_t most)
      : context(context), kernel(kernel), most(most) {
    for (kb::KernelOp op : kernel.ops)
      op->walk([&](kb::BranchOp branch) {
        if (const Stmt *statement = context.imported().stmtOf(branch);
            statement && branch.getUniformity() == kb::Uniformity::Divergent)
          divergent.insert(statement->getBeginLoc().getRawEncoding());
      });
  }

  struct Found {
    std::vector<std::pair<const IfStmt *, std::string>> selects;
    std::string obstacle; ///< of the first branch that stays
  };
  /// \p names: whether names are given to conditions, which is done once.
  Found run(bool names) {
    Found found;
    givesNames = names;
    visit(kernel.function()->getBody(), found);
    return found;
  }

private:
  std::string text(const Expr *expr) const { return context.text(expr->getSourceRange()).str(); }
  std::string line(const Stmt *statement) const {
    return ast::lineText(context, statement->getBeginLoc());
  }

  void visit(const Stmt *statement, Found &found) {
    if (const auto *choice = dyn_cast<IfStmt>(statement)) {
      Branch branch = read(choice);
      if (branch.obstacle.empty())
        if (std::string selected = write(branch); !selected.empty())
          return found.selects.emplace_back(choice, selected), void();
      if (found.obstacle.empty())
        found.obstacle = branch.obstacle;
    }
    for (const Stmt *child : statement->children())
      if (child)
        visit(child, found);
  }

  Branch read(const IfStmt *choice) {
    Branch branch;
    branch.statement = choice;
    std::string &why = branch.obstacle;
    if (!divergent.count(choice->getBeginLoc().getRawEncoding()))
      why = "threads agree on the branch at " + line(choice);
    else if (choice->hasInitStorage() || choice->hasVarStorage() || choice->isConstexpr())
      why = "the branch at " + line(choice) + " declares a variable";
    else if (std::string macro; !byteRange(context.parsed(), choice->getSourceRange(), &macro) ||
                                text(choice->getCond()).empty())
      why = macro.empty() ? "the condition at " + line(choice) + " comes from a macro" : macro;
    if (!why.empty())
      return branch;
    readArm(choice->getThen(), branch.then, branch);
    branch.elseIf = dyn_cast_or_null<IfStmt>(choice->getElse());
    if (choice->getElse() && !branch.elseIf)
      readArm(choice->getElse(), branch.otherwise, branch);
    if (why.empty() && branch.operations > most)
      why = "the arms at " + line(choice) + " take " + std::to_string(branch.operations) +
            " operations, more than a select should";
    return branch;
  }

  void readArm(const Stmt *arm, std::vector<Assignment> &into, Branch &branch) {
    std::vector<const Stmt *> statements{arm};
    if (const auto *block = dyn_cast<CompoundStmt>(arm))
      statements.assign(block->body_begin(), block->body_end());
    for (const Stmt *statement : statements)
      if (branch.obstacle.empty() && !isa<NullStmt>(statement))
        readAssignment(statement, into, branch);
    if (statements.empty() && branch.obstacle.empty())
      branch.obstacle = "an arm at " + line(arm) + " is empty";
  }

  void readAssignment(const Stmt *statement, std::vector<Assignment> &into, Branch &branch) {
    auto stop = [&](const llvm::Twine &what) {
      branch.obstacle = (what + " at " + line(statement)).str();
    };
    const auto *expr = dyn_cast<Expr>(statement);
    expr = expr ? ast::strip(expr) : nullptr;
    const auto *binary = dyn_cast_or_null<BinaryOperator>(expr);
    const auto *unary = dyn_cast_or_null<UnaryOperator>(expr);
    const Expr *target = binary && binary->isAssignmentOp()         ? binary->getLHS()
                         : unary && unary->isIncrementDecrementOp() ? unary->getSubExpr()
                                                                    : nullptr;
    if (!target)
      return stop("an arm does more than set variables");
    const VarDecl *variable = ast::variableOf(target);
    if (!variable || !variable->isLocalVarDeclOrParm() || variable->hasGlobalStorage() ||
        variable->getType()->isReferenceType())
      return stop("'" + text(target) + "' is stored to memory");
    QualType type = variable->getType();
    if (type->isDependentType() || !type->isArithmeticType() || type.isVolatileQualified())
      return stop("'" + variable->getName() + "' is not known to be a number");
    if (!variable->hasInit() && !isa<ParmVarDecl>(variable))
      return stop("'" + variable->getName() + "' may have no value yet");
    std::string name = variable->getNameAsString(), value;
    bool sameType = true;
    ++branch.operations;
    if (unary) {
      value = name + (unary->isIncrementOp() ? " + 1" : " - 1");
      sameType = type->isFloatingType() || context.parsed().context().getIntWidth(type) >= 32;
    } else {
      const Expr *right = binary->getRHS();
      if (!isCheap(right, branch))
        return stop("an arm reads memory, calls or divides");
      value = text(right);
      if (value.empty())
        return stop("a value comes from a macro");
      QualType own = right->IgnoreParenImpCasts()->getType();
      if (const auto *compound = dyn_cast<CompoundAssignOperator>(binary)) {
        bool atom = isa<DeclRefExpr, IntegerLiteral, FloatingLiteral, ParenExpr, CallExpr>(
            right->IgnoreImpCasts());
        if (const auto *product = dyn_cast<BinaryOperator>(right->IgnoreImpCasts()))
          atom |= product->isMultiplicativeOp() &&
                  (compound->getOpcode() == BO_AddAssign || compound->getOpcode() == BO_SubAssign);
        if (binary->getOpcode() == BO_DivAssign || binary->getOpcode() == BO_RemAssign)
          return stop("an arm reads memory, calls or divides");
        std::string sign = BinaryOperator::getOpcodeStr(
                               BinaryOperator::getOpForCompoundAssignment(binary->getOpcode()))
                               .str();
        value = name + " " + sign + " " + (atom ? value : "(" + value + ")");
        own = compound->getComputationResultType();
      }
      sameType = own.getCanonicalType().getUnqualifiedType() ==
                 type.getCanonicalType().getUnqualifiedType();
    }
    if (!sameType)
      value =
          "static_cast<" +
          type.getUnqualifiedType().getAsString(context.parsed().context().getPrintingPolicy()) +
          ">(" + value + ")";
    into.push_back({variable, value});
  }

  /// Whether \p expr costs a few operations and can be computed in vain; counts them.
  static bool isCheap(const Expr *expr, Branch &branch) {
    if (expr->isTypeDependent() || !isSpeculatable(expr))
      return false;
    bool cheap = true;
    ast::walk(expr, [&](const Stmt *each) {
      if (const auto *binary = dyn_cast<BinaryOperator>(each)) {
        cheap &= binary->getOpcode() != BO_Div && binary->getOpcode() != BO_Rem;
        ++branch.operations;
      }
      if (isa<ConditionalOperator, ExplicitCastExpr>(each))
        ++branch.operations;
      if (const auto *call = dyn_cast<CallExpr>(each)) {
        const FunctionDecl *callee = call->getDirectCallee();
        static constexpr llvm::StringRef known[] = {
            "min", "max", "fminf", "fmaxf", "fmin", "fmax", "fabsf", "fabs", "abs", "fmaf", "fma"};
        cheap &= callee && callee->getIdentifier() && llvm::is_contained(known, callee->getName());
        ++branch.operations;
      }
      return cheap;
    });
    return cheap;
  }

  std::string condition(const IfStmt *choice) const {
    const Expr *written = choice->getCond()->IgnoreImpCasts();
    bool loose =
        isa<AbstractConditionalOperator>(written) ||
        (isa<BinaryOperator>(written) && (cast<BinaryOperator>(written)->isAssignmentOp() ||
                                          cast<BinaryOperator>(written)->isCommaOp()));
    return loose ? "(" + text(choice->getCond()) + ")" : text(choice->getCond());
  }

  /// The value of \p variable after \p branch where it is all that the branch sets; empty where it
  /// sets others or several times.
  std::string valueOf(const VarDecl *variable, const Branch &branch) {
    auto arm = [&](const std::vector<Assignment> &assignments) -> std::string {
      if (assignments.empty())
        return variable->getNameAsString();
      return assignments.size() == 1 && assignments.front().variable == variable
                 ? assignments.front().value
                 : "";
    };
    std::string then = arm(branch.then), otherwise = arm(branch.otherwise);
    if (branch.elseIf) {
      Branch next = read(branch.elseIf);
      if (!next.obstacle.empty())
        return "";
      otherwise = valueOf(variable, next);
    }
    return then.empty() || otherwise.empty()
               ? ""
               : condition(branch.statement) + " ? " + then + " : " + otherwise;
  }

  /// The selects for \p branch; sets its obstacle and returns nothing where there is no such form.
  std::string write(Branch &branch) {
    const VarDecl *first = branch.then.empty() ? nullptr : branch.then.front().variable;
    if (std::string value = first ? valueOf(first, branch) : ""; !value.empty())
      return first->getNameAsString() + " = " + value + ";";
    if (branch.elseIf) {
      branch.obstacle =
          "the arms of the chain at " + line(branch.statement) + " do not set one variable each";
      return "";
    }
    std::string taken = givesNames ? context.freshName("taken") : "taken",
                out = "const bool " + taken + " = " + text(branch.statement->getCond()) + ";";
    for (const Assignment &each : branch.then) {
      std::string name = each.variable->getNameAsString();
      out += "\n" + name + " = " + taken + " ? " + each.value + " : " + name + ";";
    }
    for (const Assignment &each : branch.otherwise) {
      std::string name = each.variable->getNameAsString();
      out += "\n" + name + " = " + taken + " ? " + name + " : " + each.value + ";";
    }
    return "{\n" + out + "\n}";
  }

  const PassContext &context;
  const KernelView &kernel;
  int64_t most;
  bool givesNames = false;
  std::set<SourceLocation::UIntTy> divergent;
};

class BranchToSelect : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    // One `if` around everything is a bounds check.
    auto choices = ast::findAll<IfStmt>(kernel.function()->getBody());
    bool isCandidate =
        llvm::any_of(choices, [](const IfStmt *choice) { return choice->getElse(); });
    for (const Stmt *loop : ast::findAll<ForStmt>(kernel.function()->getBody()))
      isCandidate |= !ast::findAll<IfStmt>(loop).empty();
    return isCandidate || choices.size() > 1 ? ast::kernelSites(kernel) : std::vector<Site>();
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    if (site.kernel->ops.empty())
      return Decision::doesNotApply("nothing is known about the kernel's device code");
    auto found = Selector(context, *site.kernel, options.integer("operations")).run(false);
    if (found.selects.empty())
      return Decision::doesNotApply(found.obstacle);
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    auto found = Selector(context, *site.kernel, options.integer("operations")).run(true);
    Rewrite rewrite;
    rewrite.summary = "selected in place of " + std::to_string(found.selects.size()) +
                      (found.selects.size() == 1 ? " branch" : " branches");
    for (const auto &[choice, text] : found.selects) {
      AnchorOrReason anchor = anchorOf(context.parsed(), choice, site.kernel->function());
      if (!anchor)
        return decline(anchor.reason());
      std::string selected = text;
      // The anchor of an `if` may end before the semicolon of its last statement.
      if (!context.parsed().text().slice(anchor->begin, anchor->end).rtrim().ends_with(";") &&
          context.parsed().text().substr(anchor->end).starts_with(";")) {
        if (llvm::StringRef(selected).ends_with(";"))
          selected.pop_back();
      }
      if (llvm::Error error = rewrite.edits.replaceAll(*anchor, selected))
        return std::move(error);
    }
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createBranchToSelect() { return std::make_unique<BranchToSelect>(); }
} // namespace kbopt
