//===- Words.h - What is kept of findings -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the pure function from records to the lessons, discovered states and
// proposals that stand: without repetition, in bounds, and without what attempts
// have outvoted. Fold.h calls it; no number of Fold.h depends on it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_WORDS_H
#define KBOPT_KNOWLEDGE_WORDS_H

#include "kb-opt/Knowledge/EvidenceLog.h"
#include "kb-opt/Knowledge/MetricExpression.h"
#include <set>

namespace kbopt {

/// What the attempts that a lesson rests on say of its pass.
enum class Claim { None, Works, Fails };
llvm::StringRef claimName(Claim claim);

/// A lesson with all of its repetitions.
struct Lesson {
  Digest id; ///< of the finding whose words these are
  std::string state, pass, text, role;
  std::set<std::string> chips;  ///< empty: any
  std::vector<Digest> evidence; ///< attempts in the set that it rests on, sorted
  Claim claim = Claim::None;
  uint64_t supports = 0; ///< attempts on the claim's side
  uint64_t against = 0;  ///< attempts on the other
};

struct DiscoveredState {
  Digest id;
  std::string parent, name, text, rule;
  MetricExpression condition; ///< empty: in words only
  uint64_t attempts = 0;      ///< that were made in it or are its examples
  std::string fullName() const { return parent + "/" + name; }
};

struct ProposedPass {
  Digest id;
  std::string state, pass, text, role;
  double predictedGain = 0; ///< mean of the proposals, each at most ln 2
  uint64_t proposals = 0;
  bool unproven = true; ///< the pass was not tried in the state
};

using StatePass = std::pair<std::string, std::string>;

/// Bounds that keep the words readable; docs/Knowledge.md gives the rules.
inline constexpr size_t lessonsPerPass = 3, lessonsInAll = 48, statesPerParent = 4,
                        proposalsPerState = 4, proposalsInAll = 24;

struct FoldedWords {
  std::map<StatePass, std::vector<Lesson>> lessons; ///< best supported first
  std::vector<DiscoveredState> states;              ///< in the order of matching
  std::map<StatePass, ProposedPass> proposals;
  // Left out:
  uint64_t duplicates = 0;  ///< lessons that say what another says
  uint64_t unsupported = 0; ///< lessons of whose evidence nothing is in the set
  uint64_t outvoted = 0;    ///< lessons that attempts contradict
  uint64_t crowdedOut = 0;  ///< findings beyond the bounds
};

/// \p counted: for every attempt of \p evidence the one that stands for its
/// experiment.
FoldedWords foldWords(const EvidenceSet &evidence, const std::map<Digest, Digest> &counted);

/// Whether what is said of state \p wide holds in \p narrow: the same, or a
/// refinement of it.
bool coversState(llvm::StringRef wide, llvm::StringRef narrow);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_WORDS_H
