//===- DeviceText.h - The device part of a program --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from an AST to the text that kernels need and nothing else, for
// compilers that know no host code (NVRTC).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_DEVICETEXT_H
#define KBOPT_SOURCE_DEVICETEXT_H

#include "kb-opt/Source/ParsedProgram.h"
#include "kb-opt/Support/DeviceSlice.h"
#include <optional>

namespace kbopt {

/// The slice of \p program that its kernels reach. Nothing where a flag of the command has no
/// meaning without a host compiler, or where a header that is needed cannot be read. That the
/// slice compiles is not promised, nor that it gives nvcc's code: compare (DeviceCompiler.h).
std::optional<DeviceSlice> deviceSlice(const ParsedProgram &program);

/// \p nvccFlags in NVRTC's dialect; nothing if one has no counterpart there and matters.
std::optional<std::vector<std::string>> nvrtcOptions(llvm::ArrayRef<std::string> nvccFlags);

} // namespace kbopt

#endif // KBOPT_SOURCE_DEVICETEXT_H
