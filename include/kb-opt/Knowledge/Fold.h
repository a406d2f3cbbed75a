//===- Fold.h - From evidence to statistics ---------------------*- C++ -*-===//
//
// Owns the pure function from a set of evidence records to what is known. The
// same set gives the same bytes on any machine: records are folded in the order
// of their ids and sums are compensated (Neumaier).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_FOLD_H
#define KBOPT_KNOWLEDGE_FOLD_H

#include "kb-opt/Knowledge/EvidenceLog.h"

namespace kbopt {

/// Count, mean and variance of logarithmic gains.
struct GainStatistics {
  uint64_t count = 0;
  double mean = 0;
  double variance = 0; ///< of the sample (n - 1); 0 below two values
};

/// What is known of one pass in one state on one chip.
struct PassStatistics {
  uint64_t tries = 0;   ///< records
  uint64_t applied = 0; ///< tries that changed the code
  uint64_t correct = 0; ///< applied tries that passed every gate
  GainStatistics gain;  ///< own gains of the correct ones
  GainStatistics credit;
  /// Over tries with both: mean of the prediction, and mean of achieved less
  /// predicted.
  double predictedMean = 0, gapMean = 0;
  uint64_t predicted = 0;
};

/// Modelled and measured gains of one chip are kept apart by `device`.
struct PassKey {
  std::string state, pass, chip, device;
  auto operator<=>(const PassKey &) const = default;
};

/// How `after` fares in a pipeline right behind `before`.
struct EdgeKey {
  std::string before, after, chip, device;
  auto operator<=>(const EdgeKey &) const = default;
};

struct FailureKey {
  std::string pass, gate, failure;
  auto operator<=>(const FailureKey &) const = default;
};

struct FailureStatistics {
  uint64_t count = 0;
  std::string reason; ///< of the record with the smallest id
};

struct FoldedKnowledge {
  uint64_t records = 0; ///< in the set
  /// Left out: the same experiment on the deterministic CPU device again.
  uint64_t repeated = 0;
  Digest evidence; ///< digest of the ids of all records
  std::map<PassKey, PassStatistics> passes;
  std::map<EdgeKey, GainStatistics> edges;
  std::map<FailureKey, FailureStatistics> failures;
  /// Gains per text of the parameters ("factor=4").
  std::map<PassKey, std::map<std::string, GainStatistics>> parameters;
};

FoldedKnowledge foldEvidence(const EvidenceSet &evidence);

/// Indented JSON with sorted keys and a fixed form of numbers.
std::string toJson(const FoldedKnowledge &knowledge);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_FOLD_H
