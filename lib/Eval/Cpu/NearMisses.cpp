//===- NearMisses.cpp - How near branches come to their other way ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what each branch of mode Search keeps: the least distance at which it ever missed the way
// that it did not take, as B. Korel defines it (Automated Software Test Data Generation, TSE 1990)
// and N. Tracey et al. for connectives (An Automated Framework for Structural Test-Data Generation,
// ASE 1998), and the operands of the comparison that missed. Says nothing of what lies behind.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace kbopt::cpu {
namespace {

/// A kbrt::NearestMiss as it is computed.
struct Miss {
  Value *distance, *left, *right;
};

class MissInserter {
public:
  MissInserter(ImageContext &context, Function &function)
      : context(context), function(function), number(Type::getDoubleTy(function.getContext())),
        flags(context.module.getGlobalVariable(("kb.reached." + function.getName()).str(), true)) {
    for (auto [index, block] : enumerate(function))
      indices[&block] = static_cast<unsigned>(index);
  }
  void run() {
    unsigned count = 0;
    for (BasicBlock &block : function)
      if (waysOf(block) > 1)
        count += waysOf(block);
    auto *type = ArrayType::get(number, 3 * uint64_t(count));
    SmallVector<double> unknown;
    for (unsigned i = 0; i < count; ++i)
      append_values(unknown, HUGE_VAL, 0.0, 0.0);
    misses =
        new GlobalVariable(context.module, type, false, GlobalValue::InternalLinkage,
                           ConstantDataArray::get(function.getContext(), ArrayRef<double>(unknown)),
                           "kb.nearest." + function.getName());
    for (BasicBlock &block : function)
      follow(block);
  }

private:
  /// Ways out of \p block that are told apart; of a branch in so many directions none are.
  static unsigned waysOf(const BasicBlock &block) {
    constexpr unsigned mostWays = 64;
    const unsigned ways = block.getTerminator()->getNumSuccessors();
    return ways > mostWays ? 1 : ways;
  }
  Constant *place(unsigned way) {
    return ConstantExpr::getInBoundsGetElementPtr(
        number, misses, ConstantInt::get(Type::getInt64Ty(function.getContext()), 3 * way));
  }
  void follow(BasicBlock &block) {
    Instruction &end = *block.getTerminator();
    const unsigned ways = waysOf(block);
    for (unsigned way = 0; way < end.getNumSuccessors(); ++way)
      context.edges.push_back({flags, indices.lookup(&block), indices.lookup(end.getSuccessor(way)),
                               ways > 1 ? misses : nullptr, first + way});
    if (ways < 2)
      return;
    IRBuilder<> b(&end);
    b.SetCurrentDebugLocation(DebugLoc());
    if (auto *branch = dyn_cast<BranchInst>(&end)) {
      keep(b, 0, missOf(b, branch->getCondition(), true, depth));
      keep(b, 1, missOf(b, branch->getCondition(), false, depth));
    } else if (auto *choice = dyn_cast<SwitchInst>(&end)) {
      Value *chosen = b.CreateFreeze(choice->getCondition());
      for (const auto &option : choice->cases())
        keep(b, option.getSuccessorIndex(),
             compare(b, chosen, option.getCaseValue(), true,
                     b.CreateICmpEQ(chosen, option.getCaseValue())));
      Value *one = ConstantFP::get(number, 1);
      keep(b, choice->case_default()->getSuccessorIndex(), {one, asNumber(b, chosen, true), one});
    }
    first += ways;
  }
  /// Makes \p miss what is known of the way, if it is less than what was; one that is taken has no
  /// meaning any more.
  void keep(IRBuilder<> &b, unsigned way, const Miss &miss) {
    Constant *at = place(first + way);
    auto field = [&](unsigned index) {
      return ConstantExpr::getInBoundsGetElementPtr(
          number, at, ConstantInt::get(Type::getInt64Ty(b.getContext()), index));
    };
    Value *old = b.CreateLoad(number, field(0));
    Value *isLess = b.CreateFCmpOLT(miss.distance, old);
    Value *values[] = {miss.distance, miss.left, miss.right};
    for (auto [index, value] : enumerate(values)) {
      Value *before = index ? b.CreateLoad(number, field(index)) : old;
      b.CreateStore(b.CreateSelect(isLess, value, before), field(index));
    }
  }
  /// Conditions within conditions, beyond which they are only true or false.
  static constexpr unsigned depth = 4;
  /// By how much \p condition misses being \p wanted; 0 if it is.
  Miss missOf(IRBuilder<> &b, Value *condition, bool wanted, unsigned left) {
    Value *x, *y;
    if (left && match(condition, m_Not(m_Value(x))))
      return missOf(b, x, !wanted, left - 1);
    const bool isAnd = left && match(condition, m_LogicalAnd(m_Value(x), m_Value(y)));
    if (isAnd || (left && match(condition, m_LogicalOr(m_Value(x), m_Value(y))))) {
      const Miss one = missOf(b, x, wanted, left - 1), other = missOf(b, y, wanted, left - 1);
      Value *zero = ConstantFP::get(number, 0);
      if (isAnd == wanted) { // both are needed: the first that misses is what is to be changed
        Miss both = choose(b, b.CreateFCmpUGT(one.distance, zero), one, other);
        both.distance = b.CreateFAdd(one.distance, other.distance);
        return both;
      }
      return choose(b, b.CreateFCmpOLT(one.distance, other.distance), one, other);
    }
    Value *is = b.CreateFreeze(condition);
    if (auto *compared = dyn_cast<CmpInst>(condition)) {
      Type *type = compared->getOperand(0)->getType();
      if ((type->isIntegerTy() && type->getIntegerBitWidth() <= 64) || type->isHalfTy() ||
          type->isFloatTy() || type->isDoubleTy())
        return compare(b, b.CreateFreeze(compared->getOperand(0)),
                       b.CreateFreeze(compared->getOperand(1)), !compared->isUnsigned(),
                       wanted ? is : b.CreateNot(is));
    }
    Value *zero = ConstantFP::get(number, 0), *one = ConstantFP::get(number, 1);
    Value *now = b.CreateSelect(is, one, zero);
    return {wanted ? b.CreateFSub(one, now) : now, now, wanted ? one : zero};
  }
  Miss choose(IRBuilder<> &b, Value *first, const Miss &one, const Miss &other) {
    return {b.CreateSelect(first, one.distance, other.distance),
            b.CreateSelect(first, one.left, other.left),
            b.CreateSelect(first, one.right, other.right)};
  }
  Miss compare(IRBuilder<> &b, Value *left, Value *right, bool isSigned, Value *holds) {
    Miss miss{nullptr, asNumber(b, left, isSigned), asNumber(b, right, isSigned)};
    Value *apart = b.CreateUnaryIntrinsic(Intrinsic::fabs, b.CreateFSub(miss.left, miss.right));
    // Also where they are equal, and should not be.
    miss.distance = b.CreateSelect(holds, ConstantFP::get(number, 0),
                                   b.CreateFAdd(apart, ConstantFP::get(number, 1)));
    return miss;
  }
  Value *asNumber(IRBuilder<> &b, Value *value, bool isSigned) {
    if (value->getType()->isIntegerTy())
      return isSigned ? b.CreateSIToFP(value, number) : b.CreateUIToFP(value, number);
    return value->getType() == number ? value : b.CreateFPExt(value, number);
  }

  ImageContext &context;
  Function &function;
  Type *number;
  GlobalVariable *flags, *misses = nullptr;
  DenseMap<const BasicBlock *, unsigned> indices;
  unsigned first = 0; ///< way of the block that is being followed
};

} // namespace

void instrumentBranches(ImageContext &context) {
  for (Function &function : context.module)
    if (!function.isDeclaration() && !function.getName().starts_with("kb."))
      MissInserter(context, function).run();
}

} // namespace kbopt::cpu
