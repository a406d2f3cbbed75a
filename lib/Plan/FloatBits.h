//===- FloatBits.h - Numbers as elements of a buffer ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a number is written as an element of a floating-point type. Private to lib/Plan.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_PLAN_FLOATBITS_H
#define KBOPT_LIB_PLAN_FLOATBITS_H

#include "kbrt/Plan.h"
#include "llvm/ADT/APFloat.h"

namespace kbopt {

/// Of a floating-point \p element.
const llvm::fltSemantics &semanticsOf(kbrt::ElementType element);

/// The bits of \p value in \p semantics, rounded to the nearest even.
uint64_t floatBits(double value, const llvm::fltSemantics &semantics);

} // namespace kbopt

#endif // KBOPT_LIB_PLAN_FLOATBITS_H
