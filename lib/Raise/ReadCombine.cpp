//===- ReadCombine.cpp - Steps of reductions -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the recognition of statements that combine a value into a scalar.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "ThreadReader.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace kbopt::raise {

/// The neutral element of \p reduction as C++ text; empty where it is not known.
static std::string identityOf(llvm::StringRef reduction, QualType type, llvm::StringRef typeText) {
  bool isFloat = type->isRealFloatingType() && !type->isHalfType();
  bool isDouble = type->isSpecificBuiltinType(BuiltinType::Double);
  bool isInteger = type->isIntegerType();
  if (reduction == "add" || reduction == "mul") {
    std::string digit = reduction == "add" ? "0" : "1";
    if (isInteger)
      return digit;
    return isFloat ? digit + (isDouble ? ".0" : ".0f") : typeText.str() + "(" + digit + ".0f)";
  }
  if (reduction == "max" || reduction == "min") {
    if (isFloat)
      return reduction == "max" ? "-INFINITY" : "INFINITY";
    if (type->isSpecificBuiltinType(BuiltinType::Int))
      return reduction == "max" ? "-2147483647 - 1" : "2147483647";
    return isInteger ? "" : typeText.str() + (reduction == "max" ? "(-INFINITY)" : "(INFINITY)");
  }
  if (!isInteger)
    return "";
  return reduction == "and" ? "~0" : "0";
}

bool ThreadReader::combineBy(const std::string &name, QualType type, llvm::StringRef reduction,
                             llvm::StringRef combine, const Expr *term, Body &out, bool negates) {
  if (identityOf(reduction, type, typeText(type.getUnqualifiedType())).empty())
    return false;
  Text text = term ? textOf(term, out) : Text{"1", {}};
  if (negates)
    text.text = "-(" + text.text + ")";
  return combineText(name, type, reduction, combine, std::move(text), out);
}

bool ThreadReader::combineText(const std::string &name, QualType type, llvm::StringRef reduction,
                               llvm::StringRef combine, Text term, Body &out) {
  Statement result;
  result.kind = Statement::Combine;
  result.name = name;
  result.type = typeText(type.getUnqualifiedType());
  result.reduction = reduction;
  result.combine = combine;
  result.identity = identityOf(reduction, type, result.type);
  if (result.identity.empty())
    return false;
  result.value = std::move(term);
  out.push_back(std::move(result));
  return true;
}

/// The variable that \p expr is, or a copy of which it hands over, as a half is.
static const VarDecl *handedOver(const Expr *expr) {
  expr = strip(expr);
  if (const auto *copy = llvm::dyn_cast<CXXConstructExpr>(expr);
      copy && copy->getNumArgs() == 1 && copy->getConstructor()->isCopyOrMoveConstructor())
    expr = copy->getArg(0);
  return variableOf(expr);
}

static llvm::StringRef reductionOfOperator(llvm::StringRef opcode) {
  return llvm::StringSwitch<llvm::StringRef>(opcode)
      .Cases({"+", "-"}, "add")
      .Case("*", "mul")
      .Case("&", "and")
      .Case("|", "or")
      .Case("^", "xor")
      .Default("");
}

static llvm::StringRef reductionOfFunction(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases({"fmaxf", "fmax", "max", "__hmax", "__hmax_nan"}, "max")
      .Cases({"fminf", "fmin", "min", "__hmin", "__hmin_nan"}, "min")
      .Cases({"__hadd", "__fadd_rn"}, "add")
      .Default("");
}

bool ThreadReader::readChain(const std::string &name, const VarDecl *variable, const Expr *value,
                             Body &out) {
  llvm::SmallVector<std::pair<const Expr *, bool>> terms; // the last one first
  const auto *sum = llvm::dyn_cast<BinaryOperator>(value);
  while (sum && sum->isAdditiveOp()) {
    terms.push_back({sum->getRHS(), sum->getOpcode() == BO_Sub});
    value = strip(sum->getLHS());
    sum = llvm::dyn_cast<BinaryOperator>(value);
  }
  QualType type = variable->getType();
  bool isSum = terms.size() > 1 && variableOf(value) == variable &&
               (type->isRealFloatingType() || type->isSignedIntegerType()) &&
               llvm::all_of(terms, [&](auto &term) {
                 return !countMentions(term.first, variable) &&
                        ast.hasSameUnqualifiedType(term.first->getType(), type);
               });
  for (auto &[term, negates] : llvm::reverse(terms))
    if (isSum)
      isSum = combineBy(name, type, "add", "%a + %b", term, out, negates);
  return isSum;
}

bool ThreadReader::readFused(const std::string &name, const VarDecl *variable, const Expr *value,
                             Body &out) {
  const auto *call = llvm::dyn_cast<CallExpr>(value);
  static const llvm::StringSet<> fused = {"fmaf", "fma", "__fmaf_rn", "__fma_rn", "__hfma"};
  if (!call || call->getNumArgs() != 3 || !fused.contains(calleeName(call)) ||
      handedOver(call->getArg(2)) != variable || countMentions(call->getArg(0), variable) ||
      countMentions(call->getArg(1), variable) ||
      !ast.hasSameUnqualifiedType(ast.getCanonicalType(call->getType()),
                                  ast.getCanonicalType(variable->getType())))
    return false;
  bool isHalf = calleeName(call) == "__hfma";
  if (!isHalf && !variable->getType()->isRealFloatingType())
    return false;
  // What is rounded to the sum's type first is another product.
  for (unsigned i : {0, 1})
    if (QualType type = strip(call->getArg(i))->getType();
        type->isRealFloatingType() && !ast.hasSameUnqualifiedType(type, variable->getType()))
      return false;
  Text product = textOf(call->getArg(0), out), factor = textOf(call->getArg(1), out);
  auto closed = [](const std::string &text) {
    bool isOne =
        llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; });
    return isOne ? text : "(" + text + ")";
  };
  std::string left = product.text,
              right = shiftHoles(factor.text, product.operands.size()); // its holes follow
  product.text =
      isHalf ? "__hmul(" + left + ", " + right + ")" : closed(left) + " * " + closed(right);
  for (Operand &operand : factor.operands)
    product.operands.push_back(std::move(operand));
  return combineText(name, variable->getType(), "add", isHalf ? "__hadd(%a, %b)" : "%a + %b",
                     std::move(product), out);
}

bool ThreadReader::readCombine(const Expr *left, const Expr *right, llvm::StringRef opcode,
                               Body &out) {
  const VarDecl *variable = variableOf(left);
  auto at = values.find(variable);
  if (at == values.end() || at->second.kind != Value::Scalar)
    return false;
  const std::string name = at->second.name;
  QualType type = variable->getType();
  if (!opcode.empty()) {
    llvm::StringRef reduction = reductionOfOperator(opcode);
    if (reduction.empty() || (right && countMentions(right, variable)))
      return false;
    // A sum in a wider type than the variable's is rounded at each step.
    if (right &&
        !ast.hasSameUnqualifiedType(ast.getCanonicalType(type),
                                    ast.getCanonicalType(right->getType())) &&
        type->isIntegerType() != right->getType()->isIntegerType())
      if (type->isIntegerType())
        return false;
    bool negates = opcode == "-";
    if (negates && type->isUnsignedIntegerType())
      return false;
    std::string combine = "%a " + (negates ? std::string("+") : opcode.str()) + " %b";
    return combineBy(name, type, reduction, combine, right, out, negates);
  }
  const Expr *value = strip(right);
  if (readChain(name, variable, value, out) || readFused(name, variable, value, out))
    return true;
  if (const auto *binary = llvm::dyn_cast<BinaryOperator>(value)) {
    llvm::StringRef reduction = reductionOfOperator(binary->getOpcodeStr());
    bool isFirst = variableOf(binary->getLHS()) == variable;
    const Expr *other = isFirst ? binary->getRHS() : binary->getLHS();
    bool isLast = variableOf(binary->getRHS()) == variable;
    if (reduction.empty() || isFirst == isLast || countMentions(other, variable) ||
        binary->getOpcode() == BO_Sub)
      return false;
    std::string op = " " + binary->getOpcodeStr().str() + " ";
    return combineBy(name, type, reduction, isFirst ? "%a" + op + "%b" : "%b" + op + "%a", other,
                     out);
  }
  if (const auto *call = llvm::dyn_cast<CallExpr>(value); call && call->getNumArgs() == 2) {
    llvm::StringRef function = calleeName(call), reduction = reductionOfFunction(function);
    bool isOperator = llvm::isa<CXXOperatorCallExpr>(call);
    if (isOperator)
      reduction = reductionOfOperator(
          getOperatorSpelling(llvm::cast<CXXOperatorCallExpr>(call)->getOperator()));
    if (reduction.empty() || !call->getDirectCallee() ||
        !ast.getSourceManager().isInSystemHeader(call->getDirectCallee()->getLocation()))
      return false;
    bool isFirst = handedOver(call->getArg(0)) == variable,
         isLast = handedOver(call->getArg(1)) == variable;
    const Expr *other = call->getArg(isFirst ? 1 : 0);
    if (isFirst == isLast || countMentions(other, variable))
      return false;
    std::string a = isFirst ? "%a" : "%b", b = isFirst ? "%b" : "%a";
    if (isOperator) {
      std::string op = getOperatorSpelling(llvm::cast<CXXOperatorCallExpr>(call)->getOperator());
      return op != "-" && combineBy(name, type, reduction, a + " " + op + " " + b, other, out);
    }
    return combineBy(name, type, reduction, function.str() + "(" + a + ", " + b + ")", other, out);
  }
  if (const auto *choice = llvm::dyn_cast<ConditionalOperator>(value)) {
    const auto *test = llvm::dyn_cast<BinaryOperator>(strip(choice->getCond()));
    if (!test || !test->isRelationalOp())
      return false;
    const Expr *other = variableOf(choice->getTrueExpr()) == variable ? choice->getFalseExpr()
                                                                      : choice->getTrueExpr();
    bool keepsFirst = variableOf(choice->getTrueExpr()) == variable;
    bool keepsLast = variableOf(choice->getFalseExpr()) == variable;
    bool testsFirst = variableOf(test->getLHS()) == variable,
         testsLast = variableOf(test->getRHS()) == variable;
    const Expr *tested = testsFirst ? test->getRHS() : test->getLHS();
    if (keepsFirst == keepsLast || testsFirst == testsLast || countMentions(other, variable) ||
        sourceText(strip(tested)) != sourceText(strip(other)))
      return false;
    bool isGreater = test->getOpcode() == BO_GT || test->getOpcode() == BO_GE;
    bool isMax = isGreater == (testsFirst == keepsFirst);
    std::string op = " " + test->getOpcodeStr().str() + " ";
    std::string condition = testsFirst ? "%a" + op + "%b" : "%b" + op + "%a";
    return combineBy(name, type, isMax ? "max" : "min",
                     condition + (keepsFirst ? " ? %a : %b" : " ? %b : %a"), other, out);
  }
  return false;
}

bool ThreadReader::assignPart(const Expr *left, const Expr *right, llvm::StringRef opcode,
                              Body &out) {
  const std::string *part = partName(left);
  if (!part)
    return false;
  const std::string name = *part;
  Text value = right ? textOf(right, out) : Text{"1", {}};
  if (failed())
    return true;
  llvm::StringRef reduction = reductionOfOperator(opcode);
  if (!opcode.empty() && opcode != "-" && !reduction.empty() && !mentions(value.text, name) &&
      combineText(name, left->getType(), reduction, "%a " + opcode.str() + " %b", value, out))
    return true;
  Statement assign;
  assign.kind = Statement::Assign;
  assign.name = name;
  assign.value = std::move(value);
  if (!opcode.empty())
    assign.value.text = name + " " + opcode.str() + " (" + assign.value.text + ")";
  out.push_back(std::move(assign));
  return true;
}

bool ThreadReader::readConditionalMaximum(const IfStmt *branch, Body &out) {
  if (branch->getElse())
    return false;
  const Stmt *then = branch->getThen();
  if (const auto *block = llvm::dyn_cast<CompoundStmt>(then))
    then = block->size() == 1 ? block->body_front() : nullptr;
  const auto *assign = llvm::dyn_cast_or_null<BinaryOperator>(then);
  const auto *test = llvm::dyn_cast<BinaryOperator>(strip(branch->getCond()));
  if (!assign || assign->getOpcode() != BO_Assign || !test || !test->isRelationalOp())
    return false;
  const VarDecl *variable = variableOf(assign->getLHS());
  auto at = values.find(variable);
  if (!variable || at == values.end() || at->second.kind != Value::Scalar)
    return false;
  bool testsFirst = variableOf(test->getLHS()) == variable,
       testsLast = variableOf(test->getRHS()) == variable;
  const Expr *tested = testsFirst ? test->getRHS() : test->getLHS();
  if (testsFirst == testsLast || countMentions(assign->getRHS(), variable) ||
      sourceText(strip(tested)) != sourceText(strip(assign->getRHS())) ||
      !ast.hasSameUnqualifiedType(strip(tested)->getType(), variable->getType()))
    return false;
  bool isGreater = test->getOpcode() == BO_GT || test->getOpcode() == BO_GE;
  std::string op = " " + test->getOpcodeStr().str() + " ";
  std::string condition = testsFirst ? "%a" + op + "%b" : "%b" + op + "%a";
  return combineBy(at->second.name, variable->getType(), isGreater == testsFirst ? "min" : "max",
                   condition + " ? %b : %a", assign->getRHS(), out);
}

} // namespace kbopt::raise
