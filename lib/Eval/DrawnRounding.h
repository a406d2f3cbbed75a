//===- DrawnRounding.h - PTX that draws how it rounds -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text of one operation whose direction of rounding is drawn at each
// execution (Rerounding::drawn).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_DRAWNROUNDING_H
#define KBOPT_LIB_EVAL_DRAWNROUNDING_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

struct Draw {
  unsigned pattern = 1;
  uint64_t ordinal = 0;
  bool narrow = false; ///< float64 results are rounded to float32, in that direction
};

/// The PTX operation \p opcode, which rounds up already, with \p operands ("%f1, %f2, %f3;")
/// under \p guard ("@%p1 " or nothing); empty where changing signs does not turn its
/// direction, or the operands are not understood. Where `Draw::narrow` counts, the operation
/// itself rounds up.
std::string drawnOperation(llvm::StringRef guard, llvm::StringRef opcode, llvm::StringRef operands,
                           const Draw &draw);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_DRAWNROUNDING_H
