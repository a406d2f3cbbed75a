//===- Oracle.h - A float64 reference and its forward error bound -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the shadow that device code carries beside each floating-point number in mode
// Oracle: what the number would be in float64, and how far any order of its sums may be
// from that. The arithmetic of shadows is in runtime/cpu/OracleSum.cpp, the shadow of
// memory in runtime/cpu/OracleMemory.cpp.
//
// A shadow describes a number as a sum of n terms t_i. With u the unit round-off of the
// type in which they are added, every order of the additions is off by at most
// (n - 1) u S, where S is the largest magnitude that a partial sum can have (Higham,
// Accuracy and Stability of Numerical Algorithms, 2002, section 4.2), and with
// independent rounding errors by lambda sqrt(n - 1) u S with high probability (Higham
// and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019). A partial
// sum lies between the sum of the negative and the sum of the positive terms, so that
// S is half of the sum of all magnitudes and the magnitude of the result. If all terms
// are multiples of one power of two and S has no more such units than the type has
// numbers, every order is exact.
//
// Any operation but an addition ends the sum: its result is one term, whose error is
// that of the operands, to first order, and one rounding.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_ORACLE_H
#define KBRT_ORACLE_H

#include <stdint.h>

namespace kbrt {

enum class FloatFormat : uint32_t { F16, BF16, F32, F64 };

/// The shadow of one number. Image code reads and writes it as an array of float64.
struct OracleSum {
  double value;     ///< the sum in float64
  double magnitude; ///< the sum of the terms' magnitudes
  double terms;     ///< how many there are
  double error;     ///< the sum of the bounds of the terms' own errors
  /// All terms are multiples of two to this power; -infinity if they are rounded.
  double unit;
  double longest; ///< the most terms of a sum behind the number
};
inline constexpr unsigned oracleFields = sizeof(OracleSum) / sizeof(double);

/// Operations that end a sum. From Exp on the names are those of the C library.
enum class OracleOperation : uint32_t {
  Convert, ///< to another format
  Multiply,
  Divide,
  Reciprocal,
  Sqrt,
  ReciprocalSqrt,
  Exp,
  Exp2,
  Exp10,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Sin,
  Cos,
  Tan,
  Sinh,
  Cosh,
  Tanh,
  Asin,
  Acos,
  Atan,
  Erf,
  Erfc,
  Cbrt,
  Pow,
  Atan2,
  Hypot,
};

/// What a run in mode Oracle tells of one element that the plan reads.
struct OracleElement {
  double value;     ///< in float64
  double error;     ///< the forward bound of every order of the sum that it is
  double inherited; ///< the sum of the bounds of its terms' errors
  double terms;     ///< of the longest sum behind it
};

} // namespace kbrt

#endif // KBRT_ORACLE_H
