//===- State.h - From counters to a performance state -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the rules that name a kernel's bottleneck. The rules and their
// thresholds are data (knowledge/states/*.json); this is only their
// evaluation. Where a counter is missing the answer is "unknown", never a guess.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_STATE_H
#define KBOPT_KNOWLEDGE_STATE_H

#include "kb-opt/Knowledge/MetricExpression.h"
#include "kb-opt/Target/ChipInfo.h"
#include <string>
#include <vector>

namespace kbopt {

/// The state of a kernel for which no rule could be decided.
inline constexpr llvm::StringLiteral unknownState = "unknown";
/// All rules were decided and none holds.
inline constexpr llvm::StringLiteral balancedState = "balanced";

/// What a metric says about one bottleneck.
struct StateShare {
  std::string name;    ///< "memory_bandwidth_saturated"
  double blame = 0;    ///< fraction of the time it is blamed for, in [0, 1]; NaN: unknown
  bool hiding = false; ///< latency that other work could hide, not work to remove
  std::string why;     ///< one sentence with the figures that decided
};

/// A performance signature.
struct State {
  std::string primary = unknownState.str();
  std::string secondary; ///< empty: none
  /// Of the primary, by a discovered state (`KnowledgeBase::classify`); empty: none.
  std::string refinement;
  /// Time over the roofline floor, >= 1; NaN where either is unknown.
  double headroom = std::numeric_limits<double>::quiet_NaN();
  /// Every rule that holds, in the order of the rules; those that blame next to
  /// nothing last.
  std::vector<StateShare> shares;
  /// Issue-active fraction of the time in [0, 1]; NaN where unknown.
  double active = std::numeric_limits<double>::quiet_NaN();
  /// Metrics that an undecided rule lacked, sorted.
  std::vector<std::string> missing;
  /// A rule before the primary's could not be decided.
  bool degraded = false;

  /// "primary", or "primary/refinement": what evidence is filed under.
  std::string fullName() const { return refinement.empty() ? primary : primary + "/" + refinement; }
  /// The sentences of the primary and the secondary, for people.
  std::string why() const;
  /// The share called \p name, or null.
  const StateShare *share(llvm::StringRef name) const;
};

/// The rules. Immutable after parsing.
class StateRules {
public:
  /// The built-in ones.
  static const StateRules &builtin();
  /// A `StoreError` names \p fileName and the rule.
  static llvm::Expected<StateRules> parse(llvm::StringRef json, llvm::StringRef fileName);

  /// \p metrics: CUPTI names and the few `launch__` and `kb__` names that
  /// docs/Knowledge.md lists. Values that are not finite count as missing.
  State classify(const MetricMap &metrics) const;
  /// \p metrics and the figures derived of them: what a rule may speak of.
  MetricMap figures(const MetricMap &metrics) const;
  /// Names of all states, in the order of the rules.
  std::vector<std::string> names() const;
  /// Short code of the catalogue ("BW"), or the name itself.
  std::string codeOf(llvm::StringRef name) const;
  std::string nameOf(llvm::StringRef code) const;

private:
  struct Derived {
    std::string name;
    MetricExpression value;
  };
  struct Rule {
    std::string state, why;
    MetricExpression when, blame;
    bool hiding = false;
  };
  struct Name {
    std::string state, code;
  };
  /// The figures; \p lacking: which of the given metrics each unknown one lacks.
  MetricMap derive(const MetricMap &given,
                   std::map<std::string, std::set<std::string>> &lacking) const;

  std::vector<Derived> derived;
  std::vector<Rule> rules;
  std::vector<Name> stateNames;
  double leastBlame = 0;
};

/// Speedup expected where a share \p removed of the time that \p share blames
/// goes away, in the manner of GPA (Zhou et al., CGO 2021, section 5): elimination
/// T / (T - B), latency hiding T / (T - min(A, B)), which is at most 2. At most
/// the state's headroom where that is known. Returns its natural logarithm,
/// >= 0; NaN where the blame is unknown.
double predictedLogGain(const State &state, const StateShare &share, double removed);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_STATE_H
