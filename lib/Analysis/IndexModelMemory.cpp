//===- IndexModelMemory.cpp - Addresses, conditions and loops --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the parts of IndexModel that look at pointers, branches and loops.
//
//===----------------------------------------------------------------------===//
#include "IndexModel.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace kbopt::analysis {

/// Offsets are modulo 2^64, as addresses are; an index narrower than that is
/// widened as the GEP does, with its sign.
static std::optional<Poly> addIndex(std::optional<Poly> total,
                                    const std::optional<IndexValue> &index, unsigned width,
                                    int64_t scale, AssumptionSet &assumes) {
  if (!total || !index || (width < 64 && !index->asSigned))
    return std::nullopt;
  assumes.insert(index->assumes.begin(), index->assumes.end());
  return *total + index->poly * Poly::constant(scale);
}

Address IndexModel::address(Value *pointer) {
  Address result;
  result.isUniform = threads.level(pointer) != Level::Thread;
  result.offset = Poly();
  const DataLayout &layout = kernel.getDataLayout();
  // A chain of pointer arithmetic is finite, but phis may form cycles.
  for (unsigned steps = 0; steps < 1000; ++steps) {
    result.base = pointer;
    if (auto *gep = dyn_cast<GEPOperator>(pointer)) {
      SmallMapVector<Value *, APInt, 4> variable;
      APInt constant(64, 0);
      if (!gep->collectOffset(layout, 64, variable, constant))
        result.offset.reset();
      else {
        for (auto &[index, scale] : variable)
          result.offset =
              addIndex(result.offset, get(index), index->getType()->getIntegerBitWidth(),
                       scale.getSExtValue(), result.assumes);
        if (result.offset)
          result.offset = *result.offset + Poly::constant(constant.getSExtValue());
      }
      pointer = gep->getPointerOperand();
    } else if (auto *cast = dyn_cast<AddrSpaceCastOperator>(pointer)) {
      pointer = cast->getPointerOperand();
    } else if (auto *freeze = dyn_cast<FreezeInst>(pointer)) {
      pointer = freeze->getOperand(0);
    } else if (auto *phi = dyn_cast<PHINode>(pointer)) {
      // A pointer that a loop advances by a constant step.
      Loop *loop = loops.getLoopFor(phi->getParent());
      BasicBlock *latch = loop ? loop->getLoopLatch() : nullptr;
      if (phi->getNumIncomingValues() == 1) {
        // Leaving a loop: the pointer of the last iteration.
        auto *inst = dyn_cast<Instruction>(phi->getIncomingValue(0));
        if (inst && loops.getLoopFor(inst->getParent()) != loop)
          result.offset.reset();
        pointer = phi->getIncomingValue(0);
        continue;
      }
      if (!latch || loop->getHeader() != phi->getParent() || !loop->getLoopPreheader()) {
        result.kind = Address::Unknown;
        result.offset.reset();
        return result;
      }
      auto *next = dyn_cast<GEPOperator>(phi->getIncomingValueForBlock(latch));
      SmallMapVector<Value *, APInt, 4> variable;
      APInt constant(64, 0);
      if (!next || next->getPointerOperand() != phi ||
          !next->collectOffset(layout, 64, variable, constant)) {
        result.offset.reset();
      } else {
        std::optional<Poly> step = Poly::constant(constant.getSExtValue());
        for (auto &[index, scale] : variable)
          step = evolution.isLoopInvariant(evolution.getSCEV(index), loop)
                     ? addIndex(step, get(index), index->getType()->getIntegerBitWidth(),
                                scale.getSExtValue(), result.assumes)
                     : std::nullopt;
        if (step && result.offset && vars.isSymbolic(*step))
          result.offset = *result.offset + *step * Poly::variable(loopFacts.at(loop).var);
        else
          result.offset.reset();
      }
      // Only a pointer that is advanced from its start has that start as base.
      if (!next || next->getPointerOperand() != phi) {
        result.kind = Address::Unknown;
        return result;
      }
      pointer = phi->getIncomingValueForBlock(loop->getLoopPreheader());
    } else {
      break;
    }
  }
  result.base = pointer;
  if (auto *argument = dyn_cast<Argument>(pointer)) {
    result.kind = Address::Argument;
    result.argument = argument->getArgNo();
  } else if (isa<GlobalVariable>(pointer)) {
    result.kind = Address::Global;
  } else if (isa<AllocaInst>(pointer)) {
    result.kind = Address::Local;
  } else if (auto *load = dyn_cast<LoadInst>(pointer)) {
    APInt offset(64, 0);
    Value *from =
        load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    auto *argument = dyn_cast<Argument>(from);
    result.kind = argument && load->hasMetadata("kb.param") ? Address::Field : Address::Loaded;
    if (result.kind == Address::Field) {
      result.argument = argument->getArgNo();
      result.byteOffset = offset.getSExtValue();
    }
  } else {
    result.kind = Address::Unknown;
  }
  if (result.offset && !vars.isAffine(*result.offset))
    result.offset.reset();
  return result;
}

/// Adds what \p condition being \p holds says. False if something was lost.
bool IndexModel::addCondition(Value *condition, bool holds, std::vector<Condition> &result) {
  auto *inst = dyn_cast<Instruction>(condition);
  if (!inst)
    return false;
  Value *a = nullptr, *b = nullptr;
  bool isAnd = inst->getOpcode() == Instruction::And, isOr = inst->getOpcode() == Instruction::Or;
  if (isAnd || isOr) {
    a = inst->getOperand(0);
    b = inst->getOperand(1);
  } else if (auto *select = dyn_cast<SelectInst>(inst)) {
    a = select->getCondition();
    auto *whenTrue = dyn_cast<ConstantInt>(select->getTrueValue());
    auto *whenFalse = dyn_cast<ConstantInt>(select->getFalseValue());
    isAnd = whenFalse && whenFalse->isZero();
    isOr = whenTrue && whenTrue->isOne();
    b = isAnd ? select->getTrueValue() : select->getFalseValue();
  }
  if (isAnd || isOr) {
    if (isAnd != holds)
      return false;
    bool first = addCondition(a, holds, result), second = addCondition(b, holds, result);
    return first && second;
  }
  if (inst->getOpcode() == Instruction::Xor)
    if (auto *one = dyn_cast<ConstantInt>(inst->getOperand(1)); one && one->isOne())
      return addCondition(inst->getOperand(0), !holds, result);
  auto *compare = dyn_cast<ICmpInst>(inst);
  if (!compare || !compare->getOperand(0)->getType()->isIntegerTy())
    return false;
  auto left = get(compare->getOperand(0)), right = get(compare->getOperand(1));
  if (!left || !right)
    return false;
  for (auto *side : {&*left, &*right})
    if (compare->isSigned() && !side->asSigned &&
        compare->getOperand(0)->getType()->isIntegerTy(32))
      assumeSigned(*side);
  for (auto *side : {&*left, &*right})
    if (compare->isUnsigned() && !side->asUnsigned && !side->asSigned &&
        compare->getOperand(0)->getType()->isIntegerTy(32))
      assumeUnsigned(*side);
  bool signedRead = left->asSigned && right->asSigned;
  bool unsignedRead = left->asUnsigned && right->asUnsigned;
  AssumptionSet assumes = left->assumes;
  assumes.insert(right->assumes.begin(), right->assumes.end());
  auto predicate = holds ? compare->getPredicate() : compare->getInversePredicate();
  // (unsigned)a < b with b >= 0 says 0 <= a < b.
  if ((predicate == CmpInst::ICMP_ULT || predicate == CmpInst::ICMP_ULE) && !unsignedRead &&
      signedRead && right->asUnsigned && vars.isAffine(left->poly)) {
    result.push_back({left->poly, false, assumes});
    predicate = predicate == CmpInst::ICMP_ULT ? CmpInst::ICMP_SLT : CmpInst::ICMP_SLE;
  }
  if (CmpInst::isSigned(predicate)     ? !signedRead
      : CmpInst::isUnsigned(predicate) ? !unsignedRead
                                       : !signedRead && !unsignedRead)
    return false;
  Poly difference = left->poly - right->poly, minusOne = Poly::constant(-1);
  auto add = [&](Poly poly, bool isEquality = false) {
    if (!vars.isAffine(poly))
      return false;
    result.push_back({std::move(poly), isEquality, assumes});
    return true;
  };
  switch (predicate) {
  case CmpInst::ICMP_SGE:
  case CmpInst::ICMP_UGE:
    return add(difference);
  case CmpInst::ICMP_SGT:
  case CmpInst::ICMP_UGT:
    return add(difference + minusOne);
  case CmpInst::ICMP_SLE:
  case CmpInst::ICMP_ULE:
    return add(difference * minusOne);
  case CmpInst::ICMP_SLT:
  case CmpInst::ICMP_ULT:
    return add(difference * minusOne + minusOne);
  case CmpInst::ICMP_EQ:
    return add(difference, true);
  case CmpInst::ICMP_NE: {
    // The end of a value's range: x != 0 for x >= 0 is x - 1 >= 0.
    Interval range;
    noting(assumes, [&] { range = vars.range(difference); });
    if (range.low >= 0)
      return add(difference + minusOne);
    if (range.high <= 0)
      return add(difference * minusOne + minusOne);
    return false;
  }
  default:
    return false;
  }
}

std::vector<Condition> IndexModel::conditions(const BasicBlock *block, bool &exact) {
  std::vector<Condition> result;
  auto *node = dominators.getNode(block);
  for (node = node ? node->getIDom() : nullptr; node; node = node->getIDom()) {
    BasicBlock *from = node->getBlock();
    auto *branch = dyn_cast<BranchInst>(from->getTerminator());
    // Having left a loop says nothing about being here.
    const Loop *around = loops.getLoopFor(from);
    if (around && !around->contains(block))
      continue;
    if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) {
      if (from->getTerminator()->getNumSuccessors() > 1)
        exact = false;
      continue;
    }
    for (bool holds : {true, false})
      if (dominators.dominates(BasicBlockEdge(from, branch->getSuccessor(holds ? 0 : 1)), block))
        exact &= addCondition(branch->getCondition(), holds, result);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

void IndexModel::analyzeLoop(Loop *loop) {
  LoopFact &fact = loopFacts.at(loop);
  auto *branch = dyn_cast<BranchInst>(loop->getHeader()->getTerminator());
  for (PHINode &phi : loop->getHeader()->phis()) {
    auto value = get(&phi);
    if (!value || !value->poly.contains(fact.var))
      continue;
    bool decides = branch && branch->isConditional() && isa<Instruction>(branch->getCondition()) &&
                   llvm::is_contained(cast<Instruction>(branch->getCondition())->operands(), &phi);
    if (!fact.variable || decides) {
      fact.variable = &phi;
      fact.value = value->poly;
      fact.assumes = value->assumes;
    }
  }
  analyzeTrip(loop, fact);
}

void IndexModel::analyzeTrip(Loop *loop, LoopFact &fact) {
  BasicBlock *exiting = loop->getExitingBlock();
  if (!exiting)
    return;
  bool atEnd = exiting == loop->getLoopLatch();
  if (!atEnd && exiting != loop->getHeader())
    return;
  if (unsigned count = evolution.getSmallConstantTripCount(loop, exiting)) {
    fact.constantTrip = atEnd ? count : count - 1;
    fact.trip = Poly::constant(*fact.constantTrip);
    return;
  }
  auto *branch = dyn_cast<BranchInst>(exiting->getTerminator());
  if (!branch || !branch->isConditional())
    return;
  std::vector<Condition> conditions;
  bool stays = loop->contains(branch->getSuccessor(0));
  if (!addCondition(branch->getCondition(), stays, conditions) || conditions.size() != 1 ||
      conditions[0].isEquality)
    return;
  // room - step * iteration >= 0
  const Poly &poly = conditions[0].poly;
  Poly step = poly.coefficientOf(fact.var) * Poly::constant(-1), room = poly.without(fact.var);
  if (!step.isValid() || step.monomials().empty() || !vars.isSymbolic(step) ||
      vars.dependsOn(room, fact.var))
    return;
  bool rises = false;
  fact.assumes.insert(conditions[0].assumes.begin(), conditions[0].assumes.end());
  noting(fact.assumes, [&] { rises = vars.range(step).low >= 1; });
  if (!rises)
    return;
  Poly extra = Poly::constant(atEnd ? 2 : 1);
  noting(fact.assumes, [&] {
    fact.trip = step == Poly::constant(1) ? room + extra
                                          : Poly::variable(vars.floorDiv(room, step)) + extra;
  });
  if (fact.trip->isConstant())
    fact.constantTrip = std::max<int64_t>(0, fact.trip->constantTerm());
}

} // namespace kbopt::analysis
