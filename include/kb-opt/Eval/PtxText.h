//===- PtxText.h - The PTX of one kernel, for reading -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns cutting one kernel out of a PTX module and leaving out what says nothing
// about its speed. What is counted in PTX is PtxCensus.h's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_PTXTEXT_H
#define KBOPT_EVAL_PTXTEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// The entry \p kernel (mangled) of \p ptx without line tables, comments, register
/// declarations and empty lines; empty if there is none. Cut after \p maxLines, and then
/// the last line says how many are left out.
std::string kernelPtx(llvm::StringRef ptx, llvm::StringRef kernel, unsigned maxLines = 400);

} // namespace kbopt

#endif // KBOPT_EVAL_PTXTEXT_H
