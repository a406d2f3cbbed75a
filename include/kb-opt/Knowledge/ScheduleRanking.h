//===- ScheduleRanking.h - What other kernels tell of schedules -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the order in which the schedules of a kernel are tried: the model's times, corrected by what
// schedules of nests like it took beside what the model had said. docs/Knowledge.md gives the
// formulas.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_SCHEDULERANKING_H
#define KBOPT_KNOWLEDGE_SCHEDULERANKING_H

#include "kb-opt/Core/NestFacts.h"
#include "kb-opt/Knowledge/EvidenceLog.h"
#include <functional>

namespace kbopt {

/// Kernels of which schedules were tried, and how far each speaks for another kernel.
struct RankingVoice {
  Digest program; ///< whose kernel it is
  std::string chip, device;
  double weight = 0; ///< likeness of the nests times trust, in (0, 1]
  std::vector<Digest> records;
};

/// A schedule by its text: `rows team=32 vector=4`.
struct ScheduleKeys {
  explicit ScheduleKeys(llvm::StringRef text);
  struct Value {
    std::string text;
    double number = 0; ///< 0: it is none
  };
  std::string sketch;
  std::map<std::string, Value> values;
};

/// A function of the set of records and of nothing else. Immutable.
class ScheduleRanking {
public:
  /// \p trust: KnowledgeBase::trust.
  using Trust = std::function<double(const std::string &chip, llvm::StringRef device)>;

  ScheduleRanking() = default;
  /// Of the attempts of \p evidence that \p counted (experimentsOf) lets stand for themselves.
  ScheduleRanking(const EvidenceSet &evidence, const std::map<Digest, Digest> &counted);

  /// \p schedules, most promising first by the model, in the order in which they should be tried.
  /// Where nothing is known of nests like that of \p facts the order stays.
  std::vector<std::string> order(const NestFacts &facts, llvm::ArrayRef<std::string> schedules,
                                 const Trust &trust) const;
  /// The logarithm of the factor by which \p schedule takes longer than the model says, compared
  /// with other schedules of the same kernel; 0 where nothing is known.
  double correction(const NestFacts &facts, llvm::StringRef schedule, const Trust &trust) const;
  /// Whose records speak for a kernel with \p facts, the nearest first.
  std::vector<RankingVoice> voices(const NestFacts &facts, const Trust &trust) const;

private:
  struct Tried {
    Digest record;
    ScheduleKeys schedule;
    Digest program;
    double residual = 0; ///< log of measured over modelled, less the mean of the kernel
  };
  /// Of one kernel of one program on one chip.
  struct Kernel {
    std::map<std::string, double> figures;
    Digest program;
    std::string chip, device;
    std::vector<Tried> tried; ///< two at least
  };
  std::vector<Kernel> kernels;
};

/// How much alike two nests are by their figures, in (0, 1].
double nestLikeness(const std::map<std::string, double> &a, const std::map<std::string, double> &b);
/// How much alike two schedules are: 0 for different sketches, 1 for the same.
double scheduleLikeness(const ScheduleKeys &a, const ScheduleKeys &b);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_SCHEDULERANKING_H
