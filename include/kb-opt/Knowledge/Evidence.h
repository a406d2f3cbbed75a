//===- Evidence.h - One thing that was tried --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record of an attempt and its line of JSON. What a role concluded from
// attempts is Finding.h's, the log of both EvidenceLog.h's, and what follows from
// many records Fold.h's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_EVIDENCE_H
#define KBOPT_KNOWLEDGE_EVIDENCE_H

#include "kb-opt/Core/Verdict.h"
#include "kb-opt/Support/Digest.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// Immutable once written. Gains are natural logarithms of time before over
/// time after: positive is faster.
struct Evidence {
  std::string primary, secondary;    ///< the state before
  std::vector<std::string> features; ///< code features, sorted
  std::string shape;                 ///< kernel class: elementwise, reduction, …
  std::string pass;
  std::map<std::string, std::string> parameters;
  std::string predecessor; ///< pass before it in the same pipeline; empty: none
  std::string chip;
  std::string device; ///< "cpu-modelled" or "cuda"
  VerdictKind verdict = VerdictKind::Correct;
  std::optional<GateId> gate; ///< that failed
  FailureClass failure = FailureClass::None;
  std::string reason; ///< in words, one line
  /// What went wrong, in a few words that other attempts share ("missing barrier
  /// after the tile is filled"): a role's; empty: taken from `reason` when folded.
  std::string cause;
  std::optional<double> predictedGain;
  std::optional<double> achievedGain; ///< this step's own; only where correct
  /// Of a whole schedule: figures of the nest (NestFacts), and what the nest's model says a launch
  /// takes with it, in microseconds.
  std::map<std::string, double> nest;
  std::optional<double> estimatedUs;
  /// What the cost model says of the step, of all launches; only where times are measured and
  /// correct.
  std::optional<double> modelledGain;
  /// The step's own gain and the discounted gains that followed it in its
  /// pipeline.
  std::optional<double> creditGain;
  Digest reply;               ///< file of the model's reply that was applied; empty: no model
  std::string role;           ///< whose reply that is: "coder", "debugger"; empty: no model
  uint64_t tokens = 0;        ///< that the attempt took, over all roles; 0: none
  std::optional<double> cost; ///< in US dollars; nothing where unknown
  Digest program;             ///< of the original program and workload
  Digest before, after;       ///< machine code and plan before and after
  std::map<std::string, std::string> versions; ///< kb-opt, llvm, cuda
  std::string time;                            ///< UTC, RFC 3339; no part of the name

  /// Digest of everything but `time`: a run that is killed and started again
  /// names its records as it did the first time.
  Digest id() const;
  /// What was observed, without what was expected: two records of a
  /// deterministic device that agree in this are one observation. What a model
  /// replied is part of it, what that took is not.
  Digest experiment() const;
  /// One line of JSON with sorted keys.
  std::string toLine() const;
};

/// A missing, mistyped or unknown field, a newer version, an `id` that does not
/// match the content, or another kind of record is a `StoreError` that names it.
llvm::Expected<Evidence> parseEvidence(llvm::StringRef line);
/// The same of an attempt that something else than a search made: it has no `id` and no `v`.
llvm::Expected<Evidence> parseUnnamedEvidence(llvm::StringRef line);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_EVIDENCE_H
