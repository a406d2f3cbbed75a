//===- StrengthReduceDivmod.cpp - Divide by multiplying --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   x[i] += left[i / columns] * top[i % columns];
// ==>
//   x[i] += left[i / byColumns] * top[i % byColumns];   // Divisor byColumns
//
// Owns the divisor that the host prepares (Granlund and Montgomery, "Division by
// Invariant Integers using Multiplication", PLDI 1994), and the proof that a
// dividend is one for which it is right.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/Dispatch.h"
#include "kb-opt/Rewrite/IndexBounds.h"

using namespace kbopt;
using namespace clang;

namespace {

/// The text of the type, under the name @.
constexpr llvm::StringLiteral divisorText =
    R"(// A divisor that the host prepares, for dividends below 2^31: a multiplication and a shift.
struct @ {
  unsigned value, multiplier, shift = 0;
  explicit @(unsigned value) : value(value) {
    while ((1ull << shift) < value)
      ++shift;
    multiplier = (unsigned)(((1ull << 32) * ((1ull << shift) - value)) / value + 1);
  }
};
template <typename T> __device__ T operator/(T n, @ by) {
  return (T)((__umulhi((unsigned)n, by.multiplier) + (unsigned)n) >> by.shift);
}
template <typename T> __device__ T operator%(T n, @ by) {
  return n - n / by * (T)by.value;
}

)";

/// The divisions of the kernel by one divisor.
struct Group {
  std::string host; ///< the divisor at the first launch, which tells groups apart
  std::vector<const BinaryOperator *> divisions;
};

/// Whether \p division is one of integers, by something else than a constant.
bool isCandidate(const PassContext &context, const BinaryOperator *division) {
  if (division->getOpcode() != BO_Div && division->getOpcode() != BO_Rem)
    return false;
  return !division->isTypeDependent() && division->getType()->isIntegerType() &&
         context.parsed().context().getIntWidth(division->getLHS()->getType()) >= 32 &&
         !ast::constantOf(ast::resolve(division->getRHS(), nullptr), context.parsed().context());
}

/// Groups of divisions that \p launch can prepare, in source order.
struct Plan {
  std::vector<Group> groups;
  std::string condition, obstacle;
};

Plan planOf(const PassContext &context, const KernelView &kernel, const LaunchFact &launch) {
  Plan plan;
  plan.obstacle = dispatchObstacle(context, kernel, launch);
  if (!plan.obstacle.empty())
    return plan;
  IndexBounds bounds(context, kernel, launch);
  std::string first = "the kernel has no division of integers by something else than a constant";
  bool any = false;
  for (const auto *division : ast::findAll<BinaryOperator>(kernel.function()->getBody())) {
    if (!isCandidate(context, division))
      continue;
    auto reject = [&](const std::string &why) {
      first = any ? first : why;
      any = true;
    };
    std::string text = context.text(division->getRHS()->getSourceRange()).str();
    std::string host = hostText(context, kernel, launch, division->getRHS());
    if (text.empty() || context.text(division->getSourceRange()).empty()) {
      reject("the division comes from a macro");
      continue;
    }
    if (llvm::all_of(host, llvm::isDigit) && !host.empty())
      continue;
    if (host.empty()) {
      reject("the host cannot compute the divisor '" + text + "'");
      continue;
    }
    // A trial, so that a dividend without a bound leaves no demands behind.
    IndexBounds trial(context, kernel, launch);
    if (!trial.require(division->getLHS()) || !trial.require(division->getRHS()) ||
        !trial.obstacle().empty()) {
      reject(trial.obstacle());
      continue;
    }
    bounds.require(division->getLHS());
    bounds.require(division->getRHS());
    bounds.requireValue(host, division->getRHS()->getType());
    auto group = llvm::find_if(plan.groups, [&](const Group &each) { return each.host == host; });
    if (group == plan.groups.end())
      group = plan.groups.insert(group, {host, {}});
    group->divisions.push_back(division);
  }
  plan.condition = bounds.condition();
  plan.obstacle = plan.groups.empty() ? first : bounds.obstacle();
  return plan;
}

/// `byColumns` for columns, `byProduct` for anything longer.
std::string divisorName(const PassContext &context, const KernelView &kernel,
                        const BinaryOperator *division) {
  const VarDecl *variable = ast::variableOf(division->getRHS());
  std::string name = variable ? variable->getNameAsString() : "product";
  bool snake = name.find('_') != std::string::npos || kernel.function()->getName().contains('_');
  if (!snake)
    name[0] = llvm::toUpper(name[0]);
  return context.freshName((snake ? "by_" : "by") + name);
}

/// The divisions in the new kernel; those inside the dividend of another are part of its text.
std::string divided(const PassContext &context, const Expr *expr,
                    llvm::function_ref<std::string(const BinaryOperator *)> nameOf) {
  ByteRange whole = *byteRange(context.parsed(), expr->getSourceRange());
  llvm::StringRef text = context.parsed().text();
  const auto *division = dyn_cast<BinaryOperator>(expr);
  std::string name = division ? nameOf(division) : "";
  if (!name.empty()) {
    std::string dividend = divided(context, division->getLHS()->IgnoreImpCasts(), nameOf);
    const ASTContext &ast = context.parsed().context();
    QualType own = division->getLHS()->IgnoreParenImpCasts()->getType(),
             result = division->getType();
    // The original divides in the wider type of both.
    if (!ast.hasSameUnqualifiedType(own, result))
      dividend = "(" + result.getUnqualifiedType().getAsString(ast.getPrintingPolicy()) + ")(" +
                 dividend + ")";
    return dividend + " " + division->getOpcodeStr().str() + " " + name;
  }
  std::string result;
  unsigned at = whole.begin;
  for (const Stmt *child : expr->children()) {
    const auto *part = dyn_cast_or_null<Expr>(child);
    std::optional<ByteRange> range =
        part ? byteRange(context.parsed(), part->getSourceRange()) : std::nullopt;
    if (!range || range->begin < at || range->end > whole.end)
      continue;
    result += text.slice(at, range->begin).str() + divided(context, part, nameOf);
    at = range->end;
  }
  return result + text.slice(at, whole.end).str();
}

class StrengthReduceDivmod : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    const KernelView &kernel = *site.kernel;
    if (kernel.launches.empty())
      return Decision::doesNotApply("no launch of the kernel is in sight");
    if (KernelText text(context, kernel); !text.obstacle().empty())
      return Decision::doesNotApply(text.obstacle());
    Plan plan = firstPlan(context, kernel);
    return plan.obstacle.empty() ? Decision::applies() : Decision::doesNotApply(plan.obstacle);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const KernelView &kernel = *site.kernel;
    Plan first = firstPlan(context, kernel);
    std::string type = context.freshName("Divisor"), own = kernel.function()->getNameAsString();
    std::vector<std::string> names, parameters;
    std::map<const BinaryOperator *, std::string> nameOf;
    unsigned count = 0;
    for (const Group &group : first.groups) {
      names.push_back(divisorName(context, kernel, group.divisions.front()));
      parameters.push_back(type + " " + names.back());
      for (const BinaryOperator *division : group.divisions)
        nameOf[division] = names.back();
      count += group.divisions.size();
    }
    KernelText text(context, kernel);
    text.changeParameters({}, parameters);
    auto name = [&](const BinaryOperator *division) {
      auto found = nameOf.find(division);
      return found == nameOf.end() ? std::string() : found->second;
    };
    std::vector<SourceRange> done;
    const SourceManager &sources = context.parsed().sources();
    for (const auto &group : first.groups)
      for (const BinaryOperator *division : group.divisions) {
        bool inside = llvm::any_of(first.groups, [&](const Group &other) {
          return llvm::any_of(other.divisions, [&](const BinaryOperator *outer) {
            return outer != division &&
                   !sources.isBeforeInTranslationUnit(division->getBeginLoc(),
                                                      outer->getBeginLoc()) &&
                   !sources.isBeforeInTranslationUnit(outer->getEndLoc(), division->getEndLoc());
          });
        });
        if (!inside)
          text.replace(division->getSourceRange(), divided(context, division, name));
      }
    if (!text.obstacle().empty())
      return decline(text.obstacle());
    std::string newName = derivedName(context, own, "divided");
    Rewrite rewrite;
    rewrite.summary = "prepared the divisors of " + std::to_string(count) +
                      (count == 1 ? " division" : " divisions") + " on the host";
    if (llvm::Error error = writeKernel(
            context, kernel, text, newName, "'" + own + "' with divisors that the host prepares.",
            rewrite.edits, llvm::join(llvm::split(divisorText, "@"), type)))
      return std::move(error);
    for (const LaunchFact &launch : kernel.launches) {
      Plan plan = planOf(context, kernel, launch);
      if (!plan.obstacle.empty() || !sameDivisions(plan, first))
        continue;
      LaunchChoice choice;
      choice.kernel = newName;
      choice.condition = plan.condition;
      for (const Group &group : plan.groups)
        choice.added.push_back(type + "(" + group.host + ")");
      if (llvm::Error error = writeDispatch(context, launch, choice, rewrite.edits))
        return std::move(error);
    }
    return rewrite;
  }

private:
  static Plan firstPlan(const PassContext &context, const KernelView &kernel) {
    Plan first = planOf(context, kernel, kernel.launches.front());
    for (const LaunchFact &launch : kernel.launches)
      if (Plan plan = planOf(context, kernel, launch); plan.obstacle.empty())
        return plan;
    return first;
  }

  static bool sameDivisions(const Plan &a, const Plan &b) {
    if (a.groups.size() != b.groups.size())
      return false;
    for (auto [x, y] : llvm::zip(a.groups, b.groups))
      if (x.divisions != y.divisions)
        return false;
    return true;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createStrengthReduceDivmod() {
  return std::make_unique<StrengthReduceDivmod>();
}
} // namespace kbopt
