//===- Database.h - Compilation databases -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading compile_commands.json, and the flags that a whole command of a compiler holds.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_DATABASE_H
#define KBOPT_LIB_SOURCE_DATABASE_H

#include "kb-opt/Source/CompileCommand.h"

namespace kbopt {

/// \p file, relative to \p directory unless it is absolute, without dots.
std::string absolutePath(llvm::StringRef file, llvm::StringRef directory);

/// Every compile_commands.json in \p folder and those above it, and in their folders `build`; the
/// nearest first.
std::vector<std::string> databasesAbove(llvm::StringRef folder);

/// Whether \p compiler is called the way clang is, not that of nvcc.
bool isClang(llvm::StringRef compiler);

/// Fills the flags of \p command from \p arguments, the last of which may be a compiler's inputs.
llvm::Error translateFlags(llvm::ArrayRef<std::string> arguments, bool forClang,
                           CompileCommand &command);

/// A translation unit of a compilation database.
struct DatabaseEntry {
  std::string file, directory, object; ///< absolute
  std::vector<std::string> commandLine;
  bool isCuda = false;
};

/// The entries of \p json, a compile_commands.json, in its order.
llvm::Expected<std::vector<DatabaseEntry>> readDatabase(llvm::StringRef json);

/// Takes over the entry for `command.file` from \p json, that which makes `command.object` where
/// this is set; false if it has none.
llvm::Expected<bool> takeFromDatabase(llvm::StringRef json, CompileCommand &command);

/// Takes over how \p entry compiles its file.
llvm::Error takeEntry(const DatabaseEntry &entry, CompileCommand &command);

/// The command for the file of \p entry, which is named in messages as it lies.
llvm::Expected<CompileCommand> commandOf(const DatabaseEntry &entry, const CudaToolkit &toolkit);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_DATABASE_H
