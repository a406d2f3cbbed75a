//===- CudaPlan.h - plans on a GPU: run, timed, profiled ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The public face of runtime/cuda's work: load an image, execute a plan once
// with every check, measure two images against each other, read counters. Needs
// no header of CUDA. Owns neither jobs nor results as files (tools/kb-run).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDAPLAN_H
#define KBRT_CUDAPLAN_H

#include "kbrt/CudaDevice.h"
#include "kbrt/PlanWalk.h"
#include "kbrt/Statistics.h"
#include <functional>
#include <map>
#include <set>

namespace kbrt::cuda {

/// What the driver says of a kernel and of one way to launch it.
struct KernelFacts {
  std::string name;
  unsigned registers = 0, localBytes = 0, staticSharedBytes = 0, maxThreads = 0;
  unsigned binaryVersion = 0; ///< 90: machine code for sm_90
};

/// A cubin, PTX or fatbin, loaded into the device's context.
class LoadedImage {
public:
  /// \p path is for messages. PTX is compiled by the driver.
  static std::unique_ptr<LoadedImage> load(Device &device, std::string bytes,
                                           const std::string &path, Problem &problem);
  ~LoadedImage();
  LoadedImage(const LoadedImage &) = delete;
  LoadedImage &operator=(const LoadedImage &) = delete;

  /// Loads the image anew: its variables have their initial values again.
  bool reload(Problem &problem);
  /// Facts of a kernel; nothing if the image does not have it.
  std::optional<KernelFacts> kernelFacts(const std::string &name);
  /// Blocks of that shape that one multiprocessor holds; 0 if none or unknown.
  unsigned blocksPerMultiprocessor(const std::string &name, unsigned threads, uint64_t sharedBytes);

  struct Module; ///< runtime/cuda only
  Module &getModule() const { return *module; }

private:
  LoadedImage();
  std::unique_ptr<Module> module;
};

/// A defect that a run showed beside its reads.
struct RunFinding {
  std::string kind;    ///< "guard-zone-changed" or "const-input-changed", as on the CPU device
  std::string message; ///< one sentence
  std::string kernel;  ///< mangled; empty if any may have done it
  uint32_t buffer = 0;
  uint64_t offset = 0; ///< bytes from the start of the buffer; of a guard zone after it, beyond
  bool before = false; ///< the guard zone before the buffer: `offset` counts back from its start
};

/// Where the bytes of reads go that are not known yet; the others are told by their digests.
struct ReadContents {
  /// Start of the digests: code that shapes the bytes must not know it.
  uint64_t salts[2] = {0, 0};
  std::set<std::string> known; ///< digests
  std::string folder; ///< gets a file for each digest that is not known, named by it; empty: none
                      ///< is written
};

/// Memory that an execution is given: it allocates none for buffers, its uploads come from the
/// device, and what it reads stays there. All of it but the uploads is wiped before. Addresses are
/// the device's.
struct LentMemory {
  uint64_t work = 0, workBytes = 0; ///< for the buffers, a multiple of 512
  uint64_t results = 0, resultBytes = 0;
  std::vector<uint64_t> reads;        ///< by number of the read step: offset in `results`
  std::map<size_t, uint64_t> uploads; ///< by step: where its bytes lie, row after row
};

/// What becomes of the bytes that a plan reads back.
enum class Reads {
  Kept,  ///< RunResult::observables has them
  Hashed ///< on the device: RunResult::contents and `readHash` tell them from others
};

struct RunOptions {
  Reads reads = Reads::Kept;
  const ReadContents *contents = nullptr; ///< for Reads::Hashed; null: without salts, and no files
  /// Null: memory of its own. With it reads go there, whatever `reads` says.
  const LentMemory *memory = nullptr;
  /// Fresh buffers hold this byte.
  uint8_t poison = 0xCB;
  /// For the whole plan; 0 is no limit.
  double wallSeconds = 60;
  uint64_t deviceBytes = ~uint64_t(0);
  bool checkGuards = true, checkConstInputs = true;
  /// By mangled kernel name, the parameters that are pointers to const, where the name does not
  /// tell (extern "C").
  std::map<std::string, std::vector<bool>> constParameters;
  /// Every buffer an allocation of its own that holds nothing yet, without guard zones, poison or
  /// kernels of ours in between: for tools that watch (compute-sanitizer). Turns both checks off.
  bool separateBuffers = false;
  /// Whether what is left of a repetition (kbrt/Repetition.h) is left out once all memory that the
  /// program has is bit for bit what it was one period before. With `separateBuffers` nothing looks
  /// at memory: what Subject::resting names is left out.
  bool leavesOutRepeats = true;
  /// For programs that take turns: `begins` is called before each launch, and `ends` before work of
  /// the host that follows launches, and at the end. What `begins` takes is not the plan's time.
  std::function<void()> begins = [] {}, ends = [] {};
};

struct RunLaunch {
  size_t step = 0;
  double us = 0; ///< of this launch between two events, warm or cold as it came
  /// This launch, and later ones like it that provably change nothing and were left out.
  uint64_t repeats = 1;
};

/// A repetition that was left before its end, because a whole period changed nothing in memory.
struct RestingRepetition {
  Repetition repetition;
  double periodUs = 0; ///< the launches of one period together
  size_t periods = 0;  ///< that were executed
};

struct RunResult {
  LaunchStatus status = LaunchStatus::Ok;
  std::string message, note;
  std::vector<RunLaunch> launches;
  std::string observables;
  /// By read step, of Reads::Hashed: 32 hexadecimal digits, '-' and the number of bytes.
  std::vector<std::string> contents;
  uint64_t readHash = 0; ///< of all reads and their places, as each timed iteration computes it
  std::vector<RestingRepetition> resting;
  std::vector<RunFinding> findings;
  std::vector<std::string> notes; ///< what could not be checked, in words
  uint64_t peakDeviceBytes = 0;
  double wallSeconds = 0;
};

/// RunResult::readHash of reads that are \p observables, computed on the host.
uint64_t hashOfReads(const Plan &plan, std::string_view observables);

/// A plan and what it runs with. Nothing is owned.
struct Subject {
  LoadedImage *image = nullptr;
  const Plan *plan = nullptr;
  const PlanInputs *inputs = nullptr;
  /// As a run of the subject found them (RunResult::resting): timed by a few of their periods, and
  /// with RunOptions::separateBuffers executed for as many as that run.
  std::vector<RestingRepetition> resting = {};
};

/// Executes the plan once from fresh memory, with every check. After a fault the context is
/// poisoned: the process should end.
RunResult execute(Device &device, const Subject &subject, const RunOptions &options);

struct TimingOptions {
  StopRule stop;
  AcceptRule accept;
  double warmUpSeconds = 0.5;
  double leastClockShare = 0.75;
  double mostDiscarded = 0.2;
  /// Also measure without emptying the caches.
  bool hot = true;
  /// Below this cold median also measure an empty kernel and graphs of batched launches.
  double batchBelowUs = 10;
  unsigned batchNodes = 20;
  uint64_t seed = 1; ///< order of A and B
  uint8_t poison = 0xCB;
  double wallSeconds = 60; ///< for one iteration
  /// Called when memory and inputs are in place and no other process may use the device, after each
  /// block of cold samples, where others may have it in between, and when all are taken.
  std::function<void()> begins = [] {}, between = [] {}, ends = [] {};
  /// RunResult::readHash of the candidate when it was verified; every iteration's is compared with
  /// it.
  std::optional<uint64_t> outputHash;
};

/// How many iterations' reads were compared with the verified ones (of the baseline: with its first
/// iteration's), and how many differed.
struct TimedOutputs {
  uint64_t checked = 0, different = 0;
};

struct TimingResult {
  LaunchStatus status = LaunchStatus::Ok;
  std::string message, note;
  /// Of the cold and the hot measurement: all samples, in order, those left out included.
  struct Series {
    std::vector<TimedSample> samples;
    ClockFilter clocks;
    StopReason stop = StopReason::GoOn;
    double seconds = 0;
    Summary baseline, candidate;
    Decision decision;
  };
  Series cold, hot;
  TimedOutputs outputs[2]; ///< baseline, candidate
  unsigned instances = 0;  ///< sets of buffers that were rotated
  bool emptiesL2 = false;
  /// Two events with nothing between them: what every sample contains beside the plan's work.
  std::optional<double> eventPairUs;
  std::optional<double> emptyKernelUs;
  /// Microseconds per iteration inside a graph; not checked for output.
  std::optional<double> batchedUs[2];
  DeviceReading before, after;
  std::vector<std::string> notes;
};

/// Measures \p candidate against \p baseline, interleaved. Without a baseline (its image is null)
/// the candidate alone, without a decision.
TimingResult measure(Device &device, const Subject &baseline, const Subject &candidate,
                     const TimingOptions &options);

/// A kernel as the driver's activity trace shows it.
struct TracedLaunch {
  std::string kernel; ///< mangled
  Dim3 grid, block;
  uint64_t dynamicSharedBytes = 0;
  /// 0 is the stream that the plan was put on; other numbers are other streams.
  uint32_t stream = 0;
};

struct AuditResult {
  LaunchStatus status = LaunchStatus::Ok;
  std::string message, note;
  /// Why there is no trace, or what it cannot show; empty if it shows all.
  std::string degraded;
  std::vector<TracedLaunch> launches; ///< in order of their start
  uint64_t copies = 0, fills = 0;     ///< by the device, kb-run's own included
  /// Whether any buffer or variable changed after the plan had ended.
  bool changedAfterReturn = false;
};

/// Executes the plan once under CUPTI's activity trace, and looks at memory at its end and again
/// later. Without CUPTI `launches` stays empty and `degraded` says why; memory is looked at all the
/// same.
AuditResult audit(Device &device, const Subject &subject, const RunOptions &options);

struct ProfileOptions {
  /// Letters of the metric sets, "ABC".
  std::string sets = "ABC";
  /// The first launches of the plan that are profiled.
  unsigned launches = 32;
  bool pcSampling = false; ///< the caller calls sampleLines
  /// Called around each launch, which must not be disturbed.
  std::function<void()> begins = [] {}, ends = [] {};
  RunOptions run;
};

struct LaunchProfile {
  size_t step = 0;
  /// By gpu__time_duration; nothing if it could not be read.
  std::optional<double> us;
  std::map<std::string, double> metrics; ///< those with a finite value
};

struct ProfileResult {
  LaunchStatus status = LaunchStatus::Ok;
  std::string message, note;
  std::string chip;
  size_t passes = 0;
  /// Why there are no counters; empty if there are.
  std::string degraded;
  std::vector<LaunchProfile> launches;
  std::vector<std::string> unknownMetrics; ///< not known for this chip
};

/// Runs the plan under CUPTI's range profiler, each launch replayed. Without permission for
/// counters, or without CUPTI, the result is degraded and says why; that is no failure.
ProfileResult profile(Device &device, const Subject &subject, const ProfileOptions &options);

/// Samples of the program counter on one source line.
struct SampledLine {
  std::string file; ///< empty with line 0: machine code that belongs to no line
  unsigned line = 0;
  uint64_t samples = 0;
  std::map<std::string, uint64_t> stalls; ///< by reason, "long_scoreboard"; they sum to `samples`
};

struct LineSamples {
  LaunchStatus status = LaunchStatus::Ok;
  std::string message, note;
  /// Why there are no lines; empty if there are.
  std::string noLines;
  /// By kernel (mangled), most samples first.
  std::map<std::string, std::vector<SampledLine>> lines;
  uint64_t dropped = 0; ///< samples that the hardware lost
};

/// Runs the plan under CUPTI's PC sampling. \p expectedUs, how long its kernels run together, sets
/// how densely it samples; 0 leaves that to CUPTI.
LineSamples sampleLines(Device &device, const Subject &subject, const RunOptions &options,
                        double expectedUs);

/// A place in the source; line 0 if the machine code belongs to none.
struct SourcePlace {
  std::string file;
  unsigned line = 0;
};
/// Where the instruction at \p offset of \p kernel comes from, by a cubin's line table (nvcc
/// -lineinfo). No device needed. Nothing and \p problem without CUPTI or with a cubin that it
/// cannot read.
std::optional<SourcePlace> sourcePlace(const std::string &cubin, const std::string &kernel,
                                       uint64_t offset, Problem &problem);

/// CUPTI's name of a stall reason in ours: "long_scoreboard" of
/// "smsp__pcsamp_warps_issue_stalled_long_scoreboard". Empty for names that count samples again.
std::string stallName(const std::string &cuptiName);

/// The metrics of the sets in \p letters for a chip of CUPTI's names ("GH100"), in a fixed order.
std::vector<std::string> metricNames(const std::string &letters, const std::string &chip);

/// What CUPTI answers without a device.
struct MetricCheck {
  std::vector<std::string> unknown; ///< names that the chip does not have
  size_t passes = 0;                ///< for the others
};
std::optional<MetricCheck> checkMetrics(const std::string &chip,
                                        const std::vector<std::string> &names, Problem &problem);

} // namespace kbrt::cuda

#endif // KBRT_CUDAPLAN_H
