//===- RankingCheck.h - How well evidence orders schedules ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the check of ScheduleRanking: each program's schedules in the order that the records of all
// other programs give, beside the times that they took.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_RANKINGCHECK_H
#define KBOPT_KNOWLEDGE_RANKINGCHECK_H

#include "kb-opt/Knowledge/KnowledgeBase.h"

namespace kbopt {

/// How an order fares; times are of one kernel with all its schedules that were tried.
struct OrderFigures {
  double firstOverBest = 0; ///< best time over that of the first schedule, in (0, 1]
  double fourOverBest = 0;  ///< the same of the best of the first four
  unsigned untilGood = 0;   ///< schedules until one is within 5 % of the best
  double correlation = 0;   ///< Spearman's, of places and times
};

struct CheckedSchedule {
  std::string schedule;
  double time = 0;      ///< over the best one's
  unsigned byModel = 0; ///< places from 1
  unsigned byEvidence = 0;
};

/// One kernel of one program.
struct CheckedKernel {
  Digest program;
  std::string chip, device;
  std::map<std::string, double> figures;
  OrderFigures model, evidence;
  std::vector<CheckedSchedule> schedules; ///< in the order by evidence
  std::vector<RankingVoice> voices;
};

/// Every kernel of \p evidence of which three schedules were tried at least, each program judged by
/// the others' records alone; in the order of programs. An error: a chip is unknown.
llvm::Expected<std::vector<CheckedKernel>> checkRanking(const EvidenceSet &evidence);

/// Geometric means of ratios and counts, and the mean correlation, of \p kernels, by evidence or by
/// the model.
OrderFigures meanOf(llvm::ArrayRef<CheckedKernel> kernels, OrderFigures CheckedKernel::*order);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_RANKINGCHECK_H
