//===- Steps.h - The steps of an image build, in order ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns nothing: declares the steps that CpuImage.cpp runs. Up to and with
// `instrument*` the module is NVPTX code, afterwards the host's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_STEPS_H
#define KBOPT_LIB_EVAL_CPU_STEPS_H

#include "ImageContext.h"
#include "ThreadState.h"
#include "kb-opt/Support/CompileCache.h"
#include "kb-opt/Support/Error.h"
#include "kbrt/Coverage.h"
#include "llvm/Target/TargetMachine.h"

namespace kbopt::cpu {

/// Finds kernels, their parameters and launch bounds, and the variables, while
/// debug information is still complete.
void collectMetadata(ImageContext &context);

/// Resolves __nvvm_reflect as nvcc's defaults do, hides everything but kernels
/// and removes what no kernel reaches.
void prepareDevice(ImageContext &context);

/// Replaces inline PTX by IR; what is not understood becomes unsupported.
void translateInlineAsm(ImageContext &context);

/// Mode Check: \p bytes at \p destination are in flight until they are waited for; a wait until at
/// most
/// \p groups are (~0: nothing is), or without it a commit.
void noteAsyncCopy(ImageContext &context, llvm::IRBuilderBase &b, const llvm::Instruction &at,
                   llvm::Value *destination, unsigned bytes);
void noteAsyncWait(ImageContext &context, llvm::IRBuilderBase &b, llvm::Value *groups);

/// Replaces intrinsics that touch memory (wmma, cp.async, scoped atomics, …) by
/// loads, stores, atomics and kbrt_mma.
void expandMemoryIntrinsics(ImageContext &context);

/// Mode Check: marks the ways around barriers, as the source has them.
void markSkippedBarriers(ImageContext &context);

/// The device-side optimisations: O2 without unrolling and vectorisation.
llvm::Error optimizeDevice(ImageContext &context);

/// Address spaces known statically, and a * b + c contracted as nvcc does.
void contractMultiplyAdd(ImageContext &context);

/// Puts kbrt_yield into loops that wait for what another thread stores.
void markSpinLoops(ImageContext &context);

/// Puts kbrt_took_way before branches behind which lanes may meet at an __activemask().
void markWays(ImageContext &context);

/// Whether the code of \p root performs atomic operations.
bool usesAtomics(const ImageContext &context, llvm::Function &root);

/// Makes every access call the runtime.
void instrumentChecks(ImageContext &context);

/// Places of the main file that an execution of \p block comes to; none if the program gives up in
/// it.
std::set<kbrt::SourcePosition> executedPlaces(const ImageContext &context,
                                              const llvm::BasicBlock &block);

/// Makes every basic block say that it was executed.
void instrumentCoverage(ImageContext &context);

/// Mode Search, after `instrumentCoverage`: makes every branch say how near it came to the way that
/// it did not take.
void instrumentBranches(ImageContext &context);

/// Clones kernels into counted versions that log accesses, blocks, branches.
void instrumentCounts(ImageContext &context);

/// Mode Oracle: functions of the device library that the oracle computes in float64 stay calls.
void keepLibraryCalls(ImageContext &context);
/// Gives floating-point numbers shadows (kbrt/Oracle.h).
void instrumentOracle(ImageContext &context);

/// Replaces NVPTX intrinsics and device library calls by IR and runtime calls.
void lowerIntrinsics(ImageContext &context, ThreadStates &states);

/// Lays out shared memory, moves variables behind slots, and leaves one
/// address space.
void flattenMemory(ImageContext &context, ThreadStates &states);

/// Makes `body`, `loop` and `countedBody` of each kernel and fills in its flags.
void buildEntries(ImageContext &context);

/// Flushes single-precision denormals where the program is compiled so.
void flushDenormals(ImageContext &context);

/// Replaces bf16 arithmetic, and half arithmetic that the host would round
/// twice, by IR that every host compiles.
void lowerSmallFloats(ImageContext &context);

/// Emits the tables of kbrt/ImageInfo.h.
void emitTables(ImageContext &context);

/// The host's target machine; fails if LLVM lacks it.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createHostMachine(llvm::StringRef cpu);

/// Replaces the minima and maxima of numbers, of which hosts with AVX-512 lose one beside a NaN.
void expandMinMax(llvm::Module &module);

/// Makes plain loads and stores of masked ones with a constant mask.
void expandMaskedAccesses(llvm::Module &module);

/// Host O2, and an object file's bytes.
llvm::Expected<std::string> compileForHost(llvm::Module &module, llvm::TargetMachine &machine);

/// The same by `compileForHost` for an image of several kernels: an object for each of them and one
/// for the rest, each kept in \p compiles, if there. \p builder: digest of the code that makes
/// images.
llvm::Expected<std::vector<std::string>> compileParts(ImageContext &context,
                                                      llvm::TargetMachine &machine,
                                                      llvm::StringRef builder,
                                                      CompileCache *compiles);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_STEPS_H
