//===- LiveCode.h - Code that a known launch can reach ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the proof that a launch with known arguments cannot come to some code of its kernel: the
// optimiser is told what the launch is, and what it leaves can be reached.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_LIVECODE_H
#define KBOPT_EVAL_LIVECODE_H

#include "kbrt/Coverage.h"
#include "kbrt/Plan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// The places of the main file that the launches of \p plan, of kernels in \p bitcode (see
/// buildCpuImage), may come to, whatever memory holds: all but those of which the optimiser proves
/// that they do not. Numbers by value, the shapes of launches and the alignment of their pointers
/// count as known. Nothing where the plan has too many kinds of launches. Fails with a `UsageError`
/// if the bitcode is no device code, or lacks a kernel.
llvm::Expected<std::optional<std::set<kbrt::SourcePosition>>> livePlaces(llvm::StringRef bitcode,
                                                                         const kbrt::Plan &plan);

} // namespace kbopt

#endif // KBOPT_EVAL_LIVECODE_H
