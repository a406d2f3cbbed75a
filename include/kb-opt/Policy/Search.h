//===- Search.h - Strategies and what they return ---------------*- C++ -*-===//
//
// Owns the options, budgets and result of a search, and the list of
// strategies. docs/Search.md explains each with its source.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_POLICY_SEARCH_H
#define KBOPT_POLICY_SEARCH_H

#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Policy/Environment.h"
#include "kb-opt/Support/Clock.h"
#include <functional>
#include <memory>

namespace kbopt {

struct SearchOptions {
  unsigned trajectories = 10; ///< KernelBlaster, table 2
  unsigned steps = 10;        ///< per trajectory; likewise
  /// Trajectories that go forward together and learn together; the result
  /// depends on it, never on `jobs`.
  unsigned batch = 5;
  unsigned jobs = 1; ///< threads
  uint64_t seed = 0;
  /// Candidates to judge, the original and the ablation not counted; 0: no limit.
  uint64_t budgetCandidates = 0;
  double budgetSeconds = 0; ///< by the clock; 0: no limit
  /// Asked between steps; true ends the search with the best so far.
  std::function<bool()> stop;
  bool ablate = true;
  /// Written into every record: chip and device, versions.
  std::string chip, device = "cpu-modelled";
  Digest program;
  std::map<std::string, std::string> versions;
};

/// One attempt, for people and for tests.
struct Attempt {
  unsigned trajectory = 0; ///< 0: ablation
  Move step;
  NodeId parent, node; ///< `node` empty if not applied
  AttemptVerdict verdict = AttemptVerdict::NotApplied;
  std::string gate, failure, reason;
  double timeUs = 0, parentTimeUs = 0;
  double predictedGain = 0;
  std::string primary, secondary; ///< the parent's state
  /// How it was answered without measuring: "" (measured), "identical"
  /// (machine code seen before), "known" (same program or step seen), "roofline".
  std::string shortcut;
};

/// Told of every attempt in a fixed order, from the calling thread.
class SearchObserver {
public:
  virtual ~SearchObserver();
  virtual void started(const NodeJudgement &original) {}
  virtual void attempted(const Attempt &attempt) {}
  virtual void improved(double timeUs, llvm::ArrayRef<Move> pipeline) {}
};

enum class SearchEnd { Done, NothingLeft, BudgetCandidates, BudgetSeconds, Interrupted };
llvm::StringRef endName(SearchEnd end);

struct SearchResult {
  NodeJudgement original;
  std::vector<Move> pipeline; ///< of the winner; empty: the original stays
  NodeId best;
  double bestUs = 0;
  std::vector<Move> ablated; ///< steps whose removal cost nothing
  bool ablationComplete = false;
  std::vector<Attempt> attempts;
  std::vector<Evidence> evidence; ///< to be appended to the log at the end of the run
  SearchEnd end = SearchEnd::Done;
  uint64_t judged = 0, merged = 0, pruned = 0, known = 0;
};

/// Chooses what to try next; all the rest (merging, pruning, budgets, records,
/// ablation) is the same for all.
class Strategy {
public:
  virtual ~Strategy();
  /// Errors are those of the environment. An original that is not correct is
  /// no error: the result has no pipeline and says it in `original`.
  virtual llvm::Expected<SearchResult> run(Environment &environment, KnowledgeBase &knowledge,
                                           const SearchOptions &options, Clock &clock,
                                           SearchObserver *observer = nullptr) = 0;
};

/// "rollout"; any other name is a `UsageError` that lists the known ones.
llvm::Expected<std::unique_ptr<Strategy>> createStrategy(llvm::StringRef name);

} // namespace kbopt

#endif // KBOPT_POLICY_SEARCH_H
