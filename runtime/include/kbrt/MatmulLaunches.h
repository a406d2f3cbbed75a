//===- MatmulLaunches.h - how a GPU launches matrix products -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the shape of the launches that a `MatmulStep` becomes on a CUDA device, for
// code that launches them and code that compares a trace with the plan.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_MATMULLAUNCHES_H
#define KBRT_MATMULLAUNCHES_H

#include "kbrt/Plan.h"
#include <algorithm>

namespace kbrt {

inline constexpr const char *matmulKernel = "kb_matmul";
/// One thread per element of a tile of C.
inline constexpr Dim3 matmulBlock{16, 16, 1};

struct MatmulLaunch {
  uint32_t matrix = 0, column = 0; ///< the first of each
  uint32_t columns = 0;
  Dim3 grid;
};

/// In order: one, unless the grid's limits divide the product.
inline std::vector<MatmulLaunch> matmulLaunches(const MatmulStep &step) {
  constexpr uint32_t mostBlocks = 65535; // in the directions y and z
  constexpr uint32_t mostColumns = mostBlocks * matmulBlock.y;
  auto tiles = [](uint32_t elements, uint32_t tile) { return (elements + tile - 1) / tile; };
  std::vector<MatmulLaunch> launches;
  for (uint32_t matrix = 0; step.m && matrix < step.batch; matrix += mostBlocks)
    for (uint32_t column = 0; column < step.n; column += mostColumns) {
      uint32_t columns = std::min(step.n - column, mostColumns);
      launches.push_back({matrix,
                          column,
                          columns,
                          {tiles(step.m, matmulBlock.x), tiles(columns, matmulBlock.y),
                           std::min(step.batch - matrix, mostBlocks)}});
    }
  return launches;
}

} // namespace kbrt

#endif // KBRT_MATMULLAUNCHES_H
