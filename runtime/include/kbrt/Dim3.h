//===- Dim3.h - grid and block extents --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the three-component extent that plans and launches share.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_DIM3_H
#define KBRT_DIM3_H

#include <cstdint>

namespace kbrt {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
  bool operator==(const Dim3 &) const = default;
};

} // namespace kbrt

#endif // KBRT_DIM3_H
