//===- Mma.h - matrix operations of a warp ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns D = A * B + C over the fragments of 32 lanes.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_MMA_H
#define KBRT_MMA_H

#include "Machine.h"

namespace kbrt {

/// Computes one matrix operation of the 32 lanes at \p lanes, whose operands and shape (of lane 0)
/// have been set. Products are summed in float64 for F64 and in float32 from the lowest k up
/// otherwise; the order that tensor cores use is not documented.
void computeMma(Fiber *lanes, const MmaShape &shape);

/// Element \p index of a packed fragment, as a double (floats) or as an exact integer.
double loadElement(const void *fragment, MmaType type, uint32_t index);
/// The same of a floating-point type becomes \p value, rounded to it.
void storeElement(void *fragment, MmaType type, uint32_t index, double value);

} // namespace kbrt
#endif
