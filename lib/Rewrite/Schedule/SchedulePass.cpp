//===- SchedulePass.cpp - A pass that changes a schedule -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/SchedulePass.h"
#include "Conditions.h"
#include "HostText.h"
#include "LaunchText.h"
#include "ScheduleChoices.h"
#include "kb-opt/Raise/Phases.h"
#include "kb-opt/Raise/Simplify.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Schedule/Dispatch.h"
#include "kb-opt/Schedule/OwnArch.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Lex/Preprocessor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <map>

using namespace kbopt;
using llvm::StringRef;

//===-- From a schedule to edits -------------------------------------------===//

/// What the new kernels of \p schedule are.
static StringRef wordFor(const Schedule &schedule) {
  return llvm::StringSwitch<StringRef>(schedule.sketch())
      .Case("map", "wide")
      .Cases({"contraction", "reuse", "stencil", "transpose"}, "tiled")
      .Default(schedule.sketch());
}

/// What the new kernel number \p number is called: the user's name and \p word, joined in the
/// user's way.
static std::string nameFor(const PassContext &context, const KernelView &kernel, StringRef word,
                           size_t number) {
  std::string name = kernel.function()->getNameAsString();
  bool isCamel = name.find('_') == std::string::npos && llvm::any_of(name, llvm::isUpper);
  name += isCamel ? word.take_front().upper() + word.drop_front().str() : ("_" + word).str();
  return context.unusedName(number ? name + std::to_string(number + 1) : name);
}

/// \p text with `(T)(x)` in place of `T(x)`, where \p name, T, stands for a type of several words.
static std::string withPlainCasts(StringRef text, StringRef name) {
  std::string result;
  const std::string call = name.str() + "(";
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at; (at = text.find(call)) != StringRef::npos;) {
    const bool isName = at == 0 || !isWord(text[at - 1]);
    result += text.take_front(at);
    result += isName ? "(" + name.str() + ")(" : call;
    text = text.drop_front(at + call.size());
  }
  return result + text.str();
}

/// Puts the arguments of the instance that was raised in place of the template's parameters: the
/// new kernel is no template.
static void nameArguments(const clang::FunctionDecl *instance, const clang::ASTContext &ast,
                          GeneratedKernel &generated) {
  llvm::StringMap<std::string> arguments = templateArguments(instance, ast);
  for (const auto &argument : arguments)
    if (StringRef(argument.second).contains(' '))
      generated.definition = withPlainCasts(generated.definition, argument.getKey());
  if (!arguments.empty())
    generated.definition =
        replaceNames(generated.definition, [&](StringRef name) -> std::optional<std::string> {
          auto found = arguments.find(name);
          return found == arguments.end() ? std::nullopt
                                          : std::optional<std::string>(found->second);
        });
}

/// Whether the user, and no header of the system, defines \p name as a macro. Reserved names are
/// those of functions that a new kernel calls.
static bool isMacroOfUser(const ParsedProgram &program, StringRef name) {
  if (name.starts_with("__"))
    return false;
  clang::Preprocessor &macros = program.preprocessor();
  const clang::IdentifierInfo *word = macros.getIdentifierInfo(name);
  const clang::MacroInfo *macro = word->hasMacroDefinition() ? macros.getMacroInfo(word) : nullptr;
  return macro && !macro->isBuiltinMacro() &&
         !program.sources().isInSystemHeader(macro->getDefinitionLoc());
}

/// The parameters of \p instance's template that are values.
static llvm::StringSet<> valueParameters(const clang::FunctionDecl *instance) {
  llvm::StringSet<> names;
  if (const clang::FunctionTemplateDecl *pattern = instance->getPrimaryTemplate())
    for (const clang::NamedDecl *each : *pattern->getTemplateParameters())
      if (llvm::isa<clang::NonTypeTemplateParmDecl>(each))
        names.insert(each->getName());
  return names;
}

/// Gives what the new kernel calls its own, `lane` or `BM`, other names where the user has a macro
/// or a template parameter of that name, unless an expression that was copied means the user's.
static void renameClashes(const PassContext &context, const clang::FunctionDecl *instance,
                          kb::NestOp nest, GeneratedKernel &generated) {
  llvm::StringSet<> copied, values = valueParameters(instance);
  for (const clang::ParmVarDecl *parameter : instance->parameters())
    copied.insert(parameter->getName());
  for (kb::SymbolAttr symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    copied.insert(symbol.getName());
  nest.walk([&](mlir::Operation *op) {
    op->getAttrDictionary().walk([&](mlir::StringAttr text) {
      for (StringRef name : namesIn(text.getValue()))
        copied.insert(name);
    });
  });
  auto isUsers = [&](StringRef name) {
    return values.contains(name) || isMacroOfUser(context.parsed(), name);
  };
  llvm::StringMap<std::string> renamed;
  for (StringRef name : namesIn(generated.definition))
    if (isUsers(name) && !copied.contains(name)) {
      std::string other = name.str() + "_";
      while (isUsers(other))
        other += "_";
      renamed[name] = other;
    }
  if (!renamed.empty())
    generated.definition =
        replaceNames(generated.definition, [&](StringRef name) -> std::optional<std::string> {
          auto found = renamed.find(name);
          return found == renamed.end() ? std::nullopt : std::optional<std::string>(found->second);
        });
}

static Promise promiseOf(const GeneratedKernel &generated) {
  return generated.lowersPrecision ? Promise::LowerPrecision
         : generated.reassociates  ? Promise::Reassociates
                                   : Promise::Bitwise;
}

/// Kernels of one schedule.
constexpr size_t mostKernels = 3;

/// The kernel called \p name that computes \p nest as \p schedule says.
static llvm::Expected<GeneratedKernel> printNest(const PassContext &context, const Sketch &sketch,
                                                 kb::NestOp nest, const Schedule &schedule,
                                                 StringRef name) {
  // Printers look up the kernel, so that the nest stays in its program.
  mlir::DictionaryAttr before = nest.getScheduleAttr();
  nest.setScheduleAttr(schedule.attribute(nest.getContext()));
  llvm::Expected<GeneratedKernel> generated = sketch.print(nest, name, context.target());
  if (before)
    nest.setScheduleAttr(before);
  else
    nest.removeScheduleAttr();
  return generated;
}

/// Why \p nest has no kernel with \p schedule; empty if it has one.
static std::string whyNotPrinted(const PassContext &context, const Sketch &sketch, kb::NestOp nest,
                                 const Schedule &schedule) {
  llvm::Expected<GeneratedKernel> generated = printNest(context, sketch, nest, schedule, "kernel");
  return generated ? "" : llvm::toString(generated.takeError());
}

/// The kernel called \p name that computes \p raised as \p schedule says, in the user's names.
static llvm::Expected<GeneratedKernel> printSchedule(const PassContext &context,
                                                     const Sketch &sketch,
                                                     const RaisedKernel &raised, kb::NestOp nest,
                                                     const Schedule &schedule, StringRef name) {
  llvm::Expected<GeneratedKernel> generated = printNest(context, sketch, nest, schedule, name);
  if (generated)
    renameClashes(context, context.imported().declOf(raised.instance), nest, *generated);
  if (generated && (!nest.getHeader() || nest.getHeader()->empty()))
    nameArguments(context.imported().declOf(raised.instance), context.parsed().context(),
                  *generated);
  return generated;
}

/// Whether sums of \p type are the same in any order.
static bool isExactSum(StringRef type) { return type != "float" && type != "double"; }

/// Leaves out what the allocation of \p memory grants.
static void dropConditions(const std::optional<GeneratedKernel::Memory> &memory,
                           GeneratedKernel &generated) {
  llvm::erase_if(generated.conditions, [&](const LaunchCondition &each) {
    return memory && each.kind != LaunchCondition::Expression &&
           (each.text == memory->parameter || each.other == memory->parameter);
  });
}

/// What is launched after a kernel: its nest, the schedule that is wanted, and a word for its name.
struct LaterNest {
  kb::NestOp nest;
  Schedule schedule;
  StringRef word;
};

/// Gives \p scheduled, kernel \p number, the kernel of \p later.
static llvm::Error addLater(const PassContext &context, const KernelView &kernel,
                            const RaisedKernel &raised, size_t number, const LaterNest &later,
                            ScheduledKernel &scheduled,
                            const std::optional<GeneratedKernel::Memory> &memory) {
  llvm::Expected<Schedule> schedule = completed(context, later.nest, later.schedule);
  if (!schedule)
    return schedule.takeError();
  std::string name;
  auto isTaken = [&](const ScheduledKernel::Later &other) { return other.generated.name == name; };
  do
    name = nameFor(context, kernel, later.word, number++);
  while (name == scheduled.generated.name || llvm::any_of(scheduled.later, isTaken));
  auto printed =
      printSchedule(context, *findSketch(schedule->sketch()), raised, later.nest, *schedule, name);
  if (!printed)
    return printed.takeError();
  dropConditions(memory, *printed);
  scheduled.later.push_back({later.nest, std::move(*printed)});
  return llvm::Error::success();
}

/// A name for the memory of a kernel that \p kernels lack.
static std::string memoryNameFor(const PassContext &context, const KernelView &kernel,
                                 llvm::ArrayRef<ScheduledKernel> kernels) {
  std::string name;
  size_t number = 0;
  do
    name = nameFor(context, kernel, "memory", number++);
  while (llvm::any_of(kernels, [&](const auto &other) { return other.memoryName == name; }));
  return name;
}

/// Adds the kernels of \p schedule that compute \p raised to \p kernels, under names of their own.
/// The nest is over \p memory, and \p later is launched after it.
static llvm::Error addKernels(const PassContext &context, const KernelView &kernel,
                              const RaisedKernel &raised, const Schedule &schedule,
                              std::vector<ScheduledKernel> &kernels,
                              llvm::ArrayRef<LaterNest> later = {},
                              std::optional<GeneratedKernel::Memory> memory = std::nullopt) {
  const Sketch *sketch = findSketch(schedule.sketch());
  if (!sketch)
    return llvm::createStringError("there is no sketch '" + schedule.sketch().str() + "'");
  const size_t before = kernels.size();
  for (std::optional<Schedule> each = schedule; each && kernels.size() < before + mostKernels;) {
    std::string name;
    size_t number = kernels.size();
    auto isTaken = [&](const ScheduledKernel &other) { return other.generated.name == name; };
    do // a name that the user has taken moves all others on by one
      name = nameFor(context, kernel, wordFor(schedule), number++);
    while (llvm::any_of(kernels, isTaken));
    auto printed = printSchedule(context, *sketch, raised, raised.nest, *each, name);
    if (!printed && kernels.size() == before)
      return printed.takeError();
    if (!printed) { // the first kernel does without it
      llvm::consumeError(printed.takeError());
      break;
    }
    printed->reassociates |=
        schedule.integer("simplify") != 0 || (memory && !isExactSum(memory->type));
    printed->memory = memory ? memory : printed->memory;
    if (printed->memory)
      name = memoryNameFor(context, kernel, kernels);
    dropConditions(memory, *printed);
    kernels.push_back({raised.instance, raised.nest, std::move(*printed)});
    if (kernels.back().generated.memory)
      kernels.back().memoryName = name;
    for (const LaterNest &next : later)
      if (llvm::Error error =
              addLater(context, kernel, raised, before, next, kernels.back(), memory))
        return error;
    if (!later.empty()) // one kernel for all launches
      return llvm::Error::success();
    each = each->integer("otherwise") ? sketch->otherwise(raised.nest, context.target(), *each)
                                      : std::nullopt;
  }
  return llvm::Error::success();
}

/// The same for \p raised, whose form with simpler sums or sums in parts, if \p schedule is for
/// that, is added to \p nests.
static llvm::Error addInstance(const PassContext &context, const KernelView &kernel,
                               RaisedKernel raised, const Schedule &schedule,
                               std::vector<NestInUse> &nests,
                               std::vector<ScheduledKernel> &kernels) {
  llvm::Expected<NestInUse> inUse = NestInUse::create(raised.nest, schedule);
  if (!inUse)
    return inUse.takeError();
  raised.nest = inUse->get();
  nests.push_back(std::move(*inUse));
  const PartSums *parts = nests.back().parts();
  std::vector<LaterNest> later;
  if (!parts && raised.last) {
    llvm::Expected<Schedule> ofLast = scheduleAfter(context, raised.last, 1);
    if (!ofLast)
      return ofLast.takeError();
    later.push_back({raised.last, *ofLast, "end"});
  }
  if (!parts)
    return addKernels(context, kernel, raised, schedule, kernels, later);
  if (raised.last)
    return llvm::createStringError("its last block goes on with the sums");
  std::optional<std::string> count = hostText(parts->count, raised.nest);
  if (!count)
    return llvm::createStringError("how many sums it forms is only known on the device");
  const size_t number = parts->nests.size();
  for (size_t i = 1; i < number; ++i) {
    const bool isEnd = i + 1 == number;
    llvm::Expected<Schedule> next =
        parts->formsParts(i)
            ? keysOfNest(schedule).second
            : scheduleAfter(context, parts->nests[i],
                            isEnd && number > 2 ? schedule.integer("vector", 1) : 1);
    if (!next)
      return next.takeError();
    later.push_back({parts->nests[i], *next,
                     isEnd                  ? "end"
                     : parts->formsParts(i) ? wordFor(schedule)
                                            : "total"});
  }
  return addKernels(context, kernel, raised, schedule, kernels, later,
                    GeneratedKernel::Memory{parts->memory, parts->type, *count});
}

/// Adds the kernels of an instance beside the one that \p schedule was chosen for: with that
/// schedule, or else with its own most promising one. Without any it stays as it is.
static void addOther(const PassContext &context, const KernelView &kernel,
                     const RaisedKernel &raised, const Schedule &schedule,
                     std::vector<NestInUse> &nests, std::vector<ScheduledKernel> &kernels) {
  llvm::Error error = addInstance(context, kernel, raised, schedule, nests, kernels);
  if (!error)
    return;
  llvm::consumeError(std::move(error));
  llvm::Expected<Schedule> own = mostPromising(context, raised.nest);
  if (own)
    own = completed(context, raised.nest, Schedule(*own));
  llvm::consumeError(own ? addInstance(context, kernel, raised, *own, nests, kernels)
                         : own.takeError());
}

llvm::Expected<Rewrite> kbopt::scheduleKernel(const PassContext &context, const KernelView &kernel,
                                              const Schedule &schedule) {
  std::vector<RaisedKernel> instances = context.raisedInstances(kernel);
  if (instances.empty())
    return llvm::createStringError(context.raised(kernel).reason);
  std::vector<NestInUse> nests;
  std::vector<ScheduledKernel> scheduled;
  if (llvm::Error error =
          addInstance(context, kernel, instances.front(), schedule, nests, scheduled))
    return std::move(error);
  for (const RaisedKernel &other : llvm::drop_begin(instances))
    addOther(context, kernel, other, schedule, nests, scheduled);
  llvm::Expected<Dispatch> dispatch = dispatchEdits(context, kernel, scheduled);
  if (!dispatch)
    return dispatch.takeError();
  Rewrite rewrite;
  rewrite.edits = std::move(dispatch->edits);
  std::vector<std::string> names;
  for (const ScheduledKernel &each : scheduled) {
    if (!llvm::is_contained(dispatch->kernels, each.generated.name))
      continue;
    rewrite.promise =
        std::max(rewrite.promise.value_or(Promise::Bitwise), promiseOf(each.generated));
    names.push_back("'" + each.generated.name + "'");
    for (const ScheduledKernel::Later &next : each.later) {
      rewrite.promise = std::max(*rewrite.promise, promiseOf(next.generated));
      names.push_back("'" + next.generated.name + "'");
    }
  }
  rewrite.schedule = schedule;
  rewrite.summary = "added " + llvm::join(names, ", ") + " (" + scheduleText(schedule) +
                    "), launched at " + std::to_string(dispatch->launches) +
                    (dispatch->launches == 1 ? " place" : " places");
  if (dispatch->conditional)
    rewrite.summary += dispatch->conditional == dispatch->launches
                           ? " where its conditions hold"
                           : ", at " + std::to_string(dispatch->conditional) +
                                 " of them where its conditions hold";
  if (std::string gain = gainOfOwnArch(schedule, context.target()); !gain.empty())
    rewrite.summary += "; " + gain;
  return rewrite;
}

//===-- The pass -----------------------------------------------------------===//

std::vector<Site> SchedulePass::sites(const PassContext &, const KernelView &kernel) const {
  return ast::kernelSites(kernel);
}

llvm::Expected<Rewrite> SchedulePass::rewrite(const PassContext &context, const Site &site,
                                              const PassOptions &options) const {
  RaisedKernel raised = context.raised(*site.kernel);
  if (!raised.nest)
    return decline(raised.reason);
  const Schedule *before = context.scheduleOf(*site.kernel);
  llvm::Expected<Schedule> schedule = reschedule(context, raised.nest, before, options);
  if (!schedule)
    return declined(schedule.takeError());
  if (before && *before == *schedule)
    return decline("'" + site.kernel->name() + "' has this schedule already");
  llvm::Expected<Rewrite> made = scheduleKernel(context, *site.kernel, *schedule);
  if (made)
    return made;
  constexpr size_t mostAlternatives = 8;
  std::vector<std::string> others = alternatives(context, site, options);
  others.resize(std::min(others.size(), mostAlternatives));
  for (const std::string &text : others) {
    llvm::Expected<Schedule> other = parseSchedule(text);
    llvm::Expected<Rewrite> instead =
        other ? scheduleKernel(context, *site.kernel, *other) : other.takeError();
    if (instead) {
      llvm::consumeError(made.takeError());
      return instead;
    }
    llvm::consumeError(instead.takeError());
  }
  return declined(made.takeError());
}

//===-- Schedules ----------------------------------------------------------===//

/// In how many keys \p full has the value of \p part.
static size_t agreement(const Schedule &full, const Schedule &part) {
  return llvm::count_if(
      part.all(), [&](const auto &entry) { return full.string(entry.first) == entry.second; });
}

llvm::Expected<Schedule> kbopt::completed(const PassContext &context, kb::NestOp nest,
                                          const Schedule &wanted) {
  const auto [ofNest, schedule] = keysOfNest(wanted);
  if (!ofNest.all().empty()) {
    llvm::Expected<NestInUse> inUse = NestInUse::create(nest, ofNest);
    if (!inUse)
      return inUse.takeError();
    llvm::Expected<Schedule> result = completed(context, inUse->get(), schedule);
    if (result)
      for (const auto &[key, value] : ofNest.all())
        result->set(key, StringRef(value));
    return result;
  }
  const Sketch *sketch = findSketch(schedule.sketch());
  if (!sketch)
    return llvm::createStringError("there is no sketch '" + schedule.sketch().str() + "'");
  if (std::string why = sketch->whyNot(nest); !why.empty())
    return llvm::createStringError(why);
  LaunchSizes sizes; // those that the schedule is for
  for (const auto &[name, value] : fixedValues(schedule).value_or(FixedValues()))
    sizes[name] = value;
  // Less precision needs a request that names the unit that multiplies.
  std::vector<Schedule> known =
      sketch->schedules(nest, context.target(), sizes, Freedom{true, schedule.has("core")});
  if (known.empty())
    return llvm::createStringError("no schedule '" + sketch->name().str() + "' fits the chip");
  std::multimap<size_t, Schedule, std::greater<>>
      inOrder; // equal keys stay in the order in which they were added
  for (Schedule &each : known)
    inOrder.emplace(agreement(each, schedule), std::move(each));
  // What is asked for may fit the keys of one and not those of another: a thread tile for a small
  // block tile.
  std::string reason;
  for (auto &[agreed, result] : inOrder) {
    for (StringRef key : {"otherwise", "online"}) // must be requested
      if (result.has(key))
        result.set(key, int64_t(0));
    std::string why; // a key that only schedules of another unit have
    for (const auto &[key, value] : schedule.all()) {
      if (!result.has(key))
        why = "schedule '" + sketch->name().str() + "' has no key '" + key + "'";
      result.set(key, StringRef(value));
    }
    if (why.empty())
      why = whyNotPrinted(context, *sketch, nest, result);
    if (why.empty())
      return result;
    if (reason.empty())
      reason = std::move(why);
  }
  return llvm::createStringError(reason);
}

/// \p schedule without the keys whose values follow from the team, so that they are chosen anew.
/// One row is all that a large team has.
static Schedule withoutDependentKeys(const Schedule &schedule) {
  Schedule result;
  for (const auto &[key, value] : schedule.all())
    if (key != "block" && key != "chunks" && !(key == "rows" && value == "1"))
      result.set(key, StringRef(value));
  return result;
}

llvm::Expected<Schedule> KeysPass::reschedule(const PassContext &context, kb::NestOp nest,
                                              const Schedule *before,
                                              const PassOptions &options) const {
  Schedule wanted;
  if (before) {
    if (!llvm::is_contained(sketchNames, before->sketch()))
      return llvm::createStringError("the kernel is scheduled as '" + before->sketch().str() +
                                     "' by an earlier step");
    wanted = *before;
  } else {
    std::string reason;
    for (StringRef name : sketchNames) {
      const Sketch *sketch = findSketch(name);
      std::string why = sketch ? sketch->whyNot(nest) : "there is no sketch '" + name.str() + "'";
      if (why.empty()) {
        wanted.set("sketch", name);
        break;
      }
      if (reason.empty())
        reason = why;
    }
    if (!wanted.has("sketch"))
      return llvm::createStringError(reason);
  }
  for (const auto &[key, value] : options.all()) {
    if (before && key != "parts" && !before->has(key))
      return llvm::createStringError("schedule '" + before->sketch().str() + "' has no key '" +
                                     key + "'");
    wanted.set(key, StringRef(value));
  }
  if (before && before->string("team") != wanted.string("team"))
    wanted = withoutDependentKeys(wanted);
  return completed(context, nest, wanted);
}

mlir::Operation *kbopt::nestWithSchedule(kb::NestOp nest, mlir::DictionaryAttr schedule) {
  if (Schedule(schedule).integer("simplify")) {
    if (llvm::Expected<kb::NestOp> simpler = simplifyReductions(nest)) {
      nest.erase();
      nest = *simpler;
    } else {
      llvm::consumeError(simpler.takeError()); // then no pass has set it
    }
  }
  if (std::string phases = Schedule(schedule).string("phases").str();
      !phases.empty() && phases != "0") {
    FixedValues fixed = fixedValues(phases).value_or(FixedValues());
    if (llvm::Expected<kb::NestOp> byPhase = splitPhases(nest, fixed)) {
      nest.erase();
      nest = *byPhase;
    } else {
      llvm::consumeError(byPhase.takeError());
    }
  }
  nest.setScheduleAttr(schedule);
  return nest;
}
