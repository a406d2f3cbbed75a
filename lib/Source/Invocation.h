//===- Invocation.h - clang's frontend for a command ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the translation of a compile command into the invocation of clang's
// frontend that parses it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_INVOCATION_H
#define KBOPT_LIB_SOURCE_INVOCATION_H

#include "kb-opt/Source/CompileCommand.h"
#include "kb-opt/Source/Diagnostic.h"
#include "clang/Frontend/CompilerInvocation.h"
#include <memory>

namespace kbopt {

/// That \p command does not compile, with the compiler's messages.
llvm::Error compileError(const CompileCommand &command,
                         llvm::ArrayRef<SourceDiagnostic> diagnostics);

/// The driver's answer for the input of \p command under \p arguments, which are those of one side
/// of it.
llvm::Expected<std::unique_ptr<clang::CompilerInvocation>>
askDriver(const CompileCommand &command, std::vector<std::string> arguments);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_INVOCATION_H
