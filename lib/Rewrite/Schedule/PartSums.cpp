//===- PartSums.cpp - A sum in parts that blocks share out ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PartSums.h"
#include "HostText.h"
#include "NestCopy.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSwitch.h"
#include <set>

using namespace kbopt;
using llvm::StringRef;
using mlir::AffineExpr;

namespace {

/// The one sum of a point, and where it stands.
struct SumOfPoint {
  kb::OverOp over; ///< the outermost dimension of the sum
  kb::ReduceOp reduce;
  kb::LetOp variable;
};

std::string findSum(kb::NestOp nest, SumOfPoint &sum) {
  if (nest.getDomain())
    return "its points are no box";
  size_t loops = 0, sums = 0;
  nest.walk([&](kb::ReduceOp reduce) { sum.reduce = reduce, ++sums; });
  if (sums != 1)
    return sums ? "it forms several sums" : "it forms no sum";
  nest.walk([&](kb::LetOp let) {
    if (let.getName() == sum.reduce.getName() && !let.getReassigns())
      sum.variable = let;
  });
  if (!sum.variable)
    return ("the variable of its sum, '" + sum.reduce.getName() + "', is not found").str();
  for (mlir::Operation *at = sum.reduce->getParentOp(); at != nest.getOperation();
       at = at->getParentOp())
    if (auto over = mlir::dyn_cast<kb::OverOp>(at); over && !over->isAncestor(sum.variable))
      sum.over = over;
  nest.walk([&](kb::OverOp over) { loops += !sum.over || !sum.over->isAncestor(over); });
  if (!sum.over || loops)
    return "its sum stands in a loop, or beside one";
  bool isOne = sum.over.getOrder() != kb::LoopOrder::Ascending && !sum.over.getText();
  sum.over.walk([&](mlir::Operation *op) {
    isOne &= !mlir::isa<kb::StoreOp>(op);
    if (auto over = mlir::dyn_cast<kb::OverOp>(op))
      isOne &= over.getOrder() != kb::LoopOrder::Ascending && !over.getText();
  });
  if (!isOne)
    return "the loop of its sum does more than to sum";
  return "";
}

/// Bytes of \p type where memory for sums can have it; 0 otherwise.
int64_t bytesOf(StringRef type) {
  return llvm::StringSwitch<int64_t>(type)
      .Cases({"float", "int", "unsigned", "unsigned int"}, 4)
      .Cases({"double", "long long", "unsigned long long"}, 8)
      .Default(0);
}

/// Adds every name that \p op itself reads, not what stands in it.
void addReads(mlir::Operation *op, std::set<std::string> &names) {
  mlir::AttrTypeWalker walker;
  walker.addWalk([&](kb::ExprAttr expr) {
    for (auto [i, symbol] : llvm::enumerate(expr.getSymbols()))
      if (expr.getMap().getResult(0).isFunctionOfSymbol(kb::firstNamedSymbol + i))
        names.insert(symbol.str());
    return mlir::WalkResult::skip();
  });
  walker.addWalk([&](mlir::StringAttr text) {
    for (StringRef name : namesIn(text.getValue()))
      names.insert(name.str());
  });
  for (mlir::NamedAttribute each : op->getAttrs())
    if (each.getName() != "name" || mlir::isa<kb::ReduceOp>(op))
      walker.walk(each.getValue());
}

using Names = std::set<std::string>;
using Operations = std::set<mlir::Operation *>;

class Splitter {
public:
  Splitter(kb::NestOp nest, const SumOfPoint &sum, int64_t count)
      : nest(nest), sum(sum), count(count), builder(nest.getContext()) {
    for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      symbols.push_back(builder.getStringAttr(symbol.getName()));
    nest->walk([&](mlir::Operation *op) {
      addReads(op, taken);
      if (auto name = op->getAttrOfType<mlir::StringAttr>("name"))
        taken.insert(name.str());
    });
    for (auto dim : nest.getDims().getAsRange<mlir::StringAttr>())
      taken.insert(dim.str());
  }

  llvm::Expected<PartSums> run();

private:
  mutable kb::NestOp nest;
  mutable SumOfPoint sum;
  const int64_t count;
  mlir::OpBuilder builder;
  std::vector<mlir::StringAttr> symbols;
  Names taken;
  std::string part;
  PartSums result;

  mlir::Location place() { return builder.getUnknownLoc(); }
  std::string freshName(StringRef wanted);
  void addKernel();
  kb::NestOp addNest(llvm::ArrayRef<mlir::StringAttr> dims);
  kb::OperandAttr element(NestCopier &copier);
  void addParts();
  void addEnd();
  Operations scalarsFor(Names names, bool isBefore) const;
};

std::string Splitter::freshName(StringRef wanted) {
  std::string name = wanted.str();
  for (unsigned number = 2; !taken.insert(name).second; ++number)
    name = wanted.str() + std::to_string(number);
  return name;
}

/// The given kernel with the memory as its last parameter.
void Splitter::addKernel() {
  auto given = mlir::SymbolTable::lookupNearestSymbolFrom<kb::KernelOp>(nest, nest.getKernelAttr());
  for (auto parameter : given.getParams().getAsRange<kb::ParamAttr>())
    taken.insert(parameter.getName().str());
  result.memory = freshName("partSums");
  llvm::SmallVector<mlir::Attribute> parameters(given.getParams().begin(), given.getParams().end());
  parameters.push_back(kb::ParamAttr::get(builder.getContext(), result.memory, result.type + " *",
                                          8, true, bytesOf(result.type), false, true));
  builder.setInsertionPointAfter(given);
  result.kernel = kb::KernelOp::create(builder, place(), (given.getSymName() + ".parts").str(),
                                       given.getName(), builder.getArrayAttr(parameters),
                                       given.getSymbols(), given.getAssumesAttr(),
                                       given.getMaxThreadsAttr(), given.getMinBlocksAttr());
  result.kernel.getBody().emplaceBlock();
}

/// An empty nest of the new kernel over \p dims.
kb::NestOp Splitter::addNest(llvm::ArrayRef<mlir::StringAttr> dims) {
  llvm::SmallVector<mlir::Attribute> names(dims.begin(), dims.end());
  auto added = kb::NestOp::create(
      builder, place(), result.kernel.getSymName(), builder.getArrayAttr(names),
      builder.getArrayAttr({}), nest.getSymbols(), mlir::ArrayAttr(), kb::DomainAttr(),
      nest.getHeaderAttr(), mlir::DictionaryAttr(), nest.getRacefreeAttr(), nest.getFilledAttr());
  builder.setInsertionPointToEnd(&added.getBody().emplaceBlock());
  return added;
}

/// The place of a part of the sum of the point: `sums[part][i][j]`.
kb::OperandAttr Splitter::element(NestCopier &copier) {
  llvm::SmallVector<AffineExpr> at{copier.dimNamed(part)}, extents;
  for (auto [dim, extent] : llvm::zip_equal(nest.getDims().getAsRange<mlir::StringAttr>(),
                                            nest.getExtents().getAsRange<kb::ExprAttr>())) {
    at.push_back(copier.dimNamed(dim.getValue()));
    extents.push_back(copier.expression(extent).getExpr());
  }
  AffineExpr offset = builder.getAffineConstantExpr(0), stride = builder.getAffineConstantExpr(1);
  llvm::SmallVector<kb::ExprAttr> indices, strides;
  for (size_t k = at.size(); k-- > 0;) {
    offset = offset + at[k] * stride;
    indices.insert(indices.begin(), copier.expression(at[k]));
    strides.insert(strides.begin(), copier.expression(stride));
    if (k > 0)
      stride = stride * extents[k - 1];
  }
  auto base = kb::BaseAttr::get(builder.getContext(), kb::BaseKind::Argument, result.memory,
                                result.kernel.getParams().size() - 1, 0);
  return kb::OperandAttr::get(builder.getContext(), kb::OperandKind::Element, base, result.type,
                              bytesOf(result.type), copier.expression(offset), indices, strides);
}

/// The scalars outside of the sum, with \p isBefore those before it, that give \p names their
/// values.
Operations Splitter::scalarsFor(Names names, bool isBefore) const {
  llvm::SmallVector<kb::LetOp> lets;
  nest.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (op == sum.over.getOperation())
      return isBefore ? mlir::WalkResult::interrupt() : mlir::WalkResult::skip();
    if (auto let = mlir::dyn_cast<kb::LetOp>(op))
      lets.push_back(let);
    return mlir::WalkResult::advance();
  });
  Operations needed;
  for (kb::LetOp let : llvm::reverse(lets))
    if (names.count(let.getName().str())) {
      needed.insert(let);
      addReads(let, names);
    }
  return needed;
}

void Splitter::addParts() {
  std::vector<mlir::StringAttr> dims{builder.getStringAttr(part)};
  for (auto dim : nest.getDims().getAsRange<mlir::StringAttr>())
    dims.push_back(dim);
  result.parts = addNest(dims);
  NestCopier copier(builder, dims, symbols);
  for (mlir::StringAttr dim : dims)
    copier.dimensions[dim.getValue()] = copier.dimNamed(dim.getValue());
  llvm::SmallVector<mlir::Attribute> extents{
      copier.expression(builder.getAffineConstantExpr(count))};
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    extents.push_back(copier.expression(extent));
  result.parts.setExtentsAttr(builder.getArrayAttr(extents));
  Names names;
  sum.over.walk([&](mlir::Operation *op) { addReads(op, names); });
  Operations kept;
  for (mlir::Operation *at = sum.over->getParentOp(); at != nest.getOperation();
       at = at->getParentOp()) {
    kept.insert(at);
    addReads(at, names);
  }
  names.erase(sum.reduce.getName().str());
  kept.merge(scalarsFor(std::move(names), /*isBefore=*/true));
  copier.keeps = [&](mlir::Operation *op) {
    if (op != sum.over.getOperation())
      return kept.count(op) != 0 || sum.over->isAncestor(op);
    kb::OverOp over = sum.over;
    kb::LetOp::create(builder, place(), sum.reduce.getName(), sum.variable.getType(),
                      sum.reduce.getIdentity(), builder.getArrayAttr({}));
    kb::ExprAttr length = copier.expression(over.getExtent());
    AffineExpr ofPart = length.getExpr().floorDiv(count), first = copier.dimNamed(part) * ofPart;
    copier.enter(over.getName(), copier.expression(ofPart), over.getOrder(), over.getTeam(),
                 over.getName());
    copier.dimensions[over.getName()] = first + copier.dimensions[over.getName()];
    copier.copy(over.getBody().front());
    copier.leave();
    kb::StoreOp::create(builder, place(), element(copier), sum.reduce.getName(),
                        builder.getArrayAttr({}), mlir::StringAttr());
    return false;
  };
  copier.copy(nest.getBody().front());
  llvm::SmallVector<mlir::Attribute> requirements;
  if (auto given = nest.getRequirements())
    for (auto each : given->getAsRange<kb::ExprAttr>())
      requirements.push_back(copier.expression(each));
  kb::ExprAttr length = copier.expression(sum.over.getExtent());
  if (!length.getConstant())
    requirements.push_back(copier.expression(-(length.getExpr() % count)));
  result.parts.setRequirementsAttr(builder.getArrayAttr(requirements));
  AffineExpr elements = builder.getAffineConstantExpr(count);
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    elements = elements * copier.expression(extent).getExpr();
  result.count = copier.expression(elements);
}

void Splitter::addEnd() {
  std::vector<mlir::StringAttr> dims;
  for (auto dim : nest.getDims().getAsRange<mlir::StringAttr>())
    dims.push_back(dim);
  builder.setInsertionPointAfter(result.parts);
  result.end = addNest(dims);
  NestCopier copier(builder, dims, symbols);
  for (mlir::StringAttr dim : dims)
    copier.dimensions[dim.getValue()] = copier.dimNamed(dim.getValue());
  llvm::SmallVector<mlir::Attribute> extents, requirements;
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    extents.push_back(copier.expression(extent));
  result.end.setExtentsAttr(builder.getArrayAttr(extents));
  if (auto given = nest.getRequirements())
    for (auto each : given->getAsRange<kb::ExprAttr>())
      requirements.push_back(copier.expression(each));
  result.end.setRequirementsAttr(builder.getArrayAttr(requirements));
  Names names{sum.reduce.getName().str()};
  nest.walk([&](mlir::Operation *op) {
    if (!sum.over->isAncestor(op) && !mlir::isa<kb::NestOp, kb::LetOp>(op))
      addReads(op, names);
  });
  const Operations kept = scalarsFor(std::move(names), /*isBefore=*/false);
  copier.keeps = [&](mlir::Operation *op) {
    if (op != sum.over.getOperation())
      return !mlir::isa<kb::LetOp>(op) || kept.count(op) != 0;
    copier.enter(part, copier.expression(builder.getAffineConstantExpr(count)),
                 kb::LoopOrder::Reduction, false, part);
    kb::ReduceOp::create(builder, place(), sum.reduce.getName(), sum.reduce.getReduction(),
                         sum.reduce.getCombine(), sum.reduce.getIdentity(), "$0",
                         builder.getArrayAttr({element(copier)}));
    copier.leave();
    return false;
  };
  copier.copy(nest.getBody().front());
}

llvm::Expected<PartSums> Splitter::run() {
  result.type = sum.variable.getType().str();
  if (!bytesOf(result.type))
    return llvm::createStringError("its sum is of type '" + result.type + "'");
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    for (unsigned dim = 0; dim < nest.getDims().size(); ++dim)
      if (extent.getMap().isFunctionOfDim(kb::firstLoopDim + dim))
        return llvm::createStringError("how many points it has depends on its points");
  kb::ExprAttr length = sum.over.getExtent();
  for (unsigned dim = 0; dim < length.getLoops().size(); ++dim)
    if (length.getMap().isFunctionOfDim(kb::firstLoopDim + dim))
      return llvm::createStringError("the length of its sum differs between outputs");
  if (auto constant = length.getConstant(); constant && *constant % count)
    return llvm::createStringError(llvm::Twine(count) + " parts do not divide its sum of " +
                                   llvm::Twine(*constant) + " terms");
  addKernel();
  part = freshName("part");
  builder.setInsertionPointAfter(nest);
  addParts();
  addEnd();
  if (mlir::succeeded(mlir::verify(result.parts)) && mlir::succeeded(mlir::verify(result.end)))
    return std::move(result);
  result.erase();
  return llvm::createStringError("the form of its sum in parts does not verify (a bug of kb-opt)");
}

} // namespace

void PartSums::erase() {
  end.erase();
  parts.erase();
  kernel.erase();
}

llvm::Expected<PartSums> kbopt::sumInParts(kb::NestOp nest, int64_t count) {
  if (count < 2 || count > 1024)
    return llvm::createStringError(llvm::Twine(count) + " parts are not 2 to 1024");
  SumOfPoint sum;
  if (std::string why = findSum(nest, sum); !why.empty())
    return llvm::createStringError(why);
  return Splitter(nest, sum, count).run();
}
