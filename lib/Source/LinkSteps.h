//===- LinkSteps.h - What a build folder links ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading the link commands of a build folder: from ninja, or from the scripts that CMake
// leaves for make, or from those that the user wrote down.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_LINKSTEPS_H
#define KBOPT_LIB_SOURCE_LINKSTEPS_H

#include "kb-opt/Support/Process.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// A command that makes a program or a library of objects.
struct LinkStep {
  enum class Kind : uint8_t { Program, Shared, Archive, DeviceLink };
  Kind kind = Kind::Program;
  std::string output;               ///< absolute
  std::string folder;               ///< absolute; relative words start here
  std::vector<std::string> objects; ///< objects, archives and shared libraries by path, absolute
  std::vector<std::string> words;   ///< of the command, without the tool
};

/// Every such command of \p folder, in the order in which the build runs them; none where it has
/// neither build.ninja, nor link.txt, nor `.kb-opt`. Fails with a `UsageError` where ninja cannot
/// say them, or `.kb-opt` (YAML: `link:`, a list of commands) cannot be read.
llvm::Expected<std::vector<LinkStep>> readLinkSteps(llvm::StringRef folder, ProcessRunner &runner);

/// What the shell line \p text links, if anything, run in \p folder.
std::vector<LinkStep> linkStepsOf(llvm::StringRef text, llvm::StringRef folder);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_LINKSTEPS_H
