//===- ProgramFacts.h - Kernels and launches in an AST ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what passes and analyses ask an AST all the time: which kernels there
// are, where they are launched, and the text of a node.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_PROGRAMFACTS_H
#define KBOPT_SOURCE_PROGRAMFACTS_H

#include "kb-opt/Source/ParsedProgram.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"

namespace kbopt {

/// Whether \p name, with or without its namespaces, means the function \p qualified.
bool isNamed(llvm::StringRef qualified, llvm::StringRef name);

/// A __global__ function with a body. For a template, `function` is what the
/// user wrote (the pattern) and `instances` are its instantiations with bodies.
struct KernelFact {
  const clang::FunctionDecl *function;
  std::string name; ///< qualified, without template arguments
  std::string usr;
  bool isTemplate = false;
  bool inMainFile = false;
  struct Instance {
    const clang::FunctionDecl *function;
    std::string mangledName; ///< of the device symbol
  };
  /// At least one, unless a template is never instantiated.
  std::vector<Instance> instances;
};

/// One launch in the source, by <<<>>> or cudaLaunchKernel(…).
struct LaunchFact {
  const clang::CallExpr *call;     ///< in the instantiated host function, if any
  const clang::FunctionDecl *host; ///< the function around it (the pattern)
  /// The launched kernel as written (pattern); null if it is not known.
  const clang::FunctionDecl *kernel = nullptr;
  std::string kernelUsr;
  std::vector<std::string> mangledNames; ///< one per instance launched here
  const clang::Expr *grid = nullptr;
  const clang::Expr *block = nullptr;
  const clang::Expr *shared = nullptr; ///< null: not written (0 bytes)
  const clang::Expr *stream = nullptr; ///< null: not written (default stream)
  /// The kernel's arguments; empty for cudaLaunchKernel.
  std::vector<const clang::Expr *> arguments;
  bool byApi = false; ///< cudaLaunchKernel
  /// Calls that this place becomes: in a template with several instances, grid, block
  /// and arguments are those of the first and may differ in the others.
  unsigned instances = 0;
};

/// In source order. Kernels of headers are included, those of system headers
/// are not. Valid as long as \p program; it is walked once.
const std::vector<KernelFact> &findKernels(const ParsedProgram &program);
/// In source order, one per place in the source. Valid as long as \p program; it is walked once.
const std::vector<LaunchFact> &findLaunches(const ParsedProgram &program);
/// Launches of the kernel with \p usr.
std::vector<LaunchFact> findLaunches(const ParsedProgram &program, llvm::StringRef usr);

/// Whether the main file defines `main`.
bool hasMain(const ParsedProgram &program);

/// Clang's USR; empty if the declaration has none.
std::string usrOf(const clang::Decl *declaration);
/// The definition (or, without one, a declaration) with \p usr; null if none.
const clang::NamedDecl *findByUsr(const ParsedProgram &program, llvm::StringRef usr);
/// The device symbol of \p function.
std::string mangledNameOf(const clang::FunctionDecl *function);

/// The text of \p range as written in the main file; empty if it lies
/// elsewhere or comes from a macro's body.
llvm::StringRef sourceText(const ParsedProgram &program, clang::SourceRange range);

/// Line and column (from 1) where \p location is written; 0 outside the main file.
struct LineColumn {
  unsigned line = 0, column = 0;
};
LineColumn lineColumn(const ParsedProgram &program, clang::SourceLocation location);

} // namespace kbopt

#endif // KBOPT_SOURCE_PROGRAMFACTS_H
