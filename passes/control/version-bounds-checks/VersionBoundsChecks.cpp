//===- VersionBoundsChecks.cpp - Interior blocks without guards -------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for (int k = -1; k <= 1; ++k)            template <bool kInside> … {
//     if (i + k >= 0 && i + k < n)             for (int k = -1; k <= 1; ++k)
//       sum += x[i + k];               ==>       if (kInside || (i + k >= 0 && i + k < n))
//                                                  sum += x[i + k];
//
// Owns the guards that a block's position can answer, the test, and the text.
// IndexRange.h owns which indices a block can form.
//
//===----------------------------------------------------------------------===//

#include "IndexRange.h"
#include "clang/AST/DeclTemplate.h"

using namespace kbopt;
using namespace kbopt::bounds;
using namespace clang;
using llvm::StringRef;

namespace {

/// `index < bound` or `index >= bound`, as written or turned around by an exit.
struct Check {
  const Expr *written;
  bool isUpper;
  IndexRange index;
  Sum bound;
  std::string boundText;   ///< the bound where the test stands
  bool isUnsigned, isWide; ///< the comparison; the bound has more bits than the index
};

struct Guard {
  const Expr *condition;
  bool isExit;  ///< `if (…) return;`: the condition is that of leaving
  bool isInner; ///< in a loop, or chooses a value
  unsigned parts = 0;
  std::vector<Check> checks;
};

void split(const Expr *condition, BinaryOperatorKind opcode, std::vector<const Expr *> &parts) {
  const auto *binary = dyn_cast<BinaryOperator>(ast::strip(condition));
  if (!binary || binary->getOpcode() != opcode) {
    parts.push_back(ast::strip(condition));
    return;
  }
  split(binary->getLHS(), opcode, parts);
  split(binary->getRHS(), opcode, parts);
}

/// A product may join a sum in one rounding as soon as no guard stands between them.
bool isRoundedFreely(const Expr *value) {
  value = ast::strip(value);
  if (!value->getType()->isDependentType() && !value->getType()->isFloatingType())
    return true;
  if (const auto *unary = dyn_cast<UnaryOperator>(value))
    return isRoundedFreely(unary->getSubExpr());
  if (const auto *binary = dyn_cast<BinaryOperator>(value))
    return binary->isAdditiveOp();
  return isa<ArraySubscriptExpr, FloatingLiteral, IntegerLiteral>(value);
}

class Versioner {
public:
  Versioner(const PassContext &context, const KernelView &kernel)
      : context(context), kernel(kernel) {
    visit(kernel.function()->getBody(), false);
    dropHalfChecks();
  }

  std::vector<Guard> guards;
  std::string obstacle; ///< of a guard that stays

  /// What must hold for the block: of tests that differ in a constant the strictest.
  std::vector<std::string> tests() const {
    struct Test {
      Sum sum;
      std::string bound;
      bool isUpper;
    };
    std::vector<Test> tests;
    auto add = [&](const Sum &sum, const std::string &bound, bool isUpper) {
      for (Test &test : tests)
        if (test.sum.terms == sum.terms && test.bound == bound && test.isUpper == isUpper) {
          test.sum.constant = isUpper ? std::max(test.sum.constant, sum.constant)
                                      : std::min(test.sum.constant, sum.constant);
          return;
        }
      tests.push_back({sum, bound, isUpper});
    };
    for (const Guard &guard : guards)
      for (const Check &check : guard.checks) {
        if (!check.isUpper)
          add(check.index.least, check.boundText, false);
        else if (check.isUnsigned &&
                 !(check.index.least.terms.empty() && check.index.least.constant >= 0))
          add(check.index.least, "0", false);
        if (check.isUpper)
          add(check.index.greatest, " < " + check.boundText, true);
        if (check.isUpper && check.isWide)
          add(check.index.greatest, " <= 2147483647", true);
      }
    std::vector<std::string> texts;
    for (const Test &test : tests)
      texts.push_back(test.sum.text() + (test.isUpper ? test.bound : " >= " + test.bound));
    return texts;
  }

private:
  void visit(const Stmt *statement, bool inLoop) {
    inLoop |= isa<ForStmt, WhileStmt, DoStmt>(statement);
    if (const auto *choice = dyn_cast<IfStmt>(statement)) {
      const Stmt *then = choice->getThen();
      if (const auto *block = dyn_cast<CompoundStmt>(then); block && block->size() == 1)
        then = block->body_front();
      if (isa<ReturnStmt, ContinueStmt>(then) && !choice->getElse())
        read(choice->getCond(), true, inLoop);
      else if (keepsRounding(choice))
        read(choice->getCond(), false, inLoop);
    } else if (const auto *select = dyn_cast<ConditionalOperator>(statement)) {
      if (isRoundedFreely(select->getTrueExpr()) && isRoundedFreely(select->getFalseExpr()))
        read(select->getCond(), false, true);
      else
        obstacle = "the product behind the guard at " +
                   ast::lineText(context, select->getBeginLoc()) +
                   " could be rounded in another way";
    }
    for (const Stmt *child : statement->children())
      if (child)
        visit(child, inLoop);
  }

  /// Whether what \p choice sets in variables from outside is no product by itself.
  bool keepsRounding(const IfStmt *choice) {
    bool keeps = true;
    for (const auto *assign : ast::findAll<BinaryOperator>(choice)) {
      const VarDecl *variable =
          assign->isAssignmentOp() ? ast::variableOf(assign->getLHS()) : nullptr;
      if (!variable ||
          (!variable->getType()->isDependentType() && !variable->getType()->isFloatingType()))
        continue;
      bool sums = assign->getOpcode() == BO_AddAssign || assign->getOpcode() == BO_SubAssign;
      keeps &= sums || (assign->getOpcode() == BO_Assign && isRoundedFreely(assign->getRHS()));
    }
    if (!keeps)
      obstacle = "the product behind the guard at " +
                 ast::lineText(context, choice->getBeginLoc()) + " could be rounded in another way";
    return keeps;
  }

  void read(const Expr *condition, bool isExit, bool isInner) {
    std::vector<const Expr *> parts;
    split(condition, isExit ? BO_LOr : BO_LAnd, parts);
    Guard guard{condition, isExit, isInner, unsigned(parts.size()), {}};
    for (const Expr *part : parts)
      if (std::optional<Check> check = checkAt(part, isExit))
        guard.checks.push_back(*check);
    if (!guard.checks.empty() &&
        !byteRange(context.parsed(), condition->getSourceRange(), &obstacle))
      return;
    if (!guard.checks.empty())
      guards.push_back(guard);
  }

  std::optional<Check> checkAt(const Expr *part, bool isExit) {
    const auto *binary = dyn_cast<BinaryOperator>(part);
    if (!binary || !binary->isRelationalOp() || binary->getLHS()->getType()->isDependentType() ||
        !binary->getLHS()->getType()->isIntegerType() ||
        context.text(part->getSourceRange()).empty())
      return std::nullopt;
    BinaryOperatorKind opcode =
        isExit ? BinaryOperator::negateComparisonOp(binary->getOpcode()) : binary->getOpcode();
    auto left = rangeOf(context, kernel, binary->getLHS()),
         right = rangeOf(context, kernel, binary->getRHS());
    if (!left || !right || left->varies == right->varies)
      return std::nullopt;
    const Expr *indexExpr = left->varies ? binary->getLHS() : binary->getRHS(),
               *boundExpr = left->varies ? binary->getRHS() : binary->getLHS();
    if (right->varies) { // n > i
      std::swap(left, right);
      opcode = BinaryOperator::reverseComparisonOp(opcode);
    }
    const ASTContext &ast = context.parsed().context();
    Check check;
    check.written = part;
    check.index = *left;
    check.bound = right->least;
    check.isUpper = opcode == BO_LT || opcode == BO_LE;
    if (opcode == BO_LE || opcode == BO_GT)
      ++check.bound.constant;
    const Expr *plain = boundExpr->IgnoreParenImpCasts();
    bool isName = isa<DeclRefExpr>(plain) &&
                  plain->getType()->isSpecificBuiltinType(BuiltinType::Int) &&
                  check.bound.constant == 0;
    check.boundText = isName && check.bound.terms.size() == 1
                          ? context.text(plain->getSourceRange()).str()
                          : check.bound.text();
    check.isUnsigned = binary->getLHS()->getType()->isUnsignedIntegerType();
    check.isWide = ast.getIntWidth(boundExpr->IgnoreImpCasts()->getType()) >
                   ast.getIntWidth(indexExpr->IgnoreImpCasts()->getType());
    return check;
  }

  /// Without an upper bound arithmetic might wrap at the top: a lower check needs one of the same
  /// index.
  void dropHalfChecks() {
    std::set<std::string> bounded;
    for (const Guard &guard : guards)
      for (const Check &check : guard.checks)
        if (check.isUpper)
          bounded.insert(check.index.greatest.text());
    for (Guard &guard : guards)
      llvm::erase_if(guard.checks, [&](const Check &check) {
        return !check.isUpper && !bounded.count(check.index.greatest.text());
      });
    llvm::erase_if(guards, [](const Guard &guard) { return guard.checks.empty(); });
  }

  const PassContext &context;
  const KernelView &kernel;
};

class VersionBoundsChecks : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    const FunctionDecl *function = site.kernel->function();
    Versioner versioner(context, *site.kernel);
    bool pays = false;
    unsigned beyond = 0;
    for (const Guard &guard : versioner.guards) {
      pays |= guard.isInner;
      beyond += guard.isExit ? 0 : guard.checks.size();
    }
    if (versioner.guards.empty())
      return Decision::doesNotApply(
          versioner.obstacle.empty()
              ? "no guard compares an index whose values in a block are known before"
              : versioner.obstacle);
    if (!pays && beyond < 3)
      return Decision::doesNotApply("a single guard per thread costs less than a second body");
    for (const auto *declaration : ast::findAll<DeclStmt>(function->getBody()))
      for (const Decl *each : declaration->decls())
        if (const auto *variable = dyn_cast<VarDecl>(each);
            variable && (variable->hasAttr<CUDASharedAttr>() || variable->isStaticLocal()))
          return Decision::doesNotApply("'" + variable->getName() + "' would exist twice");
    for (const ParmVarDecl *parameter : function->parameters())
      if (parameter->getName().empty() || context.text(parameter->getSourceRange()).empty())
        return Decision::doesNotApply("a parameter has no name, or comes from a macro");
    if (const FunctionTemplateDecl *pattern = function->getDescribedFunctionTemplate())
      for (const NamedDecl *parameter : *pattern->getTemplateParameters())
        if (parameter->getName().empty() || parameter->isParameterPack() ||
            isa<TemplateTemplateParmDecl>(parameter))
          return Decision::doesNotApply(
              "the template has a parameter that cannot be named in a call");
    if (!function->isGlobal())
      return Decision::doesNotApply("the kernel is a member of a class");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const FunctionDecl *function = site.kernel->function();
    Versioner versioner(context, *site.kernel);
    AnchorOrReason body = anchorOfBody(context.parsed(), function),
                   front = anchorBefore(context.parsed(), function);
    if (!body || !front)
      return decline((body ? front : body).reason());
    std::string flag = context.freshName("kInside"), inside = context.freshName("inside");
    std::string name = context.freshName(function->getName().str() + "Block");
    std::string header = "template <bool " + flag + ">\n", parameters, arguments, types;
    if (const FunctionTemplateDecl *pattern = function->getDescribedFunctionTemplate()) {
      StringRef own = context.text(pattern->getTemplateParameters()->getSourceRange());
      header = "template <bool " + flag + ", " + own.drop_front(own.find('<') + 1).str() + "\n";
      for (const NamedDecl *parameter : *pattern->getTemplateParameters())
        types += ", " + parameter->getNameAsString();
    }
    for (const ParmVarDecl *parameter : function->parameters()) {
      parameters +=
          (parameters.empty() ? "" : ", ") + context.text(parameter->getSourceRange()).str();
      arguments += (arguments.empty() ? "" : ", ") + parameter->getNameAsString();
    }
    std::string clone = "// What a thread does. " + flag +
                        ": no index of its block lies outside.\n" + header +
                        "__device__ __forceinline__ void " + name + "(" + parameters + ") {" +
                        guarded(context, *body, versioner, flag) + "}\n\n";
    std::string dispatch = "\n// The smallest and the largest index that the block can form: the "
                           "same for all its threads.\nconst bool " +
                           inside + " = " + llvm::join(versioner.tests(), " && ") + ";\nif (" +
                           inside + ")\n" + name + "<true" + types + ">(" + arguments +
                           ");\nelse\n" + name + "<false" + types + ">(" + arguments + ");\n";
    Rewrite rewrite;
    unsigned checks = 0;
    for (const Guard &guard : versioner.guards)
      checks += guard.checks.size();
    rewrite.summary = "left " + std::to_string(checks) + " bounds checks to blocks at the border";
    if (llvm::Error error = rewrite.edits.insertBefore(*front, clone))
      return std::move(error);
    if (llvm::Error error = rewrite.edits.replaceAll(*body, dispatch))
      return std::move(error);
    return rewrite;
  }

private:
  /// The body with the flag in its guards.
  static std::string guarded(const PassContext &context, const Anchor &body,
                             const Versioner &versioner, const std::string &flag) {
    std::vector<std::pair<ByteRange, std::string>> changes;
    StringRef program = context.parsed().text();
    auto change = [&](const Expr *expr, bool isExit, bool isWhole) {
      ByteRange range = *byteRange(context.parsed(), expr->getSourceRange());
      std::string text = program.slice(range.begin, range.end).str();
      bool isOne = !isa<BinaryOperator>(ast::strip(expr)) ||
                   !cast<BinaryOperator>(ast::strip(expr))->isLogicalOp();
      text = (isExit ? "!" + flag + " && " : flag + " || ") + (isOne ? text : "(" + text + ")");
      changes.emplace_back(range, isWhole ? text : "(" + text + ")");
    };
    for (const Guard &guard : versioner.guards) {
      if (guard.checks.size() == guard.parts)
        change(guard.condition, guard.isExit, true);
      else
        for (const Check &check : guard.checks)
          change(check.written, guard.isExit, false);
    }
    llvm::sort(changes, [](const auto &a, const auto &b) { return a.first.begin > b.first.begin; });
    std::string text = program.slice(body.begin, body.end).str();
    for (const auto &[range, replacement] : changes)
      text.replace(range.begin - body.begin, range.end - range.begin, replacement);
    return text;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createVersionBoundsChecks() {
  return std::make_unique<VersionBoundsChecks>();
}
} // namespace kbopt
