//===- ChangedInputs.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/ChangedInputs.h"
#include "FloatBits.h"
#include "VariedTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

bool isSigned(ElementType type) {
  return type == ElementType::I8 || type == ElementType::I16 || type == ElementType::I32 ||
         type == ElementType::I64;
}

/// Bits of \p value; of integers those that a cast from 64 bits leaves.
uint64_t bitsOf(double value, ElementType type) {
  if (isFloatingPoint(type))
    return floatBits(value, semanticsOf(type));
  constexpr double beyond = 9223372036854775808.0; // 2^63
  const uint64_t mask = ~uint64_t{0} >> (64 - 8 * elementBytes(type));
  if (std::isnan(value))
    return 0;
  if (value >= beyond)
    return (value >= 2 * beyond ? ~uint64_t{0} : static_cast<uint64_t>(value)) & mask;
  return static_cast<uint64_t>(static_cast<int64_t>(std::max(value, -beyond))) & mask;
}

double valueOf(uint64_t bits, ElementType type) {
  const unsigned width = 8 * elementBytes(type);
  if (!isFloatingPoint(type)) {
    if (!isSigned(type))
      return static_cast<double>(bits);
    return static_cast<double>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
  }
  llvm::APFloat number(semanticsOf(type), llvm::APInt(width, bits));
  bool losesInfo;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// Whether \p type has \p value as it is, in either reading of its bits.
bool holds(double value, ElementType type) {
  if (isFloatingPoint(type))
    return valueOf(bitsOf(value, type), type) == value;
  const int width = static_cast<int>(8 * elementBytes(type));
  return value == std::trunc(value) && value >= -std::ldexp(1, width - 1) &&
         value < std::ldexp(1, width);
}

/// The elements of one upload.
class Elements {
public:
  Elements(llvm::MutableArrayRef<uint8_t> bytes, ElementType type)
      : bytes(bytes), type(type), size(elementBytes(type)), count(bytes.size() / size) {}

  uint64_t get(uint64_t index) const {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + index * size, size);
    return bits;
  }
  void set(uint64_t index, uint64_t bits) { std::memcpy(bytes.data() + index * size, &bits, size); }
  void change(const InputChange &change);

private:
  void sort(bool descends);

  llvm::MutableArrayRef<uint8_t> bytes;
  ElementType type;
  uint64_t size, count;
};

void Elements::sort(bool descends) {
  std::vector<std::pair<double, uint64_t>> all;
  for (uint64_t i = 0; i < count; ++i)
    all.push_back({valueOf(get(i), type), get(i)});
  // Numbers that are none stay behind the others.
  llvm::sort(all, [&](const auto &a, const auto &b) {
    if (std::isnan(a.first) || std::isnan(b.first))
      return !std::isnan(a.first) && std::isnan(b.first);
    return descends ? a > b : a < b;
  });
  for (uint64_t i = 0; i < count; ++i)
    set(i, all[i].second);
}

void Elements::change(const InputChange &change) {
  using Kind = InputChange::Kind;
  if (change.kind == Kind::Ascend || change.kind == Kind::Descend)
    return sort(change.kind == Kind::Descend);
  const uint64_t value = bitsOf(change.value, type), other = bitsOf(change.other, type);
  if (change.kind == Kind::Replace && !holds(change.other, type))
    return;
  const uint64_t step = change.every ? change.every : std::max<uint64_t>(count, 1);
  for (uint64_t i = 0; i < count; i += step)
    switch (change.kind) {
    case Kind::Replace:
      if (get(i) == other)
        set(i, value);
      break;
    case Kind::Add:
      set(i, bitsOf(valueOf(get(i), type) + change.value, type));
      break;
    case Kind::CountUp:
      set(i, bitsOf(change.value + change.other * static_cast<double>(change.period
                                                                          ? i / step % change.period
                                                                          : i / step),
                    type));
      break;
    default:
      set(i, value);
    }
}

/// The shortest text that gives \p value again.
std::string textOf(double value) {
  char text[32];
  const bool isNarrow =
      static_cast<double>(static_cast<float>(value)) == value && std::fabs(value) < 1e6;
  const std::to_chars_result end =
      isNarrow ? std::to_chars(std::begin(text), std::end(text), static_cast<float>(value))
      : value == std::trunc(value) && std::fabs(value) < 1e18
          ? std::to_chars(std::begin(text), std::end(text), static_cast<int64_t>(value))
          : std::to_chars(std::begin(text), std::end(text), value);
  return std::string(text, end.ptr);
}

std::string describe(const InputChange &change) {
  const std::string upload = "upload " + std::to_string(change.upload + 1),
                    value = textOf(change.value), other = textOf(change.other),
                    which = change.every == 1   ? "all "
                            : change.every == 0 ? "first "
                            : change.every == 2 ? "every second "
                            : change.every == 3 ? "every third "
                                                : "every " + std::to_string(change.every) + "th ";
  switch (change.kind) {
  case InputChange::Kind::Set:
    return upload + " " + which + value;
  case InputChange::Kind::Replace:
    return upload + " with " + value + " in the place of " + other;
  case InputChange::Kind::Add:
    return upload + " " + which + "plus " + value;
  case InputChange::Kind::CountUp:
    return upload + " " + value + " and on by " + other +
           (change.period ? ", again after " + std::to_string(change.period) : "");
  case InputChange::Kind::Ascend:
    return upload + " sorted";
  case InputChange::Kind::Descend:
    return upload + " sorted, the largest first";
  }
  llvm_unreachable("all kinds are handled");
}

} // namespace

std::string kbopt::describe(llvm::ArrayRef<InputChange> changes) {
  return llvm::join(
      llvm::map_range(changes, [](const InputChange &change) { return ::describe(change); }), ", ");
}

llvm::Expected<std::vector<ChangeableUpload>> kbopt::changeableUploads(const Plan &plan,
                                                                       llvm::StringRef data) {
  llvm::Expected<std::vector<NumberUpload>> uploads = numberUploads(plan, data);
  if (!uploads)
    return uploads.takeError();
  std::vector<ChangeableUpload> all;
  for (const NumberUpload &each : *uploads) {
    const unsigned size = elementBytes(each.type);
    uint64_t bits = 0;
    std::memcpy(&bits, data.data() + each.step->data, size);
    all.push_back({each.number, each.type, each.step->to.bytes() / size, valueOf(bits, each.type)});
  }
  return all;
}

llvm::Expected<VariedUploads> kbopt::changeInputs(const Plan &plan, llvm::StringRef data,
                                                  llvm::MutableArrayRef<uint8_t> out,
                                                  llvm::ArrayRef<InputChange> changes) {
  llvm::Expected<std::vector<NumberUpload>> uploads = numberUploads(plan, data);
  if (!uploads)
    return uploads.takeError();
  if (!data.empty())
    std::memcpy(out.data(), data.data(), data.size());
  VariedUploads result;
  for (const NumberUpload &each : *uploads) {
    const llvm::MutableArrayRef<uint8_t> bytes = out.slice(each.step->data, each.step->to.bytes());
    Elements elements(bytes, each.type);
    for (const InputChange &change : changes)
      if (change.upload == each.number)
        elements.change(change);
    const bool isSame = !std::memcmp(bytes.data(), data.data() + each.step->data, bytes.size());
    ++(isSame ? result.uploadsKept : result.uploadsVaried);
  }
  return result;
}

double kbopt::nextNumber(double value, ElementType element, bool up) {
  if (!isFloatingPoint(element))
    return value + (up ? 1 : -1);
  const llvm::fltSemantics &semantics = semanticsOf(element);
  llvm::APFloat number(semantics,
                       llvm::APInt(8 * elementBytes(element), floatBits(value, semantics)));
  llvm::APFloat next = number;
  next.next(/*nextDown=*/!up);
  return valueOf((next.isFinite() ? next : number).bitcastToAPInt().getZExtValue(), element);
}

std::pair<double, double> kbopt::rangeOf(ElementType element) {
  if (isFloatingPoint(element)) {
    const double largest = llvm::APFloat::getLargest(semanticsOf(element)).convertToDouble();
    return {-largest, largest};
  }
  const int width = static_cast<int>(8 * elementBytes(element));
  if (!isSigned(element))
    return {0, std::ldexp(1, width) - 1};
  return {-std::ldexp(1, width - 1), std::ldexp(1, width - 1) - 1};
}
