//===- OracleBits.cpp - Numbers that are moved, selected and packed -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the shadows of instructions that compute nothing. An operand that is no number of
// the same format, as a mask of bits, is followed no further.
//
//===----------------------------------------------------------------------===//
#include "OracleInserter.h"

using namespace llvm;
using kbrt::FloatFormat;

namespace kbopt::cpu {

bool OracleInserter::isAlike(const Value *value, FloatFormat format) const {
  return isa<Constant>(value) || carriers.formatOf(value) == format;
}

Lane OracleInserter::zero(IRBuilder<> &b) {
  return lanes.exactly(b, ConstantFP::get(b.getDoubleTy(), 0.0));
}

std::optional<Lanes> OracleInserter::selectNumbers(SelectInst &select) {
  const FloatFormat format = formatOf(&select);
  const unsigned count = countOf(&select, format);
  Value *condition = select.getCondition();
  auto *conditions = dyn_cast<FixedVectorType>(condition->getType());
  if (!isAlike(select.getTrueValue(), format) || !isAlike(select.getFalseValue(), format) ||
      (conditions && conditions->getNumElements() != count))
    return std::nullopt;
  const Lanes x = of(select.getTrueValue(), format), y = of(select.getFalseValue(), format);
  IRBuilder<> b(behind(&select, function));
  Lanes result;
  for (unsigned i = 0; i < count; ++i)
    result.push_back(
        lanes.select(b, conditions ? b.CreateExtractElement(condition, i) : condition, x[i], y[i]));
  return result;
}

std::optional<Lanes> OracleInserter::extractNumbers(ExtractElementInst &extract) {
  const FloatFormat format = formatOf(&extract);
  const unsigned count = countOf(&extract, format);
  auto *index = dyn_cast<ConstantInt>(extract.getIndexOperand());
  if (!index || !isAlike(extract.getVectorOperand(), format))
    return std::nullopt;
  const Lanes all = of(extract.getVectorOperand(), format);
  const uint64_t begin = index->getZExtValue() * count;
  if (begin + count > all.size())
    return std::nullopt;
  return Lanes(all.begin() + begin, all.begin() + begin + count);
}

std::optional<Lanes> OracleInserter::insertNumbers(InsertElementInst &insert) {
  const FloatFormat format = formatOf(&insert);
  Value *vector = insert.getOperand(0), *element = insert.getOperand(1);
  auto *index = dyn_cast<ConstantInt>(insert.getOperand(2));
  if (!index || !isAlike(vector, format) || !isAlike(element, format))
    return std::nullopt;
  Lanes all = of(vector, format);
  const Lanes its = of(element, format);
  const uint64_t begin = index->getZExtValue() * its.size();
  if (begin + its.size() > all.size())
    return std::nullopt;
  std::copy(its.begin(), its.end(), all.begin() + begin);
  return all;
}

std::optional<Lanes> OracleInserter::permuteNumbers(ShuffleVectorInst &shuffle) {
  const FloatFormat format = formatOf(&shuffle);
  Lanes all;
  for (Value *operand : shuffle.operand_values()) {
    if (!isAlike(operand, format))
      return std::nullopt;
    const Lanes its = of(operand, format);
    all.append(its.begin(), its.end());
  }
  const unsigned each = countOf(&shuffle, format) / shuffle.getShuffleMask().size();
  Lanes result;
  for (int from : shuffle.getShuffleMask())
    for (unsigned i = 0; i < each; ++i)
      result.push_back(all[std::max(from, 0) * each + i]);
  return result;
}

/// By whole numbers.
std::optional<Lanes> OracleInserter::shiftNumbers(BinaryOperator &shift) {
  const FloatFormat format = formatOf(&shift);
  auto *amount = dyn_cast<ConstantInt>(shift.getOperand(1));
  if (!amount || !isAlike(shift.getOperand(0), format) ||
      amount->getZExtValue() % bitsOf(format) != 0)
    return std::nullopt;
  const Lanes all = of(shift.getOperand(0), format);
  const Lane nothing = [&] {
    IRBuilder<> b(behind(&shift, function));
    return zero(b);
  }();
  const uint64_t step = amount->getZExtValue() / bitsOf(format);
  const bool isUp = shift.getOpcode() == Instruction::Shl;
  Lanes result;
  for (uint64_t i = 0; i < all.size(); ++i) {
    const uint64_t from = isUp ? i - step : i + step;
    result.push_back(from < all.size() ? all[from] : nothing);
  }
  return result;
}

/// Halves are put together: of each, one operand has the bits.
std::optional<Lanes> OracleInserter::joinNumbers(BinaryOperator &bits) {
  const FloatFormat format = formatOf(&bits);
  Value *first = bits.getOperand(0), *second = bits.getOperand(1);
  if (!isAlike(first, format) || !isAlike(second, format))
    return std::nullopt;
  const Lanes x = of(first, format), y = of(second, format);
  IRBuilder<> b(behind(&bits, function));
  Lanes result;
  for (unsigned i = 0; i < x.size(); ++i) {
    Value *isZero = b.CreateFCmpOEQ(element(b, second, format, i),
                                    Constant::getNullValue(typeOf(format, b.getContext())));
    result.push_back(lanes.select(b, isZero, x[i], y[i]));
  }
  return result;
}

std::optional<Lanes> OracleInserter::followBits(Instruction &instruction) {
  const FloatFormat format = formatOf(&instruction);
  const bool isVector = instruction.getType()->isVectorTy();
  Value *first = instruction.getNumOperands() ? instruction.getOperand(0) : nullptr;
  switch (instruction.getOpcode()) {
  case Instruction::Freeze:
  case Instruction::BitCast:
  case Instruction::ExtractValue:
    return isAlike(first, format) ? std::optional<Lanes>(of(first, format)) : std::nullopt;
  case Instruction::Trunc:
  case Instruction::ZExt: {
    if (!isAlike(first, format) || isVector)
      return std::nullopt;
    Lanes all = of(first, format);
    IRBuilder<> b(behind(&instruction, function));
    all.resize(countOf(&instruction, format), zero(b));
    return all;
  }
  case Instruction::Select:
    return selectNumbers(cast<SelectInst>(instruction));
  case Instruction::ExtractElement:
    return extractNumbers(cast<ExtractElementInst>(instruction));
  case Instruction::InsertElement:
    return insertNumbers(cast<InsertElementInst>(instruction));
  case Instruction::ShuffleVector:
    return permuteNumbers(cast<ShuffleVectorInst>(instruction));
  case Instruction::Shl:
  case Instruction::LShr:
    return isVector ? std::nullopt : shiftNumbers(cast<BinaryOperator>(instruction));
  case Instruction::Or:
    return isVector ? std::nullopt : joinNumbers(cast<BinaryOperator>(instruction));
  default:
    return std::nullopt;
  }
}

} // namespace kbopt::cpu
