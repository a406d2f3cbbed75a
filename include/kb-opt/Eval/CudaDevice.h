//===- CudaDevice.h - A GPU behind a kb-run ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the judge asks of a GPU as jobs for kb-run, and what kb-run answers as
// records; and what a GPU's failures mean: for the machine, for the run, for one
// candidate. It decides nothing about correctness.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_CUDADEVICE_H
#define KBOPT_EVAL_CUDADEVICE_H

#include "kb-opt/Eval/GpuDevice.h"
#include "kb-opt/Eval/JobChannel.h"
#include "kb-opt/Eval/KnownContents.h"
#include "kb-opt/Support/FileDigests.h"
#include "kb-opt/Support/OnceMap.h"
#include "kb-opt/Support/Timings.h"
#include <set>

namespace kbopt {

struct CudaDeviceOptions {
  std::string arch;      ///< of the images; empty: the device's, whatever it is
  NoticeFunction notice; ///< told once of everything that makes figures unsteady
  /// Shared with the judge, which asks for the same large files; null: the device has its own.
  FileDigests *digests = nullptr;
  Timings *timings = nullptr; ///< seconds of jobs by kind, and inside kb-run by part
};

/// Thread-safe. Only `RunMode::Plain`: access checks and counts are the CPU device's.
///
/// A job that finds the device gone is repeated on a fresh process. If it is gone
/// again while the device answers others, the job has `RunStatus::Lost`; if the
/// device does not answer at all, the error is the environment's and ends the run.
class CudaDevice : public GpuDevice {
public:
  CudaDevice(DeviceCompiler &compiler, std::unique_ptr<JobChannel> channel,
             CudaDeviceOptions options)
      : compiler(compiler), channel(std::move(channel)), options(std::move(options)) {}

  llvm::StringRef name() const override { return "cuda"; }
  /// The architecture that jobs ask for from now on. Call before any job.
  void setArch(std::string arch) { options.arch = std::move(arch); }

  llvm::Expected<DeviceImage> build(const ProgramArtefacts &program, RunMode mode) override;
  llvm::Expected<DeviceIdentity> identify(const DeviceImage &image) override;
  llvm::Expected<RunResult> run(const DeviceImage &image, llvm::StringRef planFolder,
                                const RunOptions &options) override;
  /// Asked once.
  llvm::Expected<GpuFacts> facts() override;
  llvm::Expected<TimingReport> measure(const GpuSubject &candidate, const GpuSubject &baseline,
                                       const TimingRequest &request) override;
  llvm::Expected<GpuProfile> profile(const GpuSubject &subject, llvm::StringRef sets,
                                     bool sampleLines) override;
  llvm::Expected<ExecutionAudit> audit(const GpuSubject &subject) override;
  llvm::Expected<SanitizerReport> sanitize(const GpuSubject &subject,
                                           llvm::ArrayRef<llvm::StringRef> tools,
                                           double seconds) override;

private:
  /// Jobs about one image share a process of kb-run (docs/JobFormat.md); jobs that say
  /// \p apart do not share one with others. \p owner: whose the image is (DeviceImage::owner).
  llvm::Expected<JobRequest> request(const GpuSubject &subject, llvm::StringRef apart = "",
                                     const Digest &owner = {}) const;
  llvm::Expected<GpuFacts> askFacts();
  /// An answer about the job: never one about the machine.
  llvm::Expected<JobAnswer> ask(llvm::StringRef kind, const JobRequest &request);
  llvm::Expected<JobAnswer> send(llvm::StringRef kind, const JobRequest &request);
  llvm::Expected<TimingReport> measureNow(const GpuSubject &candidate, const GpuSubject &baseline,
                                          const TimingRequest &request);
  void tellNoise(const GpuFacts &facts);
  llvm::Error checkSame(const GpuFacts &facts);

  DeviceCompiler &compiler;
  std::unique_ptr<JobChannel> channel;
  CudaDeviceOptions options;
  mutable FileDigests ownFiles;
  FileDigests &files = options.digests ? *options.digests : ownFiles;
  KnownContents contents;
  OnceMap<unsigned, GpuFacts> known;
  OnceMap<Digest, TimingReport> timings;
  std::mutex mutex; ///< of what follows
  std::set<std::string> told;
  std::string productName; ///< of the first answer
};

} // namespace kbopt

#endif // KBOPT_EVAL_CUDADEVICE_H
