//===- JournaledGates.h - What the judge keeps, in the journal --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns under which requests the journal keeps the answers of single gates.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_JOURNALEDGATES_H
#define KBOPT_CANDIDATE_JOURNALEDGATES_H

#include "kb-opt/Candidate/JournaledAnswers.h"
#include "kb-opt/Eval/Judge.h"

namespace kbopt {

/// What gates found for one candidate, or what is known of the original. Thread-safe.
class JournaledGates : public GateStore {
public:
  /// \p answers outlives it. \p candidate: the digest of its program; empty: the original.
  explicit JournaledGates(JournaledAnswers &answers, Digest candidate = "")
      : answers(answers), candidate(std::move(candidate)) {}

  std::optional<std::string> find(llvm::StringRef name) override {
    return answers.find(kind, request(name));
  }
  void keep(llvm::StringRef name, llvm::StringRef text) override {
    answers.keep(kind, request(name), text);
  }

private:
  static constexpr llvm::StringLiteral kind = "gate";
  Digest request(llvm::StringRef name) const {
    return candidate.empty() ? answers.request({name}) : answers.request({candidate, name});
  }

  JournaledAnswers &answers;
  const Digest candidate;
};

} // namespace kbopt

#endif // KBOPT_CANDIDATE_JOURNALEDGATES_H
