//===- BuildTarget.h - Programs of several files ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding the programs that a build makes of a CUDA file, and what else goes into them: other
// CUDA files, objects of other languages, libraries.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_BUILDTARGET_H
#define KBOPT_SOURCE_BUILDTARGET_H

#include "kb-opt/Source/CompileCommand.h"
#include "kb-opt/Support/Process.h"
#include <map>

namespace kbopt {

struct BuildTarget {
  std::string program;                ///< as the build makes it, absolute
  std::vector<CompileCommand> units;  ///< its other CUDA files
  std::vector<std::string> linkFlags; ///< objects of other languages and libraries, absolute
  bool linksDeviceCode = false;       ///< of several files: `CompileCommand::relocatable`
  /// Why the program cannot be followed, and what to do about it: an object is missing. Empty where
  /// it can.
  std::string problem, next;
};

/// The programs that the build in the folder of \p command's compilation database makes of
/// `command.file`, in the order of the build; none where the command came from no database or the
/// build says nothing of links. Fails with a `UsageError` where the build cannot be read.
llvm::Expected<std::vector<BuildTarget>> findTargets(const CompileCommand &command,
                                                     ProcessRunner &runner);

/// A way in which the build runs one of its programs.
struct ProgramTest {
  std::string name;    ///< as the build calls it
  std::string program; ///< absolute
  std::vector<std::string> arguments;
  std::vector<std::string> environment; ///< NAME=value
  std::string workingDirectory;         ///< absolute
};

/// The tests of the build in \p folder that are expected to pass, in its order: those under
/// `tests:` in its `.kb-opt`, then CTest's. What runs no program directly is among them as well,
/// under the name of what it does run. Fails with a `UsageError` where CTest cannot list them or
/// `.kb-opt` cannot be read.
llvm::Expected<std::vector<ProgramTest>> findTests(llvm::StringRef folder, ProcessRunner &runner);

/// The CUDA files of \p program, by its name or path, in the order in which the build in \p folder
/// links them; \p folder has a compile_commands.json, or, empty, the nearest above the current one
/// counts. Fails with a `UsageError` where there is none, or the build links no such program.
llvm::Expected<std::vector<std::string>>
filesOfTarget(llvm::StringRef folder, llvm::StringRef program, ProcessRunner &runner);

/// The CUDA files whose compilation made the kernels of device bitcode, absolute, by mangled name;
/// nothing of those without debug information. Fails if \p path holds no bitcode.
llvm::Expected<std::map<std::string, std::string>> kernelFiles(llvm::StringRef path);

} // namespace kbopt

#endif // KBOPT_SOURCE_BUILDTARGET_H
