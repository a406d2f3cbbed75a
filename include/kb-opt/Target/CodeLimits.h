//===- CodeLimits.h - What code for an architecture may use -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what limits code that is compiled for another architecture than that of the chip whose facts
// are used.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TARGET_CODELIMITS_H
#define KBOPT_TARGET_CODELIMITS_H

#include "kb-opt/Target/ChipInfo.h"

namespace kbopt {

/// \p chip with no more than every chip of the architecture \p arch ("sm_75") has: its
/// instructions, and the shared memory of a block. \p chip itself if that is its own architecture,
/// or if \p arch is none. \p isOnly: the program is compiled for no other architecture.
ChipInfo limitedTo(ChipInfo chip, llvm::StringRef arch, bool isOnly = true);

} // namespace kbopt

#endif // KBOPT_TARGET_CODELIMITS_H
