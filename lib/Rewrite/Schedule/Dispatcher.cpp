//===- Dispatcher.cpp - One generated kernel beside its original -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns where the kernel, its tests and their declarations stand, and how instances of a template
// are told apart.
//
//===----------------------------------------------------------------------===//
#include "Dispatcher.h"
#include "../HostFunctions.h"
#include "HostText.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

llvm::Error Dispatcher::prepare(bool isLast) {
  if (generated.memory && !launchMemory.isPossible())
    return llvm::createStringError("the toolkit has no memory pools for what the kernel needs");
  auto found = conditionsOf(instance, nest, generated);
  if (!found)
    return found.takeError();
  conditions = std::move(*found);
  for (const ScheduledKernel::Later &next : later) {
    auto more = conditionsOf(instance, next.nest, next.generated);
    if (!more)
      return more.takeError();
    for (HostCondition &each : *more)
      if (llvm::none_of(conditions, [&](const auto &known) { return known.text == each.text; }))
        conditions.push_back(std::move(each));
  }
  for (HostCondition &each : conditions)
    if (each.testsAllocations)
      each.text = replaceNames(each.text, [&](StringRef name) -> std::optional<std::string> {
        return name == allocationTest ? std::optional<std::string>(allocations.name())
                                      : std::nullopt;
      });
  if (!isLast) // the next kernel may be faster although this one computes the same
    for (const std::string &each : generated.preferences)
      preferences.push_back({each, {}, "", 0, {}, "", false});
  return chooseLaunches();
}

void Dispatcher::leaveTo(llvm::ArrayRef<std::unique_ptr<Dispatcher>> earlier) {
  auto textsOf = [](const Choice &choice) {
    std::set<std::string> texts;
    for (const auto &all : {choice.open, choice.preferred})
      for (const HostCondition *each : all)
        texts.insert(joinConditions(each));
    return texts;
  };
  llvm::erase_if(choices, [&](const Choice &mine) {
    return llvm::any_of(earlier, [&](const std::unique_ptr<Dispatcher> &other) {
      return other->instance == instance && llvm::any_of(other->choices, [&](const Choice &each) {
               return &each.launch.fact() == &mine.launch.fact() &&
                      llvm::set_is_subset(textsOf(each), textsOf(mine));
             });
    });
  });
}

void Dispatcher::shareTest(Dispatcher &other) {
  if (tester || other.tester || !test.isNeeded() || other.instance != instance ||
      !(test == other.test))
    return;
  tester = &other;
  other.testedNames.push_back(generated.name);
}

llvm::SmallVector<const LaunchFact *> Dispatcher::launches() const {
  llvm::SmallVector<const LaunchFact *> facts;
  for (const Choice &choice : choices)
    facts.push_back(&choice.launch.fact());
  return facts;
}

AnchorOrReason Dispatcher::place() const {
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
  return anchorOfRange(context.parsed(), SourceRange(body->getRBracLoc()), kernel.function(),
                       "CompoundStmt");
}

bool Dispatcher::standsBefore(const LaunchFact &fact) const {
  return !kernel.isInHeader() && !context.parsed().sources().isBeforeInTranslationUnit(
                                     kernel.function()->getEndLoc(), fact.call->getBeginLoc());
}

/// What declares the kernels that \p definition defines.
static std::string declarationsOf(StringRef definition) {
  constexpr StringRef word = "__global__";
  std::string all;
  for (size_t at = definition.find(word); at != StringRef::npos;
       at = definition.find(word, at + word.size()))
    all += definition.substr(at).take_until([](char c) { return c == '{'; }).rtrim().str() + ";\n";
  return all;
}

std::string Dispatcher::declarations() const {
  std::string all = declarationsOf(generated.definition);
  for (const ScheduledKernel::Later &next : later)
    all += declarationsOf(next.generated.definition);
  return hasTest() ? all + test.declaration(generated.name, choices.front().launch) + ";\n" : all;
}

/// Whether a line of \p text is \p directive, which one in a comment is not.
static bool hasLine(StringRef text, StringRef directive) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.trim().starts_with(directive))
      return true;
    text = rest;
  }
  return false;
}

/// Moves the #includes that begin \p definition to the head of the file.
llvm::Error Dispatcher::addIncludes(StringRef &definition, Edits &edits) const {
  AnchorOrReason anchor = anchorBeforeIncludes(context.parsed());
  while (anchor && definition.starts_with("#include")) {
    auto [line, rest] = definition.split('\n');
    if (!hasLine(context.parsed().text(), line.trim()))
      if (llvm::Error error = edits.insertBefore(*anchor, line.trim().str() + "\n"))
        return error;
    definition = rest.ltrim();
  }
  return llvm::Error::success();
}

llvm::Error Dispatcher::addFunction(const std::string &definition, Edits &edits,
                                    std::set<std::string> &known, std::string &text) const {
  if (!known.insert(definition).second)
    return llvm::Error::success();
  llvm::Expected<bool> isShared = addDefinitionForAll(context, definition, edits);
  if (!isShared)
    return isShared.takeError();
  if (!*isShared)
    text += definition;
  return llvm::Error::success();
}

llvm::Expected<std::string> Dispatcher::definitions(Edits &edits, std::set<std::string> &known,
                                                    SharedHelpers &helpers) const {
  std::string text;
  std::vector<const GeneratedKernel *> kernels{&generated};
  for (const ScheduledKernel::Later &next : later)
    kernels.push_back(&next.generated);
  for (const GeneratedKernel *each : kernels) {
    const std::string whole = helpers.definitionOf(*each);
    StringRef definition = StringRef(whole).trim();
    if (llvm::Error error = addIncludes(definition, edits))
      return std::move(error);
    text += "\n\n" + definition.str();
  }
  text += argumentDeclarations();
  if (llvm::any_of(choices, testsAllocations))
    if (llvm::Error error = addFunction(allocations.missingDefinition(), edits, known, text))
      return std::move(error);
  if (generated.memory)
    if (llvm::Error error = addFunction(launchMemory.missingDefinition(), edits, known, text))
      return std::move(error);
  if (hasTest())
    text += "\n\n" + test.definition(testedKernels(), choices.front().launch);
  return text;
}

/// How the host names the instance, `kernel<128>`; empty if it is no template or an argument cannot
/// be written.
std::string Dispatcher::instanceName() const {
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

/// Declarations of functions that are arguments of the instance and stand after the kernel, where
/// launches name them.
std::string Dispatcher::argumentDeclarations() const {
  std::string text;
  const TemplateArgumentList *arguments = function->getTemplateSpecializationArgs();
  if (!arguments || llvm::none_of(choices, [&](const Choice &choice) {
        return !instanceTest(choice.launch).empty();
      }))
    return text;
  const SourceManager &sources = context.parsed().sources();
  for (const TemplateArgument &argument : arguments->asArray()) {
    const auto *named = argument.getKind() == TemplateArgument::Declaration
                            ? dyn_cast<FunctionDecl>(argument.getAsDecl())
                            : nullptr;
    const Stmt *body = named ? named->getBody() : nullptr;
    if (!body || sources.isBeforeInTranslationUnit(named->getFirstDecl()->getLocation(),
                                                   kernel.function()->getLocation()))
      continue;
    std::string head =
        writtenText(context, SourceRange(named->getBeginLoc(), body->getBeginLoc())).str();
    bool isMarked = StringRef(head).contains("__device__");
    text += "\n\n" + std::string(isMarked ? "" : "__device__ ") +
            StringRef(head).drop_back().rtrim().str() + ";";
  }
  return text;
}

/// That \p launch, of several instances, launches this one. Empty if there is but one.
std::string Dispatcher::instanceTest(const LaunchText &launch) const {
  if (isTemplate() || launch.fact().mangledNames.size() < 2)
    return "";
  std::string name = kernel.function()->getNameAsString();
  return "(const void *)" + launch.spelled(name, true) + " == (const void *)" +
         launch.spelled(instanceName(), false);
}
