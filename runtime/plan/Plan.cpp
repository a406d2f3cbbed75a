//===- Plan.cpp - Names and sums over a plan -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Plan.h"

#include <iterator>
#include <type_traits>
#include <utility>

using namespace kbrt;

namespace {

struct ElementRow {
  ElementType type;
  const char *name;
  unsigned bytes;
};

constexpr ElementRow elements[] = {
    {ElementType::Unknown, "unknown", 0}, {ElementType::Bool, "bool", 1},
    {ElementType::I8, "i8", 1},           {ElementType::U8, "u8", 1},
    {ElementType::I16, "i16", 2},         {ElementType::U16, "u16", 2},
    {ElementType::I32, "i32", 4},         {ElementType::U32, "u32", 4},
    {ElementType::I64, "i64", 8},         {ElementType::U64, "u64", 8},
    {ElementType::F16, "f16", 2},         {ElementType::BF16, "bf16", 2},
    {ElementType::F32, "f32", 4},         {ElementType::F64, "f64", 8},
};

/// In the order of `Step`'s alternatives.
constexpr const char *stepNames[] = {"alloc", "free", "upload", "fill", "copy",  "launch",
                                     "read",  "sync", "event",  "wait", "error", "matmul"};
static_assert(std::size(stepNames) == std::variant_size_v<Step>);

/// In the order of `HostPart`.
constexpr const char *hostPartNames[] = {"enqueues", "stages", "waits", "writes"};

} // namespace

Plan::Plan() = default;
Plan::Plan(const Plan &) = default;
Plan::Plan(Plan &&) noexcept = default;
Plan &Plan::operator=(const Plan &) = default;
Plan &Plan::operator=(Plan &&) noexcept = default;
Plan::~Plan() = default;

const char *kbrt::elementTypeName(ElementType type) {
  return elements[static_cast<size_t>(type)].name;
}

std::optional<ElementType> kbrt::elementTypeFromName(std::string_view name) {
  for (const ElementRow &row : elements)
    if (name == row.name)
      return row.type;
  return std::nullopt;
}

unsigned kbrt::elementBytes(ElementType type) { return elements[static_cast<size_t>(type)].bytes; }

bool kbrt::isFloatingPoint(ElementType type) { return type >= ElementType::F16; }

const char *kbrt::hostPartName(HostPart part) { return hostPartNames[static_cast<size_t>(part)]; }

std::optional<HostPart> kbrt::hostPartFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(hostPartNames); ++i)
    if (name == hostPartNames[i])
      return static_cast<HostPart>(i);
  return std::nullopt;
}

const char *kbrt::stepName(const Step &step) { return stepNames[step.index()]; }

std::optional<uint64_t> MatmulStep::extentOf(const MatmulOperand &operand) const {
  uint64_t rows = &operand == &b ? k : m, columns = &operand == &a ? k : n;
  if (operand.transposed)
    std::swap(rows, columns);
  if (operand.leading < rows)
    return std::nullopt;
  if (!rows || !columns || !batch)
    return 0;
  uint64_t last, inBatch, elements, bytes;
  if (__builtin_mul_overflow(columns - 1, operand.leading, &last) ||
      __builtin_mul_overflow(uint64_t{batch} - 1, operand.stride, &inBatch) ||
      __builtin_add_overflow(last, inBatch, &elements) ||
      __builtin_add_overflow(elements, rows, &elements) ||
      __builtin_mul_overflow(elements, sizeof(float), &bytes))
    return std::nullopt;
  return bytes;
}

ElementType kbrt::elementOf(const Plan &plan, const Region &region) {
  const ElementType type = plan.buffers[region.at.buffer].element;
  const uint64_t width = elementBytes(type);
  return width && (region.at.offset % width || region.width % width) ? ElementType::Unknown : type;
}

uint64_t kbrt::observableBytes(const Plan &plan) {
  uint64_t sum = 0;
  for (const Step &step : plan.steps)
    if (auto *read = std::get_if<ReadStep>(&step))
      sum += read->from.bytes();
  return sum;
}
