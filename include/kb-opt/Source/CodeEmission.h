//===- CodeEmission.h - Object code from a program's text ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns running clang as a child process on a text: LLVM bitcode of the device
// side, an object of the host side, and the host program linked against the
// recorder in place of CUDA's runtime.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_CODEEMISSION_H
#define KBOPT_SOURCE_CODEEMISSION_H

#include "kb-opt/Source/CompileCommand.h"
#include "kb-opt/Support/CompileCache.h"
#include "kb-opt/Support/OnceMap.h"
#include "kb-opt/Support/Process.h"

namespace kbopt {

/// How clang is run, and what one run may cost.
struct CompileLimits {
  double wallSeconds = 120;
  uint64_t memoryBytes = compilerMemoryBytes;
  uint64_t fileBytes = compilerFileBytes;
  /// Where CUDA's headers are kept precompiled; empty: the user's cache folder.
  std::string cacheFolder = {};
  /// No network, and nothing to write but its own output.
  bool sandboxed = false;
  /// Where compiles are kept; null: nowhere.
  CompileCache *compiles = nullptr;
};

struct DeviceUnit;

/// Compiles texts under one command. Relative includes, __FILE__ and debug
/// locations are those of the original file, whatever the text is.
/// Thread-safe.
///
/// Errors of the text are a `UsageError` (diagnostics) with the compiler's
/// words; a compiler that crashes or exceeds its limits is a `ToolError` with the
/// same status.
class CodeEmitter {
public:
  CodeEmitter(ProcessRunner &runner, CompileLimits limits = {}) : runner(runner), limits(limits) {}

  /// The device side as LLVM bitcode for nvptx64: before optimization, with
  /// line tables and columns, value names, and libdevice linked in. Floating
  /// point follows nvcc's defaults and the user's flags: `contract` on
  /// operations unless -fmad=false, function attributes for denormals, `afn` on
  /// float division that may be approximate; what libdevice asks of
  /// __nvvm_reflect is answered. Loads and stores with cache hints, inline PTX
  /// in clang's headers, are plain ones here. The same input gives the same
  /// bytes. The kernels of the command's other files are in it, too.
  llvm::Expected<std::string> emitDeviceBitcode(const CompileCommand &command,
                                                llvm::StringRef text);
  /// Without -rdc=true each file has its device functions and variables for itself: where two of
  /// \p command's files have some of one name, macros in the flags of the later one give it others.
  /// \p text is that of the command's own file.
  llvm::Error separateNames(CompileCommand &command, llvm::StringRef text);
  /// The host side as an object file: kernels and variables are registered by
  /// their device names through __cudaRegisterFunction and __cudaRegisterVar,
  /// the device binary is `kbrtFatbinMarker`.
  llvm::Expected<std::string> emitHostObject(const CompileCommand &command, llvm::StringRef text);
  /// Compiles the host side of \p text and of the command's other files and links them with the
  /// user's own objects and libraries and \p runtimeLibrary (a shared object that stands for
  /// libcudart) into the program \p output. A function of CUDA's libraries that
  /// \p runtimeLibrary lacks (cuBLAS, the driver) does not stop the link: calling
  /// it calls `kbrecord_unsupported(name)` of the runtime library, or where there
  /// is none prints its name and exits with status 70.
  llvm::Error linkHostProgram(const CompileCommand &command, llvm::StringRef text,
                              llvm::StringRef runtimeLibrary, llvm::StringRef output);

private:
  /// Of \p text and of the command's other files.
  llvm::Expected<std::vector<DeviceUnit>> emitUnits(const CompileCommand &command,
                                                    llvm::StringRef text);
  llvm::Expected<std::string> emitOwnBitcode(const CompileCommand &command, llvm::StringRef text);
  ProcessRunner &runner;
  CompileLimits limits;
  OnceMap<std::string, std::string> units; ///< bitcode by command
};

/// What the host object carries in place of a device binary.
inline constexpr llvm::StringLiteral kbrtFatbinMarker = "kbrt-no-device-code";

} // namespace kbopt

#endif // KBOPT_SOURCE_CODEEMISSION_H
