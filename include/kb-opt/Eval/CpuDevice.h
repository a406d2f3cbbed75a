//===- CpuDevice.h - The device for machines without a GPU ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from (bitcode, plan) to a record on the CPU: builds images
// (CpuImage.h), writes jobs for kb-run (docs/JobFormat.md), runs it in a limited,
// sandboxed process and reads its result. Images are kept by the digest of
// everything that decides them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_CPUDEVICE_H
#define KBOPT_EVAL_CPUDEVICE_H

#include "kb-opt/Eval/Device.h"
#include "kb-opt/Eval/JobChannel.h"
#include "kb-opt/Support/CompileCache.h"
#include "kb-opt/Support/OnceMap.h"
#include "kb-opt/Support/Timings.h"
#include <atomic>
#include <memory>
#include <mutex>

namespace kbopt {

struct CpuDeviceOptions {
  /// Images and jobs lie here; created if missing. Owned by one process.
  std::string directory;
  /// kb-run; empty: found beside this executable or in PATH.
  std::string kbRun;
  /// Runs kb-run under bubblewrap.
  bool sandboxed = true;
  /// Address space of kb-run beside the device memory of a run.
  uint64_t hostBytes = uint64_t(4) << 30;
  /// Jobs of one program go to a kb-run that stays and runs each in a process of its own, without a
  /// new sandbox for each of them.
  bool staysRunning = false;
  /// Where jobs go in the place of a kb-run of this machine, with a limit of address space; images
  /// are then made for any machine of this kind.
  std::function<std::unique_ptr<JobChannel>(uint64_t memoryBytes)> openChannel = {};
  /// Receives the parts of every build, if there.
  Timings *timings = nullptr;
  /// Where images are kept between runs; null: nowhere.
  CompileCache *compiles = nullptr;
};

/// Thread-safe.
class CpuDevice : public Device {
public:
  /// Fails with a `ToolError` if kb-run is not found.
  static llvm::Expected<std::unique_ptr<CpuDevice>> create(ProcessRunner &runner,
                                                           CpuDeviceOptions options);
  llvm::StringRef name() const override { return "cpu"; }
  llvm::Expected<DeviceImage> build(const ProgramArtefacts &program, RunMode mode) override;
  llvm::Expected<DeviceIdentity> identify(const DeviceImage &image) override;
  llvm::Expected<RunResult> run(const DeviceImage &image, llvm::StringRef planFolder,
                                const RunOptions &options) override;

private:
  /// A kb-run for the jobs of one owner, with a limit of memory.
  struct Server {
    Digest owner;
    uint64_t memoryBytes = 0;
    std::unique_ptr<JobChannel> channel;
  };
  llvm::Expected<Server> takeServer(const Digest &owner, uint64_t memoryBytes);
  void giveServerBack(Server server);
  llvm::Expected<RunResult> runByServer(const DeviceImage &image, llvm::StringRef planFolder,
                                        const RunOptions &options);
  llvm::Expected<DeviceImage> buildImage(llvm::StringRef bitcode, const Digest &digest,
                                         RunMode mode);
  CpuDevice(ProcessRunner &runner, CpuDeviceOptions options)
      : runner(runner), options(std::move(options)) {}
  ProcessRunner &runner;
  CpuDeviceOptions options;
  OnceMap<Digest, DeviceImage> images;
  std::atomic<unsigned> jobs = 0;
  std::mutex serversMutex;
  std::vector<Server> idle; ///< the one that waits longest comes first
  unsigned servers = 0;     ///< started so far
};

} // namespace kbopt

#endif // KBOPT_EVAL_CPUDEVICE_H
