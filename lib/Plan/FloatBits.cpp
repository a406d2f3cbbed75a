//===- FloatBits.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FloatBits.h"
#include <bit>
#include <optional>

using namespace kbrt;

const llvm::fltSemantics &kbopt::semanticsOf(ElementType element) {
  switch (element) {
  case ElementType::F16:
    return llvm::APFloat::IEEEhalf();
  case ElementType::BF16:
    return llvm::APFloat::BFloat();
  case ElementType::F64:
    return llvm::APFloat::IEEEdouble();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

/// \p value in \p semantics, a type of 16 bits, to the nearest even; only where the result is sure
/// to be a normal number.
static std::optional<uint64_t> roundedNormal(double value, const llvm::fltSemantics &semantics) {
  constexpr unsigned wideBits = 52;
  const unsigned narrowBits = llvm::APFloat::semanticsPrecision(semantics) - 1;
  const int most = llvm::APFloat::semanticsMaxExponent(semantics);
  const uint64_t bits = std::bit_cast<uint64_t>(value),
                 fraction = bits & ((uint64_t{1} << wideBits) - 1);
  const int exponent = static_cast<int>(bits >> wideBits & 0x7ff) - 1023;
  if (exponent <= -most || exponent >= most)
    return std::nullopt;
  const unsigned dropped = wideBits - narrowBits;
  uint64_t kept = static_cast<uint64_t>(exponent + most) << narrowBits | fraction >> dropped;
  const uint64_t rest = fraction & ((uint64_t{1} << dropped) - 1),
                 half = uint64_t{1} << (dropped - 1);
  kept += rest > half || (rest == half && (kept & 1));
  return bits >> 63 << 15 | kept;
}

uint64_t kbopt::floatBits(double value, const llvm::fltSemantics &semantics) {
  if (&semantics == &llvm::APFloat::IEEEdouble())
    return std::bit_cast<uint64_t>(value);
  if (&semantics == &llvm::APFloat::IEEEsingle())
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::optional<uint64_t> bits = roundedNormal(value, semantics))
    return *bits;
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}
