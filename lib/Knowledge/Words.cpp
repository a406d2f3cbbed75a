//===- Words.cpp - Folding of findings ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything is taken in the order of ids or sorted by a total order, so that
// the same set gives the same words on any machine.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Knowledge/Words.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

// A fused multiply-add would make the last bit depend on the machine.
#pragma STDC FP_CONTRACT OFF

using namespace kbopt;

namespace {

/// A gain of less says nothing: about 1 %.
constexpr double leastVote = 0.01;
/// A lesson falls when this many attempts contradict it, and more than
/// `outvotedTimes` as many as support it.
constexpr uint64_t leastAgainst = 3, outvotedTimes = 2;
/// Share of common words from which two lessons say the same.
constexpr double sameWords = 0.8;
/// ln 2: what a proposal counts for at most.
constexpr double largestProposal = 0.69314718055994531;

// --- Which lessons say the same.

struct WordSet {
  std::set<std::string> all, telling; ///< telling: numbers and negations
};

WordSet wordsOf(llvm::StringRef text) {
  static const std::set<std::string> negations = {
      "no",    "not",    "never",  "without", "avoid",   "avoids", "less",
      "fewer", "slower", "cannot", "don't",   "doesn't", "isn't",  "won't",
      "hurts", "fails",  "unless", "before",  "after"};
  WordSet words;
  std::string word;
  auto finish = [&] {
    while (!word.empty() && word.back() == '.')
      word.pop_back();
    if (word.empty())
      return;
    if (negations.count(word) || llvm::any_of(word, llvm::isDigit))
      words.telling.insert(word);
    words.all.insert(std::exchange(word, {}));
  };
  for (char c : text.lower())
    if (llvm::isAlnum(c) || c == '\'' || c == '_' || c == '.' || (c & 0x80))
      word += c;
    else
      finish();
  finish();
  return words;
}

bool saySame(const WordSet &a, const WordSet &b) {
  if (a.telling != b.telling)
    return false;
  size_t common = llvm::count_if(a.all, [&](const std::string &word) { return b.all.count(word); });
  size_t either = a.all.size() + b.all.size() - common;
  return either == 0 || static_cast<double>(common) >= sameWords * static_cast<double>(either);
}

// --- How attempts vote.

Claim voteOf(const Evidence &attempt) {
  if (attempt.verdict == VerdictKind::Incorrect)
    return Claim::Fails;
  // What was screened alone is no witness.
  if (attempt.verdict != VerdictKind::Correct || !attempt.achievedGain)
    return Claim::None;
  if (*attempt.achievedGain >= leastVote)
    return Claim::Works;
  return *attempt.achievedGain <= -leastVote ? Claim::Fails : Claim::None;
}

class Fold {
public:
  Fold(const EvidenceSet &evidence, const std::map<Digest, Digest> &counted)
      : evidence(evidence), counted(counted) {
    for (const auto &[id, attempt] : evidence.records())
      if (counted.at(id) == id)
        byPass[attempt.pass].push_back({id, &attempt});
  }

  FoldedWords run() {
    collectLessons();
    collectStates();
    collectProposals();
    return std::move(result);
  }

private:
  struct Candidate {
    Lesson lesson;
    WordSet words;
  };

  std::vector<Digest> known(const Finding &finding) const {
    std::vector<Digest> ids;
    for (const Digest &id : finding.evidence)
      if (evidence.records().count(id))
        ids.push_back(id);
    llvm::sort(ids);
    ids.erase(llvm::unique(ids), ids.end());
    return ids;
  }

  void collectLessons() {
    std::map<StatePass, std::vector<Candidate>> groups;
    for (const auto &[id, finding] : evidence.findings()) {
      if (finding.kind != FindingKind::Lesson)
        continue;
      Lesson lesson{id, finding.state, finding.pass, finding.text, finding.role,
                    {}, known(finding)};
      if (!finding.chip.empty())
        lesson.chips.insert(finding.chip);
      if (lesson.evidence.empty())
        ++result.unsupported;
      else
        groups[{finding.state, finding.pass}].push_back({std::move(lesson), wordsOf(finding.text)});
    }
    std::vector<Lesson> standing;
    for (auto &[key, group] : groups)
      for (Lesson &lesson : unite(group)) {
        vote(lesson);
        if (lesson.against >= leastAgainst && lesson.against > outvotedTimes * lesson.supports)
          ++result.outvoted;
        else
          standing.push_back(std::move(lesson));
      }
    llvm::sort(standing, [](const Lesson &a, const Lesson &b) {
      auto rank = [](const Lesson &lesson) {
        return std::tuple(static_cast<int64_t>(lesson.against) -
                              static_cast<int64_t>(lesson.supports),
                          -static_cast<int64_t>(lesson.evidence.size()), lesson.id);
      };
      return rank(a) < rank(b);
    });
    size_t all = 0;
    for (Lesson &lesson : standing) {
      std::vector<Lesson> &place = result.lessons[{lesson.state, lesson.pass}];
      if (all == lessonsInAll || place.size() == lessonsPerPass) {
        ++result.crowdedOut;
        continue;
      }
      ++all;
      place.push_back(std::move(lesson));
    }
    // A lesson beyond the bound of all may have left an empty place.
    std::erase_if(result.lessons, [](const auto &entry) { return entry.second.empty(); });
  }

  /// The words of what rests on most stay and take over the evidence of what
  /// says the same.
  std::vector<Lesson> unite(std::vector<Candidate> &group) {
    llvm::sort(group, [](const Candidate &a, const Candidate &b) {
      if (a.lesson.evidence.size() != b.lesson.evidence.size())
        return a.lesson.evidence.size() > b.lesson.evidence.size();
      return a.lesson.id < b.lesson.id;
    });
    std::vector<Candidate> kept;
    for (Candidate &candidate : group) {
      auto same = llvm::find_if(
          kept, [&](const Candidate &other) { return saySame(other.words, candidate.words); });
      if (same == kept.end()) {
        kept.push_back(std::move(candidate));
        continue;
      }
      ++result.duplicates;
      Lesson &lesson = same->lesson;
      llvm::append_range(lesson.evidence, candidate.lesson.evidence);
      llvm::sort(lesson.evidence);
      lesson.evidence.erase(llvm::unique(lesson.evidence), lesson.evidence.end());
      if (lesson.chips.empty() || candidate.lesson.chips.empty())
        lesson.chips.clear();
      else
        lesson.chips.insert(candidate.lesson.chips.begin(), candidate.lesson.chips.end());
    }
    std::vector<Lesson> lessons;
    for (Candidate &candidate : kept)
      lessons.push_back(std::move(candidate.lesson));
    return lessons;
  }

  /// The claim is what most of a lesson's own attempts say; all attempts with its
  /// passes in its state, and its own, then vote.
  void vote(Lesson &lesson) const {
    std::map<Digest, Claim> votes;
    std::set<std::string> passes;
    int64_t own = 0;
    for (const Digest &id : lesson.evidence) {
      const Digest &standsFor = counted.at(id);
      const Evidence &attempt = evidence.records().at(standsFor);
      passes.insert(attempt.pass);
      Claim claim = voteOf(attempt);
      if (votes.emplace(standsFor, claim).second)
        own += claim == Claim::Works ? 1 : claim == Claim::Fails ? -1 : 0;
    }
    if (own == 0)
      return;
    lesson.claim = own > 0 ? Claim::Works : Claim::Fails;
    if (!lesson.pass.empty())
      passes = {lesson.pass};
    for (const std::string &pass : passes) {
      auto found = byPass.find(pass);
      if (found == byPass.end())
        continue;
      for (const auto &[id, attempt] : found->second)
        if (coversState(lesson.state, attempt->primary) &&
            (lesson.chips.empty() || lesson.chips.count(attempt->chip)))
          votes.emplace(id, voteOf(*attempt));
    }
    for (const auto &[id, claim] : votes)
      if (claim != Claim::None)
        ++(claim == lesson.claim ? lesson.supports : lesson.against);
  }

  void collectStates() {
    std::map<std::string, uint64_t> made;
    for (const auto &[pass, attempts] : byPass)
      for (const auto &[id, attempt] : attempts)
        ++made[attempt->primary];
    // Of several with one name, the one with most examples.
    std::map<std::string, std::pair<DiscoveredState, size_t>> byName;
    for (const auto &[id, finding] : evidence.findings()) {
      if (finding.kind != FindingKind::State)
        continue;
      size_t examples = known(finding).size();
      auto [place, added] = byName.try_emplace(finding.stateName());
      if (!added) {
        ++result.duplicates;
        if (place->second.second >= examples)
          continue;
      }
      DiscoveredState state{id, finding.state, finding.name, finding.text, finding.rule, {}, 0};
      if (!finding.rule.empty())
        state.condition = llvm::cantFail(MetricExpression::parse(finding.rule));
      state.attempts = examples;
      place->second = {std::move(state), examples};
    }
    for (auto &[name, entry] : byName) {
      entry.first.attempts += made[name];
      result.states.push_back(std::move(entry.first));
    }
    llvm::sort(result.states, [](const DiscoveredState &a, const DiscoveredState &b) {
      return a.attempts != b.attempts ? a.attempts > b.attempts : a.fullName() < b.fullName();
    });
    std::map<std::string, size_t> perParent;
    size_t before = result.states.size();
    llvm::erase_if(result.states, [&](const DiscoveredState &state) {
      return ++perParent[state.parent] > statesPerParent;
    });
    result.crowdedOut += before - result.states.size();
  }

  void collectProposals() {
    std::map<StatePass, ProposedPass> all;
    for (const auto &[id, finding] : evidence.findings()) {
      if (finding.kind != FindingKind::Proposal)
        continue;
      auto [place, added] = all.try_emplace(
          {finding.state, finding.pass},
          ProposedPass{id, finding.state, finding.pass, finding.text, finding.role});
      ProposedPass &proposed = place->second;
      proposed.predictedGain += std::min(*finding.predictedGain, largestProposal);
      ++proposed.proposals;
    }
    std::vector<ProposedPass> ranked;
    for (auto &[key, proposed] : all) {
      proposed.predictedGain /= static_cast<double>(proposed.proposals);
      if (auto found = byPass.find(proposed.pass); found != byPass.end())
        proposed.unproven = llvm::none_of(found->second, [&](const auto &entry) {
          return coversState(proposed.state, entry.second->primary);
        });
      ranked.push_back(std::move(proposed));
    }
    llvm::sort(ranked, [](const ProposedPass &a, const ProposedPass &b) {
      return std::tie(b.proposals, b.predictedGain, a.id) <
             std::tie(a.proposals, a.predictedGain, b.id);
    });
    std::map<std::string, size_t> perState;
    for (ProposedPass &proposed : ranked)
      if (result.proposals.size() == proposalsInAll ||
          perState[proposed.state]++ >= proposalsPerState)
        ++result.crowdedOut;
      else
        result.proposals.emplace(StatePass(proposed.state, proposed.pass), std::move(proposed));
  }

  const EvidenceSet &evidence;
  const std::map<Digest, Digest> &counted;
  std::map<std::string, std::vector<std::pair<Digest, const Evidence *>>> byPass;
  FoldedWords result;
};

} // namespace

llvm::StringRef kbopt::claimName(Claim claim) {
  return claim == Claim::Works ? "works" : claim == Claim::Fails ? "fails" : "";
}

bool kbopt::coversState(llvm::StringRef wide, llvm::StringRef narrow) {
  return narrow.consume_front(wide) && (narrow.empty() || narrow.front() == '/');
}

FoldedWords kbopt::foldWords(const EvidenceSet &evidence, const std::map<Digest, Digest> &counted) {
  return Fold(evidence, counted).run();
}
