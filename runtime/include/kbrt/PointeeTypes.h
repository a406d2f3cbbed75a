//===- PointeeTypes.h - What the arguments of kernels lead to ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how the types behind kernel parameters are told to a recorder, which sees mangled names and
// no source.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_POINTEETYPES_H
#define KBRT_POINTEETYPES_H

#include "kbrt/Plan.h"
#include <map>

namespace kbrt {

/// What one pointer leads to.
struct Pointee {
  ElementType element = ElementType::Unknown; ///< of the memory that it points to
  /// Of the memory that pointers in that memory point to, as for `float **`.
  ElementType behind = ElementType::Unknown;
  bool operator==(const Pointee &) const = default;
};

/// What the pointers in one kernel parameter lead to, by the byte at which each lies in it: a
/// pointer at 0, a struct with pointers where its fields are. Empty where nothing is known.
using PointeeTypes = std::map<uint64_t, Pointee>;

/// By the mangled name of a kernel, of each of its parameters; by that of a device variable, what
/// it consists of itself.
using KernelTypes = std::map<std::string, std::vector<PointeeTypes>>;

/// One line of text, as "kernel=0:f32:unknown+8:i32:unknown,;" for a struct of two pointers and a
/// number.
std::string kernelTypesText(const KernelTypes &types);
/// The inverse; what is not understood is left out.
KernelTypes kernelTypesFromText(const std::string &text);

} // namespace kbrt

#endif // KBRT_POINTEETYPES_H
