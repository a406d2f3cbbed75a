//===- EntryValues.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Rewrite/EntryValues.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Callers.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Calls are followed so deep, upwards and downwards.
constexpr unsigned mostCalls = 8;

using Value = std::optional<int64_t>;

class Evaluator {
public:
  explicit Evaluator(const PassContext &context)
      : context(context), ast(context.parsed().context()), entry(context.entryValues()) {}

  /// \p expr of \p function.
  Value of(const Expr *expr, const FunctionDecl *function);

private:
  Value ofParameter(const ParmVarDecl *parameter, const FunctionDecl *function);
  Value ofBinary(const BinaryOperator *binary, const FunctionDecl *function);
  Value ofCall(const CallExpr *call, const FunctionDecl *function);

  const PassContext &context;
  const ASTContext &ast;
  const EntryValues &entry;
  /// Parameters of functions that are evaluated for the arguments of one call.
  std::map<const ParmVarDecl *, int64_t> bound;
  unsigned calls = 0;
};

Value Evaluator::of(const Expr *expr, const FunctionDecl *function) {
  expr = ast::resolve(expr, function);
  if (!expr || expr->isValueDependent() || !expr->getType()->isIntegralOrEnumerationType())
    return std::nullopt;
  if (Value constant = ast::constantOf(expr, ast))
    return constant;
  Value value;
  if (const auto *cast = dyn_cast<CastExpr>(expr)) {
    value = of(cast->getSubExpr(), function);
  } else if (const auto *unary = dyn_cast<UnaryOperator>(expr)) {
    if (unary->getOpcode() == UO_Minus)
      if (Value operand = of(unary->getSubExpr(), function))
        value = llvm::checkedSub<int64_t>(0, *operand);
  } else if (const auto *binary = dyn_cast<BinaryOperator>(expr)) {
    value = ofBinary(binary, function);
  } else if (const auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    if (Value condition = of(choice->getCond(), function))
      value = of(*condition ? choice->getTrueExpr() : choice->getFalseExpr(), function);
  } else if (const auto *call = dyn_cast<CallExpr>(expr)) {
    value = ofCall(call, function);
  } else if (const auto *parameter = dyn_cast_or_null<ParmVarDecl>(ast::variableOf(expr))) {
    value = ofParameter(parameter, function);
  }
  const unsigned bits = ast.getIntWidth(expr->getType());
  const bool isUnsigned = expr->getType()->isUnsignedIntegerOrEnumerationType();
  if (value && (isUnsigned ? *value < 0 || !llvm::isUIntN(std::min(bits, 63u), uint64_t(*value))
                           : !llvm::isIntN(bits, *value)))
    return std::nullopt;
  return value;
}

Value Evaluator::ofBinary(const BinaryOperator *binary, const FunctionDecl *function) {
  const Value left = of(binary->getLHS(), function), right = of(binary->getRHS(), function);
  if (!left || !right)
    return std::nullopt;
  switch (binary->getOpcode()) {
  case BO_Add:
    return llvm::checkedAdd(*left, *right);
  case BO_Sub:
    return llvm::checkedSub(*left, *right);
  case BO_Mul:
    return llvm::checkedMul(*left, *right);
  case BO_Div:
    return *right > 0 ? Value(*left / *right) : std::nullopt;
  case BO_Rem:
    return *right > 0 ? Value(*left % *right) : std::nullopt;
  case BO_Shl:
    return *right >= 0 && *right < 62 ? llvm::checkedMul(*left, int64_t(1) << *right)
                                      : std::nullopt;
  case BO_Shr:
    return *left >= 0 && *right >= 0 && *right < 63 ? Value(*left >> *right) : std::nullopt;
  case BO_LT:
    return *left < *right;
  case BO_GT:
    return *left > *right;
  case BO_LE:
    return *left <= *right;
  case BO_GE:
    return *left >= *right;
  case BO_EQ:
    return *left == *right;
  case BO_NE:
    return *left != *right;
  default:
    return std::nullopt;
  }
}

/// A function that returns one expression, and std::min and std::max.
Value Evaluator::ofCall(const CallExpr *call, const FunctionDecl *function) {
  const FunctionDecl *callee = call->getDirectCallee(), *definition = nullptr;
  if (!callee || calls == mostCalls || isa<CXXMethodDecl>(callee))
    return std::nullopt;
  std::vector<int64_t> arguments;
  for (const Expr *argument : call->arguments()) {
    Value value = of(argument, function);
    if (!value)
      return std::nullopt;
    arguments.push_back(*value);
  }
  if (arguments.size() == 2 && callee->getIdentifier() &&
      (callee->getName() == "min" || callee->getName() == "max"))
    return callee->getName() == "min" ? std::min(arguments[0], arguments[1])
                                      : std::max(arguments[0], arguments[1]);
  if (!callee->hasBody(definition) || definition->getNumParams() != arguments.size())
    return std::nullopt;
  const auto *body = dyn_cast<CompoundStmt>(definition->getBody());
  const auto *returned =
      body && body->size() == 1 ? dyn_cast<ReturnStmt>(body->body_front()) : nullptr;
  if (!returned || !returned->getRetValue())
    return std::nullopt;
  std::map<const ParmVarDecl *, int64_t> before = bound;
  for (unsigned i = 0; i < arguments.size(); ++i)
    bound[definition->getParamDecl(i)] = arguments[i];
  ++calls;
  Value value = of(returned->getRetValue(), definition);
  --calls;
  bound = std::move(before);
  return value;
}

Value Evaluator::ofParameter(const ParmVarDecl *parameter, const FunctionDecl *function) {
  if (auto known = bound.find(parameter); known != bound.end())
    return known->second;
  if (!function || !function->getBody() || mayModify(function->getBody(), parameter))
    return std::nullopt;
  if (isNamed(function->getQualifiedNameAsString(), entry.function)) {
    auto found = entry.parameters.find(parameter->getName().str());
    return found == entry.parameters.end() ? std::nullopt : Value(found->second);
  }
  if (calls == mostCalls)
    return std::nullopt;
  // What all calls pass.
  const unsigned index = parameter->getFunctionScopeIndex();
  Value common;
  ++calls;
  for (const Callers::Call &each : Callers::in(context.parsed()).callsOf(function)) {
    Value value = each.caller && index < each.call->getNumArgs()
                      ? of(each.call->getArg(index), each.caller)
                      : std::nullopt;
    if (!value || (common && *common != *value)) {
      common.reset();
      break;
    }
    common = value;
  }
  --calls;
  return common;
}

} // namespace

std::optional<int64_t> kbopt::valueAtEntry(const PassContext &context, const Expr *expr,
                                           const FunctionDecl *host) {
  return context.entryValues().function.empty() || !expr ? std::nullopt
                                                         : Evaluator(context).of(expr, host);
}
