//===- Stops.cpp - Where the threads of a kernel wait ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Stops.h"
#include "kb-opt/Support/AnalysisManagers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include <cstddef>

using namespace llvm;
using kbrt::StopKind;

namespace kbopt::cpu {

static constexpr const char markerName[] = "kb.stop", resultName[] = "kb.stop.result",
                            flagName[] = "kb.stop.flag";

static StringRef calleeOf(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee ? callee->getName() : StringRef();
}

static std::optional<StopKind> kindOf(StringRef name) {
  return StringSwitch<std::optional<StopKind>>(name)
      .Case("kbrt_barrier", StopKind::Barrier)
      .Case("kbrt_barrier_red", StopKind::BarrierReduction)
      .Case("kbrt_warp_sync", StopKind::WarpSync)
      .Case("kbrt_shuffle", StopKind::Shuffle)
      .Case("kbrt_vote", StopKind::Vote)
      .Case("kbrt_match_any", StopKind::MatchAny)
      .Case("kbrt_match_all", StopKind::MatchAll)
      .Case("kbrt_redux", StopKind::Redux)
      .Default(std::nullopt);
}

/// Calls that switch to another thread in a way no stop does.
static bool needsFiber(StringRef name) {
  return name == "kbrt_barrier_arrive" || name == "kbrt_yield" || name == "kbrt_exit" ||
         name == "kbrt_activemask" || name == "kbrt_mma" || name == "kbrt_wgmma" ||
         name.starts_with("kbrt_mbarrier_");
}

static bool isZero(const Value *value) {
  auto *constant = dyn_cast<ConstantInt>(value);
  return constant && constant->isZero();
}

bool canSplit(ImageContext &context, Function &kernel) {
  bool hasStop = false;
  for (Function *function : context.reachableFrom(kernel))
    for (Instruction &instruction : instructions(*function)) {
      StringRef name = calleeOf(instruction);
      if (needsFiber(name))
        return false;
      std::optional<StopKind> kind = kindOf(name);
      if (!kind)
        continue;
      auto &call = cast<CallInst>(instruction);
      bool isBlock = *kind == StopKind::Barrier || *kind == StopKind::BarrierReduction;
      // Barriers with a number or a count, and those in functions that are not inlined.
      if (function != &kernel ||
          (isBlock && !(isZero(call.getArgOperand(1)) && isZero(call.getArgOperand(2)))))
        return false;
      hasStop = true;
    }
  return hasStop;
}

static Function *declare(Module &module, StringRef name, Type *result,
                         ArrayRef<Type *> parameters) {
  auto *function = cast<Function>(
      module.getOrInsertFunction(name, FunctionType::get(result, parameters, false)).getCallee());
  for (Attribute::AttrKind kind :
       {Attribute::NoUnwind, Attribute::Convergent, Attribute::NoMerge, Attribute::NoDuplicate})
    function->addFnAttr(kind);
  return function;
}

std::vector<Stop> markStops(ImageContext &context, Function &kernel) {
  std::vector<Stop> stops;
  SmallVector<CallInst *> calls;
  for (Instruction &instruction : instructions(kernel))
    if (kindOf(calleeOf(instruction)))
      calls.push_back(cast<CallInst>(&instruction));
  for (CallInst *call : calls) {
    IRBuilder<> b(call);
    Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty();
    Stop stop;
    stop.kind = *kindOf(calleeOf(*call));
    stop.site = cast<ConstantInt>(call->getArgOperand(0))->getZExtValue();
    Value *mask = PoisonValue::get(i32), *value = PoisonValue::get(i64), *lane = mask,
          *clamp = mask;
    auto operand = [&](unsigned index) { return call->getArgOperand(index); };
    auto constant = [&](unsigned index) {
      return unsigned(cast<ConstantInt>(operand(index))->getZExtValue());
    };
    Value *flagPlace = nullptr;
    if (stop.isOfWarp())
      mask = operand(1);
    switch (stop.kind) {
    case StopKind::Barrier:
    case StopKind::WarpSync:
      break;
    case StopKind::BarrierReduction:
      stop.detail = constant(3);
      value = operand(4);
      break;
    case StopKind::Shuffle:
      stop.detail = constant(2);
      value = operand(3);
      lane = operand(4);
      clamp = operand(5);
      flagPlace = operand(6);
      break;
    case StopKind::Vote:
    case StopKind::Redux:
      stop.detail = constant(2);
      value = operand(3);
      break;
    case StopKind::MatchAll:
      flagPlace = operand(3);
      [[fallthrough]];
    case StopKind::MatchAny:
      value = operand(2);
      break;
    }
    b.CreateCall(declare(context.module, markerName, b.getVoidTy(), {i32, i32, i64, i32, i32}),
                 {b.getInt32(stops.size()), mask, b.CreateZExt(value, i64), lane, clamp});
    if (!call->use_empty())
      call->replaceAllUsesWith(b.CreateCall(declare(context.module, resultName, i32, {})));
    if (flagPlace && !isa<ConstantPointerNull>(flagPlace))
      b.CreateStore(b.CreateCall(declare(context.module, flagName, i32, {})), flagPlace);
    call->eraseFromParent();
    stops.push_back(stop);
  }
  return stops;
}

bool isStopMarker(const Instruction &instruction) { return calleeOf(instruction) == markerName; }

std::optional<size_t> isStopResult(const Instruction &instruction) {
  StringRef name = calleeOf(instruction);
  if (name == resultName)
    return offsetof(kbrt::Exchange, result);
  if (name == flagName)
    return offsetof(kbrt::Exchange, flag);
  return std::nullopt;
}

void tidy(Function &function) {
  PassBuilder builder;
  AnalysisManagers analyses(builder);
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(DCEPass());
  passes.run(function, analyses.functions);
}

} // namespace kbopt::cpu
