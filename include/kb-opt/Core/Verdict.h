//===- Verdict.h - The words of verdicts ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the enumerations that the judge, the search, the evidence and the reports share: how
// something that was tried ended, why it failed, and which gate said so. Their names are those of
// every file format; records turn them into text in their codecs alone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CORE_VERDICT_H
#define KBOPT_CORE_VERDICT_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace kbopt {

/// How something that was tried ended.
enum class VerdictKind {
  Correct,      ///< every gate passed
  Incorrect,    ///< a gate failed
  Inconclusive, ///< could not be decided: the baseline stays, and the reason is told
  NotApplied,   ///< there is no candidate: the pass found nothing to do, or no proposal came
  /// Screened: equal to the original on the inputs of the screening, and timed; nothing is proven.
  Screened,
};

/// Why a candidate is not correct, in the tuning community's words, or why there is none.
enum class FailureClass {
  None,
  Compile,
  Runtime,
  Correctness,
  Timeout,
  Constraints,      ///< a rule of the judge, or one on edits
  SoftVerification, ///< every gate passed, and the verifier role refused it
  Idle,             ///< no launch of the workload takes what was made
  // Why a model gave no proposal.
  Library,     ///< its code calls a library of kernels
  Refused,     ///< the provider or the model refused
  Malformed,   ///< no reply that fits after all repairs
  Truncated,   ///< cut off, and still too long when asked for less
  ToolLimit,   ///< it asked for tools in place of answering
  Declined,    ///< the planner sees no use
  Budget,      ///< nothing was sent: a budget is spent, and no more is asked
  Unavailable, ///< no reply, which says nothing about the pass
};

/// The gates of docs/Verification.md in the order in which they run.
enum class GateId { G0, G1, G2, G3, G4, G5, G6, G7, G8, G9, G10, G11, G12, G13, G14, G15 };

llvm::StringRef toString(VerdictKind kind);     ///< "correct", …
llvm::StringRef toString(FailureClass failure); ///< "compile", …; "" for None
llvm::StringRef toString(GateId gate);          ///< "G0", …
/// "" for no gate.
llvm::StringRef toString(std::optional<GateId> gate);
llvm::StringRef gateTitle(GateId gate); ///< "provenance", "compile", …
/// The value of that name; none if there is none.
std::optional<VerdictKind> parseVerdictKind(llvm::StringRef text);
std::optional<FailureClass> parseFailureClass(llvm::StringRef text);
std::optional<GateId> parseGateId(llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_CORE_VERDICT_H
