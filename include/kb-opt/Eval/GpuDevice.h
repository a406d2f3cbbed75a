//===- GpuDevice.h - A device that measures ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface between the judge and a GPU, as plain data: what a device
// that really executes can tell beyond Device.h. Times, counters, the trace of
// what was executed, the sanitizer's findings. Tests use fakes.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_GPUDEVICE_H
#define KBOPT_EVAL_GPUDEVICE_H

#include "kb-opt/Eval/Device.h"
#include <map>

namespace kbopt {

struct GpuFacts {
  std::string name;   ///< "NVIDIA H200"
  std::string arch;   ///< "sm_90"
  std::string driver; ///< "580.95.05"; empty if unknown
  unsigned multiprocessors = 0;
  uint64_t l2Bytes = 0, memoryBytes = 0;
  /// What would make figures unsteady (others' work, low clocks), one sentence each.
  std::vector<std::string> noise;
  unsigned count = 1; ///< GPUs that its driver shows
};

/// What is executed: machine code and a recording's folder.
struct GpuSubject {
  std::string cubinPath;
  std::string planFolder;
};

enum class TimingDecision { Faster, Slower, Inconclusive };
llvm::StringRef toString(TimingDecision decision); ///< "faster", "slower", "inconclusive"

/// Microseconds of one whole plan, over the samples that count.
struct TimingSummary {
  unsigned samples = 0;
  double minUs = 0, medianUs = 0, q3Us = 0, relativeDeviation = 0;
};

struct TimingSeries {
  TimingSummary baseline, candidate;
  TimingDecision decision = TimingDecision::Inconclusive;
  std::string reason;         ///< of the decision
  double ratio = 0;           ///< baseline's median over the candidate's
  double ratioLowerBound = 0; ///< 95 %, by paired bootstrap
  std::string stop;           ///< "quiet", "stable", "time-out"
  double discardedShare = 0;
};

struct TimingReport {
  RunStatus status = RunStatus::Ok;
  std::string message;
  TimingSeries cold; ///< the primary figure
  std::optional<TimingSeries> hot;
  std::optional<double> emptyKernelUs, batchedBaselineUs, batchedCandidateUs;
  /// Timed iterations whose reads were compared, and those that differed (G12).
  uint64_t outputsChecked = 0, outputsDifferent = 0;
  GpuFacts device;
};

struct TimingRequest {
  unsigned minSamples = 30;
  double minSeconds = 0.5, maxSeconds = 15, warmUpSeconds = 0.5;
  bool hot = true;
  bool batches = true; ///< of short programs also the time in a graph
  double apartRatio =
      0; ///< all samples of one image so many times those of the other: enough is known
  uint64_t seed = 1;

  /// What a search asks: cold times alone, at most 3 s, of long programs as many samples as a
  /// bootstrap takes. The defaults are the final check's.
  static TimingRequest forSearch() {
    TimingRequest request;
    request.minSamples = 16;
    request.minSeconds = 0.15;
    request.maxSeconds = 3;
    request.warmUpSeconds = 0.1;
    request.hot = false;
    request.batches = false;
    request.apartRatio = 1.25;
    return request;
  }
};

/// Samples of the program counter on one source line.
struct SampledLine {
  std::string file;
  unsigned line = 0;
  uint64_t samples = 0;
  std::map<std::string, uint64_t> stalls; ///< by reason: "long_scoreboard"
};

struct LaunchMetrics {
  std::string kernel; ///< mangled
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint64_t dynamicSharedBytes = 0;
  double us = 0;
  std::map<std::string, double> metrics; ///< by CUPTI name
};

struct GpuProfile {
  RunStatus status = RunStatus::Ok;
  std::string message;
  std::string degraded; ///< why there are no counters; empty if there are
  std::vector<LaunchMetrics> launches;
  std::map<std::string, std::vector<SampledLine>> lines; ///< by kernel, most samples first
  std::string noLines; ///< why there are no sampled lines; empty if there are
};

/// Kernels as the driver's activity trace names them (G11).
struct TracedLaunch {
  std::string kernel;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint64_t dynamicSharedBytes = 0;
  unsigned stream = 0; ///< as the trace numbers them; a plan is executed on one
};

struct ExecutionAudit {
  RunStatus status = RunStatus::Ok;
  std::string message;
  std::string degraded; ///< why there is no trace; empty if there is
  std::vector<TracedLaunch> launches;
  bool changedAfterReturn = false; ///< memory changed after the last launch had ended
};

struct SanitizerReport {
  /// Why a tool did not run, or not to its end; empty if all did.
  std::string degraded;
  std::vector<DeviceFinding> findings;
};

/// Thread-safe; calls that would disturb each other's figures wait for each other.
/// `build` gives the machine code that is judged; `run` takes images that are PTX text,
/// too, which the driver compiles.
class GpuDevice : public Device {
public:
  virtual llvm::Expected<GpuFacts> facts() = 0;
  /// The same machine code and plans are measured once per request: a caller that asks
  /// again (a gate, the search) gets the same report. Another seed is another request.
  virtual llvm::Expected<TimingReport> measure(const GpuSubject &candidate,
                                               const GpuSubject &baseline,
                                               const TimingRequest &request) = 0;
  /// \p sets: letters of docs/Measurement.md; \p sampleLines: also PC sampling.
  virtual llvm::Expected<GpuProfile> profile(const GpuSubject &subject, llvm::StringRef sets,
                                             bool sampleLines) = 0;
  virtual llvm::Expected<ExecutionAudit> audit(const GpuSubject &subject) = 0;
  /// \p tools: "memcheck", "racecheck", "initcheck", "synccheck"; each ends after \p seconds.
  virtual llvm::Expected<SanitizerReport>
  sanitize(const GpuSubject &subject, llvm::ArrayRef<llvm::StringRef> tools, double seconds) = 0;
};

} // namespace kbopt

#endif // KBOPT_EVAL_GPUDEVICE_H
