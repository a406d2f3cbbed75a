//===- TestInitCommand.h - kb-opt test-init ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_TESTINITCOMMAND_H
#define KBOPT_LIB_DRIVER_TESTINITCOMMAND_H

#include "llvm/ADT/ArrayRef.h"

namespace kbopt {

/// `kb-opt test-init [--lock=FILE] [FOLDER]`: writes a lit suite for the entries of a lock. \p
/// arguments stand after "test-init". Returns the exit status.
int runTestInitCommand(llvm::ArrayRef<const char *> arguments);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_TESTINITCOMMAND_H
