//===- Legality.h - What a rewrite may assume -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the questions that passes ask before they rewrite: aliasing of arguments
// at launches, stores through arguments, races and overlap between accesses,
// loop invariance, guards, and what a thread or block index is used for.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_LEGALITY_H
#define KBOPT_ANALYSIS_LEGALITY_H

#include "kb-opt/Analysis/AccessQueries.h"
#include "kb-opt/Analysis/Answer.h"
#include "kb-opt/Analysis/Import.h"

namespace kbopt {

//===-- Arguments --------------------------------------------------------===//

/// Whether \p program does anything with \p kernel but launch it where that can be
/// seen: takes its address, passes it to a function that is not known. Then there
/// may be unseen launches.
bool isNamedOutsideLaunches(const ParsedProgram &program, const clang::FunctionDecl *kernel);

/// Whether pointer parameters \p first and \p second of \p kernel may refer to
/// overlapping memory at some launch in the program. Refuted (they never do) if
/// at every launch each is a plain variable that is assigned only by allocation
/// calls, and not the same variable; proven if one launch passes the same
/// variable to both; unknown otherwise (offsets, aliases, no launch in sight).
Answer argumentsMayOverlap(const ImportedProgram &program, kb::KernelOp kernel, unsigned first,
                           unsigned second);

/// Whether \p kernel never writes through parameter \p argument, on the AST and
/// the IR: no store, atomic or opaque operation may touch it, and no function
/// that takes a non-const pointer gets it. Proven means that `const` compiles
/// in the kernel's text and stays true.
Answer isNeverStoredThrough(const ImportedProgram &program, kb::KernelOp kernel, unsigned argument);

/// Whether \p argument is only used to form addresses of accesses in \p kernel
/// (not stored, compared, or passed on).
Answer isOnlyDereferenced(const ImportedProgram &program, kb::KernelOp kernel, unsigned argument);

//===-- Certainty --------------------------------------------------------===//

/// What the trip count, address and domain of \p op (a kb.loop or kb.access), or of
/// the loops around it, rest on that is not proven, in words ("'threadIdx.x * n'
/// fits 32 bits"); empty if they are certain. Estimates may ignore it, legality
/// must not: the questions below answer unknown.
std::string unprovenAssumption(mlir::Operation *op);

//===-- Overlap of accesses ----------------------------------------------===//

/// Whether two threads of one launch can touch a common byte by \p first (in one
/// thread) and \p second (in another). Loops run anywhere in their domain.
/// With \p sameBlock only threads of one block are considered (shared memory is
/// always so). Refuted is a proof by integer emptiness.
Answer threadsMayOverlap(kb::AccessOp first, kb::AccessOp second, const LaunchValues &values = {},
                         bool sameBlock = false);

/// Whether one thread can touch a common byte by both accesses, in the same or
/// (with \p acrossIterations) in different iterations of the loops around them.
Answer sameThreadMayOverlap(kb::AccessOp first, kb::AccessOp second, bool acrossIterations,
                            const LaunchValues &values = {});

/// Whether the bases of two accesses of one kernel can be the same memory. Uses
/// argumentsMayOverlap, address spaces, and const __restrict__.
Answer basesMayAlias(const ImportedProgram &program, kb::AccessOp first, kb::AccessOp second);

/// Whether no two threads of a launch conflict on memory: each pair of a store
/// or atomic and another access that may alias is disjoint between threads.
/// Atomics do not conflict with each other. Barriers are not considered, so
/// that kernels that exchange data through shared memory are unknown.
Answer hasIndependentThreads(const ImportedProgram &program, kb::KernelOp kernel);

/// Whether no store or atomic that may alias \p load happens in \p loop, or in
/// another thread, so that the load's value cannot change while the loop runs.
Answer isLoadStable(const ImportedProgram &program, kb::AccessOp load, kb::LoopOp loop);

//===-- Expressions ------------------------------------------------------===//

/// Whether \p expr has the same value in every iteration of \p loop and can be
/// evaluated before it: no side effects, only variables that the loop does not
/// change, loads that are stable (isLoadStable). Says nothing about whether the
/// loop runs at all: see alwaysEvaluated.
Answer isLoopInvariant(const ImportedProgram &program, const clang::Expr *expr,
                       const clang::Stmt *loop);

/// Whether evaluating \p expr cannot trap or touch memory: safe to execute
/// where the program would not have.
bool isSpeculatable(const clang::Expr *expr);

/// Whether \p statement (or anything in it) may change \p variable, directly,
/// by a reference or through its address.
bool mayModify(const clang::Stmt *statement, const clang::VarDecl *variable);

//===-- Indices and guards -----------------------------------------------===//

/// Where a component of threadIdx, blockIdx, blockDim or gridDim is used.
enum class GridBuiltin { ThreadIdx, BlockIdx, BlockDim, GridDim };

struct GridUse {
  GridBuiltin builtin;
  unsigned dimension;                  ///< 0 x, 1 y, 2 z
  const clang::Expr *expr;             ///< `threadIdx.x`
  const clang::FunctionDecl *function; ///< whose text it stands in
};

/// Every use in the kernel's text and in the device functions it calls, in
/// source order.
std::vector<GridUse> gridUses(const ImportedProgram &program, kb::KernelOp kernel);

/// Whether the kernel computes the same for any block size that covers the
/// same threads, given that grid × block is kept: thread indices appear only
/// as blockIdx.c * blockDim.c + threadIdx.c, there is no shared memory, barrier,
/// warp operation, and no launch bounds smaller than wanted.
Answer isBlockSizeFree(const ImportedProgram &program, kb::KernelOp kernel);

/// A guard on a kernel's threads: `if (index < bound) …` around its rest, or
/// `if (index >= bound) return;`.
struct Guard {
  const clang::Expr *condition; ///< the whole condition
  const clang::Stmt *statement; ///< the IfStmt
  bool isEarlyExit;             ///< the `return` form
};

/// The guards of \p kernel at its top level, in source order.
std::vector<Guard> findGuards(const ImportedProgram &program, kb::KernelOp kernel);

/// The affine upper bound that the domain of \p access puts on \p access's index:
/// conditions over which it runs, as text, for remarks.
std::vector<std::string> domainText(kb::AccessOp access);

} // namespace kbopt

#endif // KBOPT_ANALYSIS_LEGALITY_H
