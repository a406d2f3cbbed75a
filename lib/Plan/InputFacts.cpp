//===- InputFacts.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/InputFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace kbopt;
using namespace kbrt;

namespace {

/// Calls \p body with a zero of the type that \p element stands for; false if it is none that can
/// be put in order.
template <typename Body> bool withType(ElementType element, Body body) {
  switch (element) {
  case ElementType::I8:
    return body(int8_t()), true;
  case ElementType::U8:
    return body(uint8_t()), true;
  case ElementType::I16:
    return body(int16_t()), true;
  case ElementType::U16:
    return body(uint16_t()), true;
  case ElementType::I32:
    return body(int32_t()), true;
  case ElementType::U32:
    return body(uint32_t()), true;
  case ElementType::I64:
    return body(int64_t()), true;
  case ElementType::U64:
    return body(uint64_t()), true;
  case ElementType::F32:
    return body(float()), true;
  case ElementType::F64:
    return body(double()), true;
  default:
    return false;
  }
}

template <typename T> std::vector<T> valuesOf(llvm::ArrayRef<uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// \p value, or one inside the range in its place.
template <typename T> T inRange(T value, std::pair<double, double> range) {
  const double at = static_cast<double>(value), width = range.second - range.first;
  if (at >= range.first && at <= range.second)
    return value;
  if (!std::isfinite(at) || width <= 0)
    return static_cast<T>(range.first);
  const double rest =
      std::fmod(std::fabs(at), width + (std::is_integral_v<T> ? 1 : 0)); // the end is a value
  return static_cast<T>(range.first + rest);
}

template <typename T> T nextValue(T value, bool skipsZero, bool isUp) {
  do {
    if constexpr (std::is_floating_point_v<T>)
      value = std::nextafter(value, static_cast<T>(isUp ? HUGE_VAL : -HUGE_VAL));
    else
      value = static_cast<T>(isUp ? value + 1 : value - 1);
  } while (skipsZero && value == 0);
  return value;
}

/// Moves equal values apart, up as long as there is room below \p most, and then down from there.
template <typename T> void makeDistinct(std::vector<T> &values, bool skipsZero, T most) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::stable_sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  for (size_t i = 1; i < order.size(); ++i) {
    T &value = values[order[i]];
    const T before = values[order[i - 1]];
    if (value <= before)
      value = before < most ? nextValue(before, skipsZero, /*isUp=*/true) : most;
  }
  for (size_t i = order.size(); i-- > 1;)
    if (values[order[i - 1]] >= values[order[i]])
      values[order[i - 1]] = nextValue(values[order[i]], skipsZero, /*isUp=*/false);
}

/// Offsets from 0 to facts.total.
template <typename T> void makeOffsets(std::vector<T> &values, double total) {
  for (T &value : values) {
    const double at = std::fabs(static_cast<double>(value));
    value = static_cast<T>(std::isfinite(at) ? std::floor(std::fmod(at, total + 1)) : 0);
  }
  llvm::sort(values);
  if (!values.empty()) {
    values.front() = 0;
    values.back() = static_cast<T>(total);
  }
}

template <typename T> void padRows(std::vector<T> &values, const InputFacts::Padding &padding) {
  const T with = static_cast<T>(padding.with);
  for (size_t row = 0; row < values.size(); row += padding.row) {
    const size_t end = std::min<size_t>(values.size(), row + padding.row);
    bool isOver = false;
    for (size_t i = row; i < end; ++i) {
      isOver |= values[i] == with;
      if (isOver)
        values[i] = with;
    }
  }
}

template <typename T> void hold(std::vector<T> &values, const InputFacts &facts) {
  if (facts.isZero) {
    llvm::fill(values, T(0));
    return;
  }
  if (facts.isOffsets)
    makeOffsets(values, facts.total);
  for (T &value : values) {
    if constexpr (std::is_floating_point_v<T>)
      if (facts.isFinite && !std::isfinite(value))
        value = 0;
    if (value != value && (facts.isSorted || facts.isDistinct)) // NaN has no place in an order
      value = 0;
    if (facts.range)
      value = inRange(value, *facts.range);
    if (facts.isNonzero && value == 0)
      value = facts.range && facts.range->second < 1
                  ? static_cast<T>(facts.range->first ? facts.range->first : facts.range->second)
                  : 1;
  }
  if (facts.isDistinct)
    makeDistinct(values, facts.isNonzero,
                 facts.range ? static_cast<T>(facts.range->second) : std::numeric_limits<T>::max());
  if (facts.isSorted)
    llvm::sort(values);
  if (facts.isSorted && facts.isDescending)
    std::reverse(values.begin(), values.end());
  if (facts.padding)
    padRows(values, *facts.padding);
}

template <typename T> bool areFulfilled(std::vector<T> values, InputFacts facts) {
  if (facts.isOffsets && !values.empty())
    facts.total = static_cast<double>(values.back());
  if (facts.isOffsets && !(facts.total >= 0))
    return false;
  std::vector<T> held = values;
  hold(held, facts);
  return llvm::equal(values, held);
}

/// Numbers that grow by equal steps were counted up, and are no sorted data.
template <typename T> bool growEvenly(llvm::ArrayRef<T> values) {
  const double step = (static_cast<double>(values.back()) - static_cast<double>(values.front())) /
                      static_cast<double>(values.size() - 1);
  constexpr double slack = 0.01; // of roundings
  for (size_t i = 1; i < values.size(); ++i)
    if (!(std::fabs(static_cast<double>(values[i]) - static_cast<double>(values[i - 1]) - step) <=
          slack * std::fabs(step)))
      return false;
  return true;
}

} // namespace

std::string kbopt::describe(const InputFacts &facts) {
  std::vector<std::string> words;
  if (facts.isSorted)
    words.push_back(facts.isDescending ? "sorted from the largest to the smallest" : "sorted");
  if (facts.isDistinct)
    words.push_back("distinct");
  if (facts.isNonzero)
    words.push_back("nonzero");
  if (facts.isFinite)
    words.push_back("finite");
  if (facts.isZero)
    words.push_back("zero");
  if (facts.isOffsets)
    words.push_back("offsets from zero to the recorded end");
  if (facts.range) {
    std::string ends;
    llvm::raw_string_ostream(ends)
        << llvm::format("between %g and %g", facts.range->first, facts.range->second);
    words.push_back(ends);
  }
  if (facts.padding) {
    std::string rows;
    llvm::raw_string_ostream(rows)
        << "rows of " << facts.padding->row
        << llvm::format(" that are filled up with %g", facts.padding->with);
    words.push_back(rows);
  }
  return (facts.name.empty() ? "upload " + std::to_string(facts.upload) : "'" + facts.name + "'") +
         " stays " + llvm::join(words, " and ") + ": " + facts.reason;
}

std::vector<InputFacts> kbopt::orderedUploads(const Plan &plan, llvm::StringRef data) {
  constexpr size_t fewest = 4;
  std::vector<InputFacts> found;
  unsigned number = 0;
  for (const Step &step : plan.steps) {
    const auto *upload = std::get_if<UploadStep>(&step);
    if (!upload)
      continue;
    InputFacts facts;
    facts.upload = number++;
    facts.isSorted = true;
    const ElementType element = plan.buffers[upload->to.at.buffer].element;
    const uint64_t bytes = upload->to.bytes();
    if (!upload->pointers.empty() || upload->data > data.size() ||
        bytes > data.size() - upload->data)
      continue;
    withType(element, [&](auto zero) {
      using T = decltype(zero);
      const std::vector<T> values =
          valuesOf<T>({reinterpret_cast<const uint8_t *>(data.data()) + upload->data, bytes});
      if (values.size() < fewest || !(values.front() != values.back()) || growEvenly<T>(values))
        return;
      facts.isDescending = values.back() < values.front();
      const bool isInOrder = facts.isDescending ? std::is_sorted(values.rbegin(), values.rend())
                                                : std::is_sorted(values.begin(), values.end());
      if (isInOrder)
        found.push_back(facts);
    });
  }
  return found;
}

bool kbopt::fulfils(llvm::ArrayRef<uint8_t> bytes, ElementType element, const InputFacts &facts) {
  bool good = false;
  const bool isKnown = withType(
      element, [&](auto zero) { good = areFulfilled(valuesOf<decltype(zero)>(bytes), facts); });
  return isKnown && good;
}

double kbopt::lastValue(llvm::ArrayRef<uint8_t> bytes, ElementType element) {
  double last = 0;
  withType(element, [&](auto zero) {
    const auto values = valuesOf<decltype(zero)>(bytes);
    if (!values.empty())
      last = static_cast<double>(values.back());
  });
  return last;
}

void kbopt::holdTo(llvm::MutableArrayRef<uint8_t> bytes, ElementType element,
                   const InputFacts &facts) {
  withType(element, [&](auto zero) {
    auto values = valuesOf<decltype(zero)>(bytes);
    hold(values, facts);
    std::memcpy(bytes.data(), values.data(), values.size() * sizeof zero);
  });
}
