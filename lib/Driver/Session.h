//===- Session.h - What a run of programs needs -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the things between the command line and a mode that runs the program:
// the parsed original with its workload, the device, the recordings, the judge
// and the journal.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_SESSION_H
#define KBOPT_LIB_DRIVER_SESSION_H

#include "Context.h"
#include "kb-opt/Candidate/CandidateSetup.h"
#include "kb-opt/Eval/CudaDevice.h"
#include "kb-opt/Eval/JitCompiler.h"
#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Eval/QueueChannel.h"
#include "kb-opt/Store/Journal.h"
#include "kb-opt/Support/Installation.h"
#include "kb-opt/Target/ChipInfo.h"

namespace kbopt {

/// In order of making.
struct Session {
  Session(Context &context, TemporaryDirectory folder)
      : context(context), tools(candidateTools(context)), folder(std::move(folder)),
        nvcc(context.runner, this->folder.path().str(), context.options.sandbox,
             context.compiles.get()),
        compiler(nvcc, context.runner, findKbRun().value_or(""), this->folder.path().str(),
                 context.options.sandbox, context.compiles.get()) {}

  Context &context;
  const CandidateTools tools;
  TemporaryDirectory folder;
  NvccCompiler nvcc;
  JitCompiler compiler;
  ChipInfo chip;
  ProgramArtefacts original;
  Digest originalHost;
  KernelTypes kernelTypes;
  std::vector<SortedArray> sortedArrays;
  KernelRecords kernelRecords;
  Workload workload;
  Signature signature;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<QueueChannels> cluster; ///< null: devices are this machine's, or a spool's
  std::unique_ptr<Device> device;         ///< the CPU device
  std::unique_ptr<CudaDevice> gpu;        ///< null: times are modelled
  GpuFacts gpuFacts;
  std::vector<Card> cards{Card()}; ///< of this machine
  std::unique_ptr<RecordedCases> cases;
  std::unique_ptr<Judge> judge;

  /// As evidence calls it: where times come from.
  llvm::StringRef timeSource() const { return gpu ? "cuda" : "cpu-modelled"; }
};

/// Reads, parses and compiles the program that the options name. Errors are the
/// user's (no kernels, no workload) or the environment's (no sandbox, no kb-run, no GPU).
llvm::Expected<std::unique_ptr<Session>> openSession(Context &context);

/// What candidates of the program of \p session, which outlives it, are made with.
CandidateSetup candidateSetup(Session &session);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_SESSION_H
