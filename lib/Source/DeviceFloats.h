//===- DeviceFloats.h - nvcc's floating-point defaults ----------*- C++ -*-===//
//
// Owns the answers that libdevice and clang leave open in device bitcode: how
// float division and square root round, and whether denormals are flushed.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_DEVICEFLOATS_H
#define KBOPT_LIB_SOURCE_DEVICEFLOATS_H

#include "kb-opt/Source/CompileCommand.h"

namespace kbopt {

/// \p bitcode with every call of __nvvm_reflect answered as nvcc would answer
/// it under \p command (__CUDA_FTZ, __CUDA_PREC_SQRT, __CUDA_PREC_DIV,
/// __CUDA_ARCH), and `afn` on float division where it may be approximate.
llvm::Expected<std::string> settleDeviceFloats(llvm::StringRef bitcode,
                                               const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_DEVICEFLOATS_H
