//===- IndexModel.cpp - IR values as expressions of the index space --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the walk over values: constants, special registers, parameters,
// arithmetic, casts and induction variables. Addresses, conditions and loops
// are in IndexModelMemory.cpp.
//
//===----------------------------------------------------------------------===//
#include "IndexModel.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace kbopt::analysis {

IndexModel::IndexModel(Function &kernel, ScalarEvolution &evolution, LoopInfo &loops,
                       DominatorTree &dominators, const ThreadDependence &threads,
                       const LaunchRanges &launches,
                       std::function<ParameterName(unsigned, int64_t)> nameParameter)
    : vars(launches), kernel(kernel), evolution(evolution), loops(loops), dominators(dominators),
      threads(threads), nameParameter(std::move(nameParameter)) {
  SmallVector<Loop *> all = loops.getLoopsInPreorder();
  for (Loop *loop : all) {
    unsigned trips = evolution.getSmallConstantMaxTripCount(loop);
    LoopFact fact;
    fact.loop = loop;
    fact.var = vars.addLoop(trips ? trips : -1);
    loopFacts[loop] = std::move(fact);
  }
  for (Loop *loop : all)
    analyzeLoop(loop);
}

const SymbolFact *IndexModel::symbol(VarId var) const {
  for (const SymbolFact &fact : symbols)
    if (fact.var == var)
      return &fact;
  return nullptr;
}

std::string IndexModel::uniqueName(StringRef wanted) {
  std::string name;
  for (char c : wanted)
    name += isAlnum(c) || c == '_' || c == '.' ? c : '_';
  if (name.empty() || !(isAlpha(name[0]) || name[0] == '_'))
    name = "u" + name;
  unsigned &count = namesUsed[name];
  std::string result = count ? name + "$" + std::to_string(count) : name;
  ++count;
  return result;
}

std::optional<IndexValue> IndexModel::get(Value *value) {
  auto *type = dyn_cast<IntegerType>(value->getType());
  if (!type || type->getBitWidth() > 64)
    return std::nullopt;
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  known[value] = std::nullopt; // a cycle is not a polynomial
  std::optional<IndexValue> result = compute(value);
  if (result && !vars.isAffine(result->poly) && threads.level(value) != Level::Thread)
    result = std::nullopt;
  if (!result)
    result = symbolFor(value);
  known[value] = result;
  return result;
}

void IndexModel::assume(AssumptionSet &set, const std::string &text) {
  auto it = llvm::find(assumptions, text);
  set.insert(it - assumptions.begin());
  if (it == assumptions.end())
    assumptions.push_back(text);
}

void IndexModel::noting(AssumptionSet &set, llvm::function_ref<void()> question) {
  vars.assumed = false;
  question();
  if (vars.assumed)
    assume(set, "fits31(x)");
}

/// Decides how \p value's bits read, given what the flags say: \p poly is equal
/// to it modulo 2^width, so that it suffices that \p poly stays in range.
std::optional<IndexValue> IndexModel::finish(Value *value, Poly poly, bool asSigned,
                                             bool asUnsigned, AssumptionSet assumes) {
  if (!poly.isValid())
    return std::nullopt;
  unsigned width = value->getType()->getIntegerBitWidth();
  IndexValue result{std::move(poly), asSigned, asUnsigned, std::move(assumes)};
  if (!asSigned || !asUnsigned) {
    Interval range;
    AssumptionSet more;
    noting(more, [&] { range = vars.range(result.poly); });
    __int128 one = 1;
    result.asSigned |= range.low >= -(one << (width - 1)) && range.high < (one << (width - 1));
    result.asUnsigned |= range.low >= 0 && range.high < (one << width);
    if (result.asSigned != asSigned || result.asUnsigned != asUnsigned)
      result.assumes.insert(more.begin(), more.end());
  }
  if (result.asSigned != result.asUnsigned && evolution.isSCEVable(value->getType()) &&
      evolution.isKnownNonNegative(evolution.getSCEV(value)))
    result.asSigned = result.asUnsigned = true;
  return result;
}

std::optional<IndexValue> IndexModel::symbolFor(Value *value) {
  auto *inst = dyn_cast<Instruction>(value);
  if (!inst || threads.level(value) == Level::Thread || value->getType()->isIntegerTy(1))
    return std::nullopt;
  ConstantRange range = evolution.getSignedRange(evolution.getSCEV(value));
  SymbolFact fact;
  fact.var =
      vars.addSymbol({range.getSignedMin().getSExtValue(), range.getSignedMax().getSExtValue()});
  fact.name = uniqueName(value->getName().split('.').first);
  fact.level = threads.level(value);
  fact.bits = value->getType()->getIntegerBitWidth();
  symbols.push_back(fact);
  return IndexValue{Poly::variable(fact.var), true,
                    evolution.isKnownNonNegative(evolution.getSCEV(value))};
}

std::optional<IndexValue> IndexModel::parameter(unsigned argument, int64_t offset, Value *value) {
  unsigned bits = value->getType()->getIntegerBitWidth();
  ParameterName source = nameParameter(argument, offset);
  auto [it, isNew] = parameters.try_emplace({argument, offset}, 0);
  __int128 one = 1;
  if (isNew) {
    Interval range = source.isUnsigned ? Interval{0, (one << bits) - 1}
                                       : Interval{-(one << (bits - 1)), (one << (bits - 1)) - 1};
    if (source.range && source.range->low >= range.low && source.range->high <= range.high)
      range = *source.range;
    SymbolFact fact;
    fact.var = it->second = vars.addSymbol(range);
    fact.name = uniqueName(source.name);
    fact.argument = argument;
    fact.byteOffset = offset;
    fact.bits = bits;
    fact.isSigned = !source.isUnsigned;
    symbols.push_back(fact);
  }
  return finish(value, Poly::variable(it->second), !source.isUnsigned, source.isUnsigned, {});
}

static std::optional<Poly> specialRegister(StringRef name, VarTable &vars) {
  auto indexed = [&](StringRef prefix, VarId first) -> std::optional<Poly> {
    if (!name.consume_front(prefix) || name.size() != 1 || name[0] < 'x' || name[0] > 'z')
      return std::nullopt;
    return Poly::variable(first + (name[0] - 'x'));
  };
  for (auto [prefix, var] : {std::pair<StringRef, VarId>{"tid.", TidVar},
                             {"ctaid.", BidVar},
                             {"ntid.", BdimVar},
                             {"nctaid.", GdimVar}})
    if (auto poly = indexed(prefix, var))
      return poly;
  if (name == "warpsize")
    return Poly::constant(32);
  if (name != "laneid")
    return std::nullopt;
  auto v = [](VarId var) { return Poly::variable(var); };
  Poly linear = v(TidVar) + v(BdimVar) * (v(TidVar + 1) + v(BdimVar + 1) * v(TidVar + 2));
  return Poly::variable(vars.mod(linear, Poly::constant(32)));
}

std::optional<IndexValue> IndexModel::compute(Value *value) {
  if (auto *constant = dyn_cast<ConstantInt>(value))
    return IndexValue{Poly::constant(constant->getSExtValue()), true, !constant->isNegative()};
  if (auto *argument = dyn_cast<Argument>(value))
    return parameter(argument->getArgNo(), 0, value);
  auto *inst = dyn_cast<Instruction>(value);
  if (!inst)
    return std::nullopt;
  if (auto *load = dyn_cast<LoadInst>(inst)) {
    APInt offset(64, 0);
    Value *base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
        kernel.getDataLayout(), offset, /*AllowNonInbounds=*/true);
    if (auto *argument = dyn_cast<Argument>(base); argument && load->hasMetadata("kb.param"))
      return parameter(argument->getArgNo(), offset.getSExtValue(), value);
    return std::nullopt;
  }
  if (auto *call = dyn_cast<CallInst>(inst)) {
    Function *callee = call->getCalledFunction();
    StringRef name = callee ? callee->getName() : "";
    if (!name.consume_front("llvm.nvvm.read.ptx.sreg."))
      return std::nullopt;
    auto poly = specialRegister(name, vars);
    return poly ? std::optional(IndexValue{*poly, true, true}) : std::nullopt;
  }
  if (auto *binary = dyn_cast<BinaryOperator>(inst))
    return computeBinary(binary);
  if (auto *cast = dyn_cast<CastInst>(inst))
    return computeCast(cast);
  if (auto *phi = dyn_cast<PHINode>(inst))
    return computePhi(phi);
  if (auto *freeze = dyn_cast<FreezeInst>(inst))
    return get(freeze->getOperand(0));
  return std::nullopt;
}

std::optional<IndexValue> IndexModel::computeBinary(BinaryOperator *inst) {
  unsigned opcode = inst->getOpcode();
  if (opcode == Instruction::And) {
    auto *mask = dyn_cast<ConstantInt>(inst->getOperand(1));
    auto whole = mask ? get(inst->getOperand(0)) : std::nullopt;
    if (!whole)
      return std::nullopt;
    APInt bits = mask->getValue();
    if (bits.isMask() && bits.getActiveBits() < 63) {
      Poly power = Poly::constant((int64_t)1 << bits.getActiveBits());
      IndexValue low{{}, true, true, whole->assumes};
      noting(low.assumes, [&] { low.poly = Poly::variable(vars.mod(whole->poly, power)); });
      return low;
    }
    if (bits.isNegatedPowerOf2() && bits.countr_zero() < 62) {
      Poly power = Poly::constant((int64_t)1 << bits.countr_zero());
      Poly low;
      noting(whole->assumes, [&] { low = Poly::variable(vars.mod(whole->poly, power)); });
      return finish(inst, whole->poly - low, whole->asSigned, whole->asUnsigned, whole->assumes);
    }
    return std::nullopt;
  }
  if (inst->isIntDivRem() || opcode == Instruction::LShr || opcode == Instruction::AShr)
    return computeDivision(inst);
  auto left = get(inst->getOperand(0)), right = get(inst->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  AssumptionSet assumes = left->assumes;
  assumes.insert(right->assumes.begin(), right->assumes.end());
  Poly poly;
  Instruction::BinaryOps like = Instruction::Add;
  bool isShift = false;
  switch (opcode) {
  case Instruction::Add:
    poly = left->poly + right->poly;
    break;
  case Instruction::Or:
    if (!cast<PossiblyDisjointInst>(inst)->isDisjoint())
      return std::nullopt;
    return finish(inst, left->poly + right->poly, false, left->asUnsigned && right->asUnsigned,
                  assumes);
  case Instruction::Sub:
    poly = left->poly - right->poly;
    like = Instruction::Sub;
    break;
  case Instruction::Mul:
    poly = left->poly * right->poly;
    like = Instruction::Mul;
    break;
  case Instruction::Shl: {
    if (!right->poly.isConstant())
      return std::nullopt;
    int64_t amount = right->poly.constantTerm();
    if (amount < 0 || amount >= std::min<int64_t>(62, inst->getType()->getIntegerBitWidth() - 1))
      return std::nullopt;
    poly = left->poly * Poly::constant((int64_t)1 << amount);
    isShift = true;
    break;
  }
  default:
    return std::nullopt;
  }
  bool signedOperands = left->asSigned && (isShift || right->asSigned);
  bool unsignedOperands = left->asUnsigned && (isShift || right->asUnsigned);
  bool asSigned = signedOperands && inst->hasNoSignedWrap();
  bool asUnsigned = unsignedOperands && inst->hasNoUnsignedWrap();
  auto proves = [&](bool isSigned) {
    return !isShift &&
           evolution.willNotOverflow(like, isSigned, evolution.getSCEV(inst->getOperand(0)),
                                     evolution.getSCEV(inst->getOperand(1)), inst);
  };
  if (signedOperands && !asSigned)
    asSigned = proves(true);
  if (unsignedOperands && !asUnsigned)
    asUnsigned = proves(false);
  return finish(inst, std::move(poly), asSigned, asUnsigned, std::move(assumes));
}

bool IndexModel::isPositive(Value *value, const Poly &divisor, AssumptionSet &set) {
  Interval range;
  noting(set, [&] { range = vars.range(divisor); });
  if (range.low >= 1)
    return true;
  if (!vars.isSymbolic(divisor) || threads.level(value) != Level::Launch)
    return false;
  std::string name;
  for (const SymbolFact &fact : symbols)
    if (vars.dependsOn(divisor, fact.var))
      name += (name.empty() ? "" : ", ") + fact.name;
  assume(set, "positive(" + name + ")");
  return true;
}

std::optional<IndexValue> IndexModel::computeDivision(BinaryOperator *inst) {
  auto dividend = get(inst->getOperand(0)), divisor = get(inst->getOperand(1));
  if (!dividend || !divisor)
    return std::nullopt;
  unsigned opcode = inst->getOpcode();
  bool isShift = opcode == Instruction::LShr || opcode == Instruction::AShr;
  if (isShift) {
    if (!divisor->poly.isConstant() || divisor->poly.constantTerm() < 0 ||
        divisor->poly.constantTerm() > 61)
      return std::nullopt;
    divisor->poly = Poly::constant((int64_t)1 << divisor->poly.constantTerm());
  }
  AssumptionSet assumes = dividend->assumes;
  assumes.insert(divisor->assumes.begin(), divisor->assumes.end());
  bool isRemainder = opcode == Instruction::URem || opcode == Instruction::SRem;
  bool isSigned = opcode == Instruction::SDiv || opcode == Instruction::SRem;
  if (isSigned) {
    // Truncation is flooring only where the dividend is not negative.
    bool nonNegative = evolution.isKnownNonNegative(evolution.getSCEV(inst->getOperand(0)));
    if (!nonNegative)
      noting(assumes, [&] { nonNegative = vars.range(dividend->poly).low >= 0; });
    if (!nonNegative || !dividend->asSigned || !divisor->asSigned)
      return std::nullopt;
  } else if (opcode == Instruction::AShr ? !dividend->asSigned : !dividend->asUnsigned) {
    return std::nullopt;
  }
  if (!isShift && !isSigned && !divisor->asUnsigned)
    return std::nullopt;
  if (divisor->poly.isConstant() ? divisor->poly.constantTerm() < 1
                                 : !isPositive(inst->getOperand(1), divisor->poly, assumes))
    return std::nullopt;
  if (!vars.isAffine(dividend->poly) || !vars.isSymbolic(divisor->poly))
    return std::nullopt;
  if (divisor->poly == Poly::constant(1))
    return isRemainder ? IndexValue{Poly::constant(0), true, true} : *dividend;
  VarId var;
  noting(assumes, [&] {
    var = isRemainder ? vars.mod(dividend->poly, divisor->poly)
                      : vars.floorDiv(dividend->poly, divisor->poly);
  });
  bool isArithmetic = opcode == Instruction::AShr;
  return finish(inst, Poly::variable(var), isSigned || isArithmetic, !isArithmetic, assumes);
}

std::optional<IndexValue> IndexModel::computeCast(CastInst *cast) {
  if (!cast->getSrcTy()->isIntegerTy() || cast->getSrcTy()->isIntegerTy(1))
    return std::nullopt;
  auto source = get(cast->getOperand(0));
  if (!source)
    return std::nullopt;
  switch (cast->getOpcode()) {
  case Instruction::SExt:
    if (!source->asSigned && !assumeSigned(*source))
      return std::nullopt;
    return finish(cast, source->poly, true, source->asUnsigned, source->assumes);
  case Instruction::ZExt:
    if (!source->asUnsigned && !(source->asSigned && cast->hasNonNeg()) && !assumeUnsigned(*source))
      return std::nullopt;
    return IndexValue{source->poly, true, true, source->assumes};
  case Instruction::Trunc: {
    auto *trunc = llvm::cast<TruncInst>(cast);
    return finish(cast, source->poly, source->asSigned && trunc->hasNoSignedWrap(),
                  source->asUnsigned && trunc->hasNoUnsignedWrap(), source->assumes);
  }
  default:
    return std::nullopt;
  }
}

std::string IndexModel::text(const Poly &poly) const {
  std::string result;
  static const char *fixed[] = {"tid.x",  "tid.y",  "tid.z",  "bid.x",  "bid.y",  "bid.z",
                                "bdim.x", "bdim.y", "bdim.z", "gdim.x", "gdim.y", "gdim.z"};
  for (auto &[monomial, coefficient] : poly.monomials()) {
    result += result.empty() ? "" : " + ";
    bool number = coefficient != 1 || monomial.empty();
    if (number)
      result += std::to_string(coefficient);
    for (auto [position, var] : llvm::enumerate(monomial)) {
      if (position || number)
        result += " * ";
      if (var < FirstOtherVar)
        result += fixed[var];
      else if (const SymbolFact *fact = symbol(var))
        result += fact->name;
      else if (auto *division = vars.division(var))
        result += "(" + text(division->dividend) + (division->isMod ? " mod " : " floordiv ") +
                  text(division->divisor) + ")";
      else
        result += "loop";
    }
  }
  return result;
}

bool IndexModel::assumeSigned(IndexValue &value) {
  if (!value.poly.isValid() || vars.isWild(value.poly))
    return false;
  assume(value.assumes, "fits32(" + text(value.poly) + ")");
  value.asSigned = true;
  return true;
}

bool IndexModel::assumeUnsigned(IndexValue &value) {
  if (!value.poly.isValid() || vars.isWild(value.poly))
    return false;
  assume(value.assumes, "fitsu32(" + text(value.poly) + ")");
  value.asUnsigned = true;
  return true;
}

Value *IndexModel::boundOf(PHINode *phi, bool isSigned) const {
  auto *branch = dyn_cast<BranchInst>(phi->getParent()->getTerminator());
  auto *compare =
      branch && branch->isConditional() ? dyn_cast<ICmpInst>(branch->getCondition()) : nullptr;
  if (!compare)
    return nullptr;
  auto predicate = compare->getPredicate();
  Value *left = compare->getOperand(0), *right = compare->getOperand(1);
  if (right == phi) {
    std::swap(left, right);
    predicate = CmpInst::getSwappedPredicate(predicate);
  }
  const Loop *loop = loops.getLoopFor(phi->getParent());
  if (!loop->contains(branch->getSuccessor(0)))
    predicate = CmpInst::getInversePredicate(predicate);
  while (isa<SExtInst>(left) || isa<ZExtInst>(left))
    left = cast<CastInst>(left)->getOperand(0);
  bool less = isSigned ? predicate == CmpInst::ICMP_SLT || predicate == CmpInst::ICMP_SLE
                       : predicate == CmpInst::ICMP_ULT || predicate == CmpInst::ICMP_ULE;
  return left == phi && less ? right : nullptr;
}

std::optional<IndexValue> IndexModel::computePhi(PHINode *phi) {
  Loop *loop = loops.getLoopFor(phi->getParent());
  if (!loop || loop->getHeader() != phi->getParent()) {
    // A phi of one value (LCSSA) is that value only while the loop runs.
    return std::nullopt;
  }
  BasicBlock *latch = loop->getLoopLatch(), *preheader = loop->getLoopPreheader();
  if (!latch || !preheader || phi->getNumIncomingValues() != 2)
    return std::nullopt;
  auto *next = dyn_cast<BinaryOperator>(phi->getIncomingValueForBlock(latch));
  if (!next || (next->getOpcode() != Instruction::Add && next->getOpcode() != Instruction::Sub))
    return std::nullopt;
  bool isSub = next->getOpcode() == Instruction::Sub;
  Value *stepValue = next->getOperand(0) == phi             ? next->getOperand(1)
                     : next->getOperand(1) == phi && !isSub ? next->getOperand(0)
                                                            : nullptr;
  if (!stepValue || !evolution.isLoopInvariant(evolution.getSCEV(stepValue), loop))
    return std::nullopt;
  auto start = get(phi->getIncomingValueForBlock(preheader)), step = get(stepValue);
  if (!start || !step || !vars.isSymbolic(step->poly))
    return std::nullopt;
  Poly delta = isSub ? step->poly * Poly::constant(-1) : step->poly;
  Poly poly = start->poly + Poly::variable(loopFacts.at(loop).var) * delta;
  bool nsw = next->hasNoSignedWrap(), nuw = next->hasNoUnsignedWrap() && !isSub;
  if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(phi))) {
    nsw |= recurrence->hasNoSignedWrap();
    nuw |= recurrence->hasNoUnsignedWrap() && !isSub;
  }
  bool asSigned = nsw && start->asSigned && step->asSigned;
  bool asUnsigned = nuw && start->asUnsigned && step->asUnsigned;
  AssumptionSet assumes = start->assumes;
  assumes.insert(step->assumes.begin(), step->assumes.end());
  auto result = finish(phi, poly, asSigned, asUnsigned, assumes);
  if (result && !result->asSigned && !result->asUnsigned && !isSub &&
      phi->getType()->getIntegerBitWidth() == 32 && vars.range(step->poly).low >= 0) {
    // int i += blockDim.x * gridDim.x is unsigned arithmetic in C++.
    Value *signedBound = start->asSigned ? boundOf(phi, true) : nullptr;
    Value *unsignedBound = start->asUnsigned ? boundOf(phi, false) : nullptr;
    if (signedBound || unsignedBound) {
      // The last value before the step is at most the bound.
      auto bound = get(signedBound ? signedBound : unsignedBound);
      bool readable = bound && (signedBound ? bound->asSigned : bound->asUnsigned);
      bool proven = false;
      noting(result->assumes, [&] {
        proven = readable && vars.range(bound->poly).high + vars.range(step->poly).high <=
                                 (signedBound ? INT32_MAX : UINT32_MAX);
      });
      if (proven)
        result->assumes.insert(bound->assumes.begin(), bound->assumes.end());
      else
        assume(result->assumes, "nowrap(" + phi->getName().split('.').first.str() + ")");
      result->asSigned = signedBound;
      noting(result->assumes,
             [&] { result->asUnsigned = unsignedBound || vars.range(start->poly).low >= 0; });
    }
  }
  return result;
}

} // namespace kbopt::analysis
