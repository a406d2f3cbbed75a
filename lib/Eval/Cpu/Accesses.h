//===- Accesses.h - The memory accesses of device code ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what instrumentation needs to know of an access: address, bytes, kind,
// memory space and the array behind it; and which stack memory is safe.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_ACCESSES_H
#define KBOPT_LIB_EVAL_CPU_ACCESSES_H

#include "ImageContext.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Instructions.h"

namespace kbopt::cpu {

struct Access {
  llvm::Instruction *instruction = nullptr;
  llvm::Value *pointer = nullptr;
  llvm::Value *source = nullptr; ///< of a memory copy
  llvm::Value *length = nullptr; ///< of a memory copy or fill
  unsigned bytes = 0;
  kbrt::AccessKind kind = kbrt::AccessKind::Load;
  kbrt::MemorySpace space = kbrt::MemorySpace::Generic;
};

/// Accesses of \p function that can go wrong or cost something: all but those
/// to stack memory whose every use is a constant place inside it.
struct FunctionAccesses {
  std::vector<Access> accesses;
  /// Stack arrays and by-value parameters that are indexed or escape.
  llvm::SetVector<llvm::Value *> locals;

  explicit FunctionAccesses(llvm::Function &function);
};

/// A site for \p access, with array name, space and mnemonic.
unsigned addAccessSite(ImageContext &context, const Access &access);

/// Bytes of an alloca or of a by-value parameter.
uint64_t localBytes(const llvm::Value &local, const llvm::DataLayout &layout);

/// What is statically known of the memory behind \p pointer.
kbrt::MemorySpace spaceOf(const llvm::Value &pointer);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_ACCESSES_H
