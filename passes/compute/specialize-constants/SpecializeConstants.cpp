//===- SpecializeConstants.cpp - A kernel for the usual arguments ----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   filter<<<g, b>>>(x, taps);   ==>   if (taps == 5)
//                                        filterTaps5<<<g, b>>>(x);
//                                      else
//                                        filter<<<g, b>>>(x, taps);
//
// Owns the choice of parameters, and the second kernel in which they are constants.
// What a constant is worth is the compiler's and the judge's question.
//
//===----------------------------------------------------------------------===//

#include "SeenValues.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Dispatch.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Of what a workload passed, larger values are its sizes; those above the second are not offered
/// without the others.
constexpr int64_t largestRecorded = 4096, largestProperty = 64;

struct Fixed {
  const ParmVarDecl *parameter;
  int64_t value;
  std::string name() const { return parameter->getNameAsString(); }
  std::string text() const {
    bool isBool = parameter->getType()->isBooleanType();
    return isBool ? (value ? "true" : "false") : std::to_string(value);
  }
};

/// Whether a constant in place of \p parameter makes the code of \p kernel simpler, beyond a
/// guard on its threads.
bool isWorthFixing(const PassContext &context, const KernelView &kernel,
                   const ParmVarDecl *parameter) {
  std::vector<SourceRange> guards;
  for (kb::KernelOp op : kernel.ops)
    for (const Guard &guard : findGuards(context.imported(), op))
      guards.push_back(guard.condition->getSourceRange());
  bool found = false;
  auto uses = [&](const Stmt *part) { return part && ast::mentions(part, parameter); };
  ast::walk(kernel.function()->getBody(), [&](const Stmt *each) {
    if (llvm::is_contained(guards, each->getSourceRange()))
      return false;
    if (const auto *binary = dyn_cast<BinaryOperator>(each))
      found |= binary->isMultiplicativeOp() && uses(binary);
    else if (const auto *loop = dyn_cast<ForStmt>(each))
      found |= uses(loop->getCond()) || uses(loop->getInc());
    else if (const auto *loop = dyn_cast<WhileStmt>(each))
      found |= uses(loop->getCond());
    else if (const auto *loop = dyn_cast<DoStmt>(each))
      found |= uses(loop->getCond());
    else if (const auto *branch = dyn_cast<IfStmt>(each))
      found |= !llvm::is_contained(guards, branch->getCond()->getSourceRange()) &&
               uses(branch->getCond());
    else if (const auto *choice = dyn_cast<ConditionalOperator>(each))
      found |= uses(choice->getCond());
    else if (const auto *choice = dyn_cast<SwitchStmt>(each))
      found |= uses(choice->getCond());
    else if (const auto *call = dyn_cast<CallExpr>(each))
      found |= llvm::any_of(call->arguments(), uses);
    return !found;
  });
  return found;
}

/// The constant that \p argument of \p launch certainly is.
std::optional<int64_t> certainValue(const PassContext &context, const LaunchFact &launch,
                                    unsigned argument) {
  if (launch.instances > 1 || argument >= launch.arguments.size())
    return std::nullopt;
  return ast::constantOf(ast::resolve(launch.arguments[argument], launch.host),
                         context.parsed().context());
}

/// Whether \p parameter can be a constant at all.
bool isInteger(const ParmVarDecl *parameter) {
  QualType type = parameter->getType();
  return !type->isDependentType() && type->isIntegerType() && !type->isEnumeralType() &&
         !parameter->getName().empty();
}

/// The parameters of \p text, "taps=5 stride=2", with their values; with \p why, if it cannot be
/// followed.
std::vector<Fixed> chosenByName(const KernelView &kernel, llvm::StringRef text, std::string &why) {
  std::vector<Fixed> chosen;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [name, value] = word.split('=');
    const auto *found =
        llvm::find_if(kernel.function()->parameters(),
                      [name = name](const ParmVarDecl *each) { return each->getName() == name; });
    int64_t number = 0;
    if (value.getAsInteger(10, number) || number < 0)
      why = "'" + word.str() + "' is not of the form 'parameter=value'";
    else if (found == kernel.function()->param_end())
      why = "the kernel has no parameter '" + name.str() + "'";
    else if (!isInteger(*found))
      why = "'" + name.str() + "' is no integer";
    else if (llvm::any_of(chosen, [&](const Fixed &each) { return each.parameter == *found; }))
      why = "'" + name.str() + "' is named twice";
    else {
      chosen.push_back({*found, number});
      continue;
    }
    return {};
  }
  if (chosen.empty())
    why = "'as' names no parameter";
  return chosen;
}

/// What to fix; with \p why, if nothing is.
std::vector<Fixed> choose(const PassContext &context, const KernelView &kernel,
                          const PassOptions &options, std::string &why) {
  std::vector<Fixed> chosen;
  llvm::StringRef only = options.string("parameter");
  if (!options.string(choiceOption).empty())
    return chosenByName(kernel, options.string(choiceOption), why);
  why = "no launch shows a constant for an integer argument that loops, products or branches "
        "depend on";
  if (only.empty() && options.integer("value"))
    why = "value is given without a parameter";
  bool found = false;
  for (const ParmVarDecl *parameter : kernel.function()->parameters()) {
    if (!only.empty() && parameter->getName() != only)
      continue;
    found = true;
    std::string name = "'" + parameter->getNameAsString() + "'";
    if (!isInteger(parameter)) {
      why = only.empty() ? why : name + " is no integer";
      continue;
    }
    std::set<int64_t> values;
    if (only.empty() && options.integer("value"))
      continue;
    if (options.integer("value"))
      values.insert(options.integer("value"));
    else
      for (const LaunchFact &launch : kernel.launches)
        if (parameter->getFunctionScopeIndex() < launch.arguments.size())
          values.merge(seenValues(context, launch.arguments[parameter->getFunctionScopeIndex()],
                                  launch.host));
    if (!isWorthFixing(context, kernel, parameter))
      why = only.empty() ? why : "nothing but a guard depends on " + name;
    else if (values.size() > 1)
      why = name + " is " + std::to_string(*values.begin()) + " at one launch and " +
            std::to_string(*values.rbegin()) + " at another";
    else if (!values.empty() && *values.begin() > options.integer("limit") &&
             !options.integer("value"))
      why = "the " + std::to_string(*values.begin()) + " of " + name +
            " is the size of a workload rather than a property of the program";
    else if (!values.empty() && *values.begin() >= 0)
      chosen.push_back({parameter, *values.begin()});
    else if (!only.empty())
      why = "no launch shows a constant for " + name;
  }
  if (!found && !only.empty())
    why = "the kernel has no parameter '" + only.str() + "'";
  return chosen;
}

/// The test of \p launch for \p fixed, or why there can be none.
struct Test {
  std::string obstacle, condition;
};

Test testOf(const PassContext &context, const KernelView &kernel, const LaunchFact &launch,
            llvm::ArrayRef<Fixed> fixed) {
  Test test;
  test.obstacle = dispatchObstacle(context, kernel, launch);
  if (!test.obstacle.empty())
    return test;
  const ASTContext &ast = context.parsed().context();
  for (const Fixed &each : fixed) {
    unsigned index = each.parameter->getFunctionScopeIndex();
    std::string where = " at " + ast::lineText(context, launch.call->getBeginLoc());
    if (std::optional<int64_t> value = certainValue(context, launch, index)) {
      if (*value != each.value)
        test.obstacle = "'" + each.name() + "' is " + std::to_string(*value) + where;
      continue;
    }
    std::string argument = argumentText(context, launch, index);
    if (argument.empty()) {
      test.obstacle =
          "the argument for '" + each.name() + "'" + where + " cannot be computed twice";
      continue;
    }
    QualType type = each.parameter->getType().getCanonicalType().getUnqualifiedType();
    if (!ast.hasSameUnqualifiedType(ast::strip(launch.arguments[index])->getType(), type))
      argument = "(" + type.getAsString(ast.getPrintingPolicy()) + ")" + argument;
    std::string part = !type->isBooleanType() ? argument + " == " + std::to_string(each.value)
                                              : (each.value ? "" : "!") + argument;
    test.condition += (test.condition.empty() ? "" : " && ") + part;
  }
  return test;
}

class SpecializeConstants : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    const KernelView &kernel = *site.kernel;
    if (kernel.launches.empty())
      return Decision::doesNotApply("no launch of the kernel is in sight");
    std::string why;
    std::vector<Fixed> fixed = choose(context, kernel, options, why);
    if (fixed.empty())
      return Decision::doesNotApply(why);
    if (KernelText text = textOf(context, kernel, fixed); !text.obstacle().empty())
      return Decision::doesNotApply(text.obstacle());
    std::string first;
    for (const LaunchFact &launch : kernel.launches) {
      Test test = testOf(context, kernel, launch, fixed);
      if (test.obstacle.empty())
        return Decision::applies();
      first = first.empty() ? test.obstacle : first;
    }
    return Decision::doesNotApply(first);
  }

  /// What the workload passed: first everything below the limit, then only what is as small as the
  /// widths, strides and flags of a program are.
  SiteChoices choices(const PassContext &context, const Site &site) const override {
    const KernelView &kernel = *site.kernel;
    std::vector<std::string> found;
    for (int64_t limit : {largestRecorded, largestProperty}) {
      std::string text;
      for (const ParmVarDecl *parameter : kernel.function()->parameters())
        if (isInteger(parameter) && isWorthFixing(context, kernel, parameter))
          if (std::optional<int64_t> value =
                  recordedValue(context, kernel, parameter->getFunctionScopeIndex());
              value && *value >= 0 && *value <= limit)
            text += (text.empty() ? "" : " ") + parameter->getNameAsString() + "=" +
                    std::to_string(*value);
      if (!text.empty() && !llvm::is_contained(found, text))
        found.push_back(text);
    }
    return {found};
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const KernelView &kernel = *site.kernel;
    std::string why;
    std::vector<Fixed> fixed = choose(context, kernel, options, why);
    bool certain = !isNamedOutsideLaunches(context.parsed(), kernel.function()) &&
                   !kernel.function()->getPreviousDecl();
    for (const LaunchFact &launch : kernel.launches) {
      Test test = testOf(context, kernel, launch, fixed);
      certain &= test.obstacle.empty() && test.condition.empty();
    }
    std::string own = kernel.function()->getNameAsString(), suffix, equations;
    for (const Fixed &each : fixed) {
      std::string word = each.name() + std::to_string(each.value);
      word[0] = suffix.empty() ? word[0] : llvm::toUpper(word[0]);
      suffix += word;
      equations += (equations.empty() ? "" : ", ") + each.name() + " == " + each.text();
    }
    // Of one name for all values, so that a search can change them and leave the steps behind.
    bool isFixed = fixed.size() > 2 || !options.string(choiceOption).empty();
    std::string name = certain ? own : derivedName(context, own, isFixed ? "fixed" : suffix);
    Rewrite rewrite;
    rewrite.summary = "compiled for " + equations;
    if (llvm::Error error = writeKernel(context, kernel, textOf(context, kernel, fixed), name,
                                        "'" + own + "' for " + equations + ".", rewrite.edits))
      return std::move(error);
    for (const LaunchFact &launch : kernel.launches) {
      Test test = testOf(context, kernel, launch, fixed);
      if (!test.obstacle.empty())
        continue;
      LaunchChoice choice;
      choice.kernel = name;
      choice.condition = test.condition;
      for (const Fixed &each : fixed)
        choice.dropped.push_back(each.parameter->getFunctionScopeIndex());
      if (llvm::Error error = writeDispatch(context, launch, choice, rewrite.edits))
        return std::move(error);
    }
    return rewrite;
  }

private:
  static KernelText textOf(const PassContext &context, const KernelView &kernel,
                           llvm::ArrayRef<Fixed> fixed) {
    KernelText text(context, kernel);
    std::vector<const ParmVarDecl *> dropped;
    std::string constants;
    for (const Fixed &each : fixed) {
      QualType type = each.parameter->getType().getUnqualifiedType();
      bool changes = mayModify(kernel.function()->getBody(), each.parameter);
      dropped.push_back(each.parameter);
      constants += (changes ? "" : "constexpr ") +
                   type.getAsString(context.parsed().context().getPrintingPolicy()) + " " +
                   each.name() + " = " + each.text() + ";\n";
    }
    text.changeParameters(dropped);
    text.insertAtBody(llvm::StringRef(constants).rtrim());
    return text;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createSpecializeConstants() {
  return std::make_unique<SpecializeConstants>();
}
} // namespace kbopt
