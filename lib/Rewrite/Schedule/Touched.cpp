//===- Touched.cpp - The memory that a nest touches ------------------------===//
//
// Owns the extent of the elements of an array that a nest may touch, from the maps of
// its operands, and the conditions of a launch that rest on it.
//
//===----------------------------------------------------------------------===//
#include "Conditions.h"
#include "HostText.h"
#include "kb-opt/Analysis/Legality.h"

using namespace kbopt;
using llvm::StringRef;
using mlir::AffineExpr;
using mlir::AffineExprKind;

namespace {

/// The names of all symbols of \p nest: the space in which expressions of different operations are compared.
llvm::SmallVector<mlir::StringAttr> symbolsOf(kb::NestOp nest) {
  llvm::SmallVector<mlir::StringAttr> names;
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    names.push_back(mlir::StringAttr::get(nest.getContext(), symbol.getName()));
  return names;
}

/// \p expr, which names only the symbols that it uses, in the space of \p symbols.
AffineExpr inSpace(kb::ExprAttr expr, llvm::ArrayRef<mlir::StringAttr> symbols) {
  llvm::SmallVector<AffineExpr> replacements;
  for (unsigned i = 0; i < kb::firstNamedSymbol; ++i)
    replacements.push_back(mlir::getAffineSymbolExpr(i, expr.getContext()));
  for (mlir::StringAttr name : expr.getSymbols()) {
    unsigned position = llvm::find(symbols, name) - symbols.begin();
    replacements.push_back(mlir::getAffineSymbolExpr(kb::firstNamedSymbol + position, expr.getContext()));
  }
  return expr.getExpr().replaceSymbols(replacements);
}

/// The greatest value of \p expr over the points; null if it is not known. Symbols that are
/// multiplied with a dimension count as positive and are added to \p factors.
class Extreme {
public:
  Extreme(kb::NestOp nest, llvm::ArrayRef<kb::OverOp> loops, unsigned dims) : nest(nest), loops(loops), dims(dims) {}

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
    return inSpace(at < extents.size() ? extents[at] : kb::OverOp(loops[at - extents.size()]).getExtent(),
                   symbolsOf(nest));
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
      if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(right); number && number.getValue() < 0)
        // The least value is at 0 where the rest is a sum of products.
        return isNeverNegative(left) ? left.replace(dim, mlir::getAffineConstantExpr(0, expr.getContext())) * right
                                     : AffineExpr();
      AffineExpr most = isNeverNegative(right) ? atEnd(left, position, extent) : AffineExpr();
      return most ? most * right : AffineExpr();
    }
    case AffineExprKind::Mod:
      return right.isFunctionOfDim(position) ? AffineExpr() : right - 1;
    case AffineExprKind::FloorDiv:
    case AffineExprKind::CeilDiv: {
      AffineExpr most = mlir::isa<mlir::AffineConstantExpr>(right) ? atEnd(left, position, extent) : AffineExpr();
      return !most                                     ? AffineExpr()
             : expr.getKind() == AffineExprKind::CeilDiv ? most.ceilDiv(right)
                                                         : most.floorDiv(right);
    }
    default:
      return {};
    }
  }

  kb::NestOp nest;
  llvm::ArrayRef<kb::OverOp> loops;
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
void forEachElement(kb::NestOp nest, llvm::function_ref<void(mlir::Operation *, kb::OperandAttr, bool stored)> visit) {
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

/// Names of symbols at \p positions that are no extent around \p op: nothing else says that they are not negative.
static std::vector<std::string> uncertainSigns(const std::set<unsigned> &positions, kb::NestOp nest,
                                               llvm::ArrayRef<kb::OverOp> loops) {
  auto extents = llvm::to_vector(nest.getExtents().getAsRange<kb::ExprAttr>());
  for (kb::OverOp loop : loops)
    extents.push_back(loop.getExtent());
  std::vector<std::string> names;
  for (unsigned position : positions) {
    if (position < kb::firstNamedSymbol)
      continue;
    StringRef name = kb::symbolName(position, symbolsOf(nest));
    if (llvm::none_of(extents, [&](kb::ExprAttr extent) { return extent.str() == name; }))
      names.push_back(name.str());
  }
  return names;
}

llvm::Expected<std::string> kbopt::touchedBytes(kb::NestOp nest, StringRef parameter,
                                                std::vector<std::string> &notNegative) {
  std::vector<std::string> candidates;
  bool known = true;
  forEachElement(nest, [&](mlir::Operation *op, kb::OperandAttr operand, bool) {
    if (!known || operand.getBase().getKind() != kb::BaseKind::Argument || operand.getBase().getName() != parameter)
      return;
    llvm::SmallVector<kb::OverOp> loops = loopsAround(op);
    unsigned dims = nest.getDims().size() + loops.size();
    Extreme extreme(nest, loops, dims);
    kb::ExprAttr offset = operand.getOffset();
    llvm::SmallVector<mlir::StringAttr> symbols = symbolsOf(nest);
    AffineExpr most = extreme.greatest(inSpace(offset, symbols));
    // Nothing lies before the pointer: indices of array dimensions are not negative, nor are sums of
    // products of what is not.
    bool fromZero = !operand.getIndices().empty() || extreme.isNeverNegative(inSpace(offset, symbols));
    for (kb::ExprAttr stride : operand.getStrides())
      fromZero &= extreme.isNeverNegative(inSpace(stride, symbols));
    if (!most || !fromZero) {
      known = false;
      return;
    }
    for (std::string &name : uncertainSigns(extreme.positive, nest, loops))
      notNegative.push_back(std::move(name));
    AffineExpr bytes = (most + 1) * operand.getBytes();
    unsigned numDims = offset.getMap().getNumDims(), numSymbols = kb::firstNamedSymbol + symbols.size();
    mlir::AffineMap map =
        mlir::AffineMap::get(numDims, numSymbols, mlir::simplifyAffineExpr(bytes, numDims, numSymbols));
    auto text = hostText(kb::ExprAttr::get(nest.getContext(), offset.getLoops(), symbols, map), nest);
    known &= text.has_value();
    if (text && !llvm::is_contained(candidates, *text))
      candidates.push_back(*text);
  });
  if (!known || candidates.empty() || candidates.size() > 3)
    return llvm::createStringError("how much of '" + parameter.str() + "' the kernel touches is not known");
  std::string result = candidates.front();
  for (StringRef other : llvm::drop_begin(candidates))
    result = "(" + result + " > " + other.str() + " ? " + result + " : " + other.str() + ")";
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

static bool isRestrict(kb::KernelOp kernel, unsigned argument) {
  return mlir::cast<kb::ParamAttr>(kernel.getParams()[argument]).getIsRestrict();
}

llvm::Expected<std::vector<HostCondition>> kbopt::conditionsOf(const PassContext &context, kb::KernelOp kernel,
                                                               kb::NestOp nest, const GeneratedKernel &generated) {
  std::vector<HostCondition> conditions;
  auto add = [&](HostCondition condition) {
    if (llvm::none_of(conditions, [&](const HostCondition &each) { return each.text == condition.text; }))
      conditions.push_back(std::move(condition));
  };
  if (auto requirements = nest.getRequirements())
    for (auto requirement : requirements->getAsRange<kb::ExprAttr>()) {
      auto text = atLeastZero(requirement, nest);
      if (!text)
        return llvm::createStringError("the condition " + requirement.str() + " >= 0 cannot be tested before the launch");
      add({*text, requirement, "", 0});
    }
  for (const LaunchCondition &condition : generated.conditions) {
    if (condition.kind == LaunchCondition::Expression) {
      add({condition.text, {}, "", 0});
    } else if (condition.kind == LaunchCondition::Aligned) {
      add({"(size_t)" + condition.text + " % " + std::to_string(condition.bytes) + " == 0", {}, condition.text,
           condition.bytes});
    } else {
      auto first = argumentNumber(kernel, condition.text), second = argumentNumber(kernel, condition.other);
      if (!first || !second)
        return llvm::createStringError("whether '" + condition.text + "' and '" + condition.other +
                                       "' overlap is not known");
      if (isRestrict(kernel, *first) || isRestrict(kernel, *second) ||
          argumentsMayOverlap(context.imported(), kernel, *first, *second).refuted())
        continue;
      std::vector<std::string> notNegative;
      auto a = touchedBytes(nest, condition.text, notNegative);
      if (!a)
        return a.takeError();
      auto b = touchedBytes(nest, condition.other, notNegative);
      if (!b)
        return b.takeError();
      for (const std::string &name : notNegative)
        add({asOperand(name) + " >= 0", {}, "", 0});
      add({"((const char *)" + condition.text + " + " + *a + " <= (const char *)" + condition.other +
               " || (const char *)" + condition.other + " + " + *b + " <= (const char *)" + condition.text + ")",
           {}, "", 0});
    }
  }
  return conditions;
}
