//===- Arguments.cpp - Sizes that launches pass as constants --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which scalar arguments of a kernel have one value at every launch of the program: a
// constant, or a parameter of the host function that all of its callers give the same constant.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace kbopt;
using namespace clang;

namespace {

/// The calls of the user's functions, those of instantiations included.
struct Calls : DynamicRecursiveASTVisitor {
  explicit Calls(const ParsedProgram &program) : program(&program) {
    ShouldVisitTemplateInstantiations = true;
    TraverseDecl(program.context().getTranslationUnitDecl());
  }
  const ParsedProgram *program;
  const FunctionDecl *around = nullptr;
  struct Call {
    const CallExpr *call;
    const FunctionDecl *caller;
  };
  std::map<const FunctionDecl *, std::vector<Call>> byCallee;

  bool TraverseDecl(Decl *declaration) override {
    if (declaration && !isa<TranslationUnitDecl>(declaration) &&
        program->sources().isInSystemHeader(declaration->getLocation()))
      return true;
    const FunctionDecl *outer = around;
    if (const auto *function = dyn_cast_or_null<FunctionDecl>(declaration))
      around = function;
    const bool result = DynamicRecursiveASTVisitor::TraverseDecl(declaration);
    around = outer;
    return result;
  }
  bool VisitCallExpr(CallExpr *call) override {
    if (const FunctionDecl *callee = call->getDirectCallee(); callee && around)
      byCallee[callee->getCanonicalDecl()].push_back({call, around});
    return true;
  }
};

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
  const Calls &calls = program.derived<Calls>([&] { return Calls(program); });
  auto found = calls.byCallee.find(owner->getCanonicalDecl());
  std::optional<int64_t> common;
  if (found != calls.byCallee.end())
    for (const Calls::Call &each : found->second) {
      const unsigned index = parameter->getFunctionScopeIndex();
      std::optional<int64_t> value =
          index < each.call->getNumArgs()
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
