//===- PlainKernel.h - A nest with one thread for each point ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernel without a schedule: what a nest computes, written as a person would write it
// first. Works on kb.nest alone; no Clang.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCHEDULE_PLAINKERNEL_H
#define KBOPT_SCHEDULE_PLAINKERNEL_H

#include "kb-opt/IR/Kb.h"
#include "kb-opt/Schedule/GeneratedKernel.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// The kernel \p name in which one thread computes one point of \p nest, in blocks of 256. \p
/// comment is its comment, with slashes. Pointers that the conditions keep apart are
/// `__restrict__`. An error is a reason in the user's words.
llvm::Expected<GeneratedKernel> printPlain(kb::NestOp nest, llvm::StringRef name,
                                           llvm::StringRef comment);

} // namespace kbopt

#endif // KBOPT_SCHEDULE_PLAINKERNEL_H
