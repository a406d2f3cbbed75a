//===- SumTerms.cpp - The term of a sum as products -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what may be taken apart: arithmetic in one floating-point type. Everything else is one
// factor.
//
//===----------------------------------------------------------------------===//
#include "SumTerms.h"

#include "NestScalars.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kbopt::raise {

//===-- Names and holes ------------------------------------------------------===//

static bool isHole(StringRef leaf) { return leaf.starts_with("$"); }

static bool isNumber(StringRef leaf) {
  return !leaf.empty() && (llvm::isDigit(leaf[0]) || leaf[0] == '.');
}

static StringRef plainType(StringRef type) {
  type.consume_front("const ");
  return type;
}

/// Whether \p expr uses the dimension or symbol \p name.
static bool uses(kb::ExprAttr expr, StringRef name) {
  for (auto [i, loop] : llvm::enumerate(expr.getLoops()))
    if (loop.getValue() == name && expr.getMap().isFunctionOfDim(kb::firstLoopDim + i))
      return true;
  for (auto [i, symbol] : llvm::enumerate(expr.getSymbols()))
    if (symbol.getValue() == name && expr.getMap().isFunctionOfSymbol(kb::firstNamedSymbol + i))
      return true;
  return false;
}

kb::OperandAttr SumReader::operand(StringRef hole) const {
  unsigned index = 0;
  hole.drop_front().getAsInteger(10, index);
  return operands[index];
}

TermRef SumReader::withOwnHoles(const TermRef &term, ArrayAttr own) {
  return rewriteTerm(term, [&](const TermRef &each) -> TermRef {
    unsigned index = 0;
    if (each->kind != Term::Leaf || !isHole(each->text))
      return each;
    StringRef(each->text).drop_front().getAsInteger(10, index);
    auto operand = cast<kb::OperandAttr>(own[index]);
    auto at = llvm::find(operands, operand);
    unsigned number = at - operands.begin();
    if (at == operands.end())
      operands.push_back(operand);
    return makeTerm(Term::Leaf, "$" + std::to_string(number));
  });
}

kb::LetOp SumReader::letInside(StringRef name) const {
  kb::LetOp found;
  over.walk([&](kb::LetOp let) {
    if (let.getName() == name)
      found = let;
  });
  return found;
}

bool SumReader::usesLoop(kb::OperandAttr operand) const {
  if (uses(operand.getOffset(), over.getName()))
    return true;
  return llvm::any_of(operand.getOffset().getSymbols(), [&](StringAttr symbol) {
    return letInside(symbol) && uses(operand.getOffset(), symbol);
  });
}

bool SumReader::usesSunk(kb::OperandAttr operand) const {
  auto isUsed = [&](const std::string &name) { return uses(operand.getOffset(), name); };
  return llvm::any_of(sunk, isUsed) || llvm::any_of(dependent, isUsed);
}

bool SumReader::isInside(const Term &term) const {
  return mentionsLeaf(term, [&](StringRef leaf) {
    return leaf == indicator || (isHole(leaf) ? usesLoop(operand(leaf)) : bool(letInside(leaf)));
  });
}

bool SumReader::isSunk(const Term &term) const {
  return mentionsLeaf(term, [&](StringRef leaf) {
    return leaf == indicator ||
           (isHole(leaf) ? usesSunk(operand(leaf)) : dependent.count(leaf.str()) > 0);
  });
}

bool SumReader::isMixed(const Term &term) const { return isInside(term) && isSunk(term); }

//===-- Types ----------------------------------------------------------------===//

static StringRef resultType(StringRef callee) {
  callee.consume_front("::");
  callee.consume_front("std::");
  return llvm::StringSwitch<StringRef>(callee)
      .Cases({"expf", "__expf", "logf", "__logf", "sqrtf", "rsqrtf", "fabsf", "tanhf", "sinf",
              "cosf", "fmaxf", "fminf", "fmaf"},
             "float")
      .Cases({"exp2f", "log2f", "powf", "__powf", "__ldg", "erff", "__half2float",
              "__bfloat162float", "__frcp_rn"},
             "float")
      .Cases({"exp", "log", "sqrt", "rsqrt", "fabs", "tanh", "sin", "cos", "fmax", "fmin", "fma",
              "pow", "erf"},
             "double")
      .Default("");
}

SumReader::Type SumReader::typeOf(const Term &term) const {
  auto same = [&](StringRef other) { return plainType(other) == type ? Type::Real : Type::Other; };
  auto part = [&](unsigned i) { return typeOf(*term.parts[i]); };
  StringRef text = term.text;
  switch (term.kind) {
  case Term::Leaf:
    if (text == indicator)
      return Type::Real;
    if (isHole(text))
      return operand(text).getKind() == kb::OperandKind::Element ? same(operand(text).getType())
                                                                 : Type::Other;
    if (isNumber(text)) {
      bool isFloat = !text.starts_with("0x") && text.find_last_of("fF") != StringRef::npos;
      bool isInteger = llvm::all_of(text, llvm::isDigit);
      return isInteger ? Type::Number : isFloat || type == "double" ? Type::Real : Type::Other;
    }
    break;
  case Term::Call:
    return text == "__ldg" ? part(0) : same(resultType(text));
  case Term::Cast:
    return same(text);
  case Term::Unary:
    return text == "-" ? part(0) : Type::Other;
  case Term::Binary: {
    if (text != "+" && text != "-" && text != "*" && text != "/")
      return Type::Other;
    Type left = part(0), right = part(1);
    bool isReal =
        left != Type::Other && right != Type::Other && (left == Type::Real || right == Type::Real);
    return isReal ? Type::Real : Type::Other;
  }
  case Term::Choice:
    return part(1) == Type::Real && part(2) == Type::Real ? Type::Real : Type::Other;
  }
  Type found = Type::Other;
  nest.walk([&](kb::LetOp let) {
    if (let.getName() == text && !let.getReassigns())
      found = same(let.getType());
  });
  if (auto kernel = SymbolTable::lookupNearestSymbolFrom<kb::KernelOp>(nest, nest.getKernelAttr()))
    for (auto param : kernel.getParams().getAsRange<kb::ParamAttr>())
      if (param.getName() == text && !param.getIsPointer())
        found = same(param.getType());
  return found;
}

bool SumReader::isReal(const Term &term) const { return typeOf(term) != Type::Other; }

//===-- Indicators -----------------------------------------------------------===//

/// The condition `$a == $b` of two integers says where the loop's index is; the same for all
/// indicators of a term.
bool SumReader::setPoint(const Term &condition) {
  if (condition.kind != Term::Binary || (condition.text != "==" && condition.text != "!="))
    return false;
  for (const TermRef &side : condition.parts)
    if (side->kind != Term::Leaf || !isHole(side->text) ||
        operand(side->text).getKind() != kb::OperandKind::Index)
      return false;
  SmallVector<StringAttr> dims = kb::nestDims(over);
  StringAttr own = over.getNameAttr();
  dims.push_back(own);
  unsigned position = kb::firstLoopDim + dims.size() - 1;
  AffineExpr left = space.wide(operand(condition.parts[0]->text).getOffset(), dims),
             right = space.wide(operand(condition.parts[1]->text).getOffset(), dims);
  if (!left || !right)
    return false;
  AffineExpr index = getAffineDimExpr(position, nest.getContext());
  for (AffineExpr difference : {left - right, right - left}) {
    AffineExpr solution = simplifyAffineExpr(index - difference, position + 1,
                                             kb::firstNamedSymbol + nest.getSymbols().size());
    if (solution.isFunctionOfDim(position))
      continue;
    if (pointIndex && pointIndex != solution)
      return false;
    pointIndex = solution;
    return true;
  }
  return false;
}

/// `c ? a : b` with such a condition is `b + @ * (a - b)`.
TermRef SumReader::withIndicator(const TermRef &term) {
  return rewriteTerm(term, [&](const TermRef &each) -> TermRef {
    if (each->kind != Term::Choice)
      return each;
    TermRef taken = each->parts[1], other = each->parts[2];
    if (!isReal(*taken) || !isReal(*other) || !setPoint(*each->parts[0]))
      return each;
    if (each->parts[0]->text == "!=")
      std::swap(taken, other);
    auto number = [](const TermRef &term, double value) { return Form::of(*term) == Form(value); };
    TermRef chosen = makeTerm(Term::Leaf, indicator);
    TermRef difference = number(other, 0)   ? taken
                         : number(taken, 0) ? makeTerm(Term::Unary, "-", {other})
                                            : makeTerm(Term::Binary, "-", {taken, other});
    TermRef point =
        number(difference, 1) ? chosen : makeTerm(Term::Binary, "*", {difference, chosen});
    return number(other, 0) ? point : makeTerm(Term::Binary, "+", {other, point});
  });
}

/// \p term with the scalars of the loop written out: all of them, or those whose values are to be
/// taken apart.
TermRef SumReader::inlined(const TermRef &term, bool all) {
  return rewriteTerm(term, [&](const TermRef &each) -> TermRef {
    kb::LetOp let = each->kind == Term::Leaf ? letInside(each->text) : kb::LetOp();
    if (!let)
      return each;
    TermRef value = let.getReassigns() || let->getParentOp() != over.getOperation()
                        ? nullptr
                        : parseTerm(let.getText());
    value = value ? withOwnHoles(value, let.getOperands()) : nullptr;
    value = value ? inlined(value, all) : nullptr;
    value = value ? withIndicator(value) : nullptr;
    bool isSame = value && plainType(let.getType()) == type && typeOf(*value) == Type::Real;
    bool isNeeded = all || (value && isMixed(*value)) || dependent.count(each->text);
    return !isNeeded ? each : isSame ? value : nullptr;
  });
}

TermRef SumReader::atPoint(const TermRef &term) {
  TermRef written = inlined(term, true);
  return written && !mentionsLeaf(*written, [](StringRef leaf) { return leaf == indicator; })
             ? written
             : nullptr;
}

//===-- Products -------------------------------------------------------------===//

static bool isZero(const Term &term) { return Form::of(term).isZero(); }

std::optional<std::vector<Product>> SumReader::single(const TermRef &term, bool divides) {
  Product product;
  if (term->text == indicator)
    product.isPoint = true;
  else if (isMixed(*term) || !isReal(*term))
    return std::nullopt;
  else if (Form::of(*term) == Form(1) && term->kind == Term::Leaf)
    ;
  else
    (isInside(*term) ? product.inside : product.outside).push_back({term, divides});
  return std::vector<Product>{product};
}

std::optional<std::vector<Product>> SumReader::times(const TermRef &left, const TermRef &right) {
  auto a = expand(left), b = expand(right);
  if (!a || !b)
    return std::nullopt;
  std::vector<Product> result;
  for (const Product &x : *a)
    for (const Product &y : *b) {
      Product product = x;
      product.isNegative ^= y.isNegative;
      product.isPoint |= y.isPoint; // 1 * 1 is 1
      llvm::append_range(product.inside, y.inside);
      llvm::append_range(product.outside, y.outside);
      result.push_back(product);
    }
  return result;
}

std::optional<std::vector<Product>> SumReader::expand(const TermRef &term) {
  constexpr size_t mostProducts = 8;
  bool isSum = term->kind == Term::Binary && (term->text == "+" || term->text == "-");
  if (term->kind == Term::Leaf && isNumber(term->text) && isZero(*term))
    return std::vector<Product>{};
  if (!isReal(*term))
    return std::nullopt;
  if (term->kind == Term::Unary && term->text == "-") {
    auto part = expand(term->parts[0]);
    if (part)
      for (Product &each : *part)
        each.isNegative ^= true;
    return part;
  }
  if (term->kind == Term::Binary && term->text == "*")
    return times(term->parts[0], term->parts[1]);
  if (term->kind == Term::Binary && term->text == "/") {
    auto divided = expand(term->parts[0]), divisor = single(term->parts[1], true);
    if (!divided || !divisor || divisor->front().isPoint)
      return std::nullopt;
    for (Product &each : *divided) {
      llvm::append_range(each.inside, divisor->front().inside);
      llvm::append_range(each.outside, divisor->front().outside);
    }
    return divided;
  }
  if (!isSum || !isMixed(*term))
    return single(term);
  auto left = expand(term->parts[0]), right = expand(term->parts[1]);
  if (!left || !right || left->size() + right->size() > mostProducts)
    return std::nullopt;
  for (Product &each : *right) {
    each.isNegative ^= term->text == "-";
    left->push_back(each);
  }
  return left;
}

std::optional<std::vector<Product>> SumReader::read(kb::ReduceOp reduce, StringRef variableType) {
  type = plainType(variableType).str();
  if (type != "float" && type != "double")
    return std::nullopt;
  TermRef term = parseTerm(reduce.getText());
  term = term ? withOwnHoles(term, reduce.getOperands()) : nullptr;
  term = term ? withIndicator(term) : nullptr;
  term = term ? inlined(term, false) : nullptr;
  // `fmaf(a, b, c)` is taken apart only where it must be.
  term = term ? rewriteTerm(term,
                            [&](const TermRef &each) -> TermRef {
                              bool isFused = each->kind == Term::Call &&
                                             (each->text == "fmaf" || each->text == "fma") &&
                                             each->parts.size() == 3 && isMixed(*each);
                              return isFused ? makeTerm(Term::Binary, "+",
                                                        {makeTerm(Term::Binary, "*",
                                                                  {each->parts[0], each->parts[1]}),
                                                         each->parts[2]})
                                             : each;
                            })
              : nullptr;
  return term ? expand(term) : std::nullopt;
}

//===-- Back to text ---------------------------------------------------------===//

TermRef SumReader::extentTerm() {
  kb::ExprAttr extent = over.getExtent();
  operands.push_back(
      kb::OperandAttr::get(nest.getContext(), kb::OperandKind::Index,
                           kb::BaseAttr::get(nest.getContext(), kb::BaseKind::Unknown, "", -1, 0),
                           "int", 4, extent, {}, {}));
  return makeTerm(Term::Cast, type,
                  {makeTerm(Term::Leaf, "$" + std::to_string(operands.size() - 1))});
}

TermRef SumReader::placed(const TermRef &term, NestSpace::Dims dims,
                          std::vector<kb::OperandAttr> &table,
                          const NestSpace::Values &values) const {
  return rewriteTerm(term, [&](const TermRef &each) -> TermRef {
    if (each->kind != Term::Leaf || !isHole(each->text))
      return each;
    kb::OperandAttr attribute = space.moved(operand(each->text), dims, values);
    if (!attribute)
      return nullptr;
    auto at = llvm::find(table, attribute);
    unsigned number = at - table.begin();
    if (at == table.end())
      table.push_back(attribute);
    return makeTerm(Term::Leaf, "$" + std::to_string(number));
  });
}

} // namespace kbopt::raise
