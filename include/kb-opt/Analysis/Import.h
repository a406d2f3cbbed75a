//===- Import.h - A program as kb IR ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the import of a parsed program and its device bitcode into the kb
// dialect, and the ties from operations back to AST nodes.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_IMPORT_H
#define KBOPT_ANALYSIS_IMPORT_H

#include "kb-opt/IR/Kb.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/Basic/SourceLocation.h"
#include "llvm/ADT/DenseMap.h"
#include <compare>
#include <map>
#include <memory>

namespace clang {
class Expr;
class FunctionDecl;
class Stmt;
class VarDecl;
} // namespace clang

namespace kbopt {

namespace analysis {
class DeviceModule;
}

/// What was imported, in numbers.
struct ImportStats {
  unsigned accesses = 0; ///< kb.access operations
  unsigned mapped = 0;   ///< of these with an affine address
  unsigned tied = 0;     ///< of these with an AST expression
  unsigned loops = 0, loopsTied = 0;
  double importMs = 0;
};

/// A place in a kernel's file, from 1.
struct CodePlace {
  unsigned line = 0, column = 0;
  auto operator<=>(const CodePlace &) const = default;
};

/// What is left of a kernel when its device code is optimised as for -O2, in source order. What is
/// inlined from another file stands at its call.
struct OptimisedCode {
  /// Operations and calls in double precision. What the compiler does in single precision with the
  /// same result, such as `x * 0.5` for a float x, is not among them.
  std::vector<CodePlace> doubles;
  /// Conditional branches. What the compiler makes a select of is not among them.
  std::vector<CodePlace> branches;
};

/// The kb IR of one program. Owns the module; refers to the ParsedProgram,
/// which must outlive it. Not thread-safe, like the AST.
class ImportedProgram {
public:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  kb::ProgramOp program;
  ImportStats stats;

  /// The lvalue expression that is loaded, stored or updated (`a[i]`, `*p`,
  /// `s.x`), or the call for an atomic or other function; null if unknown.
  /// For a template this is the node of the instantiation; source ranges are
  /// those of the pattern.
  const clang::Expr *exprOf(kb::AccessOp access) const;
  /// ForStmt, WhileStmt, DoStmt or CXXForRangeStmt; null if unknown.
  const clang::Stmt *stmtOf(kb::LoopOp loop) const;
  /// IfStmt, ConditionalOperator or SwitchStmt; null if unknown.
  const clang::Stmt *stmtOf(kb::BranchOp branch) const;
  /// The instantiated function. Never null.
  const clang::FunctionDecl *declOf(kb::KernelOp kernel) const;
  /// The CUDAKernelCallExpr or call of cudaLaunchKernel. Never null.
  const LaunchFact *factOf(kb::LaunchOp launch) const;
  /// Null if unknown.
  const clang::VarDecl *declOf(kb::SharedOp shared) const;
  /// The function whose text an operation stands in: the kernel, or the device
  /// function that was inlined. Null if unknown.
  const clang::FunctionDecl *functionOf(mlir::Operation *op) const;

  /// Optimised when it is first asked for; empty where there is no device code.
  const OptimisedCode &optimisedCodeOf(kb::KernelOp kernel) const;

  /// Every access that comes from \p expr: several where a function is inlined
  /// more than once or instantiated for several types. Matches by source
  /// range, so that a node of the pattern finds its instantiations.
  llvm::SmallVector<kb::AccessOp> accessesOf(const clang::Expr *expr) const;
  /// The same for loops.
  llvm::SmallVector<kb::LoopOp> loopsOf(const clang::Stmt *stmt) const;

  /// All kernels, in source order.
  llvm::SmallVector<kb::KernelOp> kernels() const;
  /// Kernels that are instantiations of \p fact.
  llvm::SmallVector<kb::KernelOp> kernelsOf(const KernelFact &fact) const;
  /// The launches of \p kernel, in source order.
  llvm::SmallVector<kb::LaunchOp> launchesOf(kb::KernelOp kernel) const;

  /// The kb IR as text, as `--emit=kb-ir` shows it; with \p locations each
  /// operation's source range follows it.
  void print(llvm::raw_ostream &os, bool locations = false) const;

  const ParsedProgram &source() const { return *parsed; }

private:
  friend class Importer;
  template <typename Op> llvm::SmallVector<Op> opsOf(const clang::Stmt *statement) const;

  const ParsedProgram *parsed = nullptr;
  llvm::DenseMap<mlir::Operation *, const clang::Stmt *> statements;
  llvm::DenseMap<mlir::Operation *, const clang::Decl *> declarations;
  llvm::DenseMap<mlir::Operation *, const clang::FunctionDecl *> functions;
  llvm::DenseMap<mlir::Operation *, unsigned> launchIndex;
  std::vector<LaunchFact> launches;
  std::string bitcode;
  mutable std::shared_ptr<analysis::DeviceModule> optimised; ///< read from `bitcode` when needed
  mutable std::map<mlir::Operation *, OptimisedCode> optimisedCode;
  /// By the place where their statement begins, in the order of the IR.
  llvm::DenseMap<clang::SourceLocation, std::vector<mlir::Operation *>> opsByPlace;
  llvm::DenseMap<mlir::StringAttr, kb::KernelOp> kernelsByName;
  llvm::DenseMap<mlir::StringAttr, std::vector<kb::LaunchOp>> launchesByKernel;
};

/// Imports \p parsed. \p bitcode is what CodeEmitter::emitDeviceBitcode made
/// of the same text. \p context gets the kb dialect loaded. A kernel that the
/// bitcode lacks, or that cannot be understood, is a kb.opaque operation, never
/// an error; unreadable bitcode is a ToolError. \p stop is asked before each
/// kernel; if it says so, the import ends with an interruption.
llvm::Expected<ImportedProgram> importProgram(
    const ParsedProgram &parsed, llvm::StringRef bitcode, mlir::MLIRContext &context,
    llvm::function_ref<bool()> stop = [] { return false; });

} // namespace kbopt

#endif // KBOPT_ANALYSIS_IMPORT_H
