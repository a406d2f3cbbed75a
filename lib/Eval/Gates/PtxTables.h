//===- PtxTables.h - Variables that are only read ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question whether a module's variable in .global space is state: whether
// any instruction could write it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_GATES_PTXTABLES_H
#define KBOPT_LIB_EVAL_GATES_PTXTABLES_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

/// An instruction of one function: "ld.global.f32" and " %f1, [%rd2+4]".
struct PtxStatement {
  std::string opcode, operands;
};

/// Whether \p variable is only read in \p functions (by name): its address goes into loads and into
/// sums that do, and nowhere else. Registers are followed in any order of the instructions, never
/// through memory or calls.
bool isOnlyRead(llvm::StringRef variable,
                const std::map<std::string, std::vector<PtxStatement>> &functions);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_GATES_PTXTABLES_H
