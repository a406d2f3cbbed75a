//===- KnowledgeBase.h - What is believed about a choice --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the combination of seed and evidence: what a pass is expected to gain
// in a state on a chip, and which few entries are worth showing. Immutable but
// for `learn`. docs/Knowledge.md gives the formulas.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_KNOWLEDGEBASE_H
#define KBOPT_KNOWLEDGE_KNOWLEDGEBASE_H

#include "kb-opt/Knowledge/Catalogue.h"
#include "kb-opt/Knowledge/Fold.h"
#include "kb-opt/Knowledge/ScheduleRanking.h"
#include "kb-opt/Knowledge/State.h"

namespace kbopt {

/// What a pass is expected to do next.
struct Prediction {
  double logGain = 0;      ///< of the step itself, where it is correct
  double success = 0;      ///< chance that it applies and is correct
  double uncertainty = 0;  ///< standard error of `logGain`
  double observations = 0; ///< tries behind it, those of other chips discounted
  /// What a policy draws by: `success` times the step's gain with what it opens
  /// for later steps. 0 where an earlier pass excludes this one.
  double value = 0;
  std::string why; ///< "seed 12.0 %; 4 tries, mean 20.1 %; opened by …"
  /// The pass was not tried in this state; only a proposal names it.
  bool unproven = false;
};

/// Evidence behind a prediction.
struct PredictionRow {
  PassKey key;
  PassStatistics statistics;
  double weight =
      0; ///< how far it counts here, in [0, 1]: trust times kinship of states and shapes
};

/// What a prediction is made of.
struct PredictionParts {
  double prior = 0;      ///< logarithmic gain
  std::string priorFrom; ///< "seed", "proposal", "nothing"
  std::vector<PredictionRow> rows;
  std::string excludedBy; ///< an earlier pass; empty: none
  double repeated = 1;    ///< share that is left for a pass that was there before
  double opens = 0;       ///< worth of later steps that it makes possible
  double seedEdge = 0, learntEdge = 0;
};

/// One row of a retrieval.
struct RetrievedEntry {
  const Optimization *optimization; ///< null for a pass that only evidence knows
  std::string pass;
  Prediction prediction;
};

class KnowledgeBase {
public:
  /// The seed alone. \p device: "cpu-modelled" or "cuda". \p catalogue must
  /// outlive the object.
  explicit KnowledgeBase(ChipInfo chip, std::string device = "cpu-modelled",
                         const Catalogue &catalogue = Catalogue::builtin());

  /// The same seed alone, for the same chip and device.
  KnowledgeBase withoutEvidence() const;

  /// Adds records and folds again. Not thread-safe against readers.
  void learn(const EvidenceSet &more);

  const ChipInfo &chip() const { return target; }
  const std::string &device() const { return deviceKind; }
  const Catalogue &catalogue() const { return *seed; }
  const EvidenceSet &evidence() const { return records; }
  const FoldedKnowledge &folded() const { return knowledge; }

  /// The state by the built-in rules, refined by the first discovered state of its
  /// primary whose rule holds.
  State classify(const MetricMap &metrics) const;
  /// \p pass in \p state after \p predecessors (first to last) on a kernel of
  /// \p shape (may be empty). \p parts: what it is made of, if wanted.
  Prediction predict(const State &state, llvm::StringRef pass,
                     const std::vector<std::string> &predecessors, llvm::StringRef shape = "",
                     PredictionParts *parts = nullptr) const;
  /// Whether the counters of a kernel, \p metrics, say that \p pass has nothing to gain on it
  /// (`Optimization::when`). False where they do not say.
  bool isPointless(llvm::StringRef pass, const MetricMap &metrics) const;
  /// Texts of parameters ("factor=4") that worked for \p pass in \p state, on kernels of \p shape
  /// above all, on this chip and device or another, best first.
  std::vector<std::string> knownParameters(const State &state, llvm::StringRef pass,
                                           llvm::StringRef shape = "") const;
  /// The \p limit best predictions for \p state, best first: passes that answer
  /// one of its bottlenecks, that evidence has seen in it, or that were proposed.
  std::vector<RetrievedEntry> retrieve(const State &state, llvm::StringRef shape,
                                       unsigned limit = 8,
                                       const std::vector<std::string> &predecessors = {}) const;
  /// \p schedules of a kernel, most promising first by the model, in the order in which they should
  /// be tried by what is known of kernels like it.
  std::vector<std::string> orderSchedules(const NestFacts &facts,
                                          llvm::ArrayRef<std::string> schedules) const;
  /// Whose schedules decide that order, the nearest kernel first; empty: the model alone does.
  std::vector<RankingVoice> scheduleVoices(const NestFacts &facts) const;
  /// How far evidence from \p chipName and \p device counts here, in [0, 1]:
  /// `chipSimilarity`, halved between modelled and measured times.
  double trust(const std::string &chipName, llvm::StringRef device) const;

private:
  /// The gain and where it comes from.
  std::pair<double, llvm::StringRef> prior(const State &state, llvm::StringRef pass,
                                           llvm::StringRef shape) const;
  ScheduleRanking::Trust trustOfChips() const;
  double learntEdge(llvm::StringRef before, llvm::StringRef after) const;
  double opens(const State &state, llvm::StringRef pass,
               const std::vector<std::string> &predecessors) const;

  ChipInfo target;
  std::string deviceKind;
  const Catalogue *seed;
  EvidenceSet records;
  FoldedKnowledge knowledge;
  ScheduleRanking ranking;
  /// Filled by the constructor and `learn`.
  std::map<std::string, double> similarity;
};

/// How far evidence from state \p seen counts in state \p here, by their full
/// names: 1 for the same, a half between a state and its refinement, a quarter
/// between refinements of one state, else 0.
double stateKinship(llvm::StringRef seen, llvm::StringRef here);
/// The same for a kernel that is in state \p here: what was seen in its second bottleneck counts by
/// a quarter.
double stateKinship(llvm::StringRef seen, const State &here);

/// Where the user's own knowledge lies: `userDataDirectory()/knowledge`, with
/// evidence.jsonl and, where wanted, devices/*.json.
std::string userKnowledgeDirectory();
/// The folder of \p given knowledge, for what lies beside the evidence: the user's where it is
/// empty or the address of a database.
std::string knowledgeFolder(llvm::StringRef given);
/// evidence.jsonl in \p directory, or the database whose address it is.
std::string evidenceLog(llvm::StringRef directory);

/// The records of \p device that come with kb-opt (knowledge/evidence), and the findings that
/// rest on them; loadKnowledge has them, too. Those of other devices would change every search that
/// has no evidence of its own.
EvidenceSet builtinEvidence(llvm::StringRef device, std::vector<BadLine> &bad);

/// The built-in knowledge with the logs of \p directories over it; bad lines go
/// to \p bad.
llvm::Expected<KnowledgeBase> loadKnowledge(const ChipInfo &chip, llvm::StringRef device,
                                            FileSystem &fileSystem,
                                            llvm::ArrayRef<std::string> directories,
                                            std::vector<BadLine> &bad);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_KNOWLEDGEBASE_H
