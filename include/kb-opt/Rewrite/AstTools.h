//===- AstTools.h - What several passes ask of an AST ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns small questions about CUDA syntax: which nodes are there, what is a
// thread index, what does a loop header say, what does a once-assigned variable
// stand for. Questions about memory belong to Analysis/Legality.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_ASTTOOLS_H
#define KBOPT_REWRITE_ASTTOOLS_H

#include "kb-opt/Rewrite/RewritePass.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace kbopt::ast {

/// Calls \p visit for \p root and every statement and expression below it, in
/// source order; does not go below a node for which it returns false. A CUDA
/// builtin such as threadIdx.x is visited once, in the form in which it is
/// written. Bodies of lambdas are visited too.
void walk(const clang::Stmt *root, llvm::function_ref<bool(const clang::Stmt *)> visit);

/// Every \p Node at or below \p root, in source order.
template <class Node> std::vector<const Node *> findAll(const clang::Stmt *root) {
  std::vector<const Node *> found;
  walk(root, [&](const clang::Stmt *each) {
    if (const auto *node = llvm::dyn_cast<Node>(each))
      found.push_back(node);
    return true;
  });
  return found;
}

/// Without parentheses, implicit nodes and casts that the compiler added.
const clang::Expr *strip(const clang::Expr *expr);
/// The variable that \p expr names, stripped; null if it is anything else.
const clang::VarDecl *variableOf(const clang::Expr *expr);
/// Whether \p root mentions \p variable.
bool mentions(const clang::Stmt *root, const clang::VarDecl *variable);
/// Whether some function called below \p root, or operation, is one of \p names.
bool callsAny(const clang::Stmt *root, llvm::ArrayRef<llvm::StringRef> names);

/// The functions of the main file that run in \p kernel alone or in other kernels: itself first,
/// then
/// `__device__` functions that it calls, and that they call. Neither instances of templates, whose
/// other instances would change with them, nor functions that the host may call.
std::vector<const clang::FunctionDecl *> deviceFunctionsIn(const PassContext &context,
                                                           const KernelView &kernel);

/// `threadIdx.x` and its relatives.
struct GridRef {
  GridBuiltin builtin;
  unsigned dimension; ///< 0 x, 1 y, 2 z
};
/// What component \p expr (stripped) is; none if it is something else.
std::optional<GridRef> gridRefOf(const clang::Expr *expr);
/// Whether \p expr is blockIdx.d * blockDim.d + threadIdx.d, in any order.
bool isGlobalThreadIndex(const clang::Expr *expr, unsigned dimension = 0);
/// Whether \p expr is blockDim.d * gridDim.d, in any order.
bool isGridSpan(const clang::Expr *expr, unsigned dimension = 0);

/// `for (int i = begin; i < end; i += step)`: the variable is declared there and
/// is an integer that the body does not change; `end` has no side effects.
struct CountedLoop {
  const clang::ForStmt *loop;
  const clang::VarDecl *variable;
  const clang::Expr *begin;
  const clang::Expr *end;
  /// Null for ++i.
  const clang::Expr *step;
};
/// The header of \p loop, or nothing if it has another form (`<=` and `!=`
/// count as another form).
std::optional<CountedLoop> countedLoop(const clang::ForStmt *loop);

/// The expression that \p expr stands for: looks through local variables that
/// are initialised where they are declared and never changed in \p function, and
/// components of such dim3 variables.
const clang::Expr *resolve(const clang::Expr *expr, const clang::FunctionDecl *function);
/// Whether both expressions have the same tokens' meaning: the same variables,
/// literals and operators, through `resolve`.
bool sameValue(const clang::Expr *a, const clang::Expr *b, const clang::FunctionDecl *function,
               const clang::ASTContext &context);
/// The value of a constant integer expression.
std::optional<int64_t> constantOf(const clang::Expr *expr, const clang::ASTContext &context);

/// `(count + size - 1) / size` in one of its usual spellings, possibly as a call
/// of a function that returns just that.
struct CeilDivision {
  const clang::Expr *count;
  const clang::Expr *size;
};
std::optional<CeilDivision> ceilDivision(const clang::Expr *expr,
                                         const clang::FunctionDecl *function,
                                         const clang::ASTContext &context);

/// The expression of component \p dimension of a launch configuration, which is
/// an integer or a dim3; null if it is not written (then it is 1) or unknown
/// (then \p known is false). Looks through variables.
const clang::Expr *launchComponent(const clang::Expr *configuration, unsigned dimension,
                                   const clang::FunctionDecl *host, bool &known);

/// "line 12".
std::string lineText(const PassContext &context, clang::SourceLocation location);

/// The spaces and tabs that the line of \p location starts with.
std::string indentation(const PassContext &context, clang::SourceLocation location);
/// Text that, inserted at \p location, puts \p line on a line of its own before
/// what stands there.
std::string ownLine(const PassContext &context, clang::SourceLocation location,
                    const llvm::Twine &line);

/// The site at \p statement in \p kernel.
Site siteOf(const KernelView &kernel, const clang::Stmt *statement, mlir::Operation *op = nullptr);

/// The site at \p variable's declaration: a parameter, a shared array.
Site siteOf(const KernelView &kernel, const clang::VarDecl *variable);

/// One site per `for`, `while` and `do` in the kernel's body.
std::vector<Site> loopSites(const PassContext &context, const KernelView &kernel);
/// One site for the kernel.
std::vector<Site> kernelSites(const KernelView &kernel);

} // namespace kbopt::ast

#endif // KBOPT_REWRITE_ASTTOOLS_H
