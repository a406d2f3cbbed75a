//===- NvccImage.h - Machine code and what the compiler says of it -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the compilation of device code to PTX and cubin for the judge (gates G1
// to G3): resources per kernel, digests of machine code, PTX text. With nvcc
// these are the toolkit's own; without it clang's PTX stands in, which is
// said in `producer`. It never executes anything.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_NVCCIMAGE_H
#define KBOPT_EVAL_NVCCIMAGE_H

#include "kb-opt/Support/CompileCache.h"
#include "kb-opt/Support/DeviceSlice.h"
#include "kb-opt/Support/Digest.h"
#include "kb-opt/Support/OnceMap.h"
#include "kb-opt/Support/Process.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kbopt {

/// One program text that the judge looks at: the original or a candidate.
struct ProgramArtefacts {
  std::string name;             ///< how messages call it, for instance "saxpy.cu"
  std::string sourcePath;       ///< the file as compiled
  std::string text;             ///< its content
  std::string workingDirectory; ///< where relative paths of the flags start
  /// The user's flags in nvcc's dialect, without input, output and phase.
  std::vector<std::string> flags;
  std::string bitcodePath; ///< device side as LLVM bitcode (Source)
  std::string arch = "sm_90";
  /// Further architectures of the user's flags, which are not judged.
  std::set<std::string> otherArchs = {};
  /// The device part alone, made when it is asked for; may be empty or give nothing.
  std::function<std::optional<DeviceSlice>()> slice = {};
  /// The program's other CUDA files, whose kernels a GPU needs beside those of `text`.
  std::vector<ProgramArtefacts> units = {};
  /// Only the user's own compiler will do (`DeviceCompiler::compileFor`).
  bool exactly = false;
};

/// What `ptxas -v` says about one kernel. Absent where unknown.
struct KernelResources {
  std::string name; ///< mangled
  std::optional<unsigned> registers;
  std::optional<unsigned> sharedBytes, stackBytes, spillStoreBytes, spillLoadBytes;
  std::optional<unsigned> constantBytes, barriers;
  /// Digest of the machine code alone: independent of line information, file
  /// names and where symbols lie.
  Digest code;
};

struct DeviceCode {
  /// "nvcc 13.0.88", or "clang 22.1 (nvcc not found)".
  std::string producer;
  std::string arch;
  std::string ptx;
  std::string cubinPath; ///< empty without nvcc
  std::map<std::string, KernelResources> kernels;
  /// Over the kernels' code digests and names and the initialised data: equal
  /// digests need no second measurement.
  Digest digest;
  /// Compiler warnings, for the report.
  std::string diagnostics;

  /// What is known of \p kernel, a mangled name by clang: nvcc has others for those with internal
  /// linkage. Null where nothing is, or it may be two.
  const KernelResources *find(llvm::StringRef kernel) const;
};

/// Compiles device code. An error is a `ToolError` with the compiler's message
/// (the program does not compile, or the compiler cannot run).
class DeviceCompiler {
public:
  virtual ~DeviceCompiler();
  virtual llvm::Expected<DeviceCode> compile(const ProgramArtefacts &program) = 0;
  /// By the user's own compiler, however long it takes; `compile` may be quicker.
  virtual llvm::Expected<DeviceCode> compileExactly(const ProgramArtefacts &program) {
    return compile(program);
  }
  /// Machine code for \p arch ("sm_90") of the PTX file \p path, in a file beside it, whose path is
  /// returned.
  virtual llvm::Expected<std::string> assemble(const std::string &path, const std::string &arch);
  llvm::Expected<DeviceCode> compileFor(const ProgramArtefacts &program) {
    return program.exactly ? compileExactly(program) : compile(program);
  }
};

/// nvcc from CUDA_PATH or PATH; falls back to LLVM's NVPTX backend on the bitcode.
/// Outputs go to \p directory, named by content, and are reused. Sandboxed it
/// reads everything and writes nothing else.
class NvccCompiler : public DeviceCompiler {
public:
  /// \p compiles: where compiles are kept between runs; null: nowhere.
  NvccCompiler(ProcessRunner &runner, std::string directory, bool sandboxed = false,
               CompileCache *compiles = nullptr);
  llvm::Expected<DeviceCode> compile(const ProgramArtefacts &program) override;
  llvm::Expected<std::string> assemble(const std::string &path, const std::string &arch) override;
  /// From now on machine code for runs has the kernels of a program's other files, too: the files
  /// are compiled relocatably for that, and linked. All else that is said of the machine code is
  /// of the file by itself.
  void linkUnits() { linksUnits = true; }
  /// Path of nvcc; empty if there is none.
  const std::string &nvcc() const { return nvccPath; }

private:
  llvm::Expected<DeviceCode> compileWithNvcc(const ProgramArtefacts &program);
  llvm::Expected<NewCompile> runNvcc(const ProgramArtefacts &program, const std::string &folder);
  llvm::Expected<std::string> askVersion();
  /// nvcc that compiles \p program, whose text is written to \p folder, to `code.cubin` there, with
  /// \p more flags.
  llvm::Expected<ProcessRequest> cubinRequest(const ProgramArtefacts &program,
                                              const std::string &folder,
                                              llvm::ArrayRef<std::string> more) const;
  /// A relocatable cubin of \p program alone, in \p folder.
  llvm::Expected<std::string> compileRelocatably(const ProgramArtefacts &program,
                                                 const std::string &folder);
  llvm::Expected<std::string> relocatable(const ProgramArtefacts &program);
  llvm::Expected<std::string> linkedCubin(const ProgramArtefacts &program);
  /// Limits and sandbox of nvcc that writes to \p folder alone.
  void limitCompiler(ProcessRequest &request, const std::string &folder) const;
  ProcessRunner &runner;
  std::string directory, nvccPath;
  std::mutex versionMutex;
  std::string version; ///< asked of nvcc once
  bool sandboxed;
  bool linksUnits = false;
  OnceMap<Digest, std::string> relocatables, linked; ///< paths, by what they are made of
  CompileCache *compiles;
};

/// nvcc in `$CUDA_PATH/bin` or PATH or the toolkit's standard place.
std::optional<std::string> findNvcc();

/// The programs that \p nvcc runs and the files that say what they are, for `toolIdentity`.
std::vector<std::string> toolkitFiles(llvm::StringRef nvcc);

/// Digest of what the environment says to nvcc and NVRTC: flags, and folders of headers and
/// libraries.
Digest toolkitEnvironment();

/// Reads what a compiler left: machine code, PTX and the report of `ptxas -v`.
llvm::Expected<DeviceCode> readDeviceCode(llvm::StringRef cubinPath, llvm::StringRef ptxPath,
                                          llvm::StringRef report, bool withVariables = true);

/// Parses the output of `ptxas -v`.
std::map<std::string, KernelResources> parsePtxasReport(llvm::StringRef text);

/// Digests the kernels of a cubin (ELF): sections .text.NAME with their
/// relocations by symbol name, and the initial values of variables. Adds to \p kernels; returns the
/// whole's digest.
llvm::Expected<Digest> digestCubin(llvm::StringRef elf,
                                   std::map<std::string, KernelResources> &kernels,
                                   bool withVariables = true);
/// Whether a cubin has variables with initial values.
llvm::Expected<bool> hasVariables(llvm::StringRef elf);

/// PTX of LLVM bitcode by the NVPTX backend, for machines without nvcc.
llvm::Expected<std::string> ptxFromBitcode(llvm::StringRef bitcodePath, llvm::StringRef arch);

/// Digests each `.entry` of PTX text without .loc, comments and file names.
Digest digestPtx(llvm::StringRef ptx, std::map<std::string, KernelResources> &kernels);

} // namespace kbopt

#endif // KBOPT_EVAL_NVCCIMAGE_H
