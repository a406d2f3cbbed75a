//===- Oracle.cpp - Instrumentation of mode Oracle ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which instructions of device code get a shadow (kbrt/Oracle.h), and what it is.
// Everything begins with stores: what a stored number was computed from is followed
// backwards, and nothing else is shadowed. The paths that are taken are those of the
// device's own numbers. A number whose making is not followed (from integers, by an
// unknown function, through bits that are taken apart) counts as exact.
//
// The technique is that of LLVM's NumericalStabilitySanitizer: shadows of a wider type in
// registers and in memory.
//
//===----------------------------------------------------------------------===//
#include "OracleInserter.h"
#include "Steps.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using kbrt::FloatFormat;
using kbrt::OracleOperation;

namespace kbopt::cpu {

unsigned countOf(const Value *value, FloatFormat format) {
  const Type *type = value->getType();
  if (auto *pair = dyn_cast<StructType>(type))
    type = pair->getElementType(0);
  return type->getPrimitiveSizeInBits().getFixedValue() / bitsOf(format);
}

Instruction *behind(Value *value, Function &function) {
  if (auto *phi = dyn_cast<PHINode>(value))
    return &*phi->getParent()->getFirstInsertionPt();
  if (auto *instruction = dyn_cast<Instruction>(value))
    return instruction->getNextNode();
  return &*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
}

/// Number \p index of \p value as a scalar.
Value *OracleInserter::element(IRBuilder<> &b, Value *value, FloatFormat format, unsigned index) {
  const unsigned count = countOf(value, format);
  if (value->getType()->isStructTy())
    value = b.CreateExtractValue(value, 0);
  Type *type = typeOf(format, function.getContext());
  if (!value->getType()->isFPOrFPVectorTy())
    value = b.CreateBitCast(value, count == 1 ? type : FixedVectorType::get(type, count));
  return value->getType()->isVectorTy() ? b.CreateExtractElement(value, index) : value;
}

Lanes OracleInserter::exactly(Value *value, FloatFormat format) {
  IRBuilder<> b(behind(value, function));
  Lanes result;
  for (unsigned i = 0; i < countOf(value, format); ++i)
    result.push_back(lanes.exactly(b, element(b, value, format, i)));
  return result;
}

Lanes OracleInserter::loadNumbers(IRBuilder<> &b, Value *pointer, FloatFormat format,
                                  unsigned count) {
  Lanes result;
  for (unsigned i = 0; i < count; ++i)
    result.push_back(lanes.load(
        b, format, b.CreateConstGEP1_64(b.getInt8Ty(), pointer, i * bitsOf(format) / 8)));
  return result;
}

Lanes OracleInserter::merge(PHINode &phi) {
  IRBuilder<> b(&phi);
  Lanes result(countOf(&phi, formatOf(&phi)));
  for (Lane &lane : result)
    for (Value *&field : lane)
      field = b.CreatePHI(b.getDoubleTy(), phi.getNumIncomingValues());
  incomplete.push_back(&phi);
  return result;
}

void OracleInserter::completePhis() {
  while (!incomplete.empty()) {
    PHINode *phi = incomplete.pop_back_val();
    const FloatFormat format = formatOf(phi);
    const Lanes mine = of(phi);
    for (unsigned n = 0; n < phi->getNumIncomingValues(); ++n) {
      const Lanes its = of(phi->getIncomingValue(n), format);
      for (unsigned i = 0; i < mine.size(); ++i)
        for (unsigned field = 0; field < mine[i].size(); ++field)
          cast<PHINode>(mine[i][field])->addIncoming(its[i][field], phi->getIncomingBlock(n));
    }
  }
}

Lanes OracleInserter::of(Value *value, FloatFormat format) {
  auto found = known.find({value, format});
  if (found != known.end())
    return found->second;
  auto *instruction = dyn_cast<Instruction>(value);
  Lanes result = instruction && carriers.formatOf(value) == format ? compute(*instruction)
                                                                   : exactly(value, format);
  known[{value, format}] = result;
  return result;
}

Lanes OracleInserter::compute(Instruction &instruction) {
  const FloatFormat format = formatOf(&instruction);
  IRBuilder<> b(behind(&instruction, function));
  auto operand = [&](unsigned index) { return of(instruction.getOperand(index)); };
  auto each = [&](auto combine) {
    const Lanes x = operand(0);
    const Lanes y = instruction.getNumOperands() > 1 ? operand(1) : Lanes();
    Lanes result;
    for (unsigned i = 0; i < x.size(); ++i)
      result.push_back(combine(x[i], y.empty() ? x[i] : y[i]));
    return result;
  };
  switch (instruction.getOpcode()) {
  case Instruction::FAdd:
    return each([&](const Lane &x, const Lane &y) { return lanes.add(b, x, y); });
  case Instruction::FSub:
    return each([&](const Lane &x, const Lane &y) { return lanes.add(b, x, lanes.negate(b, y)); });
  case Instruction::FNeg:
    return each([&](const Lane &x, const Lane &) { return lanes.negate(b, x); });
  case Instruction::FMul:
  case Instruction::FDiv: {
    const auto operation = instruction.getOpcode() == Instruction::FMul ? OracleOperation::Multiply
                                                                        : OracleOperation::Divide;
    return each([&](const Lane &x, const Lane &y) {
      return lanes.compute(b, operation, format, format, x, &y);
    });
  }
  case Instruction::FPTrunc:
  case Instruction::FPExt: {
    const FloatFormat from = formatOf(instruction.getOperand(0));
    return each([&](const Lane &x, const Lane &) {
      return lanes.compute(b, OracleOperation::Convert, from, format, x, nullptr);
    });
  }
  case Instruction::PHI:
    return merge(cast<PHINode>(instruction));
  case Instruction::Load: {
    auto &load = cast<LoadInst>(instruction);
    return loadNumbers(b, load.getPointerOperand(), format, countOf(&load, format));
  }
  case Instruction::AtomicRMW:
    return update(cast<AtomicRMWInst>(instruction));
  case Instruction::AtomicCmpXchg:
    return exchange(cast<AtomicCmpXchgInst>(instruction));
  case Instruction::Call:
    if (auto *call = dyn_cast<CallInst>(&instruction))
      if (std::optional<Lanes> followed = followCall(*call))
        return std::move(*followed);
    break;
  default:
    if (std::optional<Lanes> followed = followBits(instruction))
      return std::move(*followed);
  }
  return exactly(&instruction, format);
}

std::optional<Lanes> OracleInserter::followCall(CallInst &call) {
  if (isShuffle(call)) {
    const Lanes x = of(call.getArgOperand(1), formatOf(&call));
    IRBuilder<> b(behind(&call, function));
    Lanes result;
    for (const Lane &lane : x)
      result.push_back(lanes.shuffle(b, call, lane));
    return result;
  }
  const Function *callee = call.getCalledFunction();
  std::optional<NamedOperation> operation =
      callee ? namedOperation(*callee) : std::optional<NamedOperation>();
  return operation ? apply(*operation, call) : std::nullopt;
}

std::optional<Lanes> OracleInserter::apply(NamedOperation named, CallInst &call) {
  SmallVector<Lanes> operands;
  for (Value *argument : call.args())
    if (argument->getType()->isFPOrFPVectorTy())
      operands.push_back(of(argument));
  using N = NamedOperation;
  const unsigned needed = named.kind == N::Fma ? 3
                          : named.kind == N::Add || named.kind == N::Minimum ||
                                  named.kind == N::Maximum || named.kind == N::CopySign
                              ? 2
                              : 1;
  const unsigned count = countOf(&call, formatOf(&call));
  if (operands.size() < needed ||
      any_of(operands, [&](const Lanes &its) { return its.size() != count; }))
    return std::nullopt;
  const FloatFormat to = formatOf(&call), from = formatOf(call.getArgOperand(0));
  IRBuilder<> b(behind(&call, function));
  Lanes result;
  for (unsigned i = 0; i < count; ++i) {
    const Lane x = operands[0][i], y = operands.size() > 1 ? operands[1][i] : x;
    auto is = [&](unsigned argument) {
      return b.CreateFCmpOEQ(element(b, &call, to, i),
                             element(b, call.getArgOperand(argument), to, i));
    };
    switch (named.kind) {
    case N::Add:
      result.push_back(lanes.add(b, x, y));
      break;
    case N::Fma:
      result.push_back(lanes.add(b, lanes.compute(b, OracleOperation::Multiply, from, to, x, &y),
                                 operands[2][i]));
      break;
    case N::Minimum:
    case N::Maximum:
      result.push_back(lanes.select(b, is(0), x, y));
      break;
    case N::Abs:
    case N::CopySign:
      result.push_back(lanes.negateIf(b, b.CreateNot(is(0)), x));
      break;
    case N::Negate:
      result.push_back(lanes.negate(b, x));
      break;
    case N::Same:
      result.push_back(x);
      break;
    case N::Computed:
      result.push_back(
          lanes.compute(b, named.operation, from, to, x, operands.size() > 1 ? &y : nullptr));
      break;
    }
  }
  return result;
}

Lanes OracleInserter::update(AtomicRMWInst &update) {
  const FloatFormat format = formatOf(&update);
  const unsigned count = countOf(&update, format);
  IRBuilder<> before(&update);
  const Lanes old = loadNumbers(before, update.getPointerOperand(), format, count);
  known[{&update, format}] = old;
  const auto operation = update.getOperation();
  if (operation != AtomicRMWInst::FAdd && operation != AtomicRMWInst::FSub &&
      operation != AtomicRMWInst::Xchg)
    return old; // what lies there afterwards counts as exact, or is what lay there
  const Lanes operand = of(update.getValOperand(), format);
  IRBuilder<> b(behind(&update, function));
  for (unsigned i = 0; i < count; ++i) {
    const Lane its = operation == AtomicRMWInst::FSub ? lanes.negate(b, operand[i]) : operand[i];
    lanes.store(
        b, format,
        b.CreateConstGEP1_64(b.getInt8Ty(), update.getPointerOperand(), i * bitsOf(format) / 8),
        operation == AtomicRMWInst::Xchg ? its : lanes.add(b, old[i], its));
  }
  return old;
}

Lanes OracleInserter::exchange(AtomicCmpXchgInst &exchange) {
  const FloatFormat format = formatOf(&exchange);
  const unsigned count = countOf(&exchange, format);
  IRBuilder<> before(&exchange);
  const Lanes old = loadNumbers(before, exchange.getPointerOperand(), format, count);
  known[{&exchange, format}] = old;
  if (carriers.formatOf(exchange.getNewValOperand()) != format)
    return old;
  const Lanes operand = of(exchange.getNewValOperand(), format);
  IRBuilder<> b(behind(&exchange, function));
  Value *pointer = exchange.getPointerOperand();
  if (pointer->getType()->getPointerAddressSpace() != Flat)
    pointer = b.CreateAddrSpaceCast(pointer, b.getPtrTy());
  pointer = b.CreateSelect(b.CreateExtractValue(&exchange, 1), pointer,
                           ConstantPointerNull::get(b.getPtrTy()));
  // Of several numbers the first tells where: nothing is stored at null.
  if (count == 1)
    lanes.store(b, format, pointer, operand[0]);
  return old;
}

void OracleInserter::storeNumber(StoreInst &store) {
  Value *value = store.getValueOperand();
  const std::optional<FloatFormat> format = carriers.formatOf(value);
  IRBuilder<> b(behind(&store, function));
  if (format) {
    const Lanes its = of(value);
    for (unsigned i = 0; i < its.size(); ++i)
      lanes.store(
          b, *format,
          b.CreateConstGEP1_64(b.getInt8Ty(), store.getPointerOperand(), i * bitsOf(*format) / 8),
          its[i]);
    return;
  }
  if (auto *load = dyn_cast<LoadInst>(value); load && value->getType()->isIntOrIntVectorTy())
    lanes.copy(
        b, store.getPointerOperand(), load->getPointerOperand(),
        b.getInt64(function.getParent()->getDataLayout().getTypeStoreSize(value->getType())));
}

void OracleInserter::copyBytes(MemTransferInst &transfer) {
  IRBuilder<> b(behind(&transfer, function));
  lanes.copy(b, transfer.getRawDest(), transfer.getRawSource(), transfer.getLength());
}

void OracleInserter::run() {
  SmallVector<Instruction *> roots;
  for (Instruction &instruction : instructions(function))
    if (isa<StoreInst, MemTransferInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction))
      roots.push_back(&instruction);
  for (Instruction *root : roots) {
    if (auto *store = dyn_cast<StoreInst>(root))
      storeNumber(*store);
    else if (auto *transfer = dyn_cast<MemTransferInst>(root))
      copyBytes(*transfer);
    else if (carriers.formatOf(root))
      of(root);
  }
  completePhis();
}

void instrumentOracle(ImageContext &context) {
  for (Function &function : context.module) {
    if (libraryOperation(function.getName())) {
      if (!function.isDeclaration())
        function.setLinkage(GlobalValue::InternalLinkage);
      continue;
    }
    if (!function.isDeclaration() && !function.getName().starts_with("kb."))
      OracleInserter(context, function).run();
  }
}

void keepLibraryCalls(ImageContext &context) {
  for (Function &function : context.module)
    if (!function.isDeclaration() && libraryOperation(function.getName())) {
      // From outside anything may call it: its parameters stay what they are.
      function.setLinkage(GlobalValue::ExternalLinkage);
      function.addFnAttr(Attribute::NoInline);
    }
}

} // namespace kbopt::cpu
