//===- DeviceModule.h - Device code prepared for analysis -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the LLVM module of the device side and the light pipeline that makes it
// analysable without losing the shape of the source: device functions inlined,
// variables in registers, loops in simplified form. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_DEVICEMODULE_H
#define KBOPT_LIB_ANALYSIS_DEVICEMODULE_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace kbopt::analysis {

class DeviceModule {
public:
  /// Reads \p bitcode and prepares every kernel in it. A ToolError if it is not
  /// bitcode.
  static llvm::Expected<std::unique_ptr<DeviceModule>> create(llvm::StringRef bitcode);

  /// Null if there is no such kernel.
  llvm::Function *kernel(llvm::StringRef mangledName) const;
  /// The mangled name of the function that \p scope belongs to; empty if it is
  /// not known.
  llvm::StringRef functionName(const llvm::DISubprogram *scope) const;
  llvm::Module &module() const { return *contents; }

private:
  DeviceModule() = default;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> contents;
  llvm::DenseMap<const llvm::DISubprogram *, std::string> names;
};

/// Whether \p function is from libdevice: pure arithmetic that is kept as a call.
bool isLibdevice(const llvm::Function &function);

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_DEVICEMODULE_H
