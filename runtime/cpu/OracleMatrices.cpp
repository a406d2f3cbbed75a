//===- OracleMatrices.cpp - shadows of matrix products --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OracleMatrices.h"
#include "OracleMemory.h"
#include "OracleSum.h"
#include <cstring>
#include <optional>

namespace kbrt::oracle {

namespace {

struct FragmentFormat {
  FloatFormat format;
  unsigned bytes;
};

std::optional<FragmentFormat> formatOfFragment(MmaType type) {
  switch (type) {
  case MmaType::F16:
    return FragmentFormat{FloatFormat::F16, 2};
  case MmaType::BF16:
    return FragmentFormat{FloatFormat::BF16, 2};
  case MmaType::TF32:
  case MmaType::F32:
    return FragmentFormat{FloatFormat::F32, 4};
  case MmaType::F64:
    return FragmentFormat{FloatFormat::F64, 8};
  default:
    return std::nullopt;
  }
}

OracleSum loadFactor(const char *address, MmaType type, FloatFormat format) {
  if (type == MmaType::TF32) {
    uint32_t bits;
    memcpy(&bits, address, sizeof bits);
    // The unit ignores the low 13 bits: what they say is lost in every order.
    constexpr uint32_t ignored = 0x1fff;
    if (const uint32_t kept = bits & ~ignored; kept != bits)
      return exactly(numberAt(&kept, format));
  }
  return load(address, format);
}

/// Operand number \p which of the lanes, row by row.
std::vector<OracleSum> gather(const Fiber *lanes, const MmaShape &s, MmaOperand operand,
                              unsigned which, MmaType type, uint32_t count) {
  const uint32_t rows = operand == MmaOperand::B ? s.k : s.m,
                 columns = operand == MmaOperand::A ? s.k : s.n;
  const FragmentFormat format = *formatOfFragment(type);
  std::vector<OracleSum> matrix(rows * columns, exactly(0));
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t row, column;
      fragmentPosition(s, operand, lane, i, row, column);
      matrix[row * columns + column] =
          loadFactor(static_cast<const char *>(lanes[lane].mma[which]) + i * format.bytes, type,
                     format.format);
    }
  return matrix;
}

} // namespace

std::vector<OracleSum> multiplyFragments(const Fiber *lanes, const MmaShape &s) {
  if (!formatOfFragment(s.aType) || !formatOfFragment(s.cType))
    return {};
  const std::vector<OracleSum> a = gather(lanes, s, MmaOperand::A, 0, s.aType, s.aCount),
                               b = gather(lanes, s, MmaOperand::B, 1, s.bType, s.bCount);
  std::vector<OracleSum> d = gather(lanes, s, MmaOperand::Accumulator, 2, s.cType, s.cCount);
  // Sums are formed in float32 at least.
  const FloatFormat factor = formatOfFragment(s.aType)->format,
                    sum = s.aType == MmaType::F64 ? FloatFormat::F64 : FloatFormat::F32,
                    result = formatOfFragment(s.dType)->format;
  for (uint32_t row = 0; row < s.m; ++row)
    for (uint32_t column = 0; column < s.n; ++column) {
      OracleSum &at = d[row * s.n + column];
      for (uint32_t k = 0; k < s.k; ++k)
        at = add(at, compute(OracleOperation::Multiply, factor, sum, a[row * s.k + k],
                             &b[k * s.n + column]));
      if (result != sum)
        at = compute(OracleOperation::Convert, sum, result, at, nullptr);
    }
  return d;
}

void keepFragments(const Fiber *lanes, const MmaShape &s, const std::vector<OracleSum> &d) {
  if (d.empty())
    return;
  const FragmentFormat format = *formatOfFragment(s.dType);
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    for (uint32_t i = 0; i < s.dCount; ++i) {
      uint32_t row, column;
      fragmentPosition(s, MmaOperand::Accumulator, lane, i, row, column);
      store(static_cast<char *>(const_cast<void *>(lanes[lane].mma[3])) + i * format.bytes,
            format.format, d[row * s.n + column]);
    }
}

std::vector<OracleSum> multiplyMatrices(const MatmulStep &step, const MatmulPlaces &places) {
  auto element = [](const float *first, const MatmulOperand &operand, uint64_t matrix, uint64_t row,
                    uint64_t column) {
    const uint64_t down = operand.transposed ? operand.leading : 1,
                   across = operand.transposed ? 1 : operand.leading;
    return load(first + matrix * operand.stride + row * down + column * across, FloatFormat::F32);
  };
  constexpr FloatFormat f32 = FloatFormat::F32;
  const OracleSum alpha = exactly(step.alpha), beta = exactly(step.beta);
  std::vector<OracleSum> c;
  for (uint64_t matrix = 0; matrix < step.batch; ++matrix)
    for (uint64_t column = 0; column < step.n; ++column)
      for (uint64_t row = 0; row < step.m; ++row) {
        OracleSum sum = exactly(0);
        for (uint64_t l = 0; l < step.k; ++l) {
          const OracleSum y = element(places.b, step.b, matrix, l, column);
          sum = add(sum, compute(OracleOperation::Multiply, f32, f32,
                                 element(places.a, step.a, matrix, row, l), &y));
        }
        if (step.alpha != 1)
          sum = compute(OracleOperation::Multiply, f32, f32, sum, &alpha);
        if (step.beta != 0)
          sum = add(sum, compute(OracleOperation::Multiply, f32, f32,
                                 element(places.c, step.c, matrix, row, column), &beta));
        c.push_back(sum);
      }
  return c;
}

void keepMatrices(const MatmulStep &step, const MatmulPlaces &places,
                  const std::vector<OracleSum> &c) {
  size_t at = 0;
  for (uint64_t matrix = 0; matrix < step.batch; ++matrix)
    for (uint64_t column = 0; column < step.n; ++column)
      for (uint64_t row = 0; row < step.m; ++row)
        store(places.c + matrix * step.c.stride + column * step.c.leading + row, FloatFormat::F32,
              c[at++]);
}

} // namespace kbrt::oracle
