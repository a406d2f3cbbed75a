//===- HostValues.h - What a changed host hands over otherwise --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how bytes that a candidate's host passes by value, or computed from results in another
// order, are recognised among those that the original uploads.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_HOSTVALUES_H
#define KBOPT_PLAN_HOSTVALUES_H

#include "kbrt/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace kbopt {

/// Whether \p bytes are the floating-point numbers of \p other but for roundings: a host computed
/// them from the same results in another order. False for other types.
bool areSameNumbers(llvm::StringRef bytes, llvm::StringRef other, kbrt::ElementType element);

/// Bytes of \p argument that are in none of \p known, which are looked for in it as wholes, the
/// largest first; those of fewer than 16 bytes only as the whole argument.
uint64_t unknownBytes(llvm::StringRef argument, llvm::ArrayRef<llvm::StringRef> known);

/// Where arguments of \p plan's launches carry by value what \p original uploads from \p before,
/// puts the bytes of \p after there. What \p original passes by value itself stays.
void varyArgumentsLike(const kbrt::Plan &original, llvm::StringRef before, llvm::StringRef after,
                       kbrt::Plan &plan);

} // namespace kbopt

#endif // KBOPT_PLAN_HOSTVALUES_H
