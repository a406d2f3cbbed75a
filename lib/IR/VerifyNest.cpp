//===- VerifyNest.cpp - Verifiers of the raised form -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what must hold of kb.nest and the operations in it beyond their declaration.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/IR/Kb.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace kbopt::kb {

SmallVector<StringAttr> nestDims(Operation *op) {
  SmallVector<StringAttr> names;
  for (Operation *up = op; up; up = up->getParentOp()) {
    if (auto over = dyn_cast<OverOp>(up); over && up != op)
      names.push_back(over.getNameAttr());
    if (auto nest = dyn_cast<NestOp>(up)) {
      auto dims = nest.getDims().getAsRange<StringAttr>();
      SmallVector<StringAttr> outer(dims.begin(), dims.end());
      names.append(outer.rbegin(), outer.rend());
      break;
    }
  }
  std::reverse(names.begin(), names.end());
  return names;
}

/// Every expression is over the dimensions around \p op and the nest's symbols.
static LogicalResult verifySpace(Operation *op, StringRef what, ArrayRef<StringAttr> loops,
                                 ArrayRef<StringAttr> symbols, ArrayRef<StringAttr> dims) {
  if (loops != dims)
    return op->emitOpError()
           << what << " is not over the dimensions around it, ["
           << llvm::join(llvm::map_range(dims, [](StringAttr name) { return name.getValue(); }),
                         ", ")
           << "]";
  auto nest = isa<NestOp>(op) ? cast<NestOp>(op) : op->getParentOfType<NestOp>();
  if (!nest)
    return op->emitOpError("must stand in a kb.nest");
  for (StringAttr symbol : symbols)
    if (llvm::none_of(nest.getSymbols().getAsRange<SymbolAttr>(),
                      [&](SymbolAttr known) { return known.getName() == symbol.getValue(); }))
      return op->emitOpError() << what << " uses symbol '" << symbol.getValue()
                               << "', which the nest does not declare";
  return success();
}

static LogicalResult verifyExpr(Operation *op, StringRef what, ExprAttr expr,
                                ArrayRef<StringAttr> dims) {
  return verifySpace(op, what, expr.getLoops(), expr.getSymbols(), dims);
}

static LogicalResult verifyOperand(Operation *op, OperandAttr operand) {
  SmallVector<StringAttr> dims = nestDims(op);
  if (failed(verifyExpr(op, "an offset", operand.getOffset(), dims)))
    return failure();
  if (operand.getIndices().size() != operand.getStrides().size())
    return op->emitOpError("has an operand with as many indices as strides expected");
  for (ExprAttr index : operand.getIndices())
    if (failed(verifyExpr(op, "an index", index, dims)))
      return failure();
  for (ExprAttr stride : operand.getStrides())
    if (failed(verifyExpr(op, "a stride", stride, dims)))
      return failure();
  return success();
}

/// Holes `$0`, `$1`, … and \p operands belong together.
static LogicalResult verifyText(Operation *op, StringRef text, ArrayAttr operands) {
  for (auto operand : operands.getAsRange<OperandAttr>())
    if (failed(verifyOperand(op, operand)))
      return failure();
  for (size_t at = text.find('$'); at != StringRef::npos; at = text.find('$', at + 1)) {
    StringRef digits = text.substr(at + 1).take_while(llvm::isDigit);
    unsigned hole = 0;
    if (digits.getAsInteger(10, hole) || hole >= operands.size())
      return op->emitOpError() << "has a hole without an operand in '" << text << "'";
  }
  return success();
}

NestOp SequenceOp::first() { return cast<NestOp>(getBody().front().front()); }
NestOp SequenceOp::last() { return cast<NestOp>(getBody().front().back()); }

LogicalResult SequenceOp::verify() {
  auto isOfKernel = [&](Operation &op) {
    auto nest = dyn_cast<NestOp>(op);
    return nest && nest.getKernel() == getKernel();
  };
  Block &body = getBody().front();
  if (body.getOperations().size() != 2 || !llvm::all_of(body, isOfKernel))
    return emitOpError("must hold two nests of its kernel");
  return success();
}

LogicalResult NestOp::verify() {
  if (getDims().size() != getExtents().size())
    return emitOpError("needs one extent for each dimension");
  llvm::StringSet<> names;
  auto isNew = [&](StringRef name) { return names.insert(name).second; };
  for (auto dim : getDims().getAsRange<StringAttr>())
    if (!isNew(dim.getValue()))
      return emitOpError() << "has two dimensions '" << dim.getValue() << "'";
  for (auto symbol : getSymbols().getAsRange<SymbolAttr>())
    if (!isNew(symbol.getName()))
      return emitOpError() << "declares '" << symbol.getName() << "' twice";
  LogicalResult unique = success();
  walk([&](OverOp over) {
    if (!isNew(over.getName()))
      unique = over.emitOpError() << "has the name '" << over.getName() << "' of another dimension";
  });
  SmallVector<StringAttr> dims = nestDims(*this);
  for (auto extent : getExtents().getAsRange<ExprAttr>())
    if (failed(verifyExpr(*this, "an extent", extent, dims)))
      return failure();
  if (auto requirements = getRequirements())
    for (auto each : requirements->getAsRange<ExprAttr>())
      if (failed(verifyExpr(*this, "a requirement", each, dims)))
        return failure();
  if (auto domain = getDomain())
    if (failed(verifySpace(*this, "the domain", domain->getLoops(), domain->getSymbols(), dims)))
      return failure();
  return unique;
}

LogicalResult OverOp::verify() {
  return verifyExpr(*this, "the extent", getExtent(), nestDims(*this));
}

LogicalResult WhenOp::verify() {
  if (auto domain = getDomain())
    if (failed(verifySpace(*this, "the condition", domain->getLoops(), domain->getSymbols(),
                           nestDims(*this))))
      return failure();
  return verifyText(*this, getText(), getOperands());
}

LogicalResult LetOp::verify() { return verifyText(*this, getText(), getOperands()); }

LogicalResult ReduceOp::verify() {
  static constexpr StringLiteral kinds[] = {"add", "mul", "max",    "min",   "and",
                                            "or",  "xor", "argmax", "argmin"};
  if (!llvm::is_contained(kinds, getReduction()))
    return emitOpError() << "has the unknown kind '" << getReduction() << "'";
  return verifyText(*this, getText(), getOperands());
}

LogicalResult StoreOp::verify() {
  if (getTarget().getKind() != OperandKind::Element)
    return emitOpError("needs an element to store to");
  if (failed(verifyOperand(*this, getTarget())))
    return failure();
  return verifyText(*this, getText(), getOperands());
}

} // namespace kbopt::kb
