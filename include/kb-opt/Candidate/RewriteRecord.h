//===- RewriteRecord.h - What a step made of a program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record of one rewrite and its codec.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_REWRITERECORD_H
#define KBOPT_CANDIDATE_REWRITERECORD_H

#include "kb-opt/Assisted/Refusal.h"
#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "llvm/Support/JSON.h"

namespace kbopt {

/// A program, or the reason why the step makes none.
struct RewriteRecord {
  std::optional<std::string> text;        ///< of the new program
  std::string reason;                     ///< where there is no `text`
  std::optional<EditRule> refusedBy = {}; ///< likewise: the rule that the step's reply breaks
  // What follows tells of `text`.
  Digest host = {}; ///< of its host text
  std::vector<JudgedEdit> edits = {};
  /// Of this step alone.
  Promise promise = Promise::Bitwise;
  std::vector<Assumption> assumes = {};
  std::optional<ScheduleRun> run = {}; ///< that the step belongs to

  static RewriteRecord none(std::string reason) { return {std::nullopt, std::move(reason)}; }
};

/// \p before with what \p rewrite promises and assumes beside it.
CandidatePromise weaken(CandidatePromise before, const RewriteRecord &rewrite);

llvm::json::Value toJSON(const RewriteRecord &record);
bool fromJSON(const llvm::json::Value &value, RewriteRecord &record, llvm::json::Path path);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_REWRITERECORD_H
