//===- Arguments.cpp - Sizes that launches pass as constants --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which scalar arguments of a kernel have one value at every launch of the program: a
// constant, or a parameter of the host function that all of its callers give the same constant.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Callers.h"

using namespace kbopt;
using namespace clang;

namespace {

/// The value of \p expr in \p function: a constant, or what all callers give a parameter.
std::optional<int64_t> valueOf(const ParsedProgram &program, const Expr *expr,
                               const FunctionDecl *function, unsigned depth) {
  expr = ast::resolve(expr, function);
  if (std::optional<int64_t> value = ast::constantOf(expr, program.context()))
    return value;
  const auto *parameter = dyn_cast_or_null<ParmVarDecl>(ast::variableOf(expr));
  const auto *owner = parameter ? dyn_cast<FunctionDecl>(parameter->getDeclContext()) : nullptr;
  if (!owner || !owner->getBody() || depth == 0 || mayModify(owner->getBody(), parameter))
    return std::nullopt;
  std::optional<int64_t> common;
  for (const Callers::Call &each : Callers::in(program).callsOf(owner)) {
    const unsigned index = parameter->getFunctionScopeIndex();
    std::optional<int64_t> value =
        each.caller && index < each.call->getNumArgs()
            ? valueOf(program, each.call->getArg(index), each.caller, depth - 1)
            : std::nullopt;
    if (!value || (common && *common != *value))
      return std::nullopt;
    common = value;
  }
  return common;
}

} // namespace

void kbopt::addArgumentValues(const PassContext &context, kb::KernelOp kernel,
                              LaunchValues &values) {
  constexpr unsigned depth = 3;
  for (mlir::Attribute each : kernel.getSymbols()) {
    auto symbol = mlir::cast<kb::SymbolAttr>(each);
    if (symbol.getOrigin() != kb::SymbolOrigin::Param || symbol.getArgument() < 0)
      continue;
    std::optional<int64_t> common;
    bool isKnown = true;
    for (kb::LaunchOp launch : context.imported().launchesOf(kernel)) {
      const LaunchFact *fact = context.imported().factOf(launch);
      const Expr *argument = uint64_t(symbol.getArgument()) < fact->arguments.size()
                                 ? fact->arguments[symbol.getArgument()]
                                 : nullptr;
      std::optional<int64_t> value = argument && argument->getType()->isIntegerType()
                                         ? valueOf(context.parsed(), argument, fact->host, depth)
                                         : std::nullopt;
      isKnown &= value && (!common || *common == *value);
      common = value;
    }
    if (isKnown && common)
      values.symbols.try_emplace(symbol.getName(), *common);
  }
}
