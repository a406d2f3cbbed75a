//===- Device.h - Something that executes (plan, image) ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface between the judge and a device, as plain data: images are
// files, runs are jobs, results are records. CpuDevice is the one for machines
// without a GPU; tests use fakes. It decides nothing about correctness.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_DEVICE_H
#define KBOPT_EVAL_DEVICE_H

#include "kb-opt/Eval/NvccImage.h"
#include "kb-opt/Support/SharedBytes.h"
#include "kbrt/Counters.h"
#include "kbrt/Coverage.h"
#include "llvm/Support/JSON.h"

namespace kbopt {

/// How device code is built and what a run of it yields: outputs alone,
/// findings of the access checks, counters, float64 references in the place of outputs, or how near
/// it came to code that it did not execute.
enum class RunMode { Plain, Check, Count, Oracle, Search };
llvm::StringRef toString(RunMode mode); ///< "plain", "check", "count", "oracle", "search"

/// Rounding direction of floating-point arithmetic. Anything but Nearest is for
/// the original alone: it measures how far rounding moves its results.
enum class Rounding { Nearest, Up, Down, Zero };
llvm::StringRef toString(Rounding rounding); ///< "nearest", "up", "down", "zero"

/// Built device code.
struct DeviceImage {
  std::string path;
  Digest digest;
  RunMode mode = RunMode::Plain;
  /// Constructs that this device cannot execute; a run of a kernel that has one
  /// ends as Unsupported.
  std::vector<std::string> unsupported;
  /// The owner: images of one owner may share a process that runs their jobs. Empty: no owner.
  Digest owner = {};
};

/// What a run would execute, by the bytes that lie on disk at the time of asking.
struct DeviceIdentity {
  Digest harness; ///< the program that executes plans
  Digest image;
};

/// Everything that may differ between two runs of one (plan, image).
struct RunOptions {
  uint64_t seed = 0;           ///< order of blocks and threads; 0 is natural order
  uint8_t memoryPoison = 0xCB; ///< fresh device memory holds this byte
  uint8_t sharedPoison = 0xCD; ///< shared memory holds this byte before a block
  Rounding rounding = Rounding::Nearest;
  uint32_t sampledBlocks = 8; ///< count mode: blocks counted per launch; 0 is all
  /// Caches that the traffic estimate assumes (the chip's); 0: the device's default.
  uint64_t l1Bytes = 0, l2Bytes = 0;
  /// Mode Oracle: rounding errors are not independent, as where all terms are equal.
  bool worstCaseErrors = false;
  double wallSeconds = 60;                  ///< the run ends as Timeout after that
  uint64_t memoryBytes = uint64_t(8) << 30; ///< device memory
  /// Executions in one job: outputs are the first one's, see `RunResult::variation`.
  /// The i-th runs with `seed` + i; a GPU turns `memoryPoison` over every second time.
  unsigned repetitions = 1;
  bool operator==(const RunOptions &) const = default;
};

enum class RunStatus {
  Ok,
  Fault, ///< trap, assertion, illegal address, deadlock, divergent barrier, crash
  Timeout,
  OutOfMemory,
  Unsupported, ///< a construct that the device names but cannot execute
  Lost,        ///< the device went away during the run, and again when it was repeated
};
llvm::StringRef toString(RunStatus status);

/// A defect found by a check: kind in kebab case ("out-of-bounds", "race-shared").
struct DeviceFinding {
  std::string kind;
  bool benign = false; ///< for instance two threads that write the same value
  std::string kernel, array, file;
  unsigned line = 0;
  std::string text; ///< the whole finding in one line
};

struct LaunchRecord {
  std::string kernel; ///< mangled
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint64_t dynamicSharedBytes = 0;
  /// This launch and later ones like it, which the device left out because they
  /// provably change nothing; time and totals count them all.
  unsigned repeats = 1;
  std::vector<DeviceFinding> findings;
  std::optional<kbrt::KernelCounters> counters;
  double wallSeconds = 0;
};

struct RunResult {
  RunStatus status = RunStatus::Ok;
  std::string message; ///< empty if Ok; names kernel, thread and line
  std::vector<LaunchRecord> launches;
  /// Findings of no launch: changed guard zones, changed const inputs, steps in no order.
  std::vector<DeviceFinding> findings;
  /// Why a checked run does not know whether steps in no order use the same bytes; empty if it
  /// does.
  std::string orderUnknown;
  /// Of a run in mode Check or Search, which of the source was executed.
  kbrt::Coverage coverage;
  /// In mode Search, how near the run came to the rest.
  std::vector<kbrt::NearPlace> near;
  /// Bytes of each read step of the plan, in order. In mode Oracle a kbrt::OracleElement for each
  /// floating-point number that it reads, and nothing for a step that reads other types.
  std::vector<SharedBytes> outputs;
  /// Where a repetition's outputs differed from the first one's; empty if all agree.
  std::string variation;
  double wallSeconds = 0;
  /// What the CPU device computed in that time, which depends less on what else the machine does;
  /// on a GPU the time that passed.
  double busySeconds = 0;
  /// All findings that are not benign, in one line each.
  std::vector<std::string> defects() const;
};

/// Thread-safe. Errors are environment failures (`ToolError`, `StoreError`);
/// what the program does wrong is in the result.
class Device {
public:
  virtual ~Device();
  virtual llvm::StringRef name() const = 0; ///< "cpu"
  /// An error of kind `ToolError` with status Diagnostics means that the program
  /// cannot be built for this device, and names the construct.
  virtual llvm::Expected<DeviceImage> build(const ProgramArtefacts &program, RunMode mode) = 0;
  virtual llvm::Expected<DeviceIdentity> identify(const DeviceImage &image) = 0;
  /// \p planFolder holds plan.json and data.bin (kbrt/Plan.h).
  virtual llvm::Expected<RunResult> run(const DeviceImage &image, llvm::StringRef planFolder,
                                        const RunOptions &options) = 0;
};

/// Reads the `counters` object of docs/JobFormat.md.
bool fromJSON(const llvm::json::Value &value, kbrt::KernelCounters &counters,
              llvm::json::Path path);

} // namespace kbopt

#endif // KBOPT_EVAL_DEVICE_H
