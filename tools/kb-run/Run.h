//===- Run.h - one job in its own process -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the execution of a job, in the child process: what all devices share
// here, the devices in CpuRun.cpp and CudaRun.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_RUN_H
#define KBRUN_RUN_H

#include "Job.h"
#include <memory>

namespace kbrun {

/// Exit statuses of kb-run.
enum ExitStatus {
  exitOk = 0,          ///< the plan ran, nothing was found
  exitDiagnostics = 1, ///< the plan ended otherwise, or there are findings
  exitUsage = 2,       ///< the command line or the job file is wrong
  exitEnvironment = 3, ///< an input cannot be read or an output not written, or no device
  exitInternal = 70,
};

/// What the parent learns of a child that dies. Lies in memory that both share.
struct Progress {
  volatile uint32_t repetition = 0;
  volatile uint64_t step = 0;
  char kernel[256] = {}; ///< of the launch step that runs, else empty
  /// For the device, while others measure: that is not the job's time.
  volatile bool isWaiting = false;
};

/// What a job came to: the result's text (docs/JobFormat.md) and the exit status.
struct Outcome {
  ExitStatus status = exitInternal;
  std::string json;
  /// The process is as good as new: it may take the session's next job.
  bool mayGoOn = false;
};

/// Runs \p job in this process. Warnings go to stderr.
Outcome runJob(const Job &job, Progress &progress);
/// Does in advance what a later CUDA job needs, so that it starts at once; errors wait
/// for it.
void warmUpCuda();

/// The result of a job that has none of its own: status "crash", "timeout", "environment", "usage".
std::string plainResult(const std::string &id, const std::string &status,
                        const std::string &message, const std::string &note,
                        const Progress *progress);

/// The inputs of a job, read once for all repetitions.
class Inputs {
public:
  ~Inputs();
  Inputs() = default;
  Inputs(const Inputs &) = delete;
  Inputs &operator=(const Inputs &) = delete;

  /// False and \p error with the file's name on failure. Overrides are for the job's own plan.
  bool load(const JobSubject &subject, const std::string &blobs,
            const std::vector<Override> &wanted, std::string &error);

  kbrt::Plan plan;
  kbrt::PlanInputs payloads; ///< views of what this object owns

private:
  bool loadData(const JobSubject &subject, const std::string &blobs, std::string &error);
  bool map(const std::string &path, std::string &error);

  void *mapping = nullptr;
  size_t mappedBytes = 0;
  std::vector<std::string> overrides;
};

/// Keeps \p progress up to date.
void track(const kbrt::Plan &plan, Progress &progress, kbrt::PlanInputs &inputs);
/// FNV-1a: tells two runs apart, and is the same everywhere.
std::string digestOf(std::string_view bytes);
/// 16 hexadecimal digits.
std::string digestText(uint64_t hash);
/// Index of the first read step whose bytes differ, and its step; nothing if none does.
std::optional<std::pair<size_t, size_t>>
firstDifference(const kbrt::Plan &plan, const std::string &a, const std::string &b);
/// The same of digests by read step.
std::optional<std::pair<size_t, size_t>> firstDifference(const kbrt::Plan &plan,
                                                         const std::vector<std::string> &a,
                                                         const std::vector<std::string> &b);
/// Bytes of the first \p reads read steps.
uint64_t readBytes(const kbrt::Plan &plan, size_t reads);
/// False and \p error on failure.
bool makeFolder(const std::string &path, std::string &error);
/// Writes observables.bin if the job asks for it. False and \p error on failure.
bool writeOutputs(const Job &job, const std::string &observables, std::string &error);

Outcome runOnCpu(const Job &job, Progress &progress);
Outcome runOnCuda(const Job &job, Progress &progress);

} // namespace kbrun
#endif
