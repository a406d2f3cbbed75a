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
  unsigned steps = 10;        ///< new moves per trajectory; likewise
  /// Trajectories that go forward together; what they learn counts from the
  /// next batch on. The result depends on this, never on `jobs`.
  unsigned batch = 5;
  unsigned jobs = 1; ///< threads
  uint64_t seed = 0;
  /// Candidates to judge, the original and the ablation not counted; 0: no limit.
  uint64_t budgetCandidates = 0;
  double budgetSeconds = 0; ///< by the clock; 0: no limit
  /// Asked before and after every effect, from several threads; true ends the
  /// search with the best so far. What ended while it was true is not believed.
  std::function<bool()> stop;
  /// At the end, what is left of the budget goes into neighbouring parameters of
  /// the winner's steps; then steps that cost nothing to leave out are left out.
  bool tune = true, ablate = true;
  /// Digest of the original program and workload, and the versions of the tools:
  /// written into every record.
  Digest program;
  std::map<std::string, std::string> versions;
};

/// One attempt, for people and for tests.
struct Attempt {
  unsigned trajectory = 0; ///< from 1; 0: at the end, with the winner
  Move move;
  NodeId parent, node; ///< `node` empty if nothing was made or it was dropped
  AttemptVerdict verdict = AttemptVerdict::NotApplied;
  std::string gate, failure, reason;
  double timeUs = 0, parentTimeUs = 0; ///< `timeUs` only where correct
  double modelledUs = 0, parentModelledUs = 0; ///< NodeJudgement::modelledUs, likewise
  double predictedGain = 0;            ///< logarithmic, of the kernel
  std::string primary, secondary;      ///< the state of the kernel before
  /// How it was answered without measuring: "" (measured), "identical" (machine
  /// code seen before), "known" (program seen before), "roofline" (dropped).
  std::string shortcut;

  bool correct() const { return verdict == AttemptVerdict::Correct; }
  /// Logarithm of parent's over own time; 0 where not correct.
  double gain() const;
};

/// Told of everything in a fixed order, from the calling thread.
class SearchObserver {
public:
  virtual ~SearchObserver();
  virtual void started(const NodeJudgement &original) {}
  virtual void attempted(const Attempt &attempt) {}
  virtual void improved(double timeUs, llvm::ArrayRef<Move> pipeline) {}
};

enum class SearchEnd { Done, NothingLeft, BudgetCandidates, BudgetSeconds, Interrupted };
/// "done", "nothing left to try", "candidate budget spent", …
llvm::StringRef endName(SearchEnd end);

struct SearchResult {
  NodeJudgement original;
  /// Of the winner; empty: the original stays.
  std::vector<Move> pipeline;
  NodeId best;
  double bestUs = 0;
  /// Every gate passed on every case. False with a pipeline: the run was
  /// interrupted before that, and only the gates of the search have passed.
  bool confirmed = false;
  NodeJudgement winner;      ///< the confirmation, or the search's judgement
  std::vector<Move> ablated; ///< steps whose removal cost nothing
  bool ablationComplete = false;
  /// For each step of the pipeline the time without it over the time with it, as far as
  /// ablation knows: nothing where the rest does not work without the step or was not judged.
  std::vector<std::optional<double>> stepGains;
  std::vector<Attempt> attempts;
  /// To be appended to the log when the run ends: a run that is killed and
  /// started again then sees the same knowledge and repeats its choices.
  std::vector<Evidence> evidence;
  SearchEnd end = SearchEnd::Done;
  uint64_t judged = 0; ///< candidates, the original not counted
  uint64_t merged = 0; ///< identical machine code
  uint64_t pruned = 0; ///< dropped by the roofline
  uint64_t known = 0;  ///< programs reached again
};

/// Chooses what to try next; all the rest (merging, pruning, budgets, records,
/// ablation, confirmation) is Explorer's and the same for all.
class Strategy {
public:
  virtual ~Strategy();
  /// Errors are those of the environment. An original that is not correct is no
  /// error: the result has no pipeline and says it in `original`.
  virtual llvm::Expected<SearchResult> run(Environment &environment, const KnowledgeBase &knowledge,
                                           const SearchOptions &options, Clock &clock,
                                           SearchObserver *observer = nullptr) = 0;
};

/// "rollout"; any other name is a `UsageError` that lists the known ones.
llvm::Expected<std::unique_ptr<Strategy>> createStrategy(llvm::StringRef name);

} // namespace kbopt

#endif // KBOPT_POLICY_SEARCH_H
