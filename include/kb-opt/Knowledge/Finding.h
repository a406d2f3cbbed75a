//===- Finding.h - What a role concluded from evidence ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the records in words beside the attempts: lessons, discovered states and
// proposed optimizations, with the evidence that each rests on. No finding
// changes what attempts say; a proposal is a prior where the seed has none.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_FINDING_H
#define KBOPT_KNOWLEDGE_FINDING_H

#include "kb-opt/Support/Digest.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

enum class FindingKind {
  Lesson,   ///< something to know about a state, or about a pass in it
  State,    ///< a state that the rules do not tell apart
  Proposal, ///< an optimization for a state in which it was not tried
};
/// "lesson", "state", "proposal".
llvm::StringRef findingKindName(FindingKind kind);
std::optional<FindingKind> findingKindFromName(llvm::StringRef name);

/// Immutable once written.
struct Finding {
  FindingKind kind = FindingKind::Lesson;
  /// What it is about, "state" or "state/refinement". A discovered state: its
  /// parent, which is a state of the rules.
  std::string state;
  /// Discovered state: its own name (a letter, then letters, digits, `_`, all
  /// lower case); people and evidence see "state/name".
  std::string name;
  /// Discovered state: condition over the metrics and figures of docs/Knowledge.md
  /// in the language of MetricExpression.h; empty: in words only, never matched
  /// by rule.
  std::string rule;
  std::string pass; ///< lesson: may be empty, about the state; proposal: the pass
  std::string chip; ///< empty: any
  /// The words: one line, at most `findingTextBytes`. See `findingText`.
  std::string text;
  std::optional<double> predictedGain; ///< proposal: natural logarithm, above 0
  /// Ids of the attempts that it rests on: at least one for a lesson, at most
  /// `findingEvidenceIds`. Order and repetition make no difference.
  std::vector<Digest> evidence;
  std::string role;  ///< its author: "evaluator", "gap-analyst", "updater", "state", "user"
  Digest transcript; ///< of the request that it was the answer to; empty: no model
  std::map<std::string, std::string> versions; ///< kb-opt
  std::string time;                            ///< UTC, RFC 3339; no part of the name

  /// "parent/name" of a discovered state, else `state`.
  std::string stateName() const;
  /// Digest of everything but `time`.
  Digest id() const;
  /// One line of JSON with sorted keys.
  std::string toLine() const;
  /// A `StoreError` that names the field that a reader would refuse.
  llvm::Error check() const;
};

inline constexpr size_t findingTextBytes = 400, findingEvidenceIds = 32;

/// \p words as a finding's text: valid UTF-8 on one line, single spaces, no control
/// characters, cut after a whole character at \p limit bytes.
std::string findingText(llvm::StringRef words, size_t limit = findingTextBytes);

/// What `parseEvidence` says of an attempt, and what `Finding::check` says.
llvm::Expected<Finding> parseFinding(llvm::StringRef line);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_FINDING_H
