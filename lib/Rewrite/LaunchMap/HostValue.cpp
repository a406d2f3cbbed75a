//===- HostValue.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostValue.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;

bool hostmap::isSame(const HostValue &a, const HostValue &b) {
  if (a.index() != b.index())
    return false;
  if (const auto *left = std::get_if<APSInt>(&a))
    return APSInt::isSameValue(*left, std::get<APSInt>(b));
  if (const auto *left = std::get_if<APFloat>(&a)) {
    const APFloat &right = std::get<APFloat>(b);
    return &left->getSemantics() == &right.getSemantics() && left->bitwiseIsEqual(right);
  }
  return std::visit(
      [&](const auto &left) {
        using Kind = std::decay_t<decltype(left)>;
        if constexpr (std::is_same_v<Kind, APSInt> || std::is_same_v<Kind, APFloat>)
          return false; // compared above
        else
          return left == std::get<Kind>(b);
      },
      a);
}

APSInt hostmap::asInteger(const APSInt &value, QualType type, const ASTContext &ast) {
  APSInt result = value.extOrTrunc(ast.getIntWidth(type));
  result.setIsUnsigned(type->isUnsignedIntegerOrEnumerationType());
  return result;
}

APSInt hostmap::integerOf(uint64_t value, QualType type, const ASTContext &ast) {
  return asInteger(APSInt(APInt(64, value), /*isUnsigned=*/true), type, ast);
}

bool hostmap::isDim3(QualType type) {
  const auto *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getIdentifier() && record->getName() == "dim3";
}

static APInt bitsOf(llvm::ArrayRef<uint8_t> bytes) {
  APInt bits(8 * bytes.size(), 0);
  for (size_t i = 0; i < bytes.size(); ++i)
    bits.insertBits(bytes[i], 8 * i, 8);
  return bits;
}

static std::vector<uint8_t> bytesOfBits(const APInt &bits, size_t count) {
  APInt wide = bits.zextOrTrunc(8 * count);
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<uint8_t>(wide.extractBitsAsZExtValue(8, 8 * i));
  return bytes;
}

static bool isPlainFloating(QualType type) {
  return type->isSpecificBuiltinType(BuiltinType::Float) ||
         type->isSpecificBuiltinType(BuiltinType::Double);
}

HostValue hostmap::valueOf(llvm::ArrayRef<uint8_t> bytes, QualType type, const ASTContext &ast) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (type->isIntegralOrEnumerationType())
    return asInteger(APSInt(bitsOf(bytes), type->isUnsignedIntegerOrEnumerationType()), type, ast);
  if (isPlainFloating(type))
    return APFloat(ast.getFloatTypeSemantics(type), bitsOf(bytes));
  if (type->isPointerType())
    return Address{bitsOf(bytes).getZExtValue()};
  return Bytes{bytes.vec()};
}

std::optional<std::vector<uint8_t>> hostmap::bytesOf(const HostValue &value, QualType type,
                                                     const ASTContext &ast) {
  type = type.getCanonicalType().getUnqualifiedType();
  const size_t count = ast.getTypeSizeInChars(type).getQuantity();
  if (const auto *integer = std::get_if<APSInt>(&value))
    return type->isIntegralOrEnumerationType()
               ? std::optional(bytesOfBits(integer->isSigned() ? integer->sextOrTrunc(8 * count)
                                                               : integer->zextOrTrunc(8 * count),
                                           count))
               : std::nullopt;
  if (const auto *number = std::get_if<APFloat>(&value))
    return isPlainFloating(type) && &ast.getFloatTypeSemantics(type) == &number->getSemantics()
               ? std::optional(bytesOfBits(number->bitcastToAPInt(), count))
               : std::nullopt;
  if (const auto *address = std::get_if<Address>(&value))
    return type->isPointerType() ? std::optional(bytesOfBits(APInt(64, address->value), count))
                                 : std::nullopt;
  if (const auto *record = std::get_if<Bytes>(&value))
    return record->bytes.size() == count ? std::optional(record->bytes) : std::nullopt;
  return std::nullopt;
}
