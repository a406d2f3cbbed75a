//===- Accesses.cpp - How elements of a nest lie along a dimension ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Accesses.h"

using namespace kbopt;
using namespace mlir;

static std::optional<unsigned> positionOf(kb::ExprAttr expr, StringRef dim) {
  for (auto [index, name] : llvm::enumerate(expr.getLoops()))
    if (name.getValue() == dim)
      return kb::firstLoopDim + index;
  return std::nullopt;
}

static AffineExpr simplified(kb::ExprAttr expr, AffineExpr other) {
  return simplifyAffineExpr(other, expr.getMap().getNumDims(), expr.getMap().getNumSymbols());
}

std::optional<int64_t> kbopt::strideAlong(kb::ExprAttr expr, StringRef dim) {
  auto position = positionOf(expr, dim);
  if (!position)
    return 0;
  AffineExpr self = getAffineDimExpr(*position, expr.getContext());
  AffineExpr gain = simplified(expr, expr.getExpr().replace(self, self + 1) - expr.getExpr());
  if (auto constant = dyn_cast<AffineConstantExpr>(gain))
    return constant.getValue();
  return std::nullopt;
}

bool kbopt::dependsOn(kb::ExprAttr expr, StringRef dim) {
  auto position = positionOf(expr, dim);
  return position && expr.getExpr().isFunctionOfDim(*position);
}

bool kbopt::usesNameOf(kb::ExprAttr expr, Block &scope, const CudaText *text) {
  bool found = false;
  for (auto [index, symbol] : llvm::enumerate(expr.getSymbols()))
    if (expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
      scope.walk([&](kb::LetOp let) {
        found |= let.getName() == symbol.getValue() && !(text && text->isHoisted(let));
      });
  return found;
}

namespace {

/// The addends of \p expr, also where it multiplies a sum: `(i + 4) * n` has `i * n` and `4 * n`.
void addends(AffineExpr expr, SmallVectorImpl<AffineExpr> &to) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  const bool isSum = binary && binary.getKind() == AffineExprKind::Add,
             isProduct = binary && binary.getKind() == AffineExprKind::Mul;
  if (!isSum && !isProduct) {
    to.push_back(expr);
    return;
  }
  SmallVector<AffineExpr> left, right;
  addends(binary.getLHS(), left);
  addends(binary.getRHS(), right);
  if (isSum) {
    to.append(left);
    to.append(right);
  } else if (left.size() == 1 && right.size() == 1) {
    to.push_back(expr);
  } else {
    for (AffineExpr each : left)
      for (AffineExpr other : right)
        to.push_back(each * other);
  }
}

/// Splits a product into its constant, its factors without dimensions, and whether there is more.
void factors(AffineExpr expr, int64_t &constant, SmallVectorImpl<AffineExpr> &symbols, bool &more) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    constant *= number.getValue();
  } else if (expr.getKind() != AffineExprKind::Mul && expr.isSymbolicOrConstant()) {
    symbols.push_back(expr);
  } else if (expr.getKind() == AffineExprKind::Mul) {
    factors(cast<AffineBinaryOpExpr>(expr).getLHS(), constant, symbols, more);
    factors(cast<AffineBinaryOpExpr>(expr).getRHS(), constant, symbols, more);
  } else {
    more = true;
  }
}

} // namespace

std::optional<std::vector<std::string>> kbopt::multipleConditions(kb::NestOp nest,
                                                                  kb::ExprAttr expr, StringRef dim,
                                                                  int64_t width,
                                                                  ArrayRef<std::string> met) {
  AffineExpr rest = expr.getExpr();
  if (auto position = positionOf(expr, dim))
    rest = simplified(expr, rest.replace(getAffineDimExpr(*position, expr.getContext()),
                                         getAffineConstantExpr(0, expr.getContext())));
  SmallVector<AffineExpr> terms;
  addends(rest, terms);
  std::vector<std::string> conditions;
  CudaText text(nest);
  // Products of several sizes last: one of them suffices, best one that is required already.
  for (bool ofSeveral : {false, true})
    for (AffineExpr term : terms) {
      int64_t constant = 1;
      SmallVector<AffineExpr> symbols;
      bool more = false, isMet = false;
      factors(term, constant, symbols, more);
      if (constant % width == 0 || (symbols.size() > 1) != ofSeveral)
        continue;
      std::string condition;
      for (AffineExpr symbol : symbols) {
        auto map =
            AffineMap::get(expr.getMap().getNumDims(), expr.getMap().getNumSymbols(), symbol);
        std::string host = text.hostExpression(
            kb::ExprAttr::get(expr.getContext(), expr.getLoops(), expr.getSymbols(), map));
        if (host.empty())
          continue;
        condition = (CudaText::isAtom(host) ? host : "(" + host + ")") + " % " +
                    std::to_string(width) + " == 0";
        isMet |= llvm::is_contained(conditions, condition) || llvm::is_contained(met, condition);
      }
      if (condition.empty())
        return std::nullopt;
      if (!isMet)
        conditions.push_back(condition);
    }
  return conditions;
}

/// \p product without its factor \p self; null if that is not a plain factor of it, once.
static AffineExpr withoutFactor(AffineExpr product, AffineExpr self) {
  if (product == self)
    return getAffineConstantExpr(1, self.getContext());
  auto binary = dyn_cast<AffineBinaryOpExpr>(product);
  if (!binary || binary.getKind() != AffineExprKind::Mul)
    return {};
  for (auto [part, other] :
       {std::pair(binary.getLHS(), binary.getRHS()), std::pair(binary.getRHS(), binary.getLHS())})
    if (AffineExpr rest = withoutFactor(part, self); rest && other.isSymbolicOrConstant())
      return rest * other;
  return {};
}

kb::ExprAttr kbopt::gainAlong(kb::ExprAttr expr, StringRef dim) {
  auto position = positionOf(expr, dim);
  if (!position)
    return {};
  SmallVector<AffineExpr> terms;
  addends(expr.getExpr(), terms);
  AffineExpr gain = getAffineConstantExpr(0, expr.getContext());
  for (AffineExpr term : terms) {
    if (!term.isFunctionOfDim(*position))
      continue;
    AffineExpr rest = withoutFactor(term, getAffineDimExpr(*position, expr.getContext()));
    if (!rest)
      return {};
    gain = gain + rest;
  }
  auto map = AffineMap::get(expr.getMap().getNumDims(), expr.getMap().getNumSymbols(),
                            simplified(expr, gain));
  return kb::ExprAttr::get(expr.getContext(), expr.getLoops(), expr.getSymbols(), map);
}

std::string kbopt::elementKey(CudaText &text, kb::OperandAttr operand, StringRef dim) {
  std::string before = text.nameOf(dim);
  text.setName(dim, "@");
  std::string key =
      operand.getBase().getName().str() + "[" + text.expression(operand.getOffset()) + "]";
  text.setName(dim, before);
  return key;
}

std::string kbopt::vectorType(StringRef type, int64_t bytes) {
  struct Scalar {
    StringRef name, vector;
    int64_t bytes;
  };
  static constexpr Scalar scalars[] = {{"float", "float", 4},
                                       {"int", "int", 4},
                                       {"unsigned int", "uint", 4},
                                       {"unsigned", "uint", 4},
                                       {"double", "double", 8}};
  type.consume_front("const ");
  for (const Scalar &scalar : scalars)
    if (type == scalar.name && bytes > scalar.bytes)
      return scalar.vector.str() + std::to_string(bytes / scalar.bytes);
  return bytes == 16  ? "uint4"
         : bytes == 8 ? "uint2"
         : bytes == 4 ? "unsigned int"
                      : "unsigned short";
}

bool kbopt::isIntegerType(StringRef type) {
  type.consume_front("const ");
  for (StringRef word : {"int", "unsigned", "long", "short", "char", "bool", "size_t", "signed"})
    if (type == word || type.starts_with((word + " ").str()) || type.ends_with((" " + word).str()))
      return type != "long double";
  return type.ends_with("int_t") || type.ends_with("32_t") || type.ends_with("64_t") ||
         type.ends_with("16_t") || type.ends_with("8_t");
}

ArrayAttr kbopt::operandsOf(Operation *op) {
  auto operands = op->getAttrOfType<ArrayAttr>("operands");
  return operands ? operands : ArrayAttr::get(op->getContext(), {});
}

SmallVector<kb::OperandAttr> kbopt::loadsOf(Operation *op) {
  SmallVector<kb::OperandAttr> loads;
  for (auto operand : operandsOf(op).getAsRange<kb::OperandAttr>())
    if (operand.getKind() == kb::OperandKind::Element)
      loads.push_back(operand);
  return loads;
}

void kbopt::forEachAccess(Operation *scope,
                          llvm::function_ref<void(kb::OperandAttr, bool isStore)> look) {
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      look(load, false);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      look(store.getTarget(), true);
  });
}

Neighbours kbopt::neighboursAlong(Operation *scope, StringRef dim) {
  Neighbours found;
  forEachAccess(scope, [&](kb::OperandAttr operand, bool) {
    auto stride = strideAlong(operand.getOffset(), dim);
    if (stride && *stride == 0)
      return;
    (stride && std::abs(*stride) == 1 ? found.areSide : found.areApart) = true;
  });
  return found;
}

bool kbopt::isReadUnderCondition(Operation *op, kb::OperandAttr operand) {
  auto text = op->getAttrOfType<StringAttr>("text");
  ArrayAttr operands = operandsOf(op);
  if (!text)
    return false;
  StringRef words = text.getValue();
  size_t condition = std::min({words.find('?'), words.find("&&"), words.find("||")});
  bool always = false, sometimes = false;
  for (size_t at = words.find('$'); at != StringRef::npos; at = words.find('$', at + 1)) {
    unsigned hole = 0;
    bool isHole = !words.substr(at + 1).take_while(llvm::isDigit).getAsInteger(10, hole) &&
                  hole < operands.size();
    if (isHole && operands[hole] == operand)
      (at < condition ? always : sometimes) = true;
  }
  return sometimes && !always;
}

bool kbopt::mayOverlap(kb::KernelOp kernel, kb::BaseAttr a, kb::BaseAttr b) {
  if (a == b)
    return true;
  auto isRestrict = [&](kb::BaseAttr base) {
    return kernel && base.getKind() == kb::BaseKind::Argument && base.getByteOffset() == 0 &&
           base.getArgument() >= 0 &&
           cast<kb::ParamAttr>(kernel.getParams()[base.getArgument()]).getIsRestrict();
  };
  return !isRestrict(a) && !isRestrict(b);
}
