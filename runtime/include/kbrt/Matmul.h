//===- Matmul.h - Matrix products of libraries -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the execution of `MatmulStep` on the CPU device. The caller has checked
// that the operands lie inside their buffers.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_MATMUL_H
#define KBRT_MATMUL_H

#include "kbrt/Plan.h"
#include "kbrt/RepeatedLaunches.h"

namespace kbrt {

/// Where the operands' first elements are.
struct MatmulPlaces {
  const float *a, *b;
  float *c;
};

/// Computes the product with f32 sums in ascending order of k: the same bits in
/// every run. Elements computed from memory that was never written stay unwritten
/// in the eyes of the device's checks. Does nothing if \p repeated knows that it
/// would change nothing. Callers hold DeviceLock.
void matmul(const MatmulStep &step, const MatmulPlaces &places, RepeatedLaunches &repeated);

} // namespace kbrt

#endif // KBRT_MATMUL_H
