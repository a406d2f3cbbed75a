//===- NestWork.cpp - What a nest executes ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NestWork.h"
#include "Accesses.h"
#include "Points.h"
#include "llvm/ADT/Hashing.h"

using namespace kbopt;
using namespace mlir;

static std::optional<unsigned> numberOf(ArrayRef<SizedDim> dims, StringRef name) {
  for (auto [number, dim] : llvm::enumerate(dims))
    if (dim.name == name)
      return unsigned(number);
  return std::nullopt;
}

/// The dimensions that the value of scalar \p name depends on, through what it is loaded from.
static void sourcesOf(kb::NestOp nest, StringRef name, ArrayRef<SizedDim> dims, unsigned depth,
                      DimNumbers &numbers) {
  constexpr unsigned deepest = 4;
  nest.walk([&](kb::LetOp let) {
    if (let.getName() != name || depth > deepest)
      return;
    for (auto operand : let.getOperands().getAsRange<kb::OperandAttr>()) {
      kb::ExprAttr offset = operand.getOffset();
      for (auto [index, loop] : llvm::enumerate(offset.getLoops()))
        if (auto number = numberOf(dims, loop.getValue());
            number && offset.getExpr().isFunctionOfDim(kb::firstLoopDim + index))
          numbers.push_back(*number);
      for (auto [index, symbol] : llvm::enumerate(offset.getSymbols()))
        if (offset.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
          sourcesOf(nest, symbol.getValue(), dims, depth + 1, numbers);
    }
  });
}

PointOffset::PointOffset(kb::NestOp nest, kb::ExprAttr attribute, ArrayRef<SizedDim> dims,
                         const LaunchSizes &sizes)
    : expr(attribute.getExpr()) {
  for (auto [index, loop] : llvm::enumerate(attribute.getLoops())) {
    auto number = numberOf(dims, loop.getValue());
    places.push_back(number.value_or(0));
    if (number && expr.isFunctionOfDim(kb::firstLoopDim + index))
      used.insert(*number);
  }
  for (unsigned i = 0; i < attribute.getMap().getNumSymbols(); ++i) {
    Symbol &symbol = symbols.emplace_back();
    std::string name = kb::symbolName(i, attribute.getSymbols()).str();
    if (auto known = sizes.find(name); known != sizes.end()) {
      symbol.value = known->second;
      continue;
    }
    symbol.seed = size_t(llvm::hash_value(StringRef(name))) | 1;
    if (!expr.isFunctionOfSymbol(i))
      continue;
    sourcesOf(nest, name, dims, 0, symbol.from);
    byData |= !symbol.from.empty();
    for (unsigned number : symbol.from)
      used.insert(number);
  }
}

int64_t PointOffset::evaluate(AffineExpr part, ArrayRef<int64_t> point) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(part))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(part))
    return dim.getPosition() < kb::firstLoopDim
               ? 0
               : point[places[dim.getPosition() - kb::firstLoopDim]];
  if (auto known = dyn_cast<AffineSymbolExpr>(part)) {
    constexpr uint64_t assumed = 4096; // what data names lies among so many
    const Symbol &symbol = symbols[known.getPosition()];
    if (!symbol.seed)
      return symbol.value;
    uint64_t hash = symbol.seed;
    for (unsigned from : symbol.from)
      hash = (hash ^ uint64_t(point[from])) * 0x9E3779B97F4A7C15u;
    return int64_t((hash >> 20) % assumed);
  }
  auto binary = cast<AffineBinaryOpExpr>(part);
  int64_t left = evaluate(binary.getLHS(), point), right = evaluate(binary.getRHS(), point);
  switch (part.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::Mod:
    return right > 0 ? left % right : 0;
  case AffineExprKind::FloorDiv:
    return right > 0 ? left / right : 0;
  default:
    return right > 0 ? int64_t(llvm::divideCeil(uint64_t(left), uint64_t(right))) : 0;
  }
}

unsigned PointOffset::divisions() const {
  unsigned count = 0;
  expr.walk([&](AffineExpr part) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(part);
    bool divides = binary && (part.getKind() == AffineExprKind::Mod ||
                              part.getKind() == AffineExprKind::FloorDiv ||
                              part.getKind() == AffineExprKind::CeilDiv);
    count += divides && !isa<AffineConstantExpr>(binary.getRHS());
  });
  return count;
}

int64_t PointOffset::at(ArrayRef<int64_t> point) const { return evaluate(expr, point); }

/// Instructions of the expression \p text, from its operators and calls. A multiplication and an
/// addition are mostly one.
static WorkStatement costOf(StringRef text, StringRef type) {
  constexpr double division = 8, function = 12;
  WorkStatement cost;
  bool isCall = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '*' || c == '?' || c == '<' || c == '>' || c == '%' || c == '&' || c == '|')
      cost.instructions += 1;
    else if (c == '+' || c == '-')
      cost.instructions += 0.5;
    else if (c == '/')
      cost.instructions += division;
    else if (c == '(' && isCall)
      cost.instructions += 1;
    isCall = llvm::isAlnum(c) || c == '_';
  }
  for (StringRef word : {"exp", "log", "tanh", "sqrt", "sin", "cos", "pow", "erf"})
    for (size_t at = text.find(word); at != StringRef::npos; at = text.find(word, at + 1)) {
      cost.instructions += function;
      cost.special += 2;
    }
  if (type.contains("double"))
    cost.doubles = cost.instructions;
  return cost;
}

NestWork::NestWork(kb::NestOp nest, ArrayRef<SizedDim> dims) {
  DimNumbers points;
  for (auto name : nest.getDims().getAsRange<StringAttr>())
    points.push_back(numberOf(dims, name.getValue()).value_or(0));
  std::map<StringRef, StringRef> types;
  nest.walk<WalkOrder::PreOrder>([&](Operation *op) {
    DimNumbers around = points;
    SmallVector<kb::OverOp> loopsAround;
    for (Operation *each = op->getParentOp(); each != nest.getOperation();
         each = each ? each->getParentOp() : nest.getOperation())
      if (auto over = dyn_cast_or_null<kb::OverOp>(each))
        loopsAround.push_back(over);
    if (op == nest.getOperation())
      return;
    for (kb::OverOp over : llvm::reverse(loopsAround))
      around.push_back(numberOf(dims, over.getName()).value_or(0));
    auto access = [&](kb::OperandAttr operand, bool isStore, bool isAtomic) {
      bool isKnown = llvm::any_of(accesses, [&](const WorkAccess &other) {
        return other.operand == operand && other.isStore == isStore && other.dims == around;
      });
      if (!isKnown)
        accesses.push_back({operand, isStore, isAtomic, around});
    };
    if (auto over = dyn_cast<kb::OverOp>(op)) {
      DimNumbers loop = around;
      loop.push_back(numberOf(dims, over.getName()).value_or(0));
      loops.push_back(loop);
      return;
    }
    for (kb::OperandAttr load : loadsOf(op))
      access(load, false, false);
    StringRef type;
    if (auto let = dyn_cast<kb::LetOp>(op))
      types[let.getName()] = type = let.getType();
    if (auto reduce = dyn_cast<kb::ReduceOp>(op))
      type = types[reduce.getName()];
    if (auto store = dyn_cast<kb::StoreOp>(op)) {
      type = store.getTarget().getType();
      access(store.getTarget(), true, store.getAtomic().has_value());
    }
    if (auto when = dyn_cast<kb::WhenOp>(op); when && when.getDomain()) {
      WorkStatement tests; // a comparison and a sum for each condition
      tests.instructions = 2 * double(when.getDomain()->getSet().getNumConstraints());
      tests.dims = around;
      statements.push_back(std::move(tests));
    }
    if (auto text = op->getAttrOfType<StringAttr>("text")) {
      WorkStatement cost = costOf(text.getValue(), type);
      cost.combines = isa<kb::ReduceOp>(op);
      cost.instructions += cost.combines;
      cost.dims = around;
      statements.push_back(std::move(cost));
    }
  });
}
