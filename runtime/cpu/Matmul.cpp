//===- Matmul.cpp - Matrix products of libraries --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Matmul.h"
#include "Shadow.h"
#include "kbrt/Memory.h"

#include <cstring>

using namespace kbrt;

namespace {

uint64_t addressOf(const float *p) { return reinterpret_cast<uint64_t>(p); }

/// Whether every element of matrix number \p index was written; \p rows by \p columns as stored.
bool isWritten(const float *first, const MatmulOperand &operand, uint64_t index, uint64_t rows,
               uint64_t columns) {
  for (uint64_t column = 0; column < columns; ++column)
    if (shadow::firstUnwritten(addressOf(first + index * operand.stride + column * operand.leading),
                               rows * sizeof(float)))
      return false;
  return true;
}

/// op(A) of matrix number \p index, m by k, columns one after the other.
void packA(const MatmulStep &step, const float *a, uint64_t index, std::vector<float> &packed) {
  a += index * step.a.stride;
  uint64_t down = step.a.transposed ? step.a.leading : 1,
           across = step.a.transposed ? 1 : step.a.leading;
  for (uint64_t l = 0; l < step.k; ++l)
    for (uint64_t i = 0; i < step.m; ++i)
      packed[l * step.m + i] = a[i * down + l * across];
}

/// Adds `values[l] * column l` of \p packed for four columns at a time; each
/// element's sum still grows in ascending order of l.
void addColumns(const float *packed, const float *values, uint64_t m, uint64_t k, float *sum) {
  uint64_t l = 0;
  for (; l + 4 <= k; l += 4) {
    const float *p = packed + l * m, *q = p + m, *r = q + m, *s = r + m;
    float v = values[l], w = values[l + 1], x = values[l + 2], y = values[l + 3];
    for (uint64_t i = 0; i < m; ++i)
      sum[i] = sum[i] + p[i] * v + q[i] * w + r[i] * x + s[i] * y;
  }
  for (; l < k; ++l)
    for (uint64_t i = 0; i < m; ++i)
      sum[i] += packed[l * m + i] * values[l];
}

void multiply(const MatmulStep &step, const MatmulPlaces &places) {
  std::vector<float> packed(uint64_t{step.m} * step.k), values(step.k), sum(step.m);
  for (uint64_t index = 0; index < step.batch; ++index) {
    packA(step, places.a, index, packed);
    const float *b = places.b + index * step.b.stride;
    for (uint64_t j = 0; j < step.n; ++j) {
      for (uint64_t l = 0; l < step.k; ++l)
        values[l] = step.b.transposed ? b[j + l * step.b.leading] : b[l + j * step.b.leading];
      sum.assign(step.m, 0.f);
      addColumns(packed.data(), values.data(), step.m, step.k, sum.data());
      float *c = places.c + index * step.c.stride + j * step.c.leading;
      for (uint64_t i = 0; i < step.m; ++i)
        c[i] = step.beta == 0 ? step.alpha * sum[i] : step.alpha * sum[i] + step.beta * c[i];
    }
  }
}

void markWritten(const MatmulStep &step, const MatmulPlaces &places) {
  auto stored = [](const MatmulOperand &operand, uint64_t rows, uint64_t columns) {
    return operand.transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  };
  auto [aRows, aColumns] = stored(step.a, step.m, step.k);
  auto [bRows, bColumns] = stored(step.b, step.k, step.n);
  for (uint64_t index = 0; index < step.batch; ++index) {
    bool written = isWritten(places.a, step.a, index, aRows, aColumns) &&
                   isWritten(places.b, step.b, index, bRows, bColumns) &&
                   (step.beta == 0 || isWritten(places.c, step.c, index, step.m, step.n));
    for (uint64_t j = 0; j < step.n; ++j)
      shadow::markRange(addressOf(places.c + index * step.c.stride + j * step.c.leading),
                        step.m * sizeof(float), written);
  }
}

LaunchKey keyOf(const MatmulStep &step, const MatmulPlaces &places) {
  LaunchKey key;
  key.kernel = "matmul";
  auto add = [&](const auto &value) {
    auto *bytes = reinterpret_cast<const uint8_t *>(&value);
    key.arguments.insert(key.arguments.end(), bytes, bytes + sizeof value);
  };
  for (uint32_t size : {step.m, step.n, step.k, step.batch})
    add(size);
  add(step.alpha);
  add(step.beta);
  for (const MatmulOperand *operand : {&step.a, &step.b, &step.c}) {
    add(operand->leading);
    add(operand->stride);
    add(operand->transposed);
  }
  for (const float *place : {places.a, places.b, static_cast<const float *>(places.c)})
    add(place);
  return key;
}

} // namespace

void kbrt::matmul(const MatmulStep &step, const MatmulPlaces &places, RepeatedLaunches &repeated) {
  LaunchKey key = keyOf(step, places);
  if (repeated.changesNothing(key))
    return;
  markWritten(step, places);
  repeated.before(key);
  multiply(step, places);
  repeated.after(key, /*repeatable=*/true);
}
