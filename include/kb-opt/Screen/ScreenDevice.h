//===- ScreenDevice.h - A device that screens candidates --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface between screening and what executes: one original whose inputs and
// results stay where they are, and candidates that are run beside it, compared and timed. What is
// compared is reported as figures; what they mean is decided by the caller (Screen.h).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCREEN_SCREENDEVICE_H
#define KBOPT_SCREEN_SCREENDEVICE_H

#include "kb-opt/Eval/Device.h"
#include "kbrt/Plan.h"

namespace kbopt {

/// Machine code, and the folder of a plan (plan.json, data.bin) for each set of inputs: the
/// recorded one first. A candidate has as many as its original, with equal uploads and reads.
struct ScreenSubject {
  std::string cubinPath;
  std::vector<std::string> planFolders;
};

/// One output of a candidate against the original's on one set of inputs.
struct OutputMatch {
  std::string name; ///< of the read step
  kbrt::ElementType type = kbrt::ElementType::Unknown;
  uint64_t elements = 0;  ///< bytes, where the type is unknown
  uint64_t differing = 0; ///< with other bits; all NaNs are one value
  /// Of those, elements that are finite in one of them alone, or NaN in one alone, or another
  /// infinity.
  uint64_t otherClass = 0;
  /// Of elements that are finite in both: the largest |c - r| / max(|r|, rms(r)), where rms is
  /// over the finite elements of the original's output. 0 for exact types.
  double largestError = 0;
  double relativeL2 = 0; ///< over the same elements, in double
};

struct ScreenedLaunch {
  std::string kernel; ///< mangled
  double us = 0;
};

/// What became of one program. Where `status` is not Ok, nothing but `message` and, where it is
/// known, `set` is filled in.
struct ScreenReport {
  RunStatus status = RunStatus::Ok;
  std::string message; ///< why not: "an illegal address", "writes outside its buffers", …
  unsigned set = 0;    ///< the set of inputs on which it ended badly
  std::vector<std::vector<OutputMatch>> matches; ///< by set of inputs, then by read step
  std::vector<ScreenedLaunch> launches;          ///< of the recorded set, in order
  /// Of the whole plan on the recorded set with cold caches, in one process, original and candidate
  /// in turns of A B B A; 0 where nothing was timed.
  double originalUs = 0, candidateUs = 0;
  unsigned samples = 0; ///< pairs
  uint64_t peakDeviceBytes = 0;
};

struct ScreenRequest {
  /// Written into every byte of fresh memory before each run; every second set gets the complement.
  uint8_t poison = 0xCB;
  /// The candidate is ended after max(20 times the original's time, this).
  double leastLimitSeconds = 2;
  unsigned mostSamples = 8; ///< pairs
  double apartRatio = 1.25; ///< all samples so far apart: enough is known
  bool isTimed = true;
  bool isFresh = false; ///< in a process that has run no other candidate
};

/// Thread-safe; candidates that come together are run one after the other, and their timings
/// exclude each other and those of other processes.
class ScreenDevice {
public:
  virtual ~ScreenDevice();
  /// Takes the inputs of \p original, runs it twice on each set, and keeps its results; called
  /// once, before any `screen`. The matches are those of its second run with its first one: an
  /// original that gives the same results again differs nowhere. Errors are the machine's: no GPU,
  /// no memory, a driver that cannot do it (a `ToolError`, whose message says which).
  virtual llvm::Expected<ScreenReport> open(const ScreenSubject &original,
                                            const ScreenRequest &request) = 0;
  /// Runs \p candidate once on each set, compares, and times it against the original. Whatever it
  /// does wrong is in the report.
  virtual llvm::Expected<ScreenReport> screen(const ScreenSubject &candidate,
                                              const ScreenRequest &request) = 0;
};

} // namespace kbopt

#endif // KBOPT_SCREEN_SCREENDEVICE_H
