//===- CompletionCommand.h - kb-opt completion ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_COMPLETIONCOMMAND_H
#define KBOPT_LIB_DRIVER_COMPLETIONCOMMAND_H

#include "llvm/ADT/ArrayRef.h"

namespace kbopt {

/// `kb-opt completion bash|zsh` prints a script; `kb-opt completion --words PREFIX`, which the
/// scripts call, the options that begin with PREFIX. Returns the exit status.
int runCompletionCommand(llvm::ArrayRef<const char *> arguments);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_COMPLETIONCOMMAND_H
