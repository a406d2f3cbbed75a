//===- OracleMemory.h - the shadow of memory in mode Oracle -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the shadows of numbers in device, shared and local memory. A shadow is kept with
// the bits of its number: where other bits lie now, as after an upload or a store of
// integers, the number there counts as exact.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_ORACLEMEMORY_H
#define KBRT_ORACLEMEMORY_H

#include "kbrt/Oracle.h"
#include "kbrt/Plan.h"
#include <optional>

namespace kbrt::oracle {

/// Forgets all shadows.
void reset();

/// The most memory for shadows; beyond it no more are kept, and results would not be the oracle's.
inline constexpr uint64_t mostBytes = uint64_t(2) << 30;
bool isExhausted();

/// The number at \p address as float64.
double numberAt(const void *address, FloatFormat format);

/// The shadow of the number at \p address.
OracleSum load(const void *address, FloatFormat format);
/// Makes \p sum the shadow of the number that lies at \p address.
void store(void *address, FloatFormat format, const OracleSum &sum);
/// Shadows go with the bytes that have been copied.
void copy(void *to, const void *from, uint64_t bytes);

/// Nothing for types that are no floating-point numbers.
std::optional<FloatFormat> formatOf(ElementType type);

} // namespace kbrt::oracle

#endif // KBRT_ORACLEMEMORY_H
