//===- JitCompiler.h - The quicker way to the same machine code -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the choice between NVRTC and nvcc. nvcc starts half a dozen programs and
// reads the host's headers; NVRTC compiles the device slice alone, in a fraction of
// the time. It is used for the candidates of an original for which both gave the
// same machine code, and nvcc otherwise. The winner is compiled by nvcc once more.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_JITCOMPILER_H
#define KBOPT_EVAL_JITCOMPILER_H

#include "kb-opt/Eval/JobChannel.h"
#include "kb-opt/Eval/NvccImage.h"
#include "kb-opt/Support/OnceMap.h"
#include "llvm/Support/JSON.h"
#include <functional>

namespace kbopt {

/// Thread-safe.
class JitCompiler : public DeviceCompiler {
public:
  /// \p kbRun: the program with `compile`; empty: nvcc alone. \p directory takes outputs. \p
  /// compiles: where compiles are kept between runs; null: nowhere.
  JitCompiler(NvccCompiler &nvcc, ProcessRunner &runner, std::string kbRun, std::string directory,
              bool sandboxed, CompileCache *compiles = nullptr);

  /// The program whose two codes are compared, before the first candidate is compiled.
  void setOriginal(ProgramArtefacts program) { original = std::move(program); }

  /// Once per program.
  llvm::Expected<DeviceCode> compile(const ProgramArtefacts &program) override;
  /// Once per program, too.
  llvm::Expected<DeviceCode> compileExactly(const ProgramArtefacts &program) override;
  llvm::Expected<std::string> assemble(const std::string &path, const std::string &arch) override {
    return nvcc.assemble(path, arch);
  }

  /// Asks another machine's NVRTC, without the folders of a toolkit; an error or nothing means that
  /// this machine's is to be asked.
  using Remote = std::function<std::optional<CompileOutcome>(llvm::json::Object request)>;
  /// Before the first candidate is compiled.
  void setRemote(Remote function) { remote = std::move(function); }

  /// Whether candidates go by NVRTC; compiles the original both ways when first asked.
  bool applies();
  /// Why not; empty if it applies.
  llvm::StringRef refusal() const { return reason; }

private:
  /// Nothing if NVRTC cannot compile the slice, whatever the cause: nvcc then has the word.
  std::optional<DeviceCode> compileSlice(const ProgramArtefacts &program);
  llvm::Expected<NewCompile> runNvrtc(const DeviceSlice &slice, const ProgramArtefacts &program,
                                      const std::string &folder, const std::string &cubin,
                                      const std::string &ptx);
  llvm::Expected<DeviceCode> compileNow(const ProgramArtefacts &program);
  bool decide();

  NvccCompiler &nvcc;
  ProcessRunner &runner;
  std::string kbRun, directory;
  bool sandboxed;
  CompileCache *compiles;
  ProgramArtefacts original;
  Remote remote;
  OnceMap<Digest, DeviceCode> codes, exactCodes;
  OnceMap<int, bool> decision; ///< one entry
  std::string reason;          ///< written while that is made
  bool usesShared = false;     ///< likewise: the original has shared memory
  bool usesMore = false;       ///< likewise: variables, or functions of the device runtime
  bool withVariables = true;   ///< likewise: whether their values count in digests
};

/// What a worker's NVRTC makes of \p request (docs/JobFormat.md); nothing if none can say.
std::optional<CompileOutcome> compileRemotely(JobChannel &channel, llvm::json::Object request);

} // namespace kbopt

#endif // KBOPT_EVAL_JITCOMPILER_H
