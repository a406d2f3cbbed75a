//===- Mma.cpp - matrix operations of a warp ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Mma.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace kbrt {

namespace {

unsigned bitsOf(MmaType type) {
  switch (type) {
  case MmaType::F16:
  case MmaType::BF16:
    return 16;
  case MmaType::F64:
    return 64;
  case MmaType::S8:
  case MmaType::U8:
  case MmaType::E4M3:
  case MmaType::E5M2:
    return 8;
  case MmaType::S4:
  case MmaType::U4:
    return 4;
  case MmaType::B1:
    return 1;
  default:
    return 32;
  }
}

bool isInteger(MmaType type) {
  return type == MmaType::S8 || type == MmaType::U8 || type == MmaType::S4 || type == MmaType::U4 ||
         type == MmaType::B1 || type == MmaType::S32;
}

double minifloat(uint32_t v, int exponentBits, int mantissaBits, int bias, bool hasInfinity) {
  uint32_t sign = v >> (exponentBits + mantissaBits) & 1;
  uint32_t exponent = v >> mantissaBits & ((1u << exponentBits) - 1),
           mantissa = v & ((1u << mantissaBits) - 1);
  uint32_t top = (1u << exponentBits) - 1;
  double value;
  if (exponent == top && (hasInfinity || mantissa == (1u << mantissaBits) - 1))
    value = mantissa ? NAN : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(double(mantissa), 1 - bias - mantissaBits);
  else
    value = std::ldexp(double(mantissa | 1u << mantissaBits), int(exponent) - bias - mantissaBits);
  return sign ? -value : value;
}

} // namespace

double loadElement(const void *fragment, MmaType type, uint32_t index) {
  auto *bytes = static_cast<const uint8_t *>(fragment);
  switch (bitsOf(type)) {
  case 64: {
    double v;
    memcpy(&v, bytes + index * 8, 8);
    return v;
  }
  case 32: {
    uint32_t v;
    memcpy(&v, bytes + index * 4, 4);
    if (type == MmaType::S32)
      return int32_t(v);
    if (type == MmaType::TF32)
      v &= ~0x1fffu; // the unit ignores the low 13 bits
    return std::bit_cast<float>(v);
  }
  case 16: {
    uint16_t v;
    memcpy(&v, bytes + index * 2, 2);
    if (type == MmaType::BF16)
      return std::bit_cast<float>(uint32_t(v) << 16);
    return minifloat(v, 5, 10, 15, true);
  }
  case 8: {
    uint8_t v = bytes[index];
    if (type == MmaType::E4M3)
      return minifloat(v, 4, 3, 7, false);
    if (type == MmaType::E5M2)
      return minifloat(v, 5, 2, 15, true);
    return type == MmaType::S8 ? double(int8_t(v)) : double(v);
  }
  case 4: {
    uint32_t v = bytes[index / 2] >> (index % 2 * 4) & 15;
    return type == MmaType::S4 ? double(int32_t(v << 28) >> 28) : double(v);
  }
  default:
    return bytes[index / 8] >> (index % 8) & 1;
  }
}

namespace {

uint16_t toHalf(float value) {
  // Round to nearest even by hand: independent of the machine's extensions and rounding mode.
  uint32_t v = std::bit_cast<uint32_t>(value), sign = v >> 16 & 0x8000, magnitude = v & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7fff;
  if (magnitude >= 0x477ff000)
    return uint16_t(sign | 0x7c00);
  if (magnitude < 0x33000001)
    return uint16_t(sign);
  if (magnitude < 0x38800000) {
    uint32_t shift = 126 - (magnitude >> 23);
    uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    uint32_t half = mantissa >> shift, rest = mantissa & ((1u << shift) - 1),
             mid = 1u << (shift - 1);
    half += rest > mid || (rest == mid && (half & 1));
    return uint16_t(sign | half);
  }
  uint32_t half = (magnitude - 0x38000000) >> 13, rest = magnitude & 0x1fff;
  half += rest > 0x1000 || (rest == 0x1000 && (half & 1));
  return uint16_t(sign | half);
}

void store(void *fragment, MmaType type, uint32_t index, double value, int64_t integer) {
  auto *bytes = static_cast<uint8_t *>(fragment);
  if (type == MmaType::F64) {
    memcpy(bytes + index * 8, &value, 8);
  } else if (type == MmaType::S32) {
    auto v = static_cast<int32_t>(integer);
    memcpy(bytes + index * 4, &v, 4);
  } else if (type == MmaType::F16) {
    uint16_t v = toHalf(float(value));
    memcpy(bytes + index * 2, &v, 2);
  } else {
    auto v = static_cast<float>(value);
    memcpy(bytes + index * 4, &v, 4);
  }
}

} // namespace

void storeElement(void *fragment, MmaType type, uint32_t index, double value) {
  store(fragment, type, index, value, 0);
}

namespace {

/// Gathers an operand from the lanes into row-major order.
void gather(std::vector<double> &matrix, Fiber *lanes, const MmaShape &s, MmaOperand operand,
            unsigned which, MmaType type, uint32_t count) {
  uint32_t columns = operand == MmaOperand::A ? s.k : s.n;
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t row, column;
      fragmentPosition(s, operand, lane, i, row, column);
      matrix[row * columns + column] = loadElement(lanes[lane].mma[which], type, i);
    }
}

} // namespace

void computeMma(Fiber *lanes, const MmaShape &s) {
  static std::vector<double> a, b, c;
  a.assign(s.m * s.k, 0);
  b.assign(s.k * s.n, 0);
  c.assign(s.m * s.n, 0);
  gather(a, lanes, s, MmaOperand::A, 0, s.aType, s.aCount);
  gather(b, lanes, s, MmaOperand::B, 1, s.bType, s.bCount);
  gather(c, lanes, s, MmaOperand::Accumulator, 2, s.cType, s.cCount);
  static std::vector<int64_t> integers;
  bool isIntegral = isInteger(s.aType);
  integers.assign(isIntegral ? s.m * s.n : 0, 0);
  for (uint32_t row = 0; row < s.m; ++row)
    for (uint32_t column = 0; column < s.n; ++column) {
      uint32_t at = row * s.n + column;
      if (isIntegral) {
        auto sum = static_cast<int64_t>(c[at]);
        for (uint32_t k = 0; k < s.k; ++k) {
          auto x = static_cast<int64_t>(a[row * s.k + k]),
               y = static_cast<int64_t>(b[k * s.n + column]);
          sum += s.aType == MmaType::B1 ? (s.isXor ? x ^ y : x & y) : x * y;
        }
        if (s.saturate)
          sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        integers[at] = sum;
      } else if (s.aType == MmaType::F64) {
        double sum = c[at];
        for (uint32_t k = 0; k < s.k; ++k)
          sum = std::fma(a[row * s.k + k], b[k * s.n + column], sum);
        c[at] = sum;
      } else {
        auto sum = static_cast<float>(c[at]);
        for (uint32_t k = 0; k < s.k; ++k)
          sum += float(a[row * s.k + k] * b[k * s.n + column]);
        c[at] = sum;
      }
    }
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    for (uint32_t i = 0; i < s.dCount; ++i) {
      uint32_t row, column;
      fragmentPosition(s, MmaOperand::Accumulator, lane, i, row, column);
      uint32_t at = row * s.n + column;
      store(const_cast<void *>(lanes[lane].mma[3]), s.dType, i, c[at],
            isIntegral ? integers[at] : 0);
    }
}

} // namespace kbrt
