//===- NodeRewrites.h - From a program to the next --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a pass or a reply makes of a program, and what the new program promises.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODEREWRITES_H
#define KBOPT_LIB_CANDIDATE_NODEREWRITES_H

#include "NodeTable.h"
#include "kb-opt/Assisted/ReplyStore.h"
#include "kb-opt/Candidate/JournaledAnswers.h"
#include "kb-opt/Candidate/RewriteRecord.h"

namespace kbopt {

/// Thread-safe.
class NodeRewrites {
public:
  NodeRewrites(const CandidateSetup &setup, JournaledAnswers &answers, NodeTable &nodes,
               ReplyStore &replies)
      : setup(setup), answers(answers), nodes(nodes), replies(replies) {}

  llvm::Expected<StepOutcome> rewrite(const NodeId &id, const Step &step);

private:
  llvm::Expected<RewriteRecord> compute(const NodeId &id, const Step &step);
  CandidatePromise promiseBehind(const NodeId &id, const Step &step,
                                 const RewriteRecord &record) const;
  /// The node of what \p record holds, which \p step made of \p id.
  NodeId add(const NodeId &id, const Step &step, const RewriteRecord &record);
  /// One line on the reply that \p step carries out; empty: it carries out none.
  std::string replySummary(const Step &step) const;

  const CandidateSetup &setup;
  JournaledAnswers &answers;
  NodeTable &nodes;
  ReplyStore &replies;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODEREWRITES_H
