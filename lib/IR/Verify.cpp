//===- Verify.cpp - Verifiers of the kb operations -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what must hold of an operation beyond its declaration.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/IR/Kb.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace kbopt::kb {

/// The loops an expression is over must be those around its operation.
static LogicalResult verifyIndexSpace(Operation *op, StringRef what, ArrayRef<LoopOp> around,
                                      ArrayRef<StringAttr> loops, ArrayRef<StringAttr> symbols) {
  if (loops.size() != around.size())
    return op->emitOpError() << what << " is over " << loops.size() << " loops, but stands in "
                             << around.size();
  for (auto [index, name] : llvm::enumerate(loops))
    if (LoopOp loop = around[index]; loop.getNameAttr() != name)
      return op->emitOpError() << what << " is over loop '" << name.getValue() << "' where loop '"
                               << loop.getName() << "' stands around it";
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel)
    return op->emitOpError("must stand in a kb.kernel");
  for (StringAttr symbol : symbols)
    if (llvm::none_of(kernel.getSymbols().getAsRange<SymbolAttr>(),
                      [&](SymbolAttr known) { return known.getName() == symbol.getValue(); }))
      return op->emitOpError() << what << " uses symbol '" << symbol.getValue()
                               << "', which the kernel does not declare";
  return success();
}

/// Assumptions are positions in the kernel's list.
static LogicalResult verifyAssumptions(Operation *op, std::optional<ArrayRef<int64_t>> positions) {
  auto kernel = op->getParentOfType<KernelOp>();
  int64_t known = kernel && kernel.getAssumes() ? kernel.getAssumes()->size() : 0;
  for (int64_t position : positions.value_or(ArrayRef<int64_t>()))
    if (position < 0 || position >= known)
      return op->emitOpError() << "rests on assumption " << position
                               << ", which the kernel does not list";
  return success();
}

LogicalResult KernelOp::verify() {
  llvm::StringSet<> names;
  for (auto symbol : getSymbols().getAsRange<SymbolAttr>()) {
    if (!names.insert(symbol.getName()).second)
      return emitOpError() << "declares symbol '" << symbol.getName() << "' twice";
    if (symbol.getOrigin() == SymbolOrigin::Param &&
        (symbol.getArgument() < 0 || symbol.getArgument() >= (int64_t)getParams().size()))
      return emitOpError() << "symbol '" << symbol.getName() << "' names parameter "
                           << symbol.getArgument() << ", which does not exist";
  }
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getGridValues().size() != 3 || getBlockValues().size() != 3)
    return emitOpError("needs three grid and three block values");
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (!program.lookupSymbol<KernelOp>(getKernel()))
    return emitOpError() << "launches '" << getKernel() << "', which is not a kernel";
  return success();
}

LogicalResult LoopOp::verify() {
  if (getTripCount() && *getTripCount() < 0)
    return emitOpError("has a negative trip count");
  if (failed(verifyAssumptions(*this, getAssumes())))
    return failure();
  SmallVector<LoopOp> around = enclosingLoops(*this);
  for (LoopOp loop : around)
    if (loop.getName() == getName())
      return emitOpError() << "has the name '" << getName() << "' of a loop around it";
  if (ExprAttr trip = getTripAttr())
    if (failed(verifyIndexSpace(*this, "trip count", around, trip.getLoops(), trip.getSymbols())))
      return failure();
  around.push_back(*this);
  if (ExprAttr value = getValueAttr())
    return verifyIndexSpace(*this, "value", around, value.getLoops(), value.getSymbols());
  return success();
}

LogicalResult AccessOp::verify() {
  if (getBytes() < 0)
    return emitOpError("has a negative size");
  if (failed(verifyAssumptions(*this, getAssumes())))
    return failure();
  SmallVector<LoopOp> around = enclosingLoops(*this);
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel)
    return emitOpError("must stand in a kb.kernel");
  if (getBase().getKind() == BaseKind::Argument &&
      (getBase().getArgument() < 0 ||
       getBase().getArgument() >= (int64_t)kernel.getParams().size()))
    return emitOpError() << "names parameter " << getBase().getArgument()
                         << ", which does not exist";
  if (ExprAttr address = getAddressAttr())
    if (failed(
            verifyIndexSpace(*this, "address", around, address.getLoops(), address.getSymbols())))
      return failure();
  if (DomainAttr domain = getDomainAttr())
    return verifyIndexSpace(*this, "domain", around, domain.getLoops(), domain.getSymbols());
  return success();
}

LogicalResult SharedOp::verify() {
  if (getElementBytes() <= 0)
    return emitOpError("has elements without a size");
  return success();
}

LogicalResult ComputeOp::verify() {
  for (NamedAttribute count : getCounts())
    if (!isa<IntegerAttr>(count.getValue()))
      return emitOpError() << "count '" << count.getName().getValue() << "' is not an integer";
  return success();
}

} // namespace kbopt::kb
