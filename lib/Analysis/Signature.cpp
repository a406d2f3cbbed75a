//===- Signature.cpp - A kernel in a few numbers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sums over a kernel's operations.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Signature.h"

using namespace mlir;

namespace kbopt {

namespace {

/// How often an operation runs per thread, as far as constants say.
double weightOf(Operation *op, bool &complete) {
  double weight = 1;
  for (kb::LoopOp loop : kb::enclosingLoops(op)) {
    if (loop.getTripCount())
      weight *= *loop.getTripCount();
    else
      complete = false;
  }
  return weight;
}

void addAccess(kb::AccessOp access, double weight, StaticSignature &result) {
  bool isLoad = access.getKind() == kb::AccessKind::Load;
  if (access.getSpace() == kb::MemorySpace::Shared) {
    ++(isLoad ? result.sharedLoads : result.sharedStores);
    return;
  }
  if (access.getSpace() != kb::MemorySpace::Global && access.getSpace() != kb::MemorySpace::Generic)
    return;
  if (access.getKind() == kb::AccessKind::Atomic)
    ++result.atomics;
  else
    ++(isLoad ? result.loads : result.stores);
  if (access.getKind() == kb::AccessKind::Store)
    result.storesInLoops += !kb::enclosingLoops(access).empty();
  result.bytes += weight * access.getBytes();
  switch (laneStride(access).kind) {
  case StrideClass::Uniform:
    ++result.uniformStride;
    break;
  case StrideClass::Unit:
    ++result.unitStride;
    break;
  case StrideClass::Constant:
    ++result.constantStride;
    break;
  case StrideClass::Symbolic:
    ++result.symbolicStride;
    break;
  case StrideClass::Unknown:
    ++result.unknownStride;
    break;
  }
}

} // namespace

StaticSignature staticSignature(kb::KernelOp kernel) {
  StaticSignature result;
  kernel.walk([&](Operation *op) {
    if (auto access = dyn_cast<kb::AccessOp>(op)) {
      addAccess(access, weightOf(op, result.complete), result);
    } else if (auto compute = dyn_cast<kb::ComputeOp>(op)) {
      // It stands for the region around it.
      double weight = weightOf(op, result.complete);
      for (NamedAttribute entry : compute.getCounts()) {
        StringRef name = entry.getName();
        double number = weight * cast<IntegerAttr>(entry.getValue()).getInt();
        result.operations[name.str()] += number;
        bool isFloat = name.contains(".f") || name.contains(".bf");
        if (name.starts_with("ffma"))
          result.flops += 2 * number;
        else if (isFloat &&
                 (name.starts_with("fadd") || name.starts_with("fmul") || name.starts_with("fdiv")))
          result.flops += number;
        else if (name.starts_with("special"))
          result.flops += number;
      }
    } else if (auto shared = dyn_cast<kb::SharedOp>(op)) {
      int64_t elements = 1;
      for (int64_t extent : shared.getExtents())
        elements *= extent;
      if (shared.getDynamic())
        result.dynamicShared = true;
      else
        result.sharedBytes += elements * shared.getElementBytes();
    } else if (auto loop = dyn_cast<kb::LoopOp>(op)) {
      ++result.loops;
      result.constantLoops += loop.getTripCount().has_value();
      result.maxLoopDepth =
          std::max<unsigned>(result.maxLoopDepth, kb::enclosingLoops(op).size() + 1);
    } else if (auto branch = dyn_cast<kb::BranchOp>(op)) {
      ++(branch.getUniformity() == kb::Uniformity::Uniform ? result.uniformBranches
                                                           : result.divergentBranches);
    }
    result.barriers += isa<kb::BarrierOp>(op);
    result.shuffles += isa<kb::ShuffleOp>(op);
    result.mmas += isa<kb::MmaOp>(op);
    result.opaque += isa<kb::OpaqueOp>(op);
    result.calls += isa<kb::CallOp>(op);
  });
  return result;
}

} // namespace kbopt
