//===- SimplifySums.cpp - Sums with less in them ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for k: s += scale * (x[k] * ((k == j ? 1 : 0) - x[j])) * y[k]
// ==>
//   for k: part += x[k] * y[k]
//   s = scale * x[j] * (y[j] - part)
//   if (!isfinite(s)) for k: s += …
//
// Owns how the products of a term become sums and what stands after the loop. The last line is
// there because inf * a + inf * b is not inf * (a + b) where a and b have different signs: what
// infinite and NaN elements lead to stays as it was.
//
//===----------------------------------------------------------------------===//
#include "SimplifySums.h"

#include "NestScalars.h"
#include "NestSystem.h"
#include "SumTerms.h"

using namespace mlir;

namespace kbopt::raise {

kb::LetOp declarationBeside(kb::OverOp over, StringRef variable) {
  for (Operation *op = over->getPrevNode(); op; op = op->getPrevNode())
    if (auto let = dyn_cast<kb::LetOp>(op); let && let.getName() == variable && !let.getReassigns())
      return let;
  return {};
}

namespace {

/// A product with a sign, of factors that stand after the loop.
struct Addend {
  bool isNegative = false;
  std::vector<Factor> factors;
};

std::string keyOf(const Factor &factor) {
  return (factor.divides ? "/" : "*") + textOf(*factor.term);
}

std::string keyOf(ArrayRef<Factor> factors) {
  std::vector<std::string> keys;
  for (const Factor &each : factors)
    keys.push_back(keyOf(each));
  llvm::sort(keys);
  std::string key;
  for (const std::string &each : keys)
    key += each + " ";
  return key;
}

TermRef productOf(ArrayRef<Factor> factors, StringRef type) {
  TermRef result;
  for (const Factor &each : factors)
    if (!each.divides)
      result = result ? makeTerm(Term::Binary, "*", {result, each.term}) : each.term;
  if (!result)
    result = makeTerm(Term::Leaf, type == "float" ? "1.0f" : "1.0");
  for (const Factor &each : factors)
    if (each.divides)
      result = makeTerm(Term::Binary, "/", {result, each.term});
  return result;
}

/// The sum of \p addends, with the factors that all of them have in front.
TermRef sumOf(std::vector<Addend> addends, StringRef type) {
  std::vector<Factor> common;
  for (const Factor &each : std::vector<Factor>(addends.front().factors)) {
    auto find = [&](Addend &addend) {
      return llvm::find_if(addend.factors,
                           [&](const Factor &other) { return keyOf(other) == keyOf(each); });
    };
    if (!llvm::all_of(addends,
                      [&](Addend &addend) { return find(addend) != addend.factors.end(); }))
      continue;
    common.push_back(each);
    for (Addend &addend : addends)
      addend.factors.erase(find(addend));
  }
  llvm::stable_sort(addends,
                    [](const Addend &a, const Addend &b) { return !a.isNegative && b.isNegative; });
  bool isNegative = addends.front().isNegative; // then all of them are
  TermRef sum;
  for (const Addend &each : addends) {
    TermRef product = productOf(each.factors, type);
    sum = sum ? makeTerm(Term::Binary, each.isNegative && !isNegative ? "-" : "+", {sum, product})
              : product;
  }
  if (addends.size() == 1 && addends.front().factors.empty())
    sum = productOf(common, type);
  else if (!common.empty())
    sum = makeTerm(Term::Binary, "*", {productOf(common, type), sum});
  return isNegative ? makeTerm(Term::Unary, "-", {sum}) : sum;
}

class SumRewriter {
public:
  SumRewriter(kb::NestOp nest, kb::OverOp over, const std::set<std::string> &sunk,
              const std::set<std::string> &dependent)
      : nest(nest), over(over), reader(nest, over, sunk, dependent), builder(nest.getContext()),
        dims(kb::nestDims(over)) {}

  bool canSeparate();
  bool run();

private:
  struct Sum {
    mutable kb::ReduceOp reduce; // MLIR's handles have no const access
    std::string type;
    std::vector<Product> products;
  };
  std::optional<Sum> sumOfReduce(kb::ReduceOp reduce);
  bool isPlain(const Sum &sum) const;
  bool rewrite(const Sum &sum);
  std::string freshName(StringRef base) const;
  bool holdsAlways(AffineExpr expr) const;
  std::optional<Addend> after(const Product &product, bool isPoint,
                              std::vector<kb::OperandAttr> &table);
  bool isOfLaunch(const Term &term) const;
  bool keepsNonFinite(const Sum &sum) const;
  void sumAsBefore(const Sum &sum, StringRef initial, ArrayAttr operands);
  void assign(OpBuilder &at, const Sum &sum, TermRef value, std::vector<kb::OperandAttr> &table,
              bool isFirst);
  void dropUnused();

  mutable kb::NestOp nest;
  mutable kb::OverOp over;
  SumReader reader;
  OpBuilder builder;
  SmallVector<StringAttr> dims;
};

/// What \p reduce adds, if it is a sum of its own that only this loop forms.
std::optional<SumRewriter::Sum> SumRewriter::sumOfReduce(kb::ReduceOp reduce) {
  kb::LetOp declaration = declarationBeside(over, reduce.getName());
  if (reduce.getReduction() != "add" || reduce.getCombine() != "%a + %b" ||
      reduce->getParentOp() != over.getOperation() || !declaration)
    return std::nullopt;
  bool isOnly = true;
  over.walk([&](kb::ReduceOp other) {
    isOnly &= other == reduce || other.getName() != reduce.getName();
  });
  StringRef type = declaration.getType();
  auto products = isOnly ? reader.read(reduce, type) : std::nullopt;
  if (!products)
    return std::nullopt;
  type.consume_front("const ");
  return Sum{reduce, type.str(), std::move(*products)};
}

/// One product of factors inside: nothing to take out.
bool SumRewriter::isPlain(const Sum &sum) const {
  return sum.products.size() == 1 && !sum.products.front().isPoint &&
         !sum.products.front().isNegative && sum.products.front().outside.empty() &&
         sum.products.front().inside.size() >= 1;
}

bool SumRewriter::canSeparate() {
  bool separates = true;
  for (Operation &op : over.getBody().front())
    if (auto reduce = dyn_cast<kb::ReduceOp>(op))
      separates &= sumOfReduce(reduce).has_value();
    else
      separates &= isa<kb::LetOp>(op);
  return separates;
}

std::string SumRewriter::freshName(StringRef base) const {
  auto isUsed = [&](StringRef name) {
    bool used = false;
    mlir::AttrTypeWalker walker;
    walker.addWalk([&](StringAttr text) { used |= mentions(text.getValue(), name); });
    walker.addWalk([&](kb::BaseAttr of) { used |= of.getName() == name; });
    walker.addWalk([&](kb::SymbolAttr symbol) { used |= mentions(symbol.getName(), name); });
    walker.addWalk([&](kb::ParamAttr param) { used |= param.getName() == name; });
    nest->walk([&](Operation *op) { walker.walk(op->getAttrDictionary()); });
    if (auto kernel =
            SymbolTable::lookupNearestSymbolFrom<kb::KernelOp>(nest, nest.getKernelAttr()))
      walker.walk(kernel->getAttrDictionary());
    return used;
  };
  std::string name = base.str();
  for (unsigned number = 2; isUsed(name); ++number)
    name = base.str() + std::to_string(number);
  return name;
}

/// Whether \p expr >= 0 wherever the loop is reached.
bool SumRewriter::holdsAlways(AffineExpr expr) const {
  NestSystem system(nest);
  system.deadline = threadSeconds() + 0.5;
  system.addInstance(over, 0);
  system.add(Polynomial::constant(-1) -
             system.import(reader.nestSpace().expression(expr, dims), 0));
  return system.isEmpty();
}

/// The factors of \p product after the loop: all of them at the point, or those outside.
std::optional<Addend> SumRewriter::after(const Product &product, bool isPoint,
                                         std::vector<kb::OperandAttr> &table) {
  Addend addend;
  addend.isNegative = product.isNegative;
  NestSpace::Values values;
  if (isPoint)
    values[over.getName()] = reader.point();
  auto add = [&](ArrayRef<Factor> factors) {
    for (const Factor &each : factors) {
      TermRef term = isPoint ? reader.atPoint(each.term) : each.term;
      term = term ? reader.placed(term, dims, table, values) : nullptr;
      if (!term)
        return false;
      addend.factors.push_back({term, each.divides});
    }
    return true;
  };
  if (!add(product.outside) || (isPoint && !add(product.inside)))
    return std::nullopt;
  return addend;
}

void SumRewriter::assign(OpBuilder &at, const Sum &sum, TermRef value,
                         std::vector<kb::OperandAttr> &table, bool isFirst) {
  if (!isFirst)
    value = makeTerm(Term::Binary, "+", {makeTerm(Term::Leaf, sum.reduce.getName().str()), value});
  SmallVector<Attribute> operands;
  TermRef numbered = rewriteTerm(value, [&](const TermRef &each) -> TermRef {
    if (each->kind != Term::Leaf || !StringRef(each->text).starts_with("$"))
      return each;
    unsigned index = 0;
    StringRef(each->text).drop_front().getAsInteger(10, index);
    auto *found = llvm::find(operands, table[index]);
    unsigned number = found - operands.begin();
    if (found == operands.end())
      operands.push_back(table[index]);
    return makeTerm(Term::Leaf, "$" + std::to_string(number));
  });
  kb::LetOp::create(at, over.getLoc(), sum.reduce.getName(), sum.type, textOf(*numbered),
                    at.getArrayAttr(operands), !isFirst);
}

/// Whether \p term is made of numbers and of kernel parameters.
bool SumRewriter::isOfLaunch(const Term &term) const {
  bool isLet = false;
  nest.walk([&](kb::LetOp let) {
    isLet |= mentionsLeaf(term, [&](StringRef leaf) { return leaf == let.getName(); });
  });
  return !isLet && !mentionsLeaf(term, [](StringRef leaf) { return leaf.starts_with("$"); });
}

/// Whether a sum of which an element is infinite or NaN is not finite afterwards either: what the
/// indicator takes away elsewhere as `0 * x[k]` is in another sum.
bool SumRewriter::keepsNonFinite(const Sum &sum) const {
  return llvm::all_of(sum.products, [&](const Product &point) {
    return !point.isPoint || llvm::all_of(point.inside, [&](const Factor &factor) {
      return llvm::any_of(sum.products, [&](const Product &other) {
        return !other.isPoint && llvm::any_of(other.inside, [&](const Factor &each) {
          return keyOf(each) == keyOf(factor);
        });
      });
    });
  });
}

/// The sum once more as it was, where the new one is not finite. That is too rare for a team to
/// share the loop.
void SumRewriter::sumAsBefore(const Sum &sum, StringRef initial, ArrayAttr operands) {
  auto when =
      kb::WhenOp::create(builder, over.getLoc(), kb::DomainAttr(),
                         "!isfinite(" + sum.reduce.getName().str() + ")", builder.getArrayAttr({}));
  OpBuilder inWhen = OpBuilder::atBlockEnd(&when.getBody().emplaceBlock());
  kb::LetOp::create(inWhen, over.getLoc(), sum.reduce.getName(), sum.type, initial, operands, true);
  std::string index = freshName(over.getName());
  auto again = kb::OverOp::create(inWhen, over.getLoc(), index, over.getExtent(),
                                  kb::LoopOrder::Ascending, false, StringAttr());
  OpBuilder inLoop = OpBuilder::atBlockEnd(&again.getBody().emplaceBlock());
  for (Operation &op : over.getBody().front())
    if (isa<kb::LetOp>(op) || &op == sum.reduce.getOperation())
      inLoop.clone(op);
  moveToDimensionsAround(again, {{over.getName(), index}});
}

bool SumRewriter::rewrite(const Sum &sum) {
  constexpr size_t mostSums = 4;
  struct Group {
    std::string name;
    std::vector<Factor> inside;
    std::vector<Addend> outside;
  };
  std::vector<std::pair<std::string, Group>> groups;
  std::vector<kb::OperandAttr> table;
  std::vector<Addend> points;
  for (const Product &product : sum.products) {
    auto addend = after(product, product.isPoint, table);
    if (!addend)
      return false;
    if (product.isPoint) {
      points.push_back(std::move(*addend));
      continue;
    }
    std::string key = keyOf(product.inside);
    auto found = llvm::find_if(groups, [&](const auto &each) { return each.first == key; });
    if (found == groups.end())
      found = groups.insert(groups.end(), {key, Group{"", product.inside, {}}});
    found->second.outside.push_back(std::move(*addend));
  }
  SmallVector<StringAttr> inner(dims);
  inner.push_back(over.getNameAttr());
  AffineExpr extent = reader.nestSpace().wide(over.getExtent(), dims);
  bool countsTerms =
      llvm::any_of(groups, [](const auto &each) { return each.second.inside.empty(); });
  if (groups.size() > mostSums || (countsTerms && !holdsAlways(extent)) || !keepsNonFinite(sum))
    return false;

  kb::LetOp declaration = declarationBeside(over, sum.reduce.getName());
  bool isUntouched = true; // between its declaration and the loop
  for (Operation *op = declaration->getNextNode(); op != over.getOperation();
       op = op->getNextNode())
    op->walk([&](Operation *inside) {
      for (NamedAttribute each : inside->getAttrs())
        if (auto text = dyn_cast<StringAttr>(each.getValue()))
          isUntouched &= !mentions(text.getValue(), sum.reduce.getName());
    });
  bool isSafe = points.empty() && groups.size() == 1 &&
                llvm::all_of(sum.products.front().outside,
                             [&](const Factor &each) { return isOfLaunch(*each.term); });
  bool isSimple = llvm::all_of(over.getBody().front(),
                               [](Operation &op) { return isa<kb::LetOp, kb::ReduceOp>(op); });
  if (!isSafe && (!isUntouched || !isSimple))
    return false;
  std::string initial = declaration.getText().str();
  ArrayAttr initialOperands = declaration.getOperands();
  std::string base =
      sum.reduce.getName().str() +
      (sum.reduce.getName().contains('_') || sum.reduce.getName().size() == 1 ? "_part" : "Part");
  std::vector<Addend> addends;
  for (auto &[key, group] : groups) {
    Factor formed;
    if (group.inside.empty()) {
      formed.term = reader.placed(reader.extentTerm(), dims, table);
    } else {
      std::vector<kb::OperandAttr> own;
      TermRef term = reader.placed(productOf(group.inside, sum.type), inner, own);
      assert(term && "the loop is around it");
      group.name = freshName(base);
      formed.term = makeTerm(Term::Leaf, group.name);
      builder.setInsertionPoint(over);
      kb::LetOp::create(builder, over.getLoc(), group.name, sum.type, sum.reduce.getIdentity(),
                        builder.getArrayAttr({}), false);
      builder.setInsertionPoint(sum.reduce);
      SmallVector<Attribute> operands(own.begin(), own.end());
      kb::ReduceOp::create(builder, over.getLoc(), group.name, sum.reduce.getReduction(),
                           sum.reduce.getCombine(), sum.reduce.getIdentity(), textOf(*term),
                           builder.getArrayAttr(operands));
    }
    for (Addend &each : group.outside) {
      each.factors.push_back(formed);
      addends.push_back(std::move(each));
    }
  }
  bool isPointCertain =
      !points.empty() && holdsAlways(reader.point()) && holdsAlways(extent - 1 - reader.point());
  if (isPointCertain)
    addends.insert(addends.begin(), points.begin(), points.end());
  builder.setInsertionPointAfter(over);
  bool isFirst =
      isUntouched && Form::of(*makeTerm(Term::Leaf, initial)).isZero() && !addends.empty();
  if (!addends.empty())
    assign(builder, sum, sumOf(addends, sum.type), table, isFirst);
  if (isFirst)
    declaration.erase();
  if (!points.empty() && !isPointCertain) {
    auto when =
        kb::WhenOp::create(builder, over.getLoc(),
                           reader.nestSpace().domain({reader.point(), extent - 1 - reader.point()},
                                                     {false, false}, dims),
                           "", builder.getArrayAttr({}));
    OpBuilder inWhen = OpBuilder::atBlockEnd(&when.getBody().emplaceBlock());
    assign(inWhen, sum, sumOf(points, sum.type), table, false);
  }
  if (!isSafe)
    sumAsBefore(sum, initial, initialOperands);
  sum.reduce.erase();
  return true;
}

/// Scalars of the loop that nothing uses any more, and the loop if it is empty.
void SumRewriter::dropUnused() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(over.getBody().front()))) {
    auto let = dyn_cast<kb::LetOp>(op);
    if (!let)
      continue;
    bool isUsed = false;
    auto look = [&](Operation *other) {
      if (other == let.getOperation())
        return;
      AttrTypeWalker walker;
      walker.addWalk([&](StringAttr text) { isUsed |= mentions(text.getValue(), let.getName()); });
      walker.walk(other->getAttrDictionary());
    };
    over.walk([&](Operation *other) { look(other); });
    if (!isUsed)
      let.erase();
  }
  if (over.getBody().front().empty())
    over.erase();
}

bool SumRewriter::run() {
  std::vector<Sum> sums;
  for (Operation &op : over.getBody().front())
    if (auto reduce = dyn_cast<kb::ReduceOp>(op))
      if (std::optional<Sum> sum = sumOfReduce(reduce); sum && !isPlain(*sum))
        sums.push_back(std::move(*sum));
  bool changed = false;
  for (const Sum &sum : sums)
    changed |= rewrite(sum);
  if (changed)
    dropUnused();
  return changed;
}

} // namespace

bool canSeparate(kb::NestOp nest, kb::OverOp over, const std::set<std::string> &sunk,
                 const std::set<std::string> &dependent) {
  return SumRewriter(nest, over, sunk, dependent).canSeparate();
}

bool simplifySums(kb::NestOp nest, kb::OverOp over, const std::set<std::string> &sunk,
                  const std::set<std::string> &dependent) {
  return SumRewriter(nest, over, sunk, dependent).run();
}

} // namespace kbopt::raise
