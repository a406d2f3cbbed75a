//===- LockFlags.h - Which flags decide what a kernel means -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LOCK_LOCKFLAGS_H
#define KBOPT_LOCK_LOCKFLAGS_H

#include "kb-opt/Source/CompileCommand.h"

namespace kbopt {

/// The flags of \p command that a proof depends on, sorted: macros, the language's version,
/// floating point. Where headers lie is not among them: their text is in the closure.
std::vector<std::string> lockedFlags(const CompileCommand &command);

/// Every architecture that \p command compiles for ("sm_80"), sorted; `command.arch` where the
/// flags name none.
std::vector<std::string> lockedArchitectures(const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_LOCK_LOCKFLAGS_H
