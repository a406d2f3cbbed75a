//===- Stops.h - Where the threads of a kernel wait -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which calls of the runtime make a thread wait for others, and the one
// form that BarrierSplit.cpp sees of them: a marker with the operands, and
// behind it calls that stand for the results.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_STOPS_H
#define KBOPT_LIB_EVAL_CPU_STOPS_H

#include "ImageContext.h"

namespace kbopt::cpu {

/// Whether threads of \p kernel wait for each other, and only in ways that have a StopKind.
bool canSplit(ImageContext &context, llvm::Function &kernel);

/// Replaces the waiting calls by markers: their operands are the number of the
/// stop and what the thread tells (mask, value, lane, clamp; poison for nothing).
std::vector<Stop> markStops(ImageContext &context, llvm::Function &kernel);

bool isStopMarker(const llvm::Instruction &instruction);
/// For a call that stands for a result: its row in kbrt::Exchange.
std::optional<size_t> isStopResult(const llvm::Instruction &instruction);

/// Removes what lowering left behind: variables in memory, repeated loads.
void tidy(llvm::Function &function);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_STOPS_H
