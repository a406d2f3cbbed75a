//===- Dispatch.cpp - A scheduled kernel beside the original ---------------===//

#include "kb-opt/Rewrite/Schedule/Dispatch.h"
#include "HostText.h"
#include "LaunchAlgebra.h"
#include "LaunchOrder.h"
#include "TestFunction.h"
#include "kb-opt/Analysis/LaunchArguments.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

/// More than this is tested in a function of its own.
constexpr size_t longestCondition = 150;
/// Bytes that every allocation is aligned to (CUDA C++ Programming Guide, Device Memory Accesses).
constexpr unsigned allocationAlignment = 256;
/// What a kernel may use of dynamic shared memory without asking.
constexpr int64_t sharedWithoutAsking = 48 * 1024;

/// One launch that gets the choice.
struct Choice {
  LaunchText launch;
  /// Neither proven nor refuted: what the kernel needs, and what makes it the better one.
  std::vector<const HostCondition *> open, preferred;
};

class Dispatcher {
public:
  Dispatcher(const PassContext &context, const KernelView &kernel, kb::KernelOp instance, kb::NestOp nest,
             const GeneratedKernel &generated)
      : context(context), kernel(kernel), instance(instance), nest(nest), generated(generated),
        function(context.imported().declOf(instance)), allocations(context, kernel.function()),
        test(context, kernel, function) {}

  /// Finds the launches that can choose the kernel. An error: there is none, and why.
  llvm::Error prepare(bool isLast) {
    auto found = conditionsOf(instance, nest, generated);
    if (!found)
      return found.takeError();
    conditions = std::move(*found);
    for (HostCondition &each : conditions)
      if (each.testsAllocations)
        each.text = replaceNames(each.text, [&](StringRef name) -> std::optional<std::string> {
          return name == allocationTest ? std::optional<std::string>(allocations.name()) : std::nullopt;
        });
    if (!isLast) // the next kernel may be faster although this one computes the same
      for (const std::string &each : generated.preferences)
        preferences.push_back({each, {}, "", 0, {}, "", false});
    return chooseLaunches();
  }

  /// Gives up launches at which one of \p earlier kernels runs wherever this one could.
  void leaveTo(llvm::ArrayRef<std::unique_ptr<Dispatcher>> earlier) {
    auto textsOf = [](const Choice &choice) {
      std::set<std::string> texts;
      for (const auto &all : {choice.open, choice.preferred})
        for (const HostCondition *each : all)
          texts.insert(joinConditions(each));
      return texts;
    };
    llvm::erase_if(choices, [&](const Choice &mine) {
      return llvm::any_of(earlier, [&](const std::unique_ptr<Dispatcher> &other) {
        return llvm::any_of(other->choices, [&](const Choice &each) {
          return &each.launch.fact() == &mine.launch.fact() && llvm::set_is_subset(textsOf(each), textsOf(mine));
        });
      });
    });
  }
  bool launchesAny() const { return !choices.empty(); }
  const std::string &name() const { return generated.name; }

  /// Takes the test of \p other, which goes first, if both test the same.
  void shareTest(Dispatcher &other) {
    if (tester || other.tester || !test.isNeeded() || !(test == other.test))
      return;
    tester = &other;
    other.testedNames.push_back(generated.name);
  }

  /// The launches that may run the kernel.
  llvm::SmallVector<const LaunchFact *> launches() const {
    llvm::SmallVector<const LaunchFact *> facts;
    for (const Choice &choice : choices)
      facts.push_back(&choice.launch.fact());
    return facts;
  }

  /// What one launch does for the kernel.
  struct Branch {
    std::string condition, fast; ///< no condition: always
  };
  /// Nothing if \p fact does not launch it.
  llvm::Expected<std::optional<Branch>> branchAt(const LaunchFact &fact) {
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
      return std::optional(Branch{isBoth ? test + " && " + asPart(*condition) : test + *condition, *fast});
    }
    return std::nullopt;
  }
  const LaunchText &launchOf(const LaunchFact &fact) const {
    return llvm::find_if(choices, [&](const Choice &choice) { return &choice.launch.fact() == &fact; })->launch;
  }

  /// After the kernel, or before the first function that launches it if it stands in a header.
  AnchorOrReason place() {
    if (kernel.isInHeader()) {
      if (!kernel.function()->getDeclContext()->isTranslationUnit())
        return AnchorOrReason::refuse("it lies in a header and in a namespace");
      return anchorBefore(context.parsed(), choices.front().launch.fact().host);
    }
    const Decl *definition = kernel.function();
    if (const FunctionTemplateDecl *pattern = kernel.function()->getDescribedFunctionTemplate())
      definition = pattern;
    AnchorOrReason whole = anchorOf(context.parsed(), definition);
    const auto *body = dyn_cast_or_null<CompoundStmt>(kernel.function()->getBody());
    if (whole || !body || body->getRBracLoc().isMacroID())
      return whole;
    // Directives may stand in it: its last brace is enough.
    return anchorOfRange(context.parsed(), SourceRange(body->getRBracLoc()), kernel.function(), "CompoundStmt");
  }

  /// Whether \p fact, which launches the kernel, stands before its definition.
  bool standsBefore(const LaunchFact &fact) const {
    return !kernel.isInHeader() &&
           !context.parsed().sources().isBeforeInTranslationUnit(kernel.function()->getEndLoc(), fact.call->getBeginLoc());
  }

  /// Declarations of what `definitions` defines, for launches that stand before it.
  std::string declarations() const {
    auto headOf = [](StringRef text, StringRef name) {
      size_t at = text.find(" " + name.str() + "("), begin = text.rfind('\n', at), end = text.find(" {\n", at);
      return text.slice(begin == StringRef::npos ? 0 : begin + 1, end).str() + ";\n";
    };
    std::string text = headOf(generated.definition, generated.name);
    return hasTest() ? text + headOf(testDefinition(), test.nameFor(generated.name)) : text;
  }

  /// The kernel, and the functions that its launches call. \p hasAllocationTest: one of them is there already. What the kernel
  /// includes is added to \p edits.
  llvm::Expected<std::string> definitions(Edits &edits, bool &hasAllocationTest) {
    StringRef definition = StringRef(generated.definition).trim();
    if (llvm::Error error = addIncludes(definition, edits))
      return std::move(error);
    std::string text = "\n\n" + definition.str() + argumentDeclarations();
    if (!hasAllocationTest && llvm::any_of(choices, testsAllocations)) {
      llvm::Expected<bool> isShared = allocations.addSharedDefinition(context, edits);
      if (!isShared)
        return isShared.takeError();
      if (!*isShared)
        text += allocations.missingDefinition();
      hasAllocationTest = true;
    }
    if (hasTest())
      text += "\n\n" + testDefinition();
    return text;
  }

private:
  /// How the host names the instance, `kernel<128>`; empty if it is no template or an argument cannot be written.
  std::string instanceName() const {
    const FunctionTemplateDecl *pattern = function->getPrimaryTemplate();
    const TemplateArgumentList *arguments = function->getTemplateSpecializationArgs();
    if (!pattern || !arguments)
      return "";
    llvm::StringMap<std::string> known = templateArguments(function, context.parsed().context());
    std::vector<std::string> texts;
    for (unsigned i = 0; i < arguments->size(); ++i) {
      const TemplateArgument &argument = arguments->get(i);
      auto found = known.find(pattern->getTemplateParameters()->getParam(i)->getName());
      if (found != known.end())
        texts.push_back(found->second);
      else if (argument.getKind() == TemplateArgument::Declaration)
        texts.push_back(argument.getAsDecl()->getQualifiedNameAsString());
      else
        return "";
    }
    return kernel.function()->getNameAsString() + "<" + llvm::join(texts, ", ") + ">";
  }

  /// Declarations of functions that are arguments of the instance and stand after the kernel, where launches name them.
  std::string argumentDeclarations() {
    std::string text;
    const TemplateArgumentList *arguments = function->getTemplateSpecializationArgs();
    if (!arguments || llvm::none_of(choices, [&](const Choice &choice) { return !instanceTest(choice.launch).empty(); }))
      return text;
    const SourceManager &sources = context.parsed().sources();
    for (const TemplateArgument &argument : arguments->asArray()) {
      const auto *named = argument.getKind() == TemplateArgument::Declaration ? dyn_cast<FunctionDecl>(argument.getAsDecl()) : nullptr;
      const Stmt *body = named ? named->getBody() : nullptr;
      if (!body || sources.isBeforeInTranslationUnit(named->getFirstDecl()->getLocation(), kernel.function()->getLocation()))
        continue;
      std::string head = writtenText(context, SourceRange(named->getBeginLoc(), body->getBeginLoc())).str();
      bool isMarked = StringRef(head).contains("__device__");
      text += "\n\n" + std::string(isMarked ? "" : "__device__ ") + StringRef(head).drop_back().rtrim().str() + ";";
    }
    return text;
  }

  /// That \p launch, of several instances, launches this one. Empty if there is but one.
  std::string instanceTest(const LaunchText &launch) {
    if (isTemplate() || launch.fact().mangledNames.size() < 2)
      return "";
    std::string name = kernel.function()->getNameAsString();
    return "(const void *)" + launch.spelled(name, true) + " == (const void *)" + launch.spelled(instanceName(), false);
  }

  bool isTemplate() { return nest.getHeader() && !nest.getHeader()->empty(); }

  /// Why \p fact may not launch the new kernel whatever its arguments are; empty if it may.
  std::string whyNot(const LaunchFact &fact) {
    std::string place = ast::lineText(context, fact.call->getBeginLoc());
    bool launchesThis = llvm::is_contained(fact.mangledNames, instance.getSymName());
    if (!isTemplate() && (!launchesThis || (fact.mangledNames.size() > 1 && instanceName().empty())))
      return "the launch at " + place + " is of another instance of '" + kernel.name().str() + "'";
    if (!kernel.isInHeader() && standsBefore(fact) &&
        (isTemplate() || !kernel.function()->getDeclContext()->isTranslationUnit()))
      return "the launch at " + place + " stands before the definition of '" + kernel.name().str() + "'";
    if (isFallbackLaunch(context, fact.call))
      return "the launch at " + place + " only runs where a faster kernel cannot";
    return "";
  }

  llvm::Error chooseLaunches() {
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
  std::optional<bool> isKnown(const HostCondition &condition, const LaunchFact &launch) const {
    llvm::ArrayRef<unsigned> arguments = condition.arguments;
    if (arguments.size() == 2 &&
        launchArgumentsMayOverlap(context.parsed(), launch, arguments[0], arguments[1]).refuted())
      return true;
    if (arguments.size() == 1 && condition.bytes <= allocationAlignment &&
        isStartOfAllocation(context.parsed(), launch, arguments[0]))
      return true;
    return std::nullopt;
  }

  /// Whether the condition \p text, in the names of the host, has been tested before \p launch.
  bool isTested(StringRef text, const LaunchFact &launch) const {
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
      return known == wanted || (StringRef(known).ends_with(">0") && StringRef(known).drop_back(2).str() + ">=0" == wanted);
    });
  }

  /// Adds the choice at \p launch; the reason if there is none.
  std::string choose(LaunchText launch) {
    std::string shown = "the launch at " + ast::lineText(context, launch.fact().call->getBeginLoc());
    if (!instanceTest(launch).empty() && launch.spelled("", true) == launch.spelled("", false))
      return shown + " does not say which instance it launches";
    if (!instanceTest(launch).empty() && !launch.castTo(function, context.parsed().context()))
      return shown + " passes values of other types to other instances of '" + kernel.name().str() + "'";
    Choice choice{std::move(launch), {}, {}};
    LaunchAlgebra algebra(context, choice.launch);
    auto valueOf = [&](StringRef name) { return choice.launch.value(name); };
    auto sort = [&](const HostCondition &condition, std::vector<const HostCondition *> &open) {
      std::optional<bool> known = isKnown(condition, choice.launch.fact());
      if (!known && condition.requirement)
        known = algebra.holds(condition.requirement);
      if (!known && condition.text.empty())
        return condition.reason;
      if (!known && condition.testsAllocations && !allocations.isPossible())
        return condition.reason;
      if (!known && !condition.testsAllocations)
        if (auto value = evaluate(condition.text, valueOf))
          known = *value != 0;
      if (!known && !condition.testsAllocations && !condition.bytes) {
        if (auto text = choice.launch.translate(condition.text)) {
          if (isTested(*text, choice.launch.fact()))
            known = true;
        } else {
          llvm::consumeError(text.takeError());
        }
      }
      if (known && !*known)
        return "'" + condition.text + "' does not hold for the launch at " +
               ast::lineText(context, choice.launch.fact().call->getBeginLoc());
      if (!known)
        open.push_back(&condition);
      return std::string();
    };
    for (const HostCondition &condition : conditions)
      if (std::string why = sort(condition, choice.open); !why.empty())
        return why;
    for (const HostCondition &condition : preferences)
      if (std::string why = sort(condition, choice.preferred); !why.empty())
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

  static bool testsAllocations(const Choice &choice) {
    return llvm::any_of(choice.open, [](const HostCondition *each) { return each->testsAllocations; });
  }

  /// Whether the test \p text of \p choice becomes a function.
  bool needsTest(const Choice &choice, StringRef text) {
    return !choice.open.empty() && !isTemplate() && (text.size() > longestCondition || testsAllocations(choice));
  }

  /// Whether a function that tests stands beside this kernel.
  bool hasTest() const { return test.isNeeded() && !tester; }
  std::string testDefinition() const {
    std::vector<std::string> names{generated.name};
    names.insert(names.end(), testedNames.begin(), testedNames.end());
    return test.definition(names, choices.front().launch);
  }

  /// The test at \p choice, in the launch's names or as a call of the function.
  llvm::Expected<std::string> conditionText(const Choice &choice) {
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


  /// `fast<<<grid, block, shared, stream>>>(arguments)` for \p launch, with what must come before.
  llvm::Expected<std::string> fastLaunch(const LaunchText &launch) {
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
    std::string name = launch.spelled(generated.name, isTemplate());
    std::string configuration = shape(generated.gridX, generated.gridY, generated.gridZ) + ", " +
                                shape(generated.blockX, generated.blockY, generated.blockZ);
    std::string shared = translate(generated.dynamicSharedBytes), before;
    if (!shared.empty() || !launch.stream().empty())
      configuration += ", " + (shared.empty() ? "0" : shared);
    if (!launch.stream().empty())
      configuration += ", " + launch.stream().str();
    std::string arguments = launch.arguments();
    for (const auto &[declaration, value] : generated.extraParameters)
      arguments += (arguments.empty() ? "" : ", ") + translate(value);
    if (!problem.empty())
      return llvm::createStringError(problem);
    if (!shared.empty()) {
      auto bytes = evaluate(generated.dynamicSharedBytes, [&](StringRef each) { return launch.value(each); });
      if (!bytes || *bytes > sharedWithoutAsking)
        before = "cudaFuncSetAttribute(" + name + ", cudaFuncAttributeMaxDynamicSharedMemorySize, " + shared + ");\n";
    }
    return before + name + "<<<" + configuration + ">>>(" + arguments + ");";
  }

  /// Moves the #includes that begin \p definition to the head of the file.
  llvm::Error addIncludes(StringRef &definition, Edits &edits) {
    AnchorOrReason anchor = anchorBeforeIncludes(context.parsed());
    while (anchor && definition.starts_with("#include")) {
      auto [line, rest] = definition.split('\n');
      if (!context.parsed().text().contains(line.trim()))
        if (llvm::Error error = edits.insertBefore(*anchor, line.trim().str() + "\n"))
          return error;
      definition = rest.ltrim();
    }
    return llvm::Error::success();
  }

  const PassContext &context;
  const KernelView &kernel;
  kb::KernelOp instance;
  kb::NestOp nest;
  const GeneratedKernel &generated;
  const FunctionDecl *function;
  AllocationTest allocations;
  std::vector<HostCondition> conditions, preferences;
  TestFunction test;
  Dispatcher *tester = nullptr;         ///< whose function tests for this kernel, too
  std::vector<std::string> testedNames; ///< further kernels for which this one's function tests
  std::vector<Choice> choices;
};

/// What takes the place of the launch statement \p original: the first of \p branches whose condition holds.
std::string choiceText(llvm::ArrayRef<Dispatcher::Branch> branches, StringRef original, bool isInList) {
  bool hasPair = llvm::any_of(branches, [](const auto &each) { return StringRef(each.fast).contains('\n'); });
  if (branches.front().condition.empty())
    return hasPair && !isInList ? "{\n" + branches.front().fast + "\n}" : branches.front().fast;
  std::string text;
  auto add = [&](const std::string &head, const std::string &body) {
    text += text.empty() ? "" : hasPair ? " " : "\n";
    text += hasPair ? head + " {\n" + body + "\n}" : head + "\n  " + body;
  };
  for (const Dispatcher::Branch &branch : branches) {
    std::string start = text.empty() ? "" : "else ";
    if (branch.condition.empty()) {
      add("else", branch.fast);
      return text;
    }
    add(start + "if (" + branch.condition + ")", branch.fast);
  }
  add("else", original.str());
  return text;
}

} // namespace

llvm::Expected<Dispatch> kbopt::dispatchEdits(const PassContext &context, const KernelView &kernel,
                                              kb::KernelOp instance, kb::NestOp nest,
                                              llvm::ArrayRef<GeneratedKernel> generated) {
  std::vector<std::unique_ptr<Dispatcher>> dispatchers;
  std::string reason;
  for (const GeneratedKernel &each : generated) {
    auto dispatcher = std::make_unique<Dispatcher>(context, kernel, instance, nest, each);
    llvm::Error error = dispatcher->prepare(&each == &generated.back());
    if (!error)
      dispatcher->leaveTo(dispatchers);
    if (!error && dispatcher->launchesAny()) {
      for (auto &earlier : dispatchers)
        dispatcher->shareTest(*earlier);
      dispatchers.push_back(std::move(dispatcher));
    } else if (!error)
      continue;
    else if (reason.empty())
      reason = llvm::toString(std::move(error));
    else
      llvm::consumeError(std::move(error));
  }
  if (dispatchers.empty())
    return llvm::createStringError(reason);
  Dispatch result;
  for (auto &dispatcher : dispatchers)
    result.kernels.push_back(dispatcher->name());
  std::string text;
  bool hasAllocationTest = false;
  std::vector<std::pair<const LaunchFact *, Dispatcher *>> launches;
  for (auto &dispatcher : dispatchers) {
    llvm::Expected<std::string> each = dispatcher->definitions(result.edits, hasAllocationTest);
    if (!each)
      return each.takeError();
    text += *each;
    for (const LaunchFact *fact : dispatcher->launches())
      if (llvm::none_of(launches, [&](const auto &known) { return known.first == fact; }))
        launches.push_back({fact, dispatcher.get()});
  }
  const LaunchFact *early = nullptr; // the first one that stands before the kernels
  std::string declarations;
  for (auto &dispatcher : dispatchers)
    for (const LaunchFact *fact : dispatcher->launches())
      if (dispatcher->standsBefore(*fact) && (!early || fact < early))
        early = fact;
  for (auto &dispatcher : dispatchers)
    declarations += dispatcher->declarations();
  if (early) {
    AnchorOrReason before = anchorBefore(context.parsed(), early->host);
    if (!before)
      return llvm::createStringError("no declaration can be added before '" + early->host->getNameAsString() + "': " + before.reason());
    if (llvm::Error error = result.edits.insertBefore(*before, declarations + "\n"))
      return std::move(error);
  }
  AnchorOrReason place = dispatchers.front()->place();
  if (!place)
    return llvm::createStringError("no kernel can be added after '" + kernel.name().str() + "': " + place.reason());
  llvm::Error added = kernel.isInHeader() ? result.edits.insertBefore(*place, StringRef(text).ltrim().str() + "\n\n")
                                          : result.edits.insertAfter(*place, text);
  if (added)
    return std::move(added);
  for (auto [fact, first] : launches) {
    std::vector<Dispatcher::Branch> branches;
    for (auto &dispatcher : dispatchers) {
      auto branch = dispatcher->branchAt(*fact);
      if (!branch)
        return branch.takeError();
      if (*branch)
        branches.push_back(std::move(**branch));
    }
    const LaunchText &launch = first->launchOf(*fact);
    StringRef original = context.parsed().text().slice(launch.anchor().begin, launch.anchor().end);
    if (llvm::Error error = result.edits.replaceAll(launch.anchor(), choiceText(branches, original, launch.isInList())))
      return std::move(error);
    ++result.launches;
    result.conditional += llvm::none_of(branches, [](const auto &each) { return each.condition.empty(); });
  }
  return result;
}
