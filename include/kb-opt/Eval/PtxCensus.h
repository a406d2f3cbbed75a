//===- PtxCensus.h - What PTX text gives away -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns gates G2 and G3: reading PTX, counting operations by precision, finding
// constructs that a candidate may not add, and comparing with the baseline.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_PTXCENSUS_H
#define KBOPT_EVAL_PTXCENSUS_H

#include "kb-opt/Eval/Verdict.h"
#include <map>
#include <set>

namespace kbopt {

/// One .entry or .func with a body.
struct PtxFunction {
  bool isKernel = false;
  /// Arithmetic by precision: "double", "float", "half", "bf16", "tf32", "fp8",
  /// and "approx" for approximate instructions of any type.
  std::map<std::string, unsigned> precision;
  /// The same by full opcode for what is less precise than float32 or
  /// approximate: "ex2.approx.ftz.f32".
  std::map<std::string, unsigned> narrowOpcodes;
  /// A half, or a bf16, is read as a float: its products are exact in float.
  bool widensHalf = false, widensBrain = false;
  /// div, sqrt and rcp with IEEE rounding: what approximations take the place of.
  unsigned exactDivisions = 0;
  /// Deny-list constructs by the names that a pass declares them with: "clock",
  /// "launch-number", "cache-policy", "griddepcontrol", "nanosleep", "device-launch", "printf",
  /// "device-heap", "spin". The value is the number of instructions.
  std::map<std::string, unsigned> denied;
  unsigned instructions = 0;
};

struct PtxCensus {
  std::map<std::string, PtxFunction> functions; ///< by mangled name
  /// Module variables in .global space without string literals, unused ones, and tables of at
  /// most 4 KiB that no instruction writes.
  std::set<std::string> globals;
  /// Those of them that are one number, with its bytes.
  std::map<std::string, uint64_t> numbers;
  /// All that the module declares, tables and variables that no code of it uses included.
  std::set<std::string> declared;
};

/// Reads PTX of nvcc or LLVM. Text that is no PTX gives an empty census.
PtxCensus takePtxCensus(llvm::StringRef ptx);

/// G2: a construct or mutable global of \p candidate that neither \p baseline
/// has nor \p declares names ("global-state" for globals) fails; but for variables of one number,
/// which \p counters gets, if given: G8 asks whether launches leave them as they were.
GateRecord checkDenyList(const PtxCensus &baseline, const PtxCensus &candidate,
                         const std::set<std::string> &declares,
                         std::map<std::string, uint64_t> *counters = nullptr);

/// A kernel of \p candidate that waits for another thread in a loop, which none of \p baseline
/// does; "" if there is none.
std::string addedSpin(const PtxCensus &baseline, const PtxCensus &candidate);

/// G3: "half", "bf16", "tf32", "fp8" or "approx" operations fail unless declared
/// if their opcode is new, or if there are more of them while the more precise
/// operations that they could replace have become fewer. A kernel that the baseline does not have
/// is compared with each of its kernels of the same parameters, or with each of all where there is
/// none, and one that it holds against suffices. A matrix instruction that multiplies halves or
/// bf16 into float sums counts as float where the baseline widens such numbers: the products are
/// exact.
GateRecord checkPrecision(const PtxCensus &baseline, const PtxCensus &candidate,
                          const std::set<std::string> &declares);

/// Multiplies halves, or bf16, exactly, into float sums.
bool isExactMatrixProduct(llvm::StringRef opcode);

/// \p name without the module hash that nvcc puts into internal names, which
/// changes with every edit of the file.
std::string withoutModuleHash(llvm::StringRef name);

} // namespace kbopt

#endif // KBOPT_EVAL_PTXCENSUS_H
