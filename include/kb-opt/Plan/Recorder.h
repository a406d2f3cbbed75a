//===- Recorder.h - Running a program for its plan --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the runs of the user's program against libkbrecord: the environment it
// gets, its limits, and what its end means. Compiling and linking it belongs
// to Source, images to Eval.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_RECORDER_H
#define KBOPT_PLAN_RECORDER_H

#include "kb-opt/Plan/OtherDevice.h"
#include "kb-opt/Support/Process.h"
#include "kbrt/PointeeTypes.h"
#include <functional>
#include <map>

namespace kbopt {

struct RecordLimits {
  double wallSeconds = 120;
  /// Beside the device arena; not limited on a GPU, whose driver takes address space at will.
  uint64_t hostBytes = uint64_t(8) << 30;
  uint64_t deviceBytes = uint64_t(8) << 30; ///< cudaMalloc and its kin, live at once
  uint64_t fileBytes = uint64_t(8) << 30;   ///< data.bin and observables.bin, each
  uint64_t outputBytes = 64u << 20;         ///< of stdout and stderr
  /// The program ends, well, in place of the launch after that many; 0: no limit.
  uint64_t launches = 0;
};

using kbrt::KernelTypes;
/// By mangled name.
using KernelRegisters = std::map<std::string, unsigned>;

/// Folders of recordings of one plan.
struct UploadReplacement {
  std::string recorded, varied;
};

struct RecordRequest {
  std::string name;       ///< in messages; empty: the executable's file name
  std::string executable; ///< linked with libkbrecord
  /// Decides where kernels execute: a CPU image on the CPU device, a cubin on a GPU of this
  /// machine. Oracle-fed runs execute none and need no GPU for a cubin.
  std::string image;
  unsigned deviceIndex = 0;         ///< of the GPU
  std::string rounding = "nearest"; ///< of kernels on the CPU device: or "up", "down"
  /// Of kernels and variables whose names do not tell all types.
  KernelTypes kernelTypes;
  std::vector<std::string> arguments;
  std::string standardInput;
  std::vector<std::string> environment; ///< NAME=value
  std::string workingDirectory;         ///< empty: the caller's
  std::string folder;                   ///< receives the recording; created if missing
  /// Where kb-opt's own folder and files are made visible is up to the
  /// recorder: it adds `folder` (writable), executable, image and oracle.
  std::optional<Sandbox> sandbox;
  RecordLimits limits;
  /// Of an oracle-fed run: all results have been read and no CUDA call comes for so long, then the
  /// program ends, well, and the plan's outcome says so. What it does with its results takes some
  /// programs longer than all the rest. 0: it ends by itself.
  double quietSeconds = 0;
  /// The program sees this device in the place of the one that the recorder otherwise describes,
  /// and buffers at other addresses; null: it does not.
  const OtherDevice *elsewhere = nullptr;
  /// Other numbers than usual: from the C library's random number generators, and in what the
  /// program reads of its working directory. 0: the usual ones.
  unsigned otherSources = 0;
  /// How many times as fast as usual the clock behind events goes, of a program that is executed or
  /// fed: what it prints of that clock is told from the rest by it.
  unsigned clockPace = 1;
  /// The program's uploads of what was uploaded in one recording carry what is uploaded in another
  /// one of the same plan. Its host keeps what it had.
  std::optional<UploadReplacement> replacement = {};
  /// Of an oracle-fed run: only its calls count. Uploads have no bytes, results are zero, and
  /// memory is handed out and never touched, so that sizes may be those of a whole device.
  bool isDry = false;
  /// Of kernels, per thread, as their compiler says; what is not named has a middling number.
  KernelRegisters registers = {};
  /// Not of an oracle-fed run: called once when the program has read a result and then makes no
  /// CUDA call for a while, with a folder beside `folder` that holds the plan so far and the data
  /// of its uploads. On a thread of its own, while the program runs. What comes later may differ:
  /// the recording alone counts.
  std::function<void(const std::string &folder)> onDraft;
};

enum class RecordStatus : uint8_t {
  Good,
  ProgramFailed, ///< ended by itself with a status other than 0, or by abort
  Crashed,       ///< a signal in host code
  KernelFault,   ///< a kernel went wrong
  TimedOut,
  OutOfMemory, ///< host or device memory, or the recording's size
  Unsupported, ///< a CUDA call or option that the recorder does not have
  Mismatch,    ///< oracle-fed: reads do not follow the oracle's sequence
  NoDevice     ///< there is no GPU to record on, or it was lost
};

/// What to do about a program whose recording failed with a message like \p reason; empty where the
/// message says all.
llvm::StringRef adviceOnProgram(llvm::StringRef reason);

/// "good", "program-failed", …
llvm::StringRef toString(RecordStatus status);

struct Recording {
  RecordStatus status = RecordStatus::Good;
  std::string message; ///< empty if good; lower case, names the program or call
  std::string note;    ///< what to do next; may be empty
  std::string folder;  ///< plan.json, data.bin, observables.bin
  kbrt::Plan plan;     ///< as far as the program came; complete if good
  std::string out, err;
  /// What the program wrote into its working directory and /tmp, by name; of a sandboxed run that
  /// records no steps.
  std::map<std::string, std::string> written;
  /// What the program looked at of this machine's files and folders, as absolute paths, without
  /// executable and image, and without what is its own in a sandbox; nothing if that is not known
  /// in full. Of a good recording.
  std::optional<std::vector<std::string>> inputs;
  /// Before its first read the program uploaded what RecordRequest::replacement does not know.
  bool hasUnknownUpload = false;
  int exitStatus = -1;
  double wallSeconds = 0;
  uint64_t peakMemoryBytes = 0;

  /// The bytes that the host read, in their order.
  llvm::Expected<std::string> observables() const;
  /// Success if good, otherwise message and note as a `UsageError` with exit
  /// status 1: the fault is in the input program. Without a device a `ToolError`.
  llvm::Error asError() const;
};

/// Whether the program ended as it wanted to, with whatever status.
bool hasEndedByItself(const Recording &recording);

/// Runs the program with kernels executing. Fails only if it could not be run at
/// all; what the program does wrong is in the status.
llvm::Expected<Recording> recordProgram(ProcessRunner &runner, const RecordRequest &request);

/// Runs the program without executing kernels: its n-th read is answered with
/// the n-th piece of the observables in \p oracleFolder (a recording of the
/// original program on the same input).
llvm::Expected<Recording> recordOracleFed(ProcessRunner &runner, const RecordRequest &request,
                                          llvm::StringRef oracleFolder);

/// Runs the program with kernels executing and records no steps: status, stdout
/// and exit status of the program as a whole (gate G14).
llvm::Expected<Recording> executeProgram(ProcessRunner &runner, const RecordRequest &request);

/// libkbrecord.so beside this executable or in the build's or installation's
/// lib folder; a `ToolError` if it is nowhere.
llvm::Expected<std::string> findRecordLibrary();

/// Whether the program \p executable, linked with libkbrecord, calls a function whose name begins
/// with one of \p names, or may: their names stand in it. Fails with a `StoreError` if it cannot be
/// read.
llvm::Expected<bool> mayCall(llvm::StringRef executable, llvm::ArrayRef<llvm::StringRef> names);

} // namespace kbopt

#endif // KBOPT_PLAN_RECORDER_H
