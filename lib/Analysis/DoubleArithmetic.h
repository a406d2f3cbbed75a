//===- DoubleArithmetic.h - Double precision that stays ---------*- C++ -*-===//
//
// Owns finding the double arithmetic that the compiler's optimisations leave in a kernel. Private
// to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_DOUBLEARITHMETIC_H
#define KBOPT_LIB_ANALYSIS_DOUBLEARITHMETIC_H

#include "kb-opt/Analysis/Import.h"
#include "llvm/IR/Function.h"

namespace kbopt::analysis {

/// Where in the file of \p kernel operations and calls in double precision are left, once and in
/// source order. Optimises \p kernel as for -O2: no operation stands for one of the source any
/// more.
std::vector<CodePlace> doubleArithmetic(llvm::Function &kernel);

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_DOUBLEARITHMETIC_H
