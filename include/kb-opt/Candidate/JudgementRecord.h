//===- JudgementRecord.h - What the judge found ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record of one judgement, with the speed of a program that is correct, and its codec.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_JUDGEMENTRECORD_H
#define KBOPT_CANDIDATE_JUDGEMENTRECORD_H

#include "kb-opt/Eval/Verdict.h"
#include "kb-opt/Knowledge/MetricExpression.h"
#include "kb-opt/Support/Digest.h"

namespace kbopt {

/// A kernel of the source: all its launches, with the metrics and shape of the instance that took
/// most time.
struct JudgedKernel {
  double us = 0;
  MetricMap metrics = {};
  std::string shape = {};
};

/// How fast a correct program is.
struct JudgedSpeed {
  Digest code;               ///< of its machine code
  double us = 0;             ///< measured where a GPU measures, else modelled
  double modelledUs = 0;     ///< where `us` is measured; 0: unknown
  double floorUs = 0;        ///< 0: unknown
  MetricMap metrics = {};    ///< of the kernel that takes most time
  std::string shape = {};    ///< likewise
  std::string degraded = {}; ///< why there are no counters of the GPU
  std::map<std::string, JudgedKernel> kernels = {}; ///< by the name in the source
  double kernelsUs = 0;  ///< of `us`, in which kernels run, as far as `launches` is known
  uint64_t launches = 0; ///< 0: unknown
};

struct JudgementRecord {
  Verdict verdict;
  std::optional<JudgedSpeed> speed = {}; ///< of a correct program
};

llvm::json::Value toJSON(const JudgementRecord &record);
bool fromJSON(const llvm::json::Value &value, JudgementRecord &record, llvm::json::Path path);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_JUDGEMENTRECORD_H
