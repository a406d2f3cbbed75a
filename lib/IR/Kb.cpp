//===- Kb.cpp - Dialect registration and the index space ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the generated definitions, and names and locations of the index space.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/IR/Kb.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kbopt::kb;

#include "kb-opt/IR/KbDialect.cpp.inc"
#include "kb-opt/IR/KbEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "kb-opt/IR/KbAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "kb-opt/IR/KbOps.cpp.inc"

void KbDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kb-opt/IR/KbAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kb-opt/IR/KbOps.cpp.inc"
      >();
}

namespace kbopt::kb {

StringRef dimName(unsigned index, ArrayRef<StringAttr> loops) {
  static constexpr StringLiteral names[] = {"tid.x", "tid.y", "tid.z", "bid.x", "bid.y", "bid.z"};
  return index < firstLoopDim ? StringRef(names[index]) : loops[index - firstLoopDim].getValue();
}

StringRef symbolName(unsigned index, ArrayRef<StringAttr> symbols) {
  static constexpr StringLiteral names[] = {"bdim.x", "bdim.y", "bdim.z",
                                            "gdim.x", "gdim.y", "gdim.z"};
  return index < firstNamedSymbol ? StringRef(names[index])
                                  : symbols[index - firstNamedSymbol].getValue();
}

SmallVector<LoopOp> enclosingLoops(Operation *op) {
  SmallVector<LoopOp> loops;
  for (Operation *up = op->getParentOp(); up && !isa<KernelOp>(up); up = up->getParentOp())
    if (auto loop = dyn_cast<LoopOp>(up))
      loops.push_back(loop);
  std::reverse(loops.begin(), loops.end());
  return loops;
}

FileLineColRange sourceRange(Location loc) {
  if (auto range = dyn_cast<FileLineColRange>(loc))
    return range;
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return sourceRange(call.getCallee());
  if (auto name = dyn_cast<NameLoc>(loc))
    return sourceRange(name.getChildLoc());
  return {};
}

} // namespace kbopt::kb
