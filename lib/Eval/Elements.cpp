//===- Elements.cpp - One element of an output, as a number ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/Comparator.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;
using kbrt::ElementType;

namespace kbopt {

template <typename T> static T loadElement(ArrayRef<uint8_t> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

static double halfToDouble(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double value;
  if (exponent == 31)
    value = mantissa ? std::nan("") : HUGE_VAL;
  else if (exponent == 0)
    value = std::ldexp(mantissa, -24);
  else
    value = std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double elementAsDouble(ElementType type, ArrayRef<uint8_t> bytes, size_t index) {
  switch (type) {
  case ElementType::F64:
    return loadElement<double>(bytes, index);
  case ElementType::F32:
    return loadElement<float>(bytes, index);
  case ElementType::F16:
    return halfToDouble(loadElement<uint16_t>(bytes, index));
  case ElementType::BF16: {
    uint32_t wide = static_cast<uint32_t>(loadElement<uint16_t>(bytes, index)) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  case ElementType::I8:
    return loadElement<int8_t>(bytes, index);
  case ElementType::I16:
    return loadElement<int16_t>(bytes, index);
  case ElementType::I32:
    return loadElement<int32_t>(bytes, index);
  case ElementType::I64:
    return static_cast<double>(loadElement<int64_t>(bytes, index));
  case ElementType::U16:
    return loadElement<uint16_t>(bytes, index);
  case ElementType::U32:
    return loadElement<uint32_t>(bytes, index);
  case ElementType::U64:
    return static_cast<double>(loadElement<uint64_t>(bytes, index));
  case ElementType::Bool:
  case ElementType::U8:
  case ElementType::Unknown:
    return bytes[index];
  }
  return 0;
}

void storeElement(ElementType type, MutableArrayRef<uint8_t> bytes, size_t index, double value) {
  auto put = [&](auto typed) {
    std::memcpy(bytes.data() + index * sizeof typed, &typed, sizeof typed);
  };
  auto putFloat = [&](const fltSemantics &semantics) {
    APFloat rounded(value);
    bool losesInfo;
    rounded.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    put(static_cast<uint16_t>(rounded.bitcastToAPInt().getZExtValue()));
  };
  auto putInteger = [&](auto typed) {
    using T = decltype(typed);
    double low = static_cast<double>(std::numeric_limits<T>::min());
    double high = static_cast<double>(std::numeric_limits<T>::max());
    double whole = std::nearbyint(value);
    put(!(whole > low)  ? std::numeric_limits<T>::min()
        : whole >= high ? std::numeric_limits<T>::max()
                        : static_cast<T>(whole));
  };
  switch (type) {
  case ElementType::F64:
    return put(value);
  case ElementType::F32:
    return put(static_cast<float>(value));
  case ElementType::F16:
    return putFloat(APFloat::IEEEhalf());
  case ElementType::BF16:
    return putFloat(APFloat::BFloat());
  case ElementType::I8:
    return putInteger(int8_t());
  case ElementType::I16:
    return putInteger(int16_t());
  case ElementType::I32:
    return putInteger(int32_t());
  case ElementType::I64:
    return putInteger(int64_t());
  case ElementType::U16:
    return putInteger(uint16_t());
  case ElementType::U32:
    return putInteger(uint32_t());
  case ElementType::U64:
    return putInteger(uint64_t());
  case ElementType::Bool:
    return put(static_cast<uint8_t>(value != 0));
  case ElementType::U8:
  case ElementType::Unknown:
    return putInteger(uint8_t());
  }
}

} // namespace kbopt
