//===- LockCommand.h - kb-opt lock ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_LOCKCOMMAND_H
#define KBOPT_LIB_DRIVER_LOCKCOMMAND_H

#include "llvm/ADT/ArrayRef.h"

namespace kbopt {

/// `kb-opt lock --check | --prove | --update`, and --apply, which is kb-opt-cc's. \p arguments
/// stand after "lock". Returns the exit status: Diagnostics where something is stale.
int runLockCommand(llvm::ArrayRef<const char *> arguments);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_LOCKCOMMAND_H
