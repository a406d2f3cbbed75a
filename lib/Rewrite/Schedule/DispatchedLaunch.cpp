//===- DispatchedLaunch.cpp - The choice at a launch -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which launches may run a generated kernel, which of its conditions they test, and the text
// of test and launch.
//
//===----------------------------------------------------------------------===//
#include "Dispatcher.h"
#include "HostText.h"
#include "LaunchOrder.h"
#include "kb-opt/Analysis/LaunchArguments.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

/// More than this is tested in a function of its own.
constexpr size_t longestCondition = 150;
/// Bytes that every allocation is aligned to (CUDA C++ Programming Guide, Device Memory Accesses).
constexpr unsigned allocationAlignment = 256;
/// What a kernel may use of dynamic shared memory without asking.
constexpr int64_t sharedWithoutAsking = 48 * 1024;

//===-- Which launches -----------------------------------------------------===//

/// Why \p fact may not launch the new kernel whatever its arguments are; empty if it may.
std::string Dispatcher::whyNot(const LaunchFact &fact) const {
  std::string place = ast::lineText(context, fact.call->getBeginLoc());
  bool launchesThis = llvm::is_contained(fact.mangledNames, instance.getSymName());
  if (!isTemplate() && (!launchesThis || (fact.mangledNames.size() > 1 && instanceName().empty())))
    return "the launch at " + place + " is of another instance of '" + kernel.name().str() + "'";
  if (!kernel.isInHeader() && standsBefore(fact) &&
      (isTemplate() || !kernel.function()->getDeclContext()->isTranslationUnit()))
    return "the launch at " + place + " stands before the definition of '" + kernel.name().str() +
           "'";
  if (isFallbackLaunch(context, fact.call))
    return "the launch at " + place + " only runs where a faster kernel cannot";
  return "";
}

llvm::Error Dispatcher::chooseLaunches() {
  std::string reason = "no launch of '" + kernel.name().str() + "' is in sight";
  bool first = true;
  for (const LaunchFact &fact : kernel.launches) {
    std::string why = whyNot(fact);
    if (why.empty()) {
      llvm::Expected<LaunchText> launch = LaunchText::create(context, fact, function);
      if (launch)
        why = choose(std::move(*launch));
      else
        why = llvm::toString(launch.takeError());
    }
    if (!why.empty() && first)
      reason = std::move(why);
    first = false;
  }
  return choices.empty() ? llvm::createStringError(reason) : llvm::Error::success();
}

/// What the program shows of the pointers that \p launch passes.
std::optional<bool> Dispatcher::isKnown(const HostCondition &condition,
                                        const LaunchFact &launch) const {
  llvm::ArrayRef<unsigned> arguments = condition.arguments;
  if (arguments.size() == 2 &&
      launchArgumentsMayOverlap(context.parsed(), launch, arguments[0], arguments[1]).refuted())
    return true;
  if (arguments.size() == 1 && condition.bytes <= allocationAlignment &&
      isStartOfAllocation(context.parsed(), launch, arguments[0]))
    return true;
  return std::nullopt;
}

/// Whether the condition \p text, in the names of the host, has been tested before \p launch in the
/// same words.
bool Dispatcher::isTested(StringRef text, const LaunchFact &launch) const {
  auto plain = [](StringRef words) {
    std::string result = words.str();
    llvm::erase_if(result, [](char c) { return llvm::isSpace(c); });
    // Factors in one order.
    auto [product, bound] = StringRef(result).split("<=");
    if (product.consume_front("(size_t)") && !product.contains('(') && !bound.empty()) {
      llvm::SmallVector<StringRef> factors;
      product.split(factors, '*');
      llvm::sort(factors);
      return "(size_t)" + llvm::join(factors, "*") + "<=" + bound.str();
    }
    return result;
  };
  std::string wanted = plain(text);
  return llvm::any_of(testedBefore(context, launch.call), [&](const Expr *each) {
    std::string known = plain(writtenText(context, each->getSourceRange()));
    return known == wanted || (StringRef(known).ends_with(">0") &&
                               StringRef(known).drop_back(2).str() + ">=0" == wanted);
  });
}

/// Adds \p condition to \p open unless \p choice's launch proves it; the reason if it cannot hold
/// there.
std::string Dispatcher::sort(const HostCondition &condition, const Choice &choice,
                             LaunchAlgebra &algebra,
                             std::vector<const HostCondition *> &open) const {
  const LaunchFact &fact = choice.launch.fact();
  std::optional<bool> known = isKnown(condition, fact);
  if (!known && condition.requirement)
    known = algebra.holds(condition.requirement);
  if (!known &&
      (condition.text.empty() || (condition.testsAllocations && !allocations.isPossible())))
    return condition.reason;
  if (!known && !condition.testsAllocations)
    if (auto value =
            evaluate(condition.text, [&](StringRef name) { return choice.launch.value(name); }))
      known = *value != 0;
  if (!known && condition.requirement && algebra.isTested(condition.requirement))
    known = true;
  if (!known && !condition.testsAllocations && !condition.bytes) {
    auto text = choice.launch.translate(condition.text);
    if (!text)
      llvm::consumeError(text.takeError());
    else if (isTested(*text, fact))
      known = true;
  }
  if (known && !*known)
    return "'" + condition.text + "' does not hold for the launch at " +
           ast::lineText(context, fact.call->getBeginLoc());
  if (!known)
    open.push_back(&condition);
  return "";
}

/// Adds the choice at \p launch; the reason if there is none.
std::string Dispatcher::choose(LaunchText launch) {
  std::string shown = "the launch at " + ast::lineText(context, launch.fact().call->getBeginLoc());
  if (!instanceTest(launch).empty() && launch.spelled("", true) == launch.spelled("", false))
    return shown + " does not say which instance it launches";
  if (!instanceTest(launch).empty() && !launch.castTo(function, context.parsed().context()))
    return shown + " passes values of other types to other instances of '" + kernel.name().str() +
           "'";
  Choice choice{std::move(launch), {}, {}};
  LaunchAlgebra algebra(context, choice.launch);
  for (const HostCondition &condition : conditions)
    if (std::string why = sort(condition, choice, algebra, choice.open); !why.empty())
      return why;
  for (const HostCondition &condition : preferences)
    if (std::string why = sort(condition, choice, algebra, choice.preferred); !why.empty())
      return why;
  llvm::Expected<std::string> text = fastLaunch(choice.launch);
  if (text && !choice.preferred.empty())
    text = choice.launch.translate(joinConditions(choice.preferred));
  if (text && !choice.open.empty())
    text = choice.launch.translate(joinConditions(choice.open));
  if (!text)
    return llvm::toString(text.takeError());
  // The function tests whatever is open at some launch, so that it serves every launch.
  if (needsTest(choice, *text))
    test.add(choice.open);
  choices.push_back(std::move(choice));
  return "";
}

//===-- What stands there --------------------------------------------------===//

bool Dispatcher::testsAllocations(const Choice &choice) {
  return llvm::any_of(choice.open,
                      [](const HostCondition *each) { return each->testsAllocations; });
}

bool Dispatcher::needsTest(const Choice &choice, StringRef text) const {
  return !choice.open.empty() && !isTemplate() &&
         (text.size() > longestCondition || testsAllocations(choice));
}

const LaunchText &Dispatcher::launchOf(const LaunchFact &fact) const {
  return llvm::find_if(choices,
                       [&](const Choice &choice) { return &choice.launch.fact() == &fact; })
      ->launch;
}

llvm::Expected<std::optional<Dispatcher::Branch>> Dispatcher::branchAt(const LaunchFact &fact) {
  for (const Choice &choice : choices) {
    if (&choice.launch.fact() != &fact)
      continue;
    llvm::Expected<std::string> fast = fastLaunch(choice.launch);
    if (!fast)
      return fast.takeError();
    llvm::Expected<std::string> condition = conditionText(choice);
    if (!condition)
      return condition.takeError();
    std::string test = instanceTest(choice.launch);
    bool isBoth = !test.empty() && !condition->empty();
    std::string both = isBoth ? test + " && " + asPart(*condition) : test + *condition;
    if (!generated.memory)
      return std::optional(Branch{both, *fast});
    llvm::Expected<std::string> count = choice.launch.translate(generated.memory->count);
    if (!count)
      return count.takeError();
    const llvm::StringRef stream = choice.launch.stream();
    if (generated.memory->isCleared)
      *fast = LaunchMemory::clearing(*generated.memory, memoryName, *count, stream) + *fast;
    return std::optional(Branch{
        launchMemory.declaration(*generated.memory, memoryName, *count, both, stream), *fast});
  }
  return std::nullopt;
}

/// The kernels for which the function tests, the one that it is named for first.
std::vector<std::string> Dispatcher::testedKernels() const {
  std::vector<std::string> names{generated.name};
  names.insert(names.end(), testedNames.begin(), testedNames.end());
  return names;
}

/// The test at \p choice, in the launch's names or as a call of the function.
llvm::Expected<std::string> Dispatcher::conditionText(const Choice &choice) const {
  std::string all;
  if (!choice.open.empty()) {
    llvm::Expected<std::string> text = choice.launch.translate(joinConditions(choice.open));
    if (text && needsTest(choice, *text))
      text = test.call(tester ? tester->generated.name : generated.name, choice.launch);
    if (!text)
      return text;
    all = *text;
  }
  if (choice.preferred.empty())
    return all;
  llvm::Expected<std::string> preferred = choice.launch.translate(joinConditions(choice.preferred));
  if (!preferred || all.empty())
    return preferred;
  return asPart(all) + " && " + asPart(*preferred);
}

llvm::Expected<std::string> Dispatcher::fastLaunch(const LaunchText &launch) const {
  llvm::Expected<std::string> text = fastLaunch(launch, generated);
  for (const GeneratedKernel::Launch &each : generated.then) {
    GeneratedKernel next = generated;
    next.name = each.name, next.gridX = each.gridX, next.blockX = each.blockX;
    next.gridY = next.gridZ = next.blockY = next.blockZ = "1";
    llvm::Expected<std::string> after = fastLaunch(launch, next);
    if (!text || !after)
      return text ? after.takeError() : text.takeError();
    *text += "\n" + *after;
  }
  for (const ScheduledKernel::Later &next : later) {
    llvm::Expected<std::string> after = fastLaunch(launch, next.generated);
    if (!text || !after)
      return text ? after.takeError() : text.takeError();
    *text += "\n" + *after;
  }
  if (text && generated.memory)
    *text += "\ncudaFreeAsync(" + memoryName + ", " +
             (launch.stream().empty() ? "0" : launch.stream().str()) + ");";
  return text;
}

/// `fast<<<grid, block, shared, stream>>>(arguments)` for \p launch, with what must come before.
llvm::Expected<std::string> Dispatcher::fastLaunch(const LaunchText &launch,
                                                   const GeneratedKernel &launched) const {
  std::string problem;
  auto translate = [&](StringRef text) {
    llvm::Expected<std::string> result = launch.translate(text);
    if (result)
      return std::move(*result);
    problem = llvm::toString(result.takeError());
    return std::string();
  };
  auto shape = [&](StringRef x, StringRef y, StringRef z) {
    std::string text = translate(x);
    if (y != "1" || z != "1")
      text = "dim3(" + text + ", " + translate(y) + (z == "1" ? "" : ", " + translate(z)) + ")";
    return text;
  };
  std::string name = launch.spelled(launched.name, isTemplate());
  std::string configuration = shape(launched.gridX, launched.gridY, launched.gridZ) + ", " +
                              shape(launched.blockX, launched.blockY, launched.blockZ);
  std::string shared = translate(launched.dynamicSharedBytes), before;
  if (!shared.empty() || !launch.stream().empty())
    configuration += ", " + (shared.empty() ? "0" : shared);
  if (!launch.stream().empty())
    configuration += ", " + launch.stream().str();
  std::string arguments = launch.arguments();
  if (generated.memory)
    arguments += (arguments.empty() ? "" : ", ") + memoryName;
  for (const auto &[declaration, value] : launched.extraParameters)
    arguments += (arguments.empty() ? "" : ", ") + translate(value);
  if (!problem.empty())
    return llvm::createStringError(problem);
  if (!shared.empty()) {
    auto bytes =
        evaluate(launched.dynamicSharedBytes, [&](StringRef each) { return launch.value(each); });
    if (!bytes || *bytes > sharedWithoutAsking)
      before = "cudaFuncSetAttribute(" + name + ", cudaFuncAttributeMaxDynamicSharedMemorySize, " +
               shared + ");\n";
  }
  return before + name + "<<<" + configuration + ">>>(" + arguments + ");";
}
