//===- AlignedUses.h - Whether a structure may be aligned -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the proof that every pointer to a structure which the program forms may be taken to be
// aligned, and that nothing else depends on the structure's alignment.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_ALIGN_STRUCTURE_ALIGNEDUSES_H
#define KBOPT_PASSES_ALIGN_STRUCTURE_ALIGNEDUSES_H

#include "kb-opt/Rewrite/PassContext.h"
#include "clang/AST/Decl.h"

namespace kbopt::align {

/// What the program calls \p structure.
std::string nameOf(const clang::RecordDecl *structure);
/// Why \p structure, of the main file, cannot have a larger alignment; empty if it can. A structure
/// in memory that the program allocates, declares or shares among a block is aligned.
std::string obstacleTo(const PassContext &context, const clang::RecordDecl *structure);

} // namespace kbopt::align

#endif // KBOPT_PASSES_ALIGN_STRUCTURE_ALIGNEDUSES_H
