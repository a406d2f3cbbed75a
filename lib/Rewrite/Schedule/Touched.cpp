//===- Touched.cpp - The memory that a nest touches ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the extent of the elements of an array that a nest may touch, from the maps of
// its operands, and the conditions of a launch that rest on it.
//
//===----------------------------------------------------------------------===//
#include "Conditions.h"
#include "HostText.h"

using namespace kbopt;
using llvm::StringRef;
using mlir::AffineExpr;
using mlir::AffineExprKind;

namespace {

/// \p expr, of which the named symbols are \p own, with them numbered as those of \p nest are.
AffineExpr inNest(AffineExpr expr, llvm::ArrayRef<mlir::StringAttr> own, kb::NestOp nest) {
  llvm::SmallVector<AffineExpr> symbols;
  mlir::MLIRContext *context = nest.getContext();
  for (unsigned position = 0; position < kb::firstNamedSymbol + own.size(); ++position) {
    unsigned target = position;
    if (position >= kb::firstNamedSymbol) {
      target = kb::firstNamedSymbol;
      for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>()) {
        if (symbol.getName() == kb::symbolName(position, own))
          break;
        ++target;
      }
    }
    symbols.push_back(mlir::getAffineSymbolExpr(target, context));
  }
  return expr.replaceSymbols(symbols);
}

AffineExpr inNest(kb::ExprAttr expr, kb::NestOp nest) {
  return inNest(expr.getExpr(), expr.getSymbols(), nest);
}

/// \p expr, in the symbols of \p nest, as an attribute over \p loops.
kb::ExprAttr asAttr(AffineExpr expr, kb::NestOp nest, llvm::ArrayRef<mlir::StringAttr> loops) {
  llvm::SmallVector<mlir::StringAttr> names;
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    names.push_back(mlir::StringAttr::get(nest.getContext(), symbol.getName()));
  auto map = mlir::AffineMap::get(kb::firstLoopDim + loops.size(),
                                  kb::firstNamedSymbol + names.size(), expr);
  return kb::ExprAttr::get(nest.getContext(), loops, names, map);
}

/// Dimensions are numbered by their position, symbols by their position after this.
constexpr unsigned symbolsFrom = 1 << 16;

/// Products of dimensions and symbols and their coefficients; nothing if \p expr has other
/// operations.
using Products = std::map<std::vector<unsigned>, int64_t>;
Products sumOf(Products left, const Products &right, int64_t factor = 1) {
  for (const auto &[product, coefficient] : right)
    if ((left[product] += coefficient * factor) == 0)
      left.erase(product);
  return left;
}

Products productOf(const Products &left, const Products &right) {
  Products result;
  for (const auto &[a, x] : left)
    for (const auto &[b, y] : right) {
      std::vector<unsigned> both = a;
      both.insert(both.end(), b.begin(), b.end());
      llvm::sort(both);
      result = sumOf(std::move(result), {{both, x * y}});
    }
  return result;
}

std::optional<Products> productsOf(AffineExpr expr) {
  if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
    return number.getValue() ? Products{{{}, number.getValue()}} : Products{};
  if (auto dim = mlir::dyn_cast<mlir::AffineDimExpr>(expr))
    return Products{{{dim.getPosition()}, 1}};
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr))
    return Products{{{symbolsFrom + symbol.getPosition()}, 1}};
  auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary || (expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul))
    return std::nullopt;
  std::optional<Products> left = productsOf(binary.getLHS()), right = productsOf(binary.getRHS());
  if (!left || !right)
    return std::nullopt;
  return expr.getKind() == AffineExprKind::Add ? sumOf(*left, *right) : productOf(*left, *right);
}

/// \p expr multiplied out, longest products first, where that is possible.
AffineExpr exprOf(const Products &products, mlir::MLIRContext *context) {
  std::vector<std::pair<std::vector<unsigned>, int64_t>> terms(products.begin(), products.end());
  llvm::stable_sort(terms,
                    [](const auto &a, const auto &b) { return a.first.size() > b.first.size(); });
  AffineExpr sum;
  for (const auto &[symbols, factor] : terms) {
    AffineExpr term;
    for (unsigned position : symbols) {
      AffineExpr symbol = position < symbolsFrom
                              ? mlir::getAffineDimExpr(position, context)
                              : mlir::getAffineSymbolExpr(position - symbolsFrom, context);
      term = term ? term * symbol : symbol;
    }
    AffineExpr number = mlir::getAffineConstantExpr(factor, context);
    term = !term ? number : factor == 1 ? term : term * number;
    sum = sum ? sum + term : term;
  }
  return sum ? sum : mlir::getAffineConstantExpr(0, context);
}

AffineExpr expanded(AffineExpr expr) {
  std::optional<Products> products = productsOf(expr);
  return products ? exprOf(*products, expr.getContext()) : expr;
}

bool mentions(const Products &products, unsigned dim) {
  return llvm::any_of(products,
                      [&](const auto &term) { return llvm::is_contained(term.first, dim); });
}

bool hasDims(const Products &products) {
  return llvm::any_of(products, [](const auto &term) {
    return !term.first.empty() && term.first.front() < symbolsFrom;
  });
}

/// The factors with which \p product, \p coefficient times, stands in \p products.
Products quotientOf(const Products &products, llvm::ArrayRef<unsigned> product,
                    int64_t coefficient) {
  Products result;
  for (const auto &[term, factor] : products) {
    std::vector<unsigned> rest;
    std::set_difference(term.begin(), term.end(), product.begin(), product.end(),
                        std::back_inserter(rest));
    if (rest.size() + product.size() == term.size() && factor % coefficient == 0)
      result = sumOf(std::move(result), {{rest, factor / coefficient}});
  }
  return result;
}

/// Conditions around \p op that must not be negative.
std::vector<Products> conditionsAround(mlir::Operation *op, kb::NestOp nest) {
  std::vector<Products> all;
  for (mlir::Operation *up = op->getParentOp(); up && up != nest.getOperation();
       up = up->getParentOp()) {
    auto when = mlir::dyn_cast<kb::WhenOp>(up);
    kb::DomainAttr domain = when ? when.getDomainAttr() : kb::DomainAttr();
    if (!domain || domain.isUnknown())
      continue;
    for (unsigned i = 0; i < domain.getSet().getNumConstraints(); ++i)
      if (!domain.getSet().isEq(i))
        if (auto products =
                productsOf(inNest(domain.getSet().getConstraint(i), domain.getSymbols(), nest)))
          all.push_back(std::move(*products));
  }
  return all;
}

/// Where conditions say 0 <= w <= most for a sum w of dimensions and \p offset depends on these by
/// a multiple of w alone: the offset with a new dimension, the next after \p dims, in the place of
/// w. The extents of new dimensions are added to \p extents.
AffineExpr throughWindows(mlir::Operation *op, AffineExpr offset, kb::NestOp nest, unsigned dims,
                          llvm::SmallVectorImpl<AffineExpr> &extents) {
  std::optional<Products> products = productsOf(offset);
  if (!products)
    return offset;
  std::vector<Products> conditions = conditionsAround(op, nest);
  auto replace = [&](const Products &window, const Products &most) {
    for (const auto &[product, coefficient] : window) {
      Products times = quotientOf(*products, product, coefficient);
      if (product.empty() || product.front() >= symbolsFrom || times.empty())
        continue;
      Products fresh{{{unsigned(kb::firstLoopDim + dims + extents.size())}, 1}};
      Products changed =
          sumOf(sumOf(*products, productOf(times, window), -1), productOf(times, fresh));
      bool isGone = llvm::none_of(window, [&](const auto &term) {
        return !term.first.empty() && term.first.front() < symbolsFrom &&
               mentions(changed, term.first.front());
      });
      if (!isGone)
        continue;
      products = std::move(changed);
      extents.push_back(exprOf(most, offset.getContext()) + 1);
      return;
    }
  };
  for (const Products &low : conditions)
    for (const Products &high : conditions)
      if (Products most = sumOf(low, high); hasDims(low) && !hasDims(most))
        replace(low, most);
  return extents.empty() ? offset : exprOf(*products, offset.getContext());
}

/// The greatest value of \p expr over the points; null if it is not known. Symbols that are
/// multiplied with a dimension count as positive and are added to \p factors.
class Extreme {
public:
  Extreme(kb::NestOp nest, llvm::ArrayRef<kb::OverOp> loops, unsigned dims,
          llvm::ArrayRef<AffineExpr> further)
      : nest(nest), loops(loops), further(further), dims(dims + further.size()) {}

  AffineExpr greatest(AffineExpr expr) {
    // Inner dimensions first: their extents may depend on outer ones.
    unsigned first = kb::firstLoopDim;
    for (unsigned at = dims; expr && at-- > 0;)
      expr = atEnd(expr, first + at, extentOf(at));
    return expr;
  }
  /// Whether no point makes \p expr negative.
  bool isNeverNegative(AffineExpr expr) {
    if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
      return number.getValue() >= 0;
    if (mlir::isa<mlir::AffineDimExpr>(expr))
      return true;
    if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
      positive.insert(symbol.getPosition());
      return true;
    }
    auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expr);
    return isNeverNegative(binary.getLHS()) && isNeverNegative(binary.getRHS());
  }
  /// Positions of symbols that must not be negative for the answers to hold.
  std::set<unsigned> positive;

private:
  AffineExpr extentOf(unsigned at) {
    auto extents = llvm::to_vector(nest.getExtents().getAsRange<kb::ExprAttr>());
    if (at >= extents.size() + loops.size())
      return further[at - extents.size() - loops.size()];
    return inNest(at < extents.size() ? extents[at]
                                      : kb::OverOp(loops[at - extents.size()]).getExtent(),
                  nest);
  }

  /// \p expr with dimension \p position at its greatest or least value, whichever makes it greater.
  AffineExpr atEnd(AffineExpr expr, unsigned position, AffineExpr extent) {
    AffineExpr dim = mlir::getAffineDimExpr(position, expr.getContext());
    if (!expr.isFunctionOfDim(position))
      return expr;
    if (expr == dim)
      return extent - 1;
    auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expr);
    AffineExpr left = binary.getLHS(), right = binary.getRHS();
    switch (expr.getKind()) {
    case AffineExprKind::Add: {
      AffineExpr a = atEnd(left, position, extent), b = atEnd(right, position, extent);
      return a && b ? a + b : AffineExpr();
    }
    case AffineExprKind::Mul: {
      if (right.isFunctionOfDim(position))
        return {};
      if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(right);
          number && number.getValue() < 0)
        // The least value is at 0 where the rest is a sum of products.
        return isNeverNegative(left)
                   ? left.replace(dim, mlir::getAffineConstantExpr(0, expr.getContext())) * right
                   : AffineExpr();
      AffineExpr most = isNeverNegative(right) ? atEnd(left, position, extent) : AffineExpr();
      return most ? most * right : AffineExpr();
    }
    case AffineExprKind::Mod:
      return right.isFunctionOfDim(position) ? AffineExpr() : right - 1;
    case AffineExprKind::FloorDiv:
    case AffineExprKind::CeilDiv: {
      AffineExpr most =
          mlir::isa<mlir::AffineConstantExpr>(right) ? atEnd(left, position, extent) : AffineExpr();
      return !most                                       ? AffineExpr()
             : expr.getKind() == AffineExprKind::CeilDiv ? most.ceilDiv(right)
                                                         : most.floorDiv(right);
    }
    default:
      return {};
    }
  }

  kb::NestOp nest;
  llvm::ArrayRef<kb::OverOp> loops;
  llvm::ArrayRef<AffineExpr> further; ///< extents of dimensions after those of the loops
  unsigned dims;
};

llvm::SmallVector<kb::OverOp> loopsAround(mlir::Operation *op) {
  llvm::SmallVector<kb::OverOp> loops;
  for (mlir::Operation *up = op->getParentOp(); up; up = up->getParentOp())
    if (auto over = mlir::dyn_cast<kb::OverOp>(up))
      loops.insert(loops.begin(), over);
  return loops;
}

/// Calls \p visit for every element operand in \p nest and the operation it belongs to.
void forEachElement(
    kb::NestOp nest,
    llvm::function_ref<void(mlir::Operation *, kb::OperandAttr, bool stored)> visit) {
  nest.walk([&](mlir::Operation *op) {
    if (auto operands = op->getAttrOfType<mlir::ArrayAttr>("operands"))
      for (auto operand : operands.getAsRange<kb::OperandAttr>())
        if (operand.getKind() == kb::OperandKind::Element)
          visit(op, operand, false);
    if (auto store = mlir::dyn_cast<kb::StoreOp>(op))
      visit(op, store.getTarget(), true);
  });
}

} // namespace

/// Names of symbols at \p positions that are no extent around the access: nothing else says that
/// they are not negative.
static std::vector<std::string> uncertainSigns(const std::set<unsigned> &positions, kb::NestOp nest,
                                               llvm::ArrayRef<kb::OverOp> loops) {
  auto extents = llvm::to_vector(nest.getExtents().getAsRange<kb::ExprAttr>());
  for (kb::OverOp loop : loops)
    extents.push_back(loop.getExtent());
  std::vector<std::string> names;
  for (unsigned position : positions) {
    if (position < kb::firstNamedSymbol)
      continue;
    StringRef name =
        mlir::cast<kb::SymbolAttr>(nest.getSymbols()[position - kb::firstNamedSymbol]).getName();
    if (llvm::none_of(extents, [&](kb::ExprAttr extent) { return extent.str() == name; }))
      names.push_back(name.str());
  }
  return names;
}

/// One more than the greatest offset of \p operand, an operand of \p op; null if it may lie before
/// the pointer, or if it is not known.
static AffineExpr endOf(mlir::Operation *op, kb::OperandAttr operand, kb::NestOp nest,
                        std::vector<std::string> &notNegative) {
  llvm::SmallVector<kb::OverOp> loops = loopsAround(op);
  unsigned dims = nest.getDims().size() + loops.size();
  llvm::SmallVector<AffineExpr> windows;
  AffineExpr offset = throughWindows(op, inNest(operand.getOffset(), nest), nest, dims, windows);
  Extreme extreme(nest, loops, dims, windows);
  AffineExpr most = extreme.greatest(offset);
  // Indices of array dimensions are not negative, nor are sums of products of what is not.
  bool fromZero = !operand.getIndices().empty() || extreme.isNeverNegative(offset);
  for (kb::ExprAttr stride : operand.getStrides())
    fromZero &= extreme.isNeverNegative(inNest(stride, nest));
  if (!most || !fromZero)
    return {};
  for (std::string &name : uncertainSigns(extreme.positive, nest, loops))
    notNegative.push_back(std::move(name));
  return expanded(most + 1);
}

llvm::Expected<TouchedMemory> kbopt::touchedMemory(kb::NestOp nest, StringRef parameter) {
  TouchedMemory result;
  std::vector<std::string> ends;
  bool known = true;
  forEachElement(nest, [&](mlir::Operation *op, kb::OperandAttr operand, bool) {
    if (!known || operand.getBase().getKind() != kb::BaseKind::Argument ||
        operand.getBase().getName() != parameter)
      return;
    AffineExpr end = endOf(op, operand, nest, result.notNegative);
    known &= bool(end) && (!result.elementBytes || result.elementBytes == operand.getBytes());
    result.elementBytes = operand.getBytes();
    auto text = known ? hostText(asAttr(end, nest, {}), nest) : std::nullopt;
    known &= text.has_value();
    if (text && !llvm::is_contained(ends, *text))
      ends.push_back(*text);
  });
  if (!known || ends.empty() || ends.size() > 3)
    return llvm::createStringError("how much of '" + parameter.str() +
                                   "' the kernel touches is not known");
  result.elements = ends.front();
  for (StringRef other : llvm::drop_begin(ends))
    result.elements = "(" + result.elements + " > " + other.str() + " ? " + result.elements +
                      " : " + other.str() + ")";
  return result;
}

/// Position of the parameter called \p name.
static std::optional<unsigned> argumentNumber(kb::KernelOp kernel, StringRef name) {
  unsigned index = 0;
  for (auto parameter : kernel.getParams().getAsRange<kb::ParamAttr>()) {
    if (parameter.getName() == name)
      return index;
    ++index;
  }
  return std::nullopt;
}

/// Whether \p name is a pointer in a struct that the kernel is given by value: `p.data`.
static bool isFieldName(kb::KernelOp kernel, StringRef name) {
  auto [parameter, field] = name.split('.');
  return !field.empty() && argumentNumber(kernel, parameter);
}

/// What the parameter points to, without qualifiers.
static std::string pointeeOf(kb::KernelOp kernel, unsigned argument) {
  std::string type = mlir::cast<kb::ParamAttr>(kernel.getParams()[argument]).getType().str();
  StringRef words = StringRef(type).take_until([](char c) { return c == '*'; }).trim();
  words.consume_front("const ");
  words.consume_back(" const");
  return words.trim().str();
}

/// Whether \p memory is counted in what the parameter points to.
static bool isElement(kb::KernelOp kernel, unsigned argument, const TouchedMemory &memory) {
  return mlir::cast<kb::ParamAttr>(kernel.getParams()[argument]).getElementBytes() ==
         memory.elementBytes;
}

static bool isRestrict(kb::KernelOp kernel, unsigned argument) {
  return mlir::cast<kb::ParamAttr>(kernel.getParams()[argument]).getIsRestrict();
}

/// That the memory of \p first and \p second, parameters or pointers in such, does not overlap.
/// What the memory's bounds rest on is added to \p others.
static HostCondition disjoint(kb::KernelOp kernel, kb::NestOp nest, const std::string &first,
                              const std::string &second, std::vector<HostCondition> &others) {
  HostCondition condition;
  auto one = argumentNumber(kernel, first), two = argumentNumber(kernel, second);
  if (one && two)
    condition.arguments = {*one, *two};
  auto a = touchedMemory(nest, first), b = touchedMemory(nest, second);
  if (!a || !b) {
    condition.reason = llvm::toString(a ? b.takeError() : a.takeError());
    if (!a && !b)
      llvm::consumeError(b.takeError());
    // What is reached through a pointer lies in the allocation that it points into.
    condition.text = allocationTest.str() + "(" + first + ", " + second + ")";
    condition.testsAllocations = true;
    return condition;
  }
  for (const TouchedMemory &each : {*a, *b})
    for (const std::string &name : each.notNegative)
      others.push_back({asOperand(name) + " >= 0", {}, "", 0, {}, ""});
  bool sameType = one && two && isElement(kernel, *one, *a) && isElement(kernel, *two, *b) &&
                  pointeeOf(kernel, *one) == pointeeOf(kernel, *two);
  auto begin = [&](const std::string &pointer) {
    return (sameType ? "" : "(const char *)") + pointer;
  };
  auto end = [&](const std::string &pointer, const TouchedMemory &memory) {
    std::string bytes =
        "(long long)" + asOperand(memory.elements) + " * " + std::to_string(memory.elementBytes);
    return begin(pointer) + " + " + (sameType ? memory.elements : bytes);
  };
  condition.text =
      end(first, *a) + " <= " + begin(second) + " || " + end(second, *b) + " <= " + begin(first);
  return condition;
}

llvm::Expected<std::vector<HostCondition>> kbopt::conditionsOf(kb::KernelOp kernel, kb::NestOp nest,
                                                               const GeneratedKernel &generated) {
  std::vector<HostCondition> all;
  if (auto requirements = nest.getRequirements())
    for (auto requirement : requirements->getAsRange<kb::ExprAttr>()) {
      auto text = atLeastZero(requirement, nest);
      if (!text)
        return llvm::createStringError("the condition " + requirement.str() +
                                       " >= 0 cannot be tested before the launch");
      all.push_back({*text, requirement, "", 0, {}, ""});
    }
  for (const LaunchCondition &condition : generated.conditions) {
    if (condition.kind == LaunchCondition::Expression) {
      all.push_back({condition.text, {}, "", 0, {}, ""});
      continue;
    }
    auto first = argumentNumber(kernel, condition.text);
    if (condition.kind == LaunchCondition::Aligned) {
      std::string test =
          "(size_t)" + condition.text + " % " + std::to_string(condition.bytes) + " == 0";
      all.push_back({test, {}, condition.text, condition.bytes, {}, ""});
      if (first)
        all.back().arguments.push_back(*first);
      continue;
    }
    auto second = argumentNumber(kernel, condition.other);
    if ((!first && !isFieldName(kernel, condition.text)) ||
        (!second && !isFieldName(kernel, condition.other)))
      return llvm::createStringError("whether '" + condition.text + "' and '" + condition.other +
                                     "' overlap is not known");
    bool isPromised =
        (first && isRestrict(kernel, *first)) || (second && isRestrict(kernel, *second));
    if (!isPromised) {
      HostCondition test = disjoint(kernel, nest, condition.text, condition.other, all);
      all.push_back(std::move(test));
    }
  }
  std::vector<HostCondition> conditions;
  for (HostCondition &each : all)
    if (each.text.empty() || llvm::none_of(conditions, [&](const HostCondition &other) {
          return other.text == each.text;
        }))
      conditions.push_back(std::move(each));
  return conditions;
}
