//===- PartSums.cpp - A sum in parts that blocks share out ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PartSums.h"
#include "HostText.h"
#include "NestCopy.h"
#include "SumLoops.h"
#include "kb-opt/Schedule/Sketch.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSwitch.h"
#include <set>

using namespace kbopt;
using llvm::StringRef;
using mlir::AffineExpr;

namespace {

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
  Splitter(kb::NestOp nest, std::vector<SumLoop> loops, int64_t count)
      : nest(nest), loops(std::move(loops)), count(count), builder(nest.getContext()) {
    for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      symbols.push_back(builder.getStringAttr(symbol.getName()));
    nest->walk([&](mlir::Operation *op) {
      addReads(op, taken);
      if (auto name = op->getAttrOfType<mlir::StringAttr>("name"))
        taken.insert(name.str());
    });
    for (auto dim : nest.getDims().getAsRange<mlir::StringAttr>()) {
      points.push_back(dim);
      taken.insert(dim.str());
    }
  }

  llvm::Expected<PartSums> run();

private:
  mutable kb::NestOp nest;
  mutable std::vector<SumLoop> loops;
  const int64_t count;
  mlir::OpBuilder builder;
  std::vector<mlir::StringAttr> symbols, points;
  Names taken;
  std::string part;
  mlir::Operation *last = nullptr; ///< after which the next nest stands
  PartSums result;

  /// Whether sums are formed by kernels of their own: further loops follow them.
  bool isChain() const { return loops.size() > 1 || !isOnlyLoop(); }
  bool isOnlyLoop() const;
  bool isSumLoop(mlir::Operation *op) const {
    return llvm::any_of(loops, [&](SumLoop &loop) { return loop.over.getOperation() == op; });
  }
  mlir::Location place() { return builder.getUnknownLoc(); }
  std::string freshName(StringRef wanted);
  std::string whyNot(kb::OverOp loop) const;
  void addKernel();
  NestCopier addNest(llvm::ArrayRef<mlir::StringAttr> dims);
  void setSpace(NestCopier &copier, llvm::ArrayRef<kb::ExprAttr> before,
                llvm::ArrayRef<kb::ExprAttr> after, llvm::ArrayRef<kb::ExprAttr> more);
  kb::OperandAttr element(NestCopier &copier, size_t sum, AffineExpr slot);
  bool takesTotal(NestCopier &copier, mlir::Operation *op, const Operations &kept);
  void addParts(SumLoop &loop);
  void addUp(NestCopier &copier, SumLoop &loop);
  void addTotal(SumLoop &loop);
  void addEnd();
  void addRest();
  kb::OverOp lastLoop() const;
  Operations keptAfter() const;
  Operations scalarsFor(Names names, mlir::Operation *end) const;
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

/// An empty nest of the new kernel over \p dims, each of which is a dimension of the given nest or
/// new, and what copies into it.
NestCopier Splitter::addNest(llvm::ArrayRef<mlir::StringAttr> dims) {
  llvm::SmallVector<mlir::Attribute> names(dims.begin(), dims.end());
  builder.setInsertionPoint(result.kernel->getBlock(), std::next(last->getIterator()));
  auto added = kb::NestOp::create(
      builder, place(), result.kernel.getSymName(), builder.getArrayAttr(names),
      builder.getArrayAttr({}), nest.getSymbols(), mlir::ArrayAttr(), kb::DomainAttr(),
      nest.getHeaderAttr(), mlir::DictionaryAttr(), nest.getRacefreeAttr(), nest.getFilledAttr());
  last = added;
  result.nests.push_back(added);
  builder.setInsertionPointToEnd(&added.getBody().emplaceBlock());
  NestCopier copier(builder, dims, symbols);
  for (mlir::StringAttr dim : dims)
    copier.dimensions[dim.getValue()] = copier.dimNamed(dim.getValue());
  return copier;
}

/// Gives the newest nest its extents, \p before those of the points and \p after, and what the
/// given nest requires as well as \p more.
void Splitter::setSpace(NestCopier &copier, llvm::ArrayRef<kb::ExprAttr> before,
                        llvm::ArrayRef<kb::ExprAttr> after, llvm::ArrayRef<kb::ExprAttr> more) {
  llvm::SmallVector<mlir::Attribute> extents(before.begin(), before.end()), requirements;
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    extents.push_back(copier.expression(extent));
  extents.append(after.begin(), after.end());
  if (auto given = nest.getRequirements())
    for (auto each : given->getAsRange<kb::ExprAttr>())
      requirements.push_back(copier.expression(each));
  requirements.append(more.begin(), more.end());
  result.nests.back().setExtentsAttr(builder.getArrayAttr(extents));
  result.nests.back().setRequirementsAttr(builder.getArrayAttr(requirements));
}

/// The place of a part of sum \p sum of the point, or behind them of the sum itself:
/// `memory[slot][i][j]`.
kb::OperandAttr Splitter::element(NestCopier &copier, size_t sum, AffineExpr slot) {
  llvm::SmallVector<AffineExpr> at{slot + int64_t(sum) * (count + 1)}, extents;
  for (auto [dim, extent] : llvm::zip_equal(points, nest.getExtents().getAsRange<kb::ExprAttr>())) {
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

/// The scalars outside of sums, of those before \p end if there is one, that give \p names their
/// values.
Operations Splitter::scalarsFor(Names names, mlir::Operation *end) const {
  llvm::SmallVector<kb::LetOp> lets;
  nest.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (isSumLoop(op))
      return op == end ? mlir::WalkResult::interrupt() : mlir::WalkResult::skip();
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

/// Where \p op is the loop of sums that other kernels have formed: their variables that are in
/// \p kept get them.
bool Splitter::takesTotal(NestCopier &copier, mlir::Operation *op, const Operations &kept) {
  auto loop = llvm::find_if(loops, [&](SumLoop &each) { return each.over.getOperation() == op; });
  if (loop == loops.end())
    return false;
  for (auto [number, sum] : llvm::enumerate(loop->sums))
    if (kept.count(sum.variable))
      kb::LetOp::create(builder, place(), sum.variable.getName(), sum.variable.getType(), "$0",
                        builder.getArrayAttr({element(copier, loop->first + number,
                                                      builder.getAffineConstantExpr(count))}),
                        /*reassigns=*/true);
  return true;
}

/// The kernel that forms the parts of the sums of \p loop.
void Splitter::addParts(SumLoop &loop) {
  kb::OverOp over = loop.over;
  std::vector<mlir::StringAttr> dims{builder.getStringAttr(part)};
  dims.insert(dims.end(), points.begin(), points.end());
  NestCopier copier = addNest(dims);
  Names names;
  over.walk([&](mlir::Operation *op) { addReads(op, names); });
  Operations kept;
  for (mlir::Operation *at = over->getParentOp(); at != nest.getOperation();
       at = at->getParentOp()) {
    kept.insert(at);
    addReads(at, names);
  }
  for (SumOfPoint &sum : loop.sums)
    names.erase(sum.reduce.getName().str());
  kept.merge(scalarsFor(std::move(names), over));
  bool isBehind = false;
  copier.keeps = [&](mlir::Operation *op) {
    if (over->isProperAncestor(op))
      return true;
    if (op != over.getOperation())
      return !isBehind && !takesTotal(copier, op, kept) && kept.count(op) != 0;
    for (SumOfPoint &sum : loop.sums)
      kb::LetOp::create(builder, place(), sum.reduce.getName(), sum.variable.getType(),
                        sum.reduce.getIdentity(), builder.getArrayAttr({}));
    kb::ExprAttr length = copier.expression(over.getExtent());
    AffineExpr ofPart = length.getExpr().floorDiv(count), first = copier.dimNamed(part) * ofPart;
    copier.enter(over.getName(), copier.expression(ofPart), over.getOrder(), over.getTeam(),
                 over.getName());
    copier.dimensions[over.getName()] = first + copier.dimensions[over.getName()];
    copier.copy(over.getBody().front());
    copier.leave();
    for (auto [number, sum] : llvm::enumerate(loop.sums))
      kb::StoreOp::create(builder, place(),
                          element(copier, loop.first + number, copier.dimNamed(part)),
                          sum.reduce.getName(), builder.getArrayAttr({}), mlir::StringAttr());
    isBehind = true;
    return false;
  };
  copier.copy(nest.getBody().front());
  kb::ExprAttr length = copier.expression(over.getExtent());
  llvm::SmallVector<kb::ExprAttr> divides;
  if (!length.getConstant())
    divides.push_back(copier.expression(-(length.getExpr() % count)));
  setSpace(copier, copier.expression(builder.getAffineConstantExpr(count)), {}, divides);
  if (result.count)
    return;
  const int64_t all = loops.back().first + loops.back().sums.size();
  AffineExpr elements =
      builder.getAffineConstantExpr(all == 1 && !isChain() ? count : all * (count + 1));
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    elements = elements * copier.expression(extent).getExpr();
  result.count = copier.expression(elements);
}

/// Adds the parts of the sums of \p loop to their variables, where \p copier stands.
void Splitter::addUp(NestCopier &copier, SumLoop &loop) {
  copier.enter(part, copier.expression(builder.getAffineConstantExpr(count)),
               kb::LoopOrder::Reduction, false, part);
  for (auto [number, sum] : llvm::enumerate(loop.sums))
    kb::ReduceOp::create(
        builder, place(), sum.reduce.getName(), sum.reduce.getReduction(), sum.reduce.getCombine(),
        sum.reduce.getIdentity(), "$0",
        builder.getArrayAttr({element(copier, loop.first + number, copier.dimNamed(part))}));
  copier.leave();
}

/// The kernel that adds the parts of the sums of \p loop up.
void Splitter::addTotal(SumLoop &loop) {
  NestCopier copier = addNest(points);
  Names names;
  for (SumOfPoint &sum : loop.sums)
    names.insert(sum.variable.getName().str());
  const Operations kept = scalarsFor(std::move(names), loop.over);
  bool isBehind = false;
  copier.keeps = [&](mlir::Operation *op) {
    if (op != loop.over.getOperation())
      return !isBehind && !takesTotal(copier, op, kept) && kept.count(op) != 0;
    addUp(copier, loop);
    for (auto [number, sum] : llvm::enumerate(loop.sums))
      kb::StoreOp::create(
          builder, place(),
          element(copier, loop.first + number, builder.getAffineConstantExpr(count)),
          sum.reduce.getName(), builder.getArrayAttr({}), mlir::StringAttr());
    isBehind = true;
    return false;
  };
  copier.copy(nest.getBody().front());
  setSpace(copier, {}, {}, {});
}

/// What follows the sums: all operations outside of them, and the scalars that these need.
Operations Splitter::keptAfter() const {
  Names names;
  Operations kept;
  nest.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (isSumLoop(op))
      return mlir::WalkResult::skip();
    if (!mlir::isa<kb::NestOp, kb::LetOp>(op)) {
      kept.insert(op);
      addReads(op, names);
    }
    return mlir::WalkResult::advance();
  });
  if (!isChain())
    for (SumOfPoint &sum : loops.front().sums)
      names.insert(sum.reduce.getName().str());
  kept.merge(scalarsFor(std::move(names), nullptr));
  return kept;
}

/// The kernel that adds up the parts of the only loop's sums, and does what follows.
void Splitter::addEnd() {
  NestCopier copier = addNest(points);
  const Operations kept = keptAfter();
  copier.keeps = [&](mlir::Operation *op) {
    if (op != loops.front().over.getOperation())
      return kept.count(op) != 0;
    addUp(copier, loops.front());
    return false;
  };
  copier.copy(nest.getBody().front());
  setSpace(copier, {}, {}, {});
}

/// The loop that ends the nest, if there are only scalars and sums before it, and its iterations
/// are independent: then they are points.
kb::OverOp Splitter::lastLoop() const {
  mlir::Block &body = nest.getBody().front();
  auto over = mlir::dyn_cast<kb::OverOp>(body.back());
  if (!over || isSumLoop(over) || over.getOrder() != kb::LoopOrder::Any || over.getText())
    return {};
  for (mlir::Operation &op : llvm::drop_end(body))
    if (!mlir::isa<kb::LetOp>(op) && !isSumLoop(&op))
      return {};
  if (loadsWhatIsStored(body, over))
    return {};
  kb::ExprAttr extent = over.getExtent();
  for (unsigned dim = 0; dim < extent.getLoops().size(); ++dim)
    if (extent.getMap().isFunctionOfDim(kb::firstLoopDim + dim))
      return {};
  return over;
}

/// The kernel that does what follows the sums of a chain.
void Splitter::addRest() {
  kb::OverOp loop = lastLoop();
  std::vector<mlir::StringAttr> dims = points;
  if (loop)
    dims.push_back(loop.getNameAttr());
  NestCopier copier = addNest(dims);
  const Operations kept = keptAfter();
  copier.keeps = [&](mlir::Operation *op) {
    if (takesTotal(copier, op, kept))
      return false;
    if (!loop || op != loop.getOperation())
      return kept.count(op) != 0;
    copier.copy(loop.getBody().front());
    return false;
  };
  copier.copy(nest.getBody().front());
  if (!loop)
    return setSpace(copier, {}, {}, {});
  // An int counts the points.
  AffineExpr left = builder.getAffineConstantExpr(INT32_MAX),
             all = copier.expression(loop.getExtent()).getExpr();
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    all = all * copier.expression(extent).getExpr();
  setSpace(copier, {}, copier.expression(loop.getExtent()), copier.expression(left - all));
}

/// Whether nothing but a sum is in a loop.
bool Splitter::isOnlyLoop() const {
  bool isOnly = true;
  nest.walk([&](kb::OverOp over) { isOnly &= loops.front().over->isAncestor(over); });
  return isOnly;
}

std::string Splitter::whyNot(kb::OverOp loop) const {
  kb::ExprAttr length = loop.getExtent();
  for (unsigned dim = 0; dim < length.getLoops().size(); ++dim)
    if (length.getMap().isFunctionOfDim(kb::firstLoopDim + dim))
      return "the length of its sum differs between outputs";
  if (auto constant = length.getConstant(); constant && *constant % count)
    return (llvm::Twine(count) + " parts do not divide its sum of " + llvm::Twine(*constant) +
            " terms")
        .str();
  return "";
}

llvm::Expected<PartSums> Splitter::run() {
  result.type = loops.front().sums.front().variable.getType().str();
  if (!bytesOf(result.type))
    return llvm::createStringError("its sum is of type '" + result.type + "'");
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    for (unsigned dim = 0; dim < nest.getDims().size(); ++dim)
      if (extent.getMap().isFunctionOfDim(kb::firstLoopDim + dim))
        return llvm::createStringError("how many points it has depends on its points");
  for (const SumLoop &loop : loops)
    if (std::string why = whyNot(loop.over); !why.empty())
      return llvm::createStringError(why);
  last = nest;
  addKernel();
  part = freshName("part");
  for (SumLoop &loop : loops) {
    addParts(loop);
    if (isChain())
      addTotal(loop);
  }
  if (isChain())
    addRest();
  else
    addEnd();
  if (llvm::all_of(result.nests,
                   [](kb::NestOp each) { return mlir::succeeded(mlir::verify(each)); }))
    return std::move(result);
  result.erase();
  return llvm::createStringError("the form of its sum in parts does not verify (a bug of kb-opt)");
}

} // namespace

void PartSums::erase() {
  for (kb::NestOp each : nests)
    each.erase();
  kernel.erase();
}

llvm::Expected<PartSums> kbopt::sumInParts(kb::NestOp nest, int64_t count) {
  if (count < 2 || count > 1024)
    return llvm::createStringError(llvm::Twine(count) + " parts are not 2 to 1024");
  std::vector<SumLoop> loops;
  if (std::string why = findSums(nest, loops); !why.empty())
    return llvm::createStringError(why);
  return Splitter(nest, std::move(loops), count).run();
}
