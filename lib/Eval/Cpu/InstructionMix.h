//===- InstructionMix.h - What an instruction costs a GPU -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the mapping of device IR to the operation classes of kbrt::Op.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_INSTRUCTIONMIX_H
#define KBOPT_LIB_EVAL_CPU_INSTRUCTIONMIX_H

#include "ImageContext.h"

namespace kbopt::cpu {

/// Adds one execution of \p instruction to \p ops. What a GPU does for nothing
/// (casts between address spaces, constant offsets, phis) adds nothing.
void addToMix(const llvm::Instruction &instruction, std::array<uint16_t, kbrt::opCount> &ops);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_INSTRUCTIONMIX_H
