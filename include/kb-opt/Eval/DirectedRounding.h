//===- DirectedRounding.h - PTX that rounds another way ---------*- C++ -*-===//
//
// Owns W. Kahan's test on a GPU: the same program with every rounding of float32 and
// float64 arithmetic directed. Nothing here runs anything.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_DIRECTEDROUNDING_H
#define KBOPT_EVAL_DIRECTEDROUNDING_H

#include "kb-opt/Eval/Device.h"

namespace kbopt {

/// \p ptx with add, sub, mul, fma, div, sqrt and rcp of float32 and float64 rounded as
/// \p rounding says, where they round to nearest, and conversions to them from float64 and
/// integers. Approximate instructions and narrower types stay; so does an instruction that
/// states another rounding.
std::string withRounding(llvm::StringRef ptx, Rounding rounding);

} // namespace kbopt

#endif // KBOPT_EVAL_DIRECTEDROUNDING_H
