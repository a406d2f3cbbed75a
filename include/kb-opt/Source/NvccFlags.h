//===- NvccFlags.h - nvcc's command line in clang's words ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the table of nvcc's flags: spelling, argument form, what clang is told,
// and whether nvcc needs the flag again when the program is compiled on a GPU
// machine.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_NVCCFLAGS_H
#define KBOPT_SOURCE_NVCCFLAGS_H

#include "kb-opt/Source/CompileCommand.h"

namespace kbopt {

/// How a flag takes its value.
enum class FlagForm {
  Alone,  ///< -lineinfo
  Value,  ///< -arch sm_90, -arch=sm_90
  Joined, ///< -DX, -D X, -D=X
  Truth,  ///< -fmad=false, -fmad false; alone it means true
};

/// What a flag turns into.
enum class FlagAction {
  Pass,     ///< `clang`, joined with the value if there is one
  Separate, ///< `clang` and the value as two arguments
  Drop,     ///< nothing, for `reason`
  Output,   ///< nothing: input, output and phase are kb-opt's own business
  Either,   ///< `clang` is "if true|if false"
  Optimize, ///< -O: the host side only
  Arch,     ///< an architecture
  Gencode,  ///< arch=…,code=…
  Host,     ///< a comma-separated list for the host compiler
  Forward,  ///< unknown flags go to the host compiler from here on
  Linker,   ///< a comma-separated list for the linker
  Link,     ///< -L and -l
  Language, ///< -x
  Division, ///< whether float division is IEEE
  Root,     ///< whether float square root is IEEE
  FastMath, ///< --use_fast_math
  File,     ///< a comma-separated list of files with further flags
};

/// One row of the table.
struct NvccFlag {
  llvm::StringLiteral longName;  ///< without dashes
  llvm::StringLiteral shortName; ///< without dash; empty if there is none
  FlagForm form;
  FlagAction action;
  llvm::StringLiteral clang;
  bool replay;                ///< nvcc gets it again on a GPU machine
  llvm::StringLiteral reason; ///< of Drop
};

/// Every flag of nvcc 12 and 13 that kb-opt knows (nvcc --help).
llvm::ArrayRef<NvccFlag> nvccFlagTable();

/// The row for \p name, given with its dashes and without a value: long names
/// with one dash or two, short names with one. Null if there is none.
const NvccFlag *findNvccFlag(llvm::StringRef name);

/// Translates \p arguments (no compiler name) into \p command: fills its flag
/// lists, `arch` and `ignored`, and returns the source files among them in
/// order. Response files are read relative to \p command.directory. Flags
/// written for clang are taken where nvcc has no flag of that name. Fails with
/// a `UsageError` that names an unknown flag and the nearest known one.
llvm::Expected<std::vector<std::string>> translateNvccFlags(llvm::ArrayRef<std::string> arguments,
                                                            CompileCommand &command);

/// The same for a command line written for clang.
llvm::Expected<std::vector<std::string>> translateClangFlags(llvm::ArrayRef<std::string> arguments,
                                                             CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_SOURCE_NVCCFLAGS_H
