//===- CpuImage.h - Device code compiled for the host -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the translation of device bitcode, as clang emits it for NVPTX, into a
// CPU image: a shared object that describes itself (kbrt/ImageInfo.h) and
// calls a runtime (kbrt/DeviceAbi.h). It executes nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_CPUIMAGE_H
#define KBOPT_EVAL_CPUIMAGE_H

#include "kb-opt/Support/CompileCache.h"
#include "kb-opt/Support/Timings.h"
#include "kbrt/ImageInfo.h"

namespace kbopt {

struct CpuImageOptions {
  kbrt::ImageMode mode = kbrt::ImageMode::Plain;
  /// Host processor as LLVM names it; empty: this machine's.
  std::string hostCpu;
  /// Execute kernels as loops over threads between their barriers where that is possible; without,
  /// each thread of a kernel with barriers is a fiber. The results are the same.
  bool splitBarriers = true;
  /// If not empty, the host IR is written there as text before it is compiled.
  std::string hostIrPath;
  /// Receives the time of each step, if there.
  Timings *timings = nullptr;
  /// Where the objects of kernels are kept; null: nowhere.
  CompileCache *compiles = nullptr;
};

/// A construct that the CPU device cannot execute, where it stands and which
/// kernels can reach it. A launch that reaches it ends as `unsupported`.
struct UnsupportedConstruct {
  std::string construct; ///< PTX mnemonic, intrinsic or function
  std::string file;
  unsigned line = 0, column = 0;
  std::vector<std::string> kernels; ///< mangled
  /// "file:line:column: construct (kernel, …)".
  std::string describe() const;
};

struct CpuImage {
  std::string path;
  kbrt::ImageMode mode = kbrt::ImageMode::Plain;
  std::vector<std::string> kernels; ///< mangled
  std::vector<UnsupportedConstruct> unsupported;
};

/// Digest of the code that makes images; equal bitcode gives another image where it differs.
llvm::StringRef cpuImageBuilder();

/// Compiles \p bitcode (clang: -x cuda --cuda-device-only -emit-llvm -c -O2
/// -Xclang -disable-llvm-passes -g, libdevice linked in) into a shared object
/// at \p outputPath; \p runner runs the linker. Deterministic for equal
/// bitcode, options and host processor. Fails with a `UsageError` if the
/// bitcode is not readable device code, with a `ToolError` if the host cannot
/// compile or link. Thread-safe.
llvm::Expected<CpuImage> buildCpuImage(llvm::StringRef bitcode, const CpuImageOptions &options,
                                       ProcessRunner &runner, llvm::StringRef outputPath);

} // namespace kbopt

#endif // KBOPT_EVAL_CPUIMAGE_H
