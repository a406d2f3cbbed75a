//===- NvccFlags.h - nvcc's command line in clang's words ------*- C++ -*-===//
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
  Alone,     ///< -lineinfo
  Value,     ///< -arch sm_90, -arch=sm_90
  Joined,    ///< -DX, -D X, -Ifolder, -I folder
  Optional,  ///< --fmad=false; alone means true
};

/// What a flag turns into.
enum class FlagAction {
  Pass,         ///< the clang spelling, with the value appended if there is one
  PassSeparate, ///< the clang spelling and the value as two arguments
  Drop,         ///< nothing: no meaning for analysis
  Input,        ///< output, phase and dependency flags: kb-opt's own business
  Arch,         ///< -arch, -code, -gencode
  Host,         ///< a comma-separated list for the host compiler
  Linker,       ///< a comma-separated list for the linker
  Link,         ///< -L and -l
  Language,     ///< -x
  Standard,     ///< -std
  Bool,         ///< clang spelling if true, the negated one if false
  File,         ///< a file of further options
};

/// One row of the table.
struct NvccFlag {
  llvm::StringLiteral longName;  ///< with its dashes
  llvm::StringLiteral shortName; ///< with its dash; empty if there is none
  FlagForm form;
  FlagAction action;
  /// clang's spelling; for Bool "if true|if false".
  llvm::StringLiteral clang;
  bool replay;                 ///< nvcc gets it again
  llvm::StringLiteral reason;  ///< why it is dropped
};

llvm::ArrayRef<NvccFlag> nvccFlagTable();

/// Translates \p arguments (no compiler name) into \p command: fills all flag
/// lists, `arch` and `ignored`, and returns the inputs found among them in
/// order. Response files and --options-file are read relative to
/// \p command.directory. Flags written for clang are accepted where nvcc has no
/// flag of that name. Fails with a `UsageError` that names an unknown flag and the nearest
/// known one.
llvm::Expected<std::vector<std::string>>
translateNvccFlags(llvm::ArrayRef<std::string> arguments, CompileCommand &command);

/// The same for a command line written for clang: everything is kept but the
/// input, output, phase, architecture and toolkit.
llvm::Expected<std::vector<std::string>>
translateClangFlags(llvm::ArrayRef<std::string> arguments, CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_SOURCE_NVCCFLAGS_H
