//===- SplitPhases.cpp - Points by the phase of a stride --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   points (i < n):  over k < (i mod s + K) / s:  y[i] += x[i / s - k] * w[i mod s + k * s]
// ==>
//   points (p < s, q < n / s):  over k < K / s:  when k < (p + K) / s:
//     y[q * s + p] += x[q - k] * w[p + k * s]
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Raise/Phases.h"

#include "NestSpace.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace kbopt;
using namespace kbopt::raise;

namespace {

constexpr int64_t mostPhases = 64;

//===-- Expressions -------------------------------------------------------===//

void addends(AffineExpr expr, int64_t factor, SmallVectorImpl<AffineExpr> &terms) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  auto number = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr();
  if (binary && expr.getKind() == AffineExprKind::Add) {
    addends(binary.getLHS(), factor, terms);
    addends(binary.getRHS(), factor, terms);
  } else if (number && expr.getKind() == AffineExprKind::Mul) {
    addends(binary.getLHS(), factor * number.getValue(), terms);
  } else {
    terms.push_back(expr * factor);
  }
}

/// \p expr as a sum of products, in which divisions by a constant have lost what it divides.
AffineExpr simplified(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr left = simplified(binary.getLHS()), right = simplified(binary.getRHS());
  auto divisor = dyn_cast<AffineConstantExpr>(right);
  bool isMod = expr.getKind() == AffineExprKind::Mod,
       isDivision = isMod || expr.getKind() == AffineExprKind::FloorDiv;
  if (!isDivision || !divisor || divisor.getValue() <= 0) {
    SmallVector<AffineExpr> terms;
    addends(getAffineBinaryOpExpr(expr.getKind(), left, right), 1, terms);
    AffineExpr sum = getAffineConstantExpr(0, expr.getContext());
    for (AffineExpr term : terms)
      sum = sum + term;
    return sum;
  }
  AffineExpr inside = getAffineConstantExpr(0, expr.getContext()), outside = inside;
  SmallVector<AffineExpr> terms;
  addends(left, 1, terms);
  for (AffineExpr term : terms)
    if (auto number = dyn_cast<AffineConstantExpr>(term)) {
      const int64_t quotient = llvm::divideFloorSigned(number.getValue(), divisor.getValue());
      outside = outside + quotient;
      inside = inside + (number.getValue() - quotient * divisor.getValue());
    } else if (term.isMultipleOf(divisor.getValue()))
      outside = outside + term.floorDiv(divisor.getValue());
    else
      inside = inside + term;
  return isMod ? inside % divisor.getValue() : outside + inside.floorDiv(divisor.getValue());
}

//===-- The nest ----------------------------------------------------------===//

class PhaseSplitter {
public:
  PhaseSplitter(kb::NestOp nest, const std::map<std::string, int64_t> &fixed)
      : nest(nest), space(nest), context(nest.getContext()), builder(context), fixed(fixed) {}

  /// Empty, or why not; then the nest is broken.
  std::string split() {
    if (nest.getDomain())
      return "its points are no box";
    for (auto dim : nest.getDims().getAsRange<StringAttr>())
      oldDims.push_back(dim);
    if (std::string reason = fixParameters(); !reason.empty())
      return reason;
    if (std::string reason = findStrides(); !reason.empty())
      return reason;
    if (splits.empty()) // a stride of one has no phases
      return fixed.empty() ? "no sum depends on the phase of a stride" : "";
    if (std::string reason = changeDimensions(); !reason.empty())
      return reason;
    moveExpressions();
    if (std::string reason = makeLengthsEqual(); !reason.empty())
      return reason;
    return leaveOutMissing();
  }

private:
  struct Split {
    int64_t stride = 0;
    StringAttr phase, step;
  };

  /// Notes the strides of \p expr, of which the loops are \p loops.
  void findStrides(AffineExpr expr, ArrayRef<StringAttr> loops) {
    expr.walk([&](AffineExpr each) {
      auto binary = dyn_cast<AffineBinaryOpExpr>(each);
      auto stride = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr();
      if (!stride || each.getKind() != AffineExprKind::Mod)
        return;
      SmallVector<StringAttr> used;
      for (auto [i, loop] : llvm::enumerate(loops))
        if (binary.getLHS().isFunctionOfDim(kb::firstLoopDim + i))
          used.push_back(loop);
      if (used.size() != 1 || !llvm::is_contained(oldDims, used.front()))
        return;
      int64_t &known = splits[used.front()].stride;
      isMixed |= known != 0 && known != stride.getValue();
      known = stride.getValue();
    });
  }

  std::string findStrides() {
    nest.walk([&](Operation *op) {
      if (auto over = dyn_cast<kb::OverOp>(op))
        findStrides(over.getExtent().getExpr(), over.getExtent().getLoops());
      auto when = dyn_cast<kb::WhenOp>(op);
      const bool isInSum = bool(op->getParentOfType<kb::OverOp>());
      if (auto operands = op->getAttrOfType<ArrayAttr>("operands"); operands && isInSum)
        for (auto each : operands.getAsRange<kb::OperandAttr>())
          findStrides(each.getOffset().getExpr(), each.getOffset().getLoops());
      if (when && when.getDomainAttr() && !when.getDomainAttr().isUnknown() && isInSum)
        for (AffineExpr each : when.getDomainAttr().getSet().getConstraints())
          findStrides(each, when.getDomainAttr().getLoops());
    });
    int64_t phases = 1;
    for (const auto &[dim, split] : splits)
      phases *= split.stride;
    return isMixed               ? "its sums depend on the phases of several strides"
           : phases > mostPhases ? "its strides have too many phases"
                                 : "";
  }

  /// Puts numbers in the place of parameters, and requires of a launch that they have them.
  std::string fixParameters() {
    if (fixed.empty())
      return "";
    SmallVector<Attribute> requirements;
    if (auto before = nest.getRequirements())
      requirements.append(before->begin(), before->end());
    for (const auto &[name, value] : fixed) {
      auto symbols = nest.getSymbols().getAsRange<kb::SymbolAttr>();
      auto symbol = llvm::find_if(symbols, [&](kb::SymbolAttr each) {
        return each.getName() == name && each.getOrigin() == kb::SymbolOrigin::Param;
      });
      if (symbol == symbols.end())
        return "'" + name + "' is no parameter that its sums use";
      AffineExpr parameter = getAffineSymbolExpr(
          kb::firstNamedSymbol + std::distance(symbols.begin(), symbol), context);
      for (AffineExpr each : {parameter - value, value - parameter})
        requirements.push_back(space.expression(each, oldDims));
    }
    replaceExpressions([&](AffineExpr expr, ArrayRef<StringAttr> symbols) {
      for (auto [i, symbol] : llvm::enumerate(symbols))
        if (auto known = fixed.find(symbol.str()); known != fixed.end())
          expr = expr.replace(getAffineSymbolExpr(kb::firstNamedSymbol + i, context),
                              getAffineConstantExpr(known->second, context));
      return simplified(expr);
    });
    nest.setRequirementsAttr(builder.getArrayAttr(requirements));
    return "";
  }

  /// Replaces all expressions and conditions in the nest by what \p change makes of them and the
  /// names of their symbols.
  void replaceExpressions(llvm::function_ref<AffineExpr(AffineExpr, ArrayRef<StringAttr>)> change) {
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](kb::ExprAttr expr) {
      AffineMap map = expr.getMap();
      return kb::ExprAttr::get(context, expr.getLoops(), expr.getSymbols(),
                               AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                                              change(expr.getExpr(), expr.getSymbols())));
    });
    replacer.addReplacement([&](kb::DomainAttr domain) {
      if (domain.isUnknown())
        return domain;
      IntegerSet set = domain.getSet();
      SmallVector<AffineExpr> constraints;
      SmallVector<bool> isEquality(set.getEqFlags());
      for (AffineExpr each : set.getConstraints())
        constraints.push_back(change(each, domain.getSymbols()));
      for (auto [constraint, isEqual] : llvm::zip_equal(constraints, isEquality))
        if (isEqual && constraint.getKind() == AffineExprKind::Mod) { // which is not negative
          constraint = -constraint;
          isEqual = false;
        } else if (!isEqual) {
          constraint = reduced(constraint, domain.getLoops());
        }
      return kb::DomainAttr::get(
          context, domain.getLoops(), domain.getSymbols(),
          IntegerSet::get(set.getNumDims(), set.getNumSymbols(), constraints, isEquality),
          domain.getExact());
    });
    replacer.recursivelyReplaceElementsIn(nest);
  }

  /// A name that nothing in the nest has.
  StringAttr freshName(StringRef dim, StringRef word) {
    std::set<std::string> taken;
    for (StringAttr each : oldDims)
      taken.insert(each.str());
    for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      taken.insert(symbol.getName().str());
    nest.walk([&](Operation *op) {
      if (auto name = op->getAttrOfType<StringAttr>("name"))
        taken.insert(name.str());
    });
    std::string name = (dim + word).str();
    for (unsigned number = 2; taken.count(name); ++number)
      name = (dim + word + Twine(number)).str();
    return StringAttr::get(context, name);
  }

  std::string changeDimensions() {
    SmallVector<StringAttr> dims;
    for (StringAttr dim : oldDims)
      if (auto split = splits.find(dim); split != splits.end()) {
        split->second.phase = freshName(dim.getValue(), "Phase");
        split->second.step = freshName(dim.getValue(), "Step");
        dims.push_back(split->second.phase);
      }
    const size_t phases = dims.size();
    for (StringAttr dim : oldDims)
      dims.push_back(splits.count(dim) ? splits[dim].step : dim);
    SmallVector<Attribute> extents(phases);
    for (auto [dim, extent] : llvm::zip(oldDims, nest.getExtents().getAsRange<kb::ExprAttr>())) {
      // An extent may use other dimensions, but none that is taken apart.
      AffineExpr whole = space.wide(extent, dims);
      if (!whole)
        return "the extent of " + dim.str() + " depends on a phase";
      auto split = splits.find(dim);
      if (split == splits.end()) {
        extents.push_back(space.expression(whole, dims));
        continue;
      }
      const int64_t stride = split->second.stride;
      const size_t place = llvm::find(dims, split->second.phase) - dims.begin();
      extents[place] = space.expression(getAffineConstantExpr(stride, context), dims);
      extents.push_back(space.expression((whole + (stride - 1)).floorDiv(stride), dims));
      if (!whole.isMultipleOf(stride))
        missing.push_back({dim, whole});
    }
    SmallVector<Attribute> requirements;
    if (auto before = nest.getRequirements())
      for (auto each : before->getAsRange<kb::ExprAttr>())
        if (kb::ExprAttr moved = space.moved(each, dims))
          requirements.push_back(moved);
        else
          return "what it requires of a launch depends on a phase";
    if (!requirements.empty())
      nest.setRequirementsAttr(builder.getArrayAttr(requirements));
    nest.setDimsAttr(builder.getArrayAttr(SmallVector<Attribute>(dims.begin(), dims.end())));
    nest.setExtentsAttr(builder.getArrayAttr(extents));
    return "";
  }

  /// What the old dimensions are in \p dims.
  NestSpace::Values valuesIn(ArrayRef<StringAttr> dims) const {
    NestSpace::Values values;
    auto dimension = [&](StringAttr name) {
      return getAffineDimExpr(kb::firstLoopDim + (llvm::find(dims, name) - dims.begin()), context);
    };
    for (const auto &[dim, split] : splits)
      values[dim.getValue()] = dimension(split.step) * split.stride + dimension(split.phase);
    return values;
  }

  /// \p expr >= 0, which is over \p dims, divided by what divides all but phases, parameters and
  /// constants.
  AffineExpr reduced(AffineExpr expr, ArrayRef<StringAttr> dims) const {
    SmallVector<AffineExpr> terms;
    addends(expr, 1, terms);
    int64_t divisor = 0;
    bool fallsWithPhases = false;
    AffineExpr ofPhases = getAffineConstantExpr(0, context), others = ofPhases;
    for (AffineExpr term : terms) {
      bool isOfPhases = true;
      for (auto [i, dim] : llvm::enumerate(dims))
        isOfPhases &= !term.isFunctionOfDim(kb::firstLoopDim + i) || isPhase(dim);
      (isOfPhases ? ofPhases : others) = (isOfPhases ? ofPhases : others) + term;
      auto product = dyn_cast<AffineBinaryOpExpr>(term);
      auto factor = product ? dyn_cast<AffineConstantExpr>(product.getRHS()) : AffineConstantExpr();
      fallsWithPhases |=
          isOfPhases && factor && term.getKind() == AffineExprKind::Mul && factor.getValue() < 0;
      if (!isOfPhases)
        divisor = std::gcd(divisor, term.getLargestKnownDivisor());
    }
    if (divisor <= 1)
      return expr;
    // Rounded down as the negative of what is rounded up, where that divides no negative numbers.
    AffineExpr quotient = fallsWithPhases ? -((-ofPhases + (divisor - 1)).floorDiv(divisor))
                                          : ofPhases.floorDiv(divisor);
    terms.clear();
    addends(others, 1, terms);
    for (AffineExpr term : terms)
      quotient = quotient + term.floorDiv(divisor);
    return simplified(quotient);
  }

  bool isPhase(StringAttr dim) const {
    return llvm::any_of(splits, [&](const auto &split) { return dim == split.second.phase; });
  }

  void moveExpressions() {
    nest.walk([&](Operation *op) {
      if (op != nest)
        space.move(op, valuesIn(kb::nestDims(op)));
    });
    replaceExpressions([](AffineExpr expr, ArrayRef<StringAttr>) { return simplified(expr); });
  }

  /// The values of \p expr for all phases, in \p values; false if it depends on something else.
  bool valuesOf(AffineExpr expr, ArrayRef<StringAttr> dims, SmallVectorImpl<int64_t> &values) {
    if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
      values.push_back(number.getValue());
      return true;
    }
    for (const auto &[dim, split] : splits) {
      const unsigned place = kb::firstLoopDim + (llvm::find(dims, split.phase) - dims.begin());
      if (!expr.isFunctionOfDim(place))
        continue;
      for (int64_t phase = 0; phase < split.stride; ++phase)
        if (!valuesOf(expr.replace(getAffineDimExpr(place, context),
                                   getAffineConstantExpr(phase, context)),
                      dims, values))
          return false;
      return true;
    }
    return false;
  }

  /// Puts all of \p block, from \p first on, under the condition that \p constraints, over \p dims,
  /// are not negative.
  void putUnder(Block &block, Block::iterator first, ArrayRef<AffineExpr> constraints,
                ArrayRef<StringAttr> dims) {
    SmallVector<Operation *> inside;
    for (Operation &op : llvm::make_range(first, block.end()))
      inside.push_back(&op);
    builder.setInsertionPointToEnd(&block);
    SmallVector<bool> isEquality(constraints.size(), false);
    auto when =
        kb::WhenOp::create(builder, nest.getLoc(), space.domain(constraints, isEquality, dims), "",
                           builder.getArrayAttr({}));
    Block &body = when.getBody().emplaceBlock();
    for (Operation *op : inside)
      op->moveBefore(&body, body.end());
  }

  std::string makeLengthsEqual() {
    std::string reason;
    nest.walk([&](kb::OverOp over) {
      SmallVector<StringAttr> dims = kb::nestDims(over);
      AffineExpr extent = space.wide(over.getExtent(), dims);
      SmallVector<int64_t> lengths;
      bool usesPhase = llvm::any_of(splits, [&](const auto &split) {
        return extent.isFunctionOfDim(kb::firstLoopDim +
                                      (llvm::find(dims, split.second.phase) - dims.begin()));
      });
      if (!usesPhase)
        return;
      if (!valuesOf(extent, dims, lengths)) {
        reason = "the length of " + over.getName().str() + " is not known for each phase";
        return;
      }
      const int64_t most = *llvm::max_element(lengths), least = *llvm::min_element(lengths);
      over.setExtentAttr(space.expression(getAffineConstantExpr(most, context), dims));
      if (most == least)
        return;
      AffineExpr counter = getAffineDimExpr(kb::firstLoopDim + dims.size(), context);
      dims.push_back(StringAttr::get(context, over.getName()));
      putUnder(over.getBody().front(), over.getBody().front().begin(), extent - counter - 1, dims);
    });
    return reason;
  }

  bool dependsOnSplit(kb::ExprAttr expr) const {
    return llvm::any_of(llvm::enumerate(expr.getLoops()), [&](auto loop) {
      return expr.getExpr().isFunctionOfDim(kb::firstLoopDim + loop.index()) &&
             llvm::any_of(splits, [&](const auto &split) {
               return loop.value() == split.second.phase || loop.value() == split.second.step;
             });
    });
  }

  /// The last step of some phases is no point: what it would read for a sum is left out, and what
  /// comes behind the sum.
  std::string leaveOutMissing() {
    if (missing.empty())
      return "";
    Block &body = nest.getBody().front();
    auto sum = llvm::find_if(body, [](Operation &op) { return isa<kb::OverOp>(op); });
    for (Operation &op : llvm::make_range(body.begin(), sum)) {
      auto let = dyn_cast<kb::LetOp>(op);
      bool differs =
          !let ||
          llvm::any_of(let.getOperands().getAsRange<kb::OperandAttr>(), [&](kb::OperandAttr each) {
            return each.getKind() == kb::OperandKind::Element && dependsOnSplit(each.getOffset());
          });
      if (differs)
        return "it reads elements of each point before its sum";
    }
    if (sum == body.end())
      return "it forms no sum";
    auto over = cast<kb::OverOp>(*sum);
    SmallVector<StringAttr> dims = kb::nestDims(over);
    NestSpace::Values values = valuesIn(dims);
    SmallVector<AffineExpr> constraints;
    for (auto [dim, extent] : missing)
      constraints.push_back(reduced(extent - values[dim.getValue()] - 1, dims));
    if (std::next(sum) != body.end())
      putUnder(body, std::next(sum), constraints, dims);
    dims.push_back(StringAttr::get(context, over.getName()));
    putUnder(over.getBody().front(), over.getBody().front().begin(), constraints, dims);
    return "";
  }

  kb::NestOp nest;
  NestSpace space;
  MLIRContext *context;
  OpBuilder builder;
  SmallVector<StringAttr> oldDims;
  const std::map<std::string, int64_t> &fixed;
  llvm::MapVector<StringAttr, Split> splits;
  bool isMixed = false; ///< a dimension has several strides
  /// Dimensions that have no whole number of steps, and their extents.
  SmallVector<std::pair<StringAttr, AffineExpr>> missing;
};

} // namespace

llvm::Expected<kb::NestOp> kbopt::splitPhases(kb::NestOp nest,
                                              const std::map<std::string, int64_t> &fixed) {
  OpBuilder builder(nest.getContext());
  builder.setInsertionPointAfter(nest);
  auto copy = cast<kb::NestOp>(builder.clone(*nest));
  std::string reason = PhaseSplitter(copy, fixed).split();
  if (reason.empty() && failed(verify(copy)))
    reason = "its phases are not consistent";
  if (reason.empty())
    return copy;
  copy.erase();
  return llvm::createStringError(reason);
}

/// Whether \p expr divides what depends on a dimension by a parameter.
static bool dividesByParameter(AffineExpr expr) {
  bool found = false;
  expr.walk([&](AffineExpr each) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(each);
    bool isDivision =
        each.getKind() == AffineExprKind::Mod || each.getKind() == AffineExprKind::FloorDiv;
    if (!binary || !isDivision || !binary.getRHS().isSymbolicOrConstant() ||
        isa<AffineConstantExpr>(binary.getRHS()))
      return;
    binary.getLHS().walk([&](AffineExpr inner) { found |= isa<AffineDimExpr>(inner); });
  });
  return found;
}

std::set<std::string> kbopt::phaseParameters(kb::NestOp nest) {
  std::set<std::string> names;
  nest.walk([&](kb::OverOp over) {
    kb::ExprAttr extent = over.getExtent();
    if (!dividesByParameter(extent.getExpr()))
      return;
    for (auto [i, symbol] : llvm::enumerate(extent.getSymbols()))
      if (extent.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + i))
        names.insert(symbol.str());
  });
  return names;
}
