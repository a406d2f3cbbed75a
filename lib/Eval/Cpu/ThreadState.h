//===- ThreadState.h - Where a function finds its thread --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns access to the running thread, its block and shared memory inside device
// functions: a kernel has them as parameters, another function loads them from
// kbrt_current.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_THREADSTATE_H
#define KBOPT_LIB_EVAL_CPU_THREADSTATE_H

#include "ImageContext.h"

namespace kbopt::cpu {

/// Parameters that a kernel gets behind its own: block, thread, tid.x, .y, .z.
constexpr unsigned stateParameters = 5;

/// Gives \p kernel the state parameters; returns the new function.
llvm::Function *addStateParameters(llvm::Function &kernel);

/// Values are computed once, at the function's entry. A function with state
/// parameters is known by its attribute.
class ThreadState {
public:
  ThreadState(ImageContext &context, llvm::Function &function);
  llvm::Value *thread();
  llvm::Value *block();
  llvm::Value *tid(unsigned dimension);
  llvm::Value *ntid(unsigned dimension);
  llvm::Value *ctaid(unsigned dimension);
  llvm::Value *nctaid(unsigned dimension);
  llvm::Value *linear();
  llvm::Value *sharedBase();
  llvm::Value *dynamicShared();
  llvm::Value *field(llvm::Type *type, size_t blockOffset, const char *name);
  /// At the entry, behind everything that this class has put there.
  llvm::IRBuilder<> &atEntry();
  bool isKernel() const { return kernel; }

private:
  ImageContext &context;
  llvm::Function &function;
  bool kernel;
  llvm::IRBuilder<> builder;
  llvm::Instruction *anchor = nullptr;
  llvm::Value *threadValue = nullptr, *blockValue = nullptr, *linearValue = nullptr;
  llvm::Value *tids[3] = {};
  std::map<size_t, llvm::Value *> fields;
};

/// States of all functions of an image, made on demand.
class ThreadStates {
public:
  explicit ThreadStates(ImageContext &context) : context(context) {}
  ThreadState &of(llvm::Function &function);

private:
  ImageContext &context;
  std::map<llvm::Function *, std::unique_ptr<ThreadState>> states;
};

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_THREADSTATE_H
