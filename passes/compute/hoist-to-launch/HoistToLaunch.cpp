//===- HoistToLaunch.cpp - Divide once for each launch ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   int share = total / gridDim.x;      // in every thread
// ==>
//   int share = quotient;               // a parameter: total / blocks, on the host
//
// Owns which expressions of a kernel are worth it, and the second kernel that is passed their
// values. ValuesAtLaunch.h has how the host computes them.
//
//===----------------------------------------------------------------------===//

#include "ValuesAtLaunch.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Whether \p expr holds a division that costs a thread many instructions.
bool isCostly(const PassContext &context, const Expr *expr) {
  const ASTContext &ast = context.parsed().context();
  return llvm::any_of(ast::findAll<BinaryOperator>(expr), [&](const BinaryOperator *each) {
    if (each->getOpcode() != BO_Div && each->getOpcode() != BO_Rem)
      return false;
    std::optional<int64_t> divisor = ast::constantOf(each->getRHS(), ast);
    const bool isWide = ast.getIntWidth(each->getType()) > 32;
    return !divisor || (isWide && *divisor > 0 && !llvm::isPowerOf2_64(*divisor));
  });
}

/// The longest uniform expressions of the kernel that are costly, in source order.
std::vector<const Expr *> uniformDivisions(const PassContext &context, const KernelView &kernel) {
  std::vector<const Expr *> found;
  ast::walk(kernel.function()->getBody(), [&](const Stmt *each) {
    const auto *expr = dyn_cast<Expr>(each);
    if (!expr || expr->isTypeDependent() || !expr->getType()->isIntegerType() ||
        ast::constantOf(expr, context.parsed().context()) || !isUniform(context, kernel, expr))
      return true;
    if (isCostly(context, expr))
      found.push_back(expr->IgnoreImpCasts());
    return false;
  });
  return found;
}

/// A parameter of the new kernel and the expressions that it stands for.
struct Value {
  std::string host; ///< at the first launch, which tells values apart
  QualType type;
  std::vector<const Expr *> places;
};

/// What \p launch passes to the new kernel.
struct Plan {
  std::vector<Value> values;
  std::string condition, obstacle;
};

Plan planOf(const PassContext &context, const KernelView &kernel, const LaunchFact &launch) {
  Plan plan;
  plan.obstacle = dispatchObstacle(context, kernel, launch);
  if (!plan.obstacle.empty())
    return plan;
  ValuesAtLaunch values(context, kernel, launch);
  bool isInMacro = false;
  for (const Expr *expr : uniformDivisions(context, kernel)) {
    if (!byteRange(context.parsed(), expr->getSourceRange())) {
      isInMacro = true;
      continue;
    }
    const std::string host = values.text(expr);
    if (host.empty()) {
      plan.obstacle = "the host cannot compute the value at " +
                      ast::lineText(context, expr->getBeginLoc()) + " for the launch at " +
                      ast::lineText(context, launch.call->getBeginLoc());
      return plan;
    }
    auto same = llvm::find_if(plan.values, [&](const Value &each) {
      return each.host == host &&
             context.parsed().context().hasSameUnqualifiedType(each.type, expr->getType());
    });
    if (same == plan.values.end())
      same = plan.values.insert(same, {host, expr->getType(), {}});
    same->places.push_back(expr);
  }
  plan.condition = values.condition();
  if (plan.values.empty())
    plan.obstacle =
        isInMacro ? "the divisions come from a macro"
                  : "no division in the kernel has the same value in every thread of a launch";
  return plan;
}

/// `quotient`, `remainder` or `share`, which the kernel initialises with it.
std::string nameFor(const PassContext &context, const KernelView &kernel, const Expr *expr) {
  std::string name = "value";
  expr = expr->IgnoreParenImpCasts();
  if (const auto *binary = dyn_cast<BinaryOperator>(expr))
    name = binary->getOpcode() == BO_Div   ? "quotient"
           : binary->getOpcode() == BO_Rem ? "remainder"
                                           : name;
  for (const auto *declaration : ast::findAll<DeclStmt>(kernel.function()->getBody()))
    for (const Decl *each : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(each);
          variable && variable->hasInit() && variable->getInit()->IgnoreParenImpCasts() == expr) {
        const std::string own = variable->getNameAsString();
        const bool isSnake = own.find('_') != std::string::npos;
        name = isSnake ? "launch_" + own
                       : std::string("launch") + llvm::toUpper(own[0]) + own.substr(1);
      }
  return context.freshName(name);
}

class HoistToLaunch : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &) const override {
    const KernelView &kernel = *site.kernel;
    KernelText text(context, kernel);
    if (!text.obstacle().empty())
      return decline(text.obstacle());
    if (kernel.launches.empty())
      return decline("no launch of the kernel is in sight");
    std::vector<Plan> plans;
    for (const LaunchFact &launch : kernel.launches)
      plans.push_back(planOf(context, kernel, launch));
    auto first = llvm::find_if(plans, [](const Plan &each) { return each.obstacle.empty(); });
    if (first == plans.end())
      return decline(plans.front().obstacle);

    const auto policy = context.parsed().context().getPrintingPolicy();
    std::vector<std::string> parameters;
    size_t places = 0;
    for (const Value &value : first->values) {
      const std::string name = nameFor(context, kernel, value.places.front());
      parameters.push_back(value.type.getCanonicalType().getUnqualifiedType().getAsString(policy) +
                           " " + name);
      for (const Expr *place : value.places)
        text.replace(place->getSourceRange(), name);
      places += value.places.size();
    }
    text.changeParameters({}, parameters);
    if (!text.obstacle().empty())
      return decline(text.obstacle());

    const std::string own = kernel.function()->getNameAsString();
    const std::string newName = derivedName(context, own, "hoisted");
    Rewrite rewrite;
    rewrite.summary = "computed " + std::to_string(places) + (places == 1 ? " value" : " values") +
                      " on the host";
    if (llvm::Error error = writeKernel(
            context, kernel, text, newName,
            "'" + own + "' with the values that a launch computes once.", rewrite.edits))
      return std::move(error);
    for (auto [launch, plan] : llvm::zip(kernel.launches, plans)) {
      if (!plan.obstacle.empty() || !standsForSame(plan, *first))
        continue;
      LaunchChoice choice;
      choice.kernel = newName;
      choice.condition = plan.condition;
      for (const Value &value : plan.values)
        choice.added.push_back(withoutParentheses(value.host));
      if (llvm::Error error = writeDispatch(context, launch, choice, rewrite.edits))
        return std::move(error);
    }
    return rewrite;
  }

private:
  /// Operations are in parentheses, which an argument does not need.
  static std::string withoutParentheses(llvm::StringRef text) {
    if (!text.starts_with("(") || !text.ends_with(")"))
      return text.str();
    int depth = 0;
    for (size_t at = 0; at + 1 < text.size(); ++at)
      if (depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0; depth == 0)
        return text.str();
    return text.drop_front().drop_back().str();
  }

  static bool standsForSame(const Plan &a, const Plan &b) {
    return llvm::equal(a.values, b.values,
                       [](const Value &x, const Value &y) { return x.places == y.places; });
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createHoistToLaunch() { return std::make_unique<HoistToLaunch>(); }
} // namespace kbopt
