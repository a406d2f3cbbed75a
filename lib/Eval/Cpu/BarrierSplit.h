//===- BarrierSplit.h - Kernels in pieces between barriers ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface between the split of a kernel and the loops that
// Entries.cpp makes of its regions.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_BARRIERSPLIT_H
#define KBOPT_LIB_EVAL_CPU_BARRIERSPLIT_H

#include "ThreadState.h"

namespace kbopt::cpu {

/// What a region has behind its kernel's and the state parameters: linear id,
/// slots, arrays, uniforms, next uniforms (see kbrt::RegionFunction).
constexpr unsigned regionParameters = 5;

/// Of the loops over threads that Entries.cpp makes of regions.
constexpr llvm::StringLiteral regionAttribute = "kb-region";

/// Splits the lowered \p kernel where its threads wait for each other. The
/// regions execute one thread; nothing if the kernel waits in a way that only
/// fibers can, or if its regions would grow beyond measure.
std::optional<SplitKernel> splitAtBarriers(ImageContext &context, Kernel &kernel);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_BARRIERSPLIT_H
