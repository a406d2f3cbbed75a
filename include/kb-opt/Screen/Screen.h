//===- Screen.h - Candidates in milliseconds --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the figures of a ScreenDevice mean: whether a candidate may be gone on from, and how
// long it takes. Screening loses no candidate that the gates would accept, and proves nothing
// (docs/Search.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCREEN_SCREEN_H
#define KBOPT_SCREEN_SCREEN_H

#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Core/Verdict.h"
#include "kb-opt/Screen/ScreenDevice.h"
#include "llvm/Support/JSON.h"

namespace kbopt {

class GpuDevice;

/// How close a candidate's results are to the original's.
enum class Closeness {
  Equal,    ///< every bit
  Within,   ///< inside the bound of a few roundings
  Possible, ///< a long sum in another order may differ so far
  Off       ///< no order of operations gives that
};

/// What \p match says under \p promise. \p own is the original's second run on the same inputs:
/// what differs there by itself is no fault of a candidate.
Closeness closenessOf(const OutputMatch &match, const OutputMatch &own, Promise promise);

/// What screening says of a program.
struct ScreenedProgram {
  VerdictKind verdict = VerdictKind::Inconclusive; ///< Screened, Incorrect or Inconclusive
  FailureClass failure = FailureClass::None;
  std::string reason;
  /// Microseconds of the whole plan; of a candidate the original's first time over the ratio of the
  /// two as they were timed beside each other.
  double us = 0;
  Closeness closeness = Closeness::Equal;
  std::vector<ScreenedLaunch> launches;
};

llvm::json::Value toJSON(const ScreenedProgram &program);
bool fromJSON(const llvm::json::Value &value, ScreenedProgram &program, llvm::json::Path path);

/// One original and its candidates. Thread-safe after `open`.
class Screen {
public:
  explicit Screen(std::unique_ptr<ScreenDevice> device) : device(std::move(device)) {}
  /// Called once, before `candidate`. Errors are the machine's.
  llvm::Expected<ScreenedProgram> open(const ScreenSubject &original);
  /// \p isFresh: code that no rule wrote.
  llvm::Expected<ScreenedProgram> candidate(const ScreenSubject &subject, Promise promise,
                                            bool isFresh);

private:
  std::unique_ptr<ScreenDevice> device;
  ScreenReport original;
  double originalUs = 0;
};

/// Screening by the jobs that the judge sends as well: for devices that cannot lend their memory to
/// another process (another machine's, an old driver's). \p gpu outlives it.
std::unique_ptr<ScreenDevice> createJobScreen(GpuDevice &gpu);

/// A screen on each of several GPUs: the original is opened on all, and a candidate goes to one
/// that does nothing. Figures of different GPUs are only compared by their ratio to the original.
std::unique_ptr<ScreenDevice> createCardsScreen(std::vector<std::unique_ptr<ScreenDevice>> cards);

/// `candidate` against `reference`, two results of one read step of \p type.
OutputMatch matchOutput(llvm::StringRef name, kbrt::ElementType type,
                        llvm::ArrayRef<uint8_t> reference, llvm::ArrayRef<uint8_t> candidate);

} // namespace kbopt

#endif // KBOPT_SCREEN_SCREEN_H
