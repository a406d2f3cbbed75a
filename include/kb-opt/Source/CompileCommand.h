//===- CompileCommand.h - How the user compiles a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the compile command as a value, and finding it: flags after `--`, a
// compilation database, or defaults. The translation table is NvccFlags.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_COMPILECOMMAND_H
#define KBOPT_SOURCE_COMPILECOMMAND_H

#include "kb-opt/Source/Toolkit.h"
#include "kb-opt/Support/Digest.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <set>

namespace kbopt {

/// A flag that has no meaning here, and why it may be left out.
struct IgnoredFlag {
  std::string flag;
  std::string reason;
};

/// One translation unit with its flags. A plain value.
struct CompileCommand {
  std::string file;      ///< the input, absolute
  std::string shownFile; ///< the input as the user wrote it, for messages
  std::string directory; ///< absolute; relative paths in flags start here
  /// The compile_commands.json that the command was found in; empty where it was not.
  std::string database;
  /// The program of the build that the file goes into, absolute; empty where none is known.
  std::string program;
  /// The object that it makes, absolute, where a database has several commands for the file and the
  /// user chose one; else empty.
  std::string object;
  /// The program's other CUDA files, whose code runs as it is; absent where the file is a program
  /// by itself.
  std::vector<CompileCommand> units;
  /// Whether device code of the file and its units is linked (nvcc's -rdc=true), so that they may
  /// use each other's functions and variables.
  bool relocatable = false;
  /// The same file as part of further programs of the build, each with `program`, `units` and
  /// `linkFlags` of its own.
  std::vector<CompileCommand> others;
  /// The flags as the user gave them, without compiler and input.
  std::vector<std::string> original;
  /// For clang: no compiler, input, output, phase, architecture or toolkit.
  std::vector<std::string> clangFlags;
  /// For clang, host side only (-Xcompiler and the like).
  std::vector<std::string> hostFlags;
  /// -L, -l, linker flags and further objects, for the host link; CUDA's own
  /// runtime is not among them.
  std::vector<std::string> linkFlags;
  /// For nvcc, to compile the same program on a GPU machine: no input, output,
  /// phase or architecture.
  std::vector<std::string> nvccFlags;
  std::vector<IgnoredFlag> ignored;
  /// Whether float division and square root are correctly rounded: nvcc's
  /// default, -prec-div and -prec-sqrt.
  bool preciseDivision = true;
  bool preciseRoot = true;
  std::string arch = "sm_90";
  bool archIsDefault = true; ///< the user named none
  bool archIsGiven = false;  ///< by CommandQuery::arch, so that no other is chosen
  /// Further architectures that the flags name, of which nothing is compiled.
  std::set<std::string> otherArchs;
  bool languageIsGiven = false; ///< -x cu was said
  CudaToolkit toolkit;

  /// clang's arguments for both sides, without argv[0], input, output and
  /// mode: language, toolkit, architecture and the user's flags, but for the macros that a header
  /// defines (lib/Source/UserMacros.h).
  std::vector<std::string> commonArguments() const;
  /// commonArguments() for the device side: --cuda-device-only.
  std::vector<std::string> deviceArguments() const;
  /// commonArguments() for the host side: --cuda-host-only and hostFlags.
  std::vector<std::string> hostArguments() const;
  /// This command or that of `others` for \p wanted, empty or absolute; null where there is none.
  const CompileCommand *findProgram(llvm::StringRef wanted) const;
  /// The units of the program and of the others, each once: what device code is made of beside the
  /// file's own.
  std::vector<const CompileCommand *> deviceUnits() const;
  /// Sets `relocatable`, also for nvcc.
  void makeRelocatable();
  /// Takes, of the architectures that the flags name, the newest whose machine code runs on
  /// \p device ("sm_90"), and \p device itself where they name none; also for the other files.
  /// Leaves it as it is where none runs there, or `archIsGiven`.
  void chooseArch(llvm::StringRef device);
  /// Whether the header \p path belongs to the toolkit, the compiler or the system, which are known
  /// by their versions.
  bool isForeignHeader(llvm::StringRef path) const;
  /// Names everything that decides what a text means under this command.
  Digest digest() const;
};

/// Where a command may come from; the first that is given wins.
struct CommandQuery {
  std::string file;
  /// The flags after `--`; an empty list counts as given.
  std::optional<std::vector<std::string>> flags;
  /// -p DIR: a folder with compile_commands.json; it must be there and name
  /// the file.
  std::string databaseFolder;
  /// --object: of several commands for the file that which makes this object; empty: the first.
  std::string object;
  /// --arch, over whatever the flags say.
  std::optional<std::string> arch;
  std::string workingDirectory; ///< empty: the process's
};

/// Whether machine code for \p arch runs on \p device (both "sm_NN"): the major versions are equal,
/// and the device's minor one is not less; code for "sm_NNa" runs on that device alone.
bool runsOn(llvm::StringRef arch, llvm::StringRef device);

/// That there is no input \p file, as the user names it.
llvm::Error noSuchFile(llvm::StringRef file);

/// The command for \p query.file: `flags`, `databaseFolder`, the nearest
/// compile_commands.json above the file that names it, or defaults. Fails with
/// a `UsageError` for a missing file, a file that is no CUDA (by its extension,
/// unless the flags say -x cu), an unusable database or an unknown flag.
llvm::Expected<CompileCommand> findCompileCommand(const CommandQuery &query,
                                                  const CudaToolkit &toolkit);

/// The source folder of the CMake project whose build folder has \p database; empty where that is
/// no build folder of CMake.
std::string sourceFolderOf(llvm::StringRef database);

/// The installation's own clang, or else clang++-22, then clang++ in PATH.
/// Fails with a `UsageError` (environment) that says how to install it.
llvm::Expected<std::string> findClang();

/// \p text with the name that the user gave the program in place of its path: what is told goes to
/// models as well, and is the same on every machine.
std::string withShownName(std::string text, const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_SOURCE_COMPILECOMMAND_H
