//===- Subcommands.h - kb-opt VERB … -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of words that may stand first on kb-opt's command line, as in
// `kb-opt lock --check`. Each has options and a file of its own.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_SUBCOMMANDS_H
#define KBOPT_LIB_DRIVER_SUBCOMMANDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace kbopt {

struct Subcommand {
  llvm::StringLiteral name;
  llvm::StringLiteral summary; ///< one line for --help
  /// \p arguments are those after the name. Reports its own errors; returns the exit status.
  int (*run)(llvm::ArrayRef<const char *> arguments);
};

/// In the order of --help.
llvm::ArrayRef<Subcommand> subcommands();
/// Null if \p name is none: an input file, or an option.
const Subcommand *findSubcommand(llvm::StringRef name);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_SUBCOMMANDS_H
