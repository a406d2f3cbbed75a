//===- Plan.cpp - The functions and arrays that change together ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from a kernel's parameter to the arrays that it is given, to the other kernels that
// are given these, and to the device functions that they hand them to.
//
//===----------------------------------------------------------------------===//

#include "SplitArray.h"
#include "kb-opt/Rewrite/Callers.h"

using namespace kbopt;
using namespace kbopt::split;
using namespace clang;

namespace {

bool runsOnDevice(const FunctionDecl *function) {
  return function->hasAttr<CUDAGlobalAttr>() || function->hasAttr<CUDADeviceAttr>();
}

} // namespace

Plan::Plan(const PassContext &context, const FunctionDecl *kernel, ArrayRef<unsigned> indices)
    : context(context) {
  for (unsigned index : indices)
    addParameter(kernel, index);
  if (!why.empty())
    return;
  spreadUses();
  if (lives.empty())
    stop("no launch of '" + kernel->getName() + "' is in view");
  for (const auto &[pointer, life] : lives)
    if (!life.partialFills.empty() && !pointer->written.empty())
      stop("the copy at " + ast::lineText(context, life.partialFills.front()->getBeginLoc()) +
           " may fill only a part of '" + pointer->variable->getName() + "'");
}

const Pointer *Plan::find(const VarDecl *variable) const {
  for (const auto &each : all)
    if (each->variable->getCanonicalDecl() == variable->getCanonicalDecl())
      return each.get();
  return nullptr;
}

/// Null if there is an obstacle, or the variable is there already.
Pointer *Plan::add(const VarDecl *variable, const FunctionDecl *function) {
  if (!why.empty() || find(variable))
    return nullptr;
  const std::string name = "'" + variable->getNameAsString() + "'";
  QualType type = variable->getType();
  QualType structure = type->isPointerType() ? type->getPointeeType() : QualType();
  const RecordDecl *record = structure.isNull() ? nullptr : structure->getAsRecordDecl();
  if (!record || structure.isVolatileQualified() || type.isVolatileQualified()) {
    stop(name + " is no pointer to a structure");
    return nullptr;
  }
  std::unique_ptr<Layout> &layout = layouts[cast<RecordDecl>(record->getCanonicalDecl())];
  if (!layout)
    layout = std::make_unique<Layout>(context.parsed().context(), structure);
  stop(layout->obstacle());
  all.push_back(std::make_unique<Pointer>());
  all.back()->variable = variable;
  all.back()->function = function;
  all.back()->layout = layout.get();
  all.back()->taken = &names[function];
  return why.empty() ? all.back().get() : nullptr;
}

void Plan::addParameter(const FunctionDecl *function, unsigned index) {
  const std::string name = "'" + function->getNameAsString() + "'";
  const FunctionDecl *definition = function->getDefinition();
  const SourceManager &sources = context.parsed().sources();
  if (!definition || !definition->hasBody() ||
      !sources.isWrittenInMainFile(definition->getLocation()))
    return stop(name + " is defined in another file");
  if (definition->isTemplated() || definition->isTemplateInstantiation() ||
      isa<CXXMethodDecl>(definition) || !definition->getIdentifier())
    return stop(name + " is a template or a member");
  for (const FunctionDecl *each : definition->redecls())
    if (!sources.isWrittenInMainFile(each->getLocation()))
      return stop(name + " is declared in another file");
  const ParmVarDecl *parameter = definition->getParamDecl(index);
  if (parameter->hasDefaultArg() || !parameter->getIdentifier())
    return stop("a parameter of " + name + " has a default or no name");
  Pointer *pointer = add(parameter, definition);
  if (!pointer)
    return;
  stop(followDevice(context, *pointer));
  followCalls(definition, index);
  for (size_t i = 0; i < pointer->handed.size() && why.empty(); ++i)
    addParameter(pointer->handed[i].callee, pointer->handed[i].parameter);
}

/// Adds what the callers of \p function hand it.
void Plan::followCalls(const FunctionDecl *function, unsigned index) {
  const Callers &callers = Callers::in(context.parsed());
  const std::string name = "'" + function->getNameAsString() + "'";
  if (callers.hasOtherUses(function))
    return stop(name + " is used in another way than by a call");
  if (callers.mayBeCalledByTemplate(function))
    return stop("a template may call " + name);
  for (const auto &[call, caller] : callers.callsOf(function)) {
    if (!why.empty())
      return;
    const Expr *argument = call->getNumArgs() > index ? call->getArg(index) : nullptr;
    const VarDecl *variable = argument ? ast::variableOf(argument) : nullptr;
    const std::string line = ast::lineText(context, call->getBeginLoc());
    if (!variable || !caller || caller->isTemplateInstantiation() || caller->isTemplated())
      return stop(name + " is handed structures at " + line + " that are not followed");
    const bool isParameter = isa<ParmVarDecl>(variable);
    if (runsOnDevice(caller) && isParameter && !find(variable))
      addParameter(caller, cast<ParmVarDecl>(variable)->getFunctionScopeIndex());
    else if (!runsOnDevice(caller) && isParameter)
      stop("the callers of '" + caller->getNameAsString() + "' choose what '" +
           variable->getNameAsString() + "' points to");
    else if (!runsOnDevice(caller))
      addArray(variable, caller);
    else if (!isParameter)
      stop(name + " is handed structures at " + line + " that are not followed");
  }
}

void Plan::addArray(const VarDecl *variable, const FunctionDecl *host) {
  const std::string name = "'" + variable->getNameAsString() + "'";
  if (!variable->isLocalVarDecl() || variable->isStaticLocal())
    return stop(name + " is no local variable");
  if (!context.parsed().sources().isWrittenInMainFile(host->getLocation()))
    return stop("'" + host->getNameAsString() + "' is defined in another file");
  Pointer *pointer = add(variable, host);
  if (!pointer)
    return;
  if (variable->getType()->getPointeeType().isConstQualified())
    return stop(name + " points to constants");
  stop(followHost(context, *pointer, lives[pointer]));
  for (size_t i = 0; i < pointer->handed.size() && why.empty(); ++i)
    addParameter(pointer->handed[i].callee, pointer->handed[i].parameter);
}

/// A function that hands a pointer on uses what its callee uses.
void Plan::spreadUses() {
  for (const auto &each : all)
    if (each->names.empty() && isa<ParmVarDecl>(each->variable) && each->handed.empty())
      each->nameOf(context, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &each : all)
      for (const Pointer::Handed &handed : each->handed) {
        const Pointer *callee =
            find(handed.callee->getDefinition()->getParamDecl(handed.parameter));
        for (const auto &[part, name] : callee->names) {
          changed |= !each->names.count(part);
          each->nameOf(context, part);
        }
        for (unsigned part : callee->written)
          changed |= each->written.insert(part).second;
      }
  }
}
