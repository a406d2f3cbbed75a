//===- OracleMatrices.h - shadows of matrix products ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the shadows of what matrix operations of a warp and libraries' products compute.
// They are computed before the operation, which may overwrite its operands, and kept
// behind it.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_ORACLEMATRICES_H
#define KBRT_ORACLEMATRICES_H

#include "Machine.h"
#include "kbrt/Matmul.h"
#include "kbrt/Oracle.h"
#include <vector>

namespace kbrt::oracle {

/// Of D, row by row; empty for products of integers.
std::vector<OracleSum> multiplyFragments(const Fiber *lanes, const MmaShape &shape);
void keepFragments(const Fiber *lanes, const MmaShape &shape, const std::vector<OracleSum> &d);

/// Of C, by matrix, column and row.
std::vector<OracleSum> multiplyMatrices(const MatmulStep &step, const MatmulPlaces &places);
void keepMatrices(const MatmulStep &step, const MatmulPlaces &places,
                  const std::vector<OracleSum> &c);

} // namespace kbrt::oracle

#endif // KBRT_ORACLEMATRICES_H
