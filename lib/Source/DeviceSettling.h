//===- DeviceSettling.h - Making device bitcode plain -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is done to clang's device bitcode before it is read: nvcc's
// answers to what libdevice and clang leave open in floating point, and plain
// loads and stores for inline PTX that is nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_DEVICESETTLING_H
#define KBOPT_LIB_SOURCE_DEVICESETTLING_H

#include "kb-opt/Source/CompileCommand.h"

namespace llvm {
class Module;
}

namespace kbopt {

/// Answers every call of __nvvm_reflect as nvcc would under \p command
/// (__CUDA_FTZ, __CUDA_PREC_SQRT, __CUDA_PREC_DIV, __CUDA_ARCH), and sets `afn`
/// on float division where it may be approximate.
void settleFloats(llvm::Module &module, const CompileCommand &command);

/// Turns `ld.global.cs.v4.f32 {$0,$1,$2,$3}, [$4];` and its kin, with which
/// clang's and NVIDIA's headers write __ldcs and the like, into plain loads and
/// stores: a cache hint changes no value, and analysis and the CPU device then
/// see the access.
void makeAccessesPlain(llvm::Module &module);

/// \p bitcode after both.
llvm::Expected<std::string> settleDeviceBitcode(llvm::StringRef bitcode,
                                                const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_DEVICESETTLING_H
