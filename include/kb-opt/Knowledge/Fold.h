//===- Fold.h - From evidence to statistics ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the pure function from a set of evidence records to what is known. The
// same set gives the same bytes on any machine: records are folded in the order
// of their ids and sums are compensated (Neumaier).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_FOLD_H
#define KBOPT_KNOWLEDGE_FOLD_H

#include "kb-opt/Knowledge/Words.h"

namespace kbopt {

/// Count, mean and variance of logarithmic gains.
struct GainStatistics {
  uint64_t count = 0;
  double weight = 0; ///< of all values: 1 for a proven gain, less for one that was screened alone
  double mean = 0;
  double variance = 0; ///< of the sample (n - 1); 0 below two values
};

/// What is known of one pass in one state on one chip.
struct PassStatistics {
  uint64_t tries = 0;    ///< records, those of attempts that were screened alone not counted
  uint64_t applied = 0;  ///< tries that changed the code
  uint64_t correct = 0;  ///< applied tries that passed every gate
  uint64_t screened = 0; ///< attempts that were screened alone
  GainStatistics gain;   ///< own gains of the correct and the screened ones
  GainStatistics credit;
  /// Over tries with both: mean of the prediction, and mean of achieved less
  /// predicted.
  double predictedMean = 0, gapMean = 0;
  uint64_t predicted = 0;
};

/// Modelled and measured gains of one chip are kept apart by `device`.
struct PassKey {
  std::string state, pass, chip, device;
  std::string shape = {}; ///< of the kernel; empty: unknown
  auto operator<=>(const PassKey &) const = default;
};

/// How `after` fares in a pipeline right behind `before`.
struct EdgeKey {
  std::string before, after, chip, device;
  auto operator<=>(const EdgeKey &) const = default;
};

/// `cause`: a role's words, or `reasonClass` of the reason.
struct FailureKey {
  std::string pass;
  std::optional<GateId> gate;
  FailureClass failure = FailureClass::None;
  std::string cause;
  /// The order of the names, in which they are listed.
  bool operator<(const FailureKey &other) const;
  /// The failure, or else the gate.
  std::string word() const;
};

struct FailureStatistics {
  uint64_t count = 0;
  std::string reason;           ///< of the record with the smallest id
  std::set<std::string> states; ///< in which it was seen
};

/// What a reason has in common with others of its kind: lower case, numbers as
/// `#`, quoted names as `''`, paths as their file's name, at most 72 bytes.
std::string reasonClass(llvm::StringRef reason);

/// The best correct attempt that applied a model's reply.
struct WorkedExample {
  Digest attempt, reply;
  double gain = 0; ///< natural logarithm
  std::string shape, parameters;
};

struct FoldedKnowledge {
  uint64_t records = 0;  ///< attempts in the set
  uint64_t findings = 0; ///< in the set
  /// Left out: the same experiment on the deterministic CPU device again.
  uint64_t repeated = 0;
  Digest evidence; ///< digest of the ids of all findings and of the attempts that count
  /// Tokens and known cost of the attempts that count.
  uint64_t tokens = 0;
  double cost = 0;
  std::map<PassKey, PassStatistics> passes;
  std::map<EdgeKey, GainStatistics> edges;
  std::map<FailureKey, FailureStatistics> failures;
  /// Gains per text of the parameters ("factor=4").
  std::map<PassKey, std::map<std::string, GainStatistics>> parameters;
  std::map<PassKey, WorkedExample> examples;
  FoldedWords words;
};

FoldedKnowledge foldEvidence(const EvidenceSet &evidence);

/// The attempt that stands for the experiment of each attempt: itself, or, on the
/// deterministic CPU device, the one with the smallest id that observed the same.
std::map<Digest, Digest> experimentsOf(const EvidenceSet &evidence);

/// What `toJson` stays below, so that people read it.
inline constexpr size_t readableBytes = 50 * 1024;

/// Indented JSON with sorted keys and a fixed form of numbers, one row per line.
/// Below `readableBytes`: the rows with the fewest attempts behind them are left
/// out and counted in `leftOut`; \p everything keeps them all.
std::string toJson(const FoldedKnowledge &knowledge, bool everything = false);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_FOLD_H
