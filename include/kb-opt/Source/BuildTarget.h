//===- BuildTarget.h - Programs of several files ----------------*- C++ -*-===//
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
};

/// The programs that the build in the folder of \p command's compilation database makes of
/// `command.file`, in the order of the build; none where the command came from no database or the
/// build says nothing of links. Fails with a `UsageError` that names the program where one of its
/// files cannot be followed: an object that is missing, or separable compilation.
llvm::Expected<std::vector<BuildTarget>> findTargets(const CompileCommand &command,
                                                     ProcessRunner &runner);

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
