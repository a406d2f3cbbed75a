//===- Ptx.h - Inline PTX as data -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the parsed form of an inline assembly text: straight-line PTX with
// register declarations and predicates. PtxTranslator.h gives it meaning.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_PTX_PTX_H
#define KBOPT_LIB_EVAL_CPU_PTX_PTX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt::cpu {

struct PtxOperand {
  enum Kind { Register, AsmOperand, Immediate, Float32, Float64, Vector, Address, Ignored };
  Kind kind = Register;
  std::string name;                    ///< Register; Address with a register as base
  unsigned index = 0;                  ///< AsmOperand; Address with an operand as base
  int64_t value = 0;                   ///< immediate, bits of a float, offset of an address
  bool baseIsOperand = false;          ///< Address
  bool negated = false;                ///< !p
  std::vector<PtxOperand> elements;    ///< Vector; the second of "p|q"
  std::vector<PtxOperand> coordinates; ///< Address of a tensor: "[map, {x, y}]"
};

struct PtxInstruction {
  std::string mnemonic;           ///< "setp.gt.f16"
  std::vector<std::string> parts; ///< between the dots
  std::vector<PtxOperand> operands;
  bool predicated = false;
  PtxOperand predicate;
  bool has(llvm::StringRef part) const;
};

struct PtxRegister {
  std::string name, type; ///< type as "f16", "pred", …
};

struct PtxText {
  std::vector<PtxRegister> registers;
  std::vector<PtxInstruction> instructions;
};

/// Parses the assembly string of an LLVM `asm` call ("$0" is an operand, "$$"
/// a dollar). The error's message is the construct that was not understood.
llvm::Expected<PtxText> parsePtx(llvm::StringRef text);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_PTX_PTX_H
