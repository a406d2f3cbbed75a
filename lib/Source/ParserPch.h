//===- ParserPch.h - CUDA's headers parsed once -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the precompiled headers on disk from which the parser's preambles begin: reading CUDA's
// headers is most of what parsing a program costs. As ToolkitPch.h's, but made and read in this
// process, with the parser's own options.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_PARSERPCH_H
#define KBOPT_LIB_SOURCE_PARSERPCH_H

#include "kb-opt/Source/CompileCommand.h"
#include "clang/Frontend/CompilerInvocation.h"

namespace kbopt {

/// The file with what \p invocation of \p command includes before the user's macros, made in the
/// user's cache folder if need be; where the program begins with \p includes (leadingIncludes),
/// with the macros and those, too. Empty where it cannot be made, or where the user includes
/// headers before the program: an edit of those must show. Safe between processes.
std::string findParserPch(const CompileCommand &command,
                          const clang::CompilerInvocation &invocation,
                          llvm::ArrayRef<std::string> includes);

/// Removes the file, so that the next one is made anew: a program did not compile with it, and did
/// without.
void forgetParserPch(llvm::StringRef file);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_PARSERPCH_H
