//===- PassFile.h - Reading passes without C++ ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of pass folders at run time: pass.yaml, prompt.md and
// examples/ (docs/WritingAPass.md, "A pass without C++"). The built-in ones are
// compiled in by cmake/GeneratePasses.py, which reads the same format.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_PASSFILE_H
#define KBOPT_REWRITE_PASSFILE_H

#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// The pass in \p folder, which holds a pass.yaml. Errors are `UsageError`s that
/// begin with file, line and column: syntax, an unknown key or value, a matcher
/// (in clang-query's words), a missing prompt. Names of other passes are not
/// checked here.
llvm::Expected<PassRegistration> readPassFolder(FileSystem &files, llvm::StringRef folder);

/// Adds the pass in \p folder, or else those in its folders and their folders, to
/// \p registry, in the order of their names. Errors: as above; a folder without any
/// pass; a name or alias that is taken; a neighbour that no pass is called.
llvm::Error loadPasses(FileSystem &files, llvm::StringRef folder, PassRegistry &registry);

} // namespace kbopt

#endif // KBOPT_REWRITE_PASSFILE_H
