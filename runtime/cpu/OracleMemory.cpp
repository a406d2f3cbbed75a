//===- OracleMemory.cpp - the shadow of memory in mode Oracle -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OracleMemory.h"
#include "OracleSum.h"
#include "kbrt/DeviceAbi.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_map>

namespace kbrt::oracle {

namespace {

struct Record {
  OracleSum sum;
  uint64_t bits;
  uint32_t format; ///< 1 + FloatFormat; 0: there is no record
};

constexpr uint64_t pageBytes = 4096, wordBytes = 4, recordsPerHalf = pageBytes / wordBytes;

/// Records of the numbers that begin in one page: in the lower and in the upper half of each word,
/// where only 16-bit numbers begin.
struct Page {
  std::unique_ptr<Record[]> halves[2];
};

std::unordered_map<uint64_t, Page> pages;
uint64_t keptBytes = 0;
bool exhausted = false;

/// Of pages that were asked for last.
struct Remembered {
  uint64_t number = ~uint64_t(0);
  Page *page = nullptr;
};
constexpr uint64_t rememberedPages = 256;
Remembered remembered[rememberedPages];

Page *findPage(uint64_t address, bool create) {
  const uint64_t number = address / pageBytes;
  Remembered &last = remembered[number % rememberedPages];
  if (last.number == number)
    return last.page;
  auto found = pages.find(number);
  if (found == pages.end()) {
    if (!create)
      return nullptr;
    found = pages.try_emplace(number).first;
  }
  last = {number, &found->second}; // which stays where it is
  return last.page;
}

Record *findRecord(const void *pointer, bool create) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (address & 1)
    return nullptr;
  Page *page = findPage(address, create);
  if (!page)
    return nullptr;
  std::unique_ptr<Record[]> &half = page->halves[address / 2 % 2];
  if (!half) {
    if (!create)
      return nullptr;
    constexpr uint64_t bytes = recordsPerHalf * sizeof(Record);
    if (keptBytes + bytes > mostBytes) {
      exhausted = true;
      return nullptr;
    }
    keptBytes += bytes;
    half = std::make_unique<Record[]>(recordsPerHalf);
  }
  return &half[address % pageBytes / wordBytes];
}

unsigned bytesOf(FloatFormat format) {
  switch (format) {
  case FloatFormat::F16:
  case FloatFormat::BF16:
    return 2;
  case FloatFormat::F32:
    return 4;
  case FloatFormat::F64:
    break;
  }
  return 8;
}

uint64_t bitsAt(const void *address, FloatFormat format) {
  uint64_t bits = 0;
  memcpy(&bits, address, bytesOf(format));
  return bits;
}

double halfToDouble(uint16_t bits) {
  constexpr int mantissaBits = 10, bias = 15, special = 31;
  const int exponent = bits >> mantissaBits & special, mantissa = bits & 0x3ff;
  double value = exponent == special ? (mantissa ? NAN : HUGE_VAL)
                 : exponent          ? std::ldexp(mantissa | 0x400, exponent - bias - mantissaBits)
                                     : std::ldexp(mantissa, 1 - bias - mantissaBits);
  return bits >> 15 ? -value : value;
}

} // namespace

void reset() {
  pages.clear();
  std::fill_n(remembered, rememberedPages, Remembered{});
  keptBytes = 0;
  exhausted = false;
}

bool isExhausted() { return exhausted; }

double numberAt(const void *address, FloatFormat format) {
  const uint64_t bits = bitsAt(address, format);
  switch (format) {
  case FloatFormat::F16:
    return halfToDouble(static_cast<uint16_t>(bits));
  case FloatFormat::BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  case FloatFormat::F32:
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  case FloatFormat::F64:
    break;
  }
  return std::bit_cast<double>(bits);
}

OracleSum load(const void *address, FloatFormat format) {
  const Record *record = findRecord(address, false);
  if (record && record->format == 1 + static_cast<uint32_t>(format) &&
      record->bits == bitsAt(address, format))
    return record->sum;
  return exactly(numberAt(address, format));
}

void store(void *address, FloatFormat format, const OracleSum &sum) {
  if (Record *record = findRecord(address, true))
    *record = {sum, bitsAt(address, format), 1 + static_cast<uint32_t>(format)};
}

void copy(void *to, const void *from, uint64_t bytes) {
  constexpr uint64_t step = 2;
  auto *target = static_cast<char *>(to);
  auto *source = static_cast<const char *>(from);
  if ((reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from)) & 1)
    return;
  const bool isForward = target <= source;
  for (uint64_t n = 0; n + step <= bytes; n += step) {
    const uint64_t at = isForward ? n : (bytes - step) / step * step - n;
    const Record *record = findRecord(source + at, false);
    if (!record || !record->format)
      continue;
    const auto format = static_cast<FloatFormat>(record->format - 1);
    if (at + bytesOf(format) > bytes || record->bits != bitsAt(target + at, format))
      continue;
    const OracleSum sum = record->sum;
    store(target + at, format, sum);
  }
}

std::optional<FloatFormat> formatOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return FloatFormat::F16;
  case ElementType::BF16:
    return FloatFormat::BF16;
  case ElementType::F32:
    return FloatFormat::F32;
  case ElementType::F64:
    return FloatFormat::F64;
  default:
    return std::nullopt;
  }
}

} // namespace kbrt::oracle

using namespace kbrt;

extern "C" {

void kbrt_oracle_exact(OracleSum *sum) { *sum = oracle::exactly(sum->value); }

void kbrt_oracle_load(FloatFormat format, const void *address, OracleSum *sum) {
  *sum = oracle::load(address, format);
}

void kbrt_oracle_store(FloatFormat format, void *address, const OracleSum *sum) {
  if (address)
    oracle::store(address, format, *sum);
}

void kbrt_oracle_copy(void *to, const void *from, uint64_t bytes) { oracle::copy(to, from, bytes); }

void kbrt_oracle_compute(OracleOperation operation, FloatFormat from, FloatFormat to,
                         const OracleSum *x, const OracleSum *y, OracleSum *result) {
  *result = oracle::compute(operation, from, to, *x, y);
}
}
