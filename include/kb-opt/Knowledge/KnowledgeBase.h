//===- KnowledgeBase.h - What is believed about a choice --------*- C++ -*-===//
//
// Owns the combination of seed and evidence: what a pass is expected to gain
// in a state on a chip, and which few entries are worth showing. Immutable but
// for `learn`.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_KNOWLEDGEBASE_H
#define KBOPT_KNOWLEDGE_KNOWLEDGEBASE_H

#include "kb-opt/Knowledge/Catalogue.h"
#include "kb-opt/Knowledge/Fold.h"
#include "kb-opt/Knowledge/State.h"

namespace kbopt {

/// What a pass is expected to do next.
struct Prediction {
  double logGain = 0;     ///< expected over correct outcomes and failures
  double success = 1;     ///< chance that it applies and is correct
  double uncertainty = 0; ///< standard deviation of the gain's mean
  double weightOfEvidence = 0; ///< observations behind it, discounted
  std::string why;        ///< "seed: removes 60 % of …; 4 tries on h200: …"
};

/// One row of a retrieval.
struct RetrievedEntry {
  const Optimization *optimization; ///< null for a pass that only evidence knows
  std::string pass;
  Prediction prediction;
};

class KnowledgeBase {
public:
  /// The seed alone.
  explicit KnowledgeBase(ChipInfo chip, const Catalogue &catalogue = Catalogue::builtin());

  /// Adds records and folds again. Not thread-safe against readers.
  void learn(const EvidenceSet &more);

  const ChipInfo &chip() const { return target; }
  const Catalogue &catalogue() const { return *seed; }
  const EvidenceSet &evidence() const { return records; }
  const FoldedKnowledge &folded() const { return knowledge; }

  /// Gain of \p pass in \p state after \p predecessors (first to last).
  /// Seed prior in GPA's manner, shrunk towards the evidence of this chip and,
  /// at a discount (`chipSimilarity`), of others.
  Prediction predict(const State &state, llvm::StringRef pass,
                     const std::vector<std::string> &predecessors) const;
  /// Parameter texts of \p pass in \p state, best known first.
  std::vector<std::string> knownParameters(const State &state, llvm::StringRef pass) const;
  /// The \p limit best predictions for \p state, best first. \p shape moves
  /// passes of its seed pipeline up.
  std::vector<RetrievedEntry> retrieve(const State &state, llvm::StringRef shape,
                                       unsigned limit = 8) const;

private:
  double borrowed(const std::string &chipName) const;

  ChipInfo target;
  const Catalogue *seed;
  EvidenceSet records;
  FoldedKnowledge knowledge;
  mutable std::map<std::string, double> similarity;
};

/// Where the user's own knowledge lies: `userDataDirectory()/knowledge`, with
/// evidence.jsonl and, where wanted, devices/*.json.
std::string userKnowledgeDirectory();
std::string evidenceLog(llvm::StringRef directory);

/// The built-in knowledge with the logs of \p directories over it, in order;
/// bad lines go to \p bad.
llvm::Expected<KnowledgeBase> loadKnowledge(const ChipInfo &chip, FileSystem &fileSystem,
                                            llvm::ArrayRef<std::string> directories,
                                            std::vector<BadLine> &bad);

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_KNOWLEDGEBASE_H
