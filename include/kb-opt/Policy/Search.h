//===- Search.h - Strategies and what they return ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
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

class Explorer;

struct SearchOptions {
  unsigned trajectories = 10; ///< KernelBlaster, table 2
  /// New moves per trajectory; likewise. `tree` makes trajectories x steps moves, a
  /// round of `beam` tries as many as there are trajectories.
  unsigned steps = 10;
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
  /// Called with the seconds from now after which `stop` is to be true: with those of the search
  /// when the original is known, and with those that are left when the final check begins. Empty:
  /// work that has begun is awaited.
  std::function<void(double)> giveUpAfter;
  /// At the end, what is left of the budget goes into neighbouring parameters of
  /// the winner's steps; then steps that cost nothing to leave out are left out.
  bool tune = true, ablate = true;
  /// Digest of the original program and workload, and the versions of the tools:
  /// written into every record.
  Digest program;
  std::map<std::string, std::string> versions;

  //===-- Where a model is there ------------------------------------------===//
  StepRoles roles = StepRoles::Compose;
  unsigned asks = 3;        ///< proposals for one action at one place
  unsigned repairs = 2;     ///< debugger's replies to one proposal
  unsigned leaders = 2;     ///< shown as context (STARK, appendix B)
  unsigned windowNodes = 5; ///< programs in one context window (likewise)

  //===-- Strategies ------------------------------------------------------===//
  double epsilon = 0.3;           ///< tree: part of the draws that explore
  unsigned rootChildren = 5;      ///< tree: then the original is left alone
  unsigned deadAfter = 3;         ///< tree: failed children that end a branch
  unsigned width = 4;             ///< beam: programs that go on
  unsigned branching = 2;         ///< beam: new moves for each of them
  double leastImprovement = 0.03; ///< beam: a round that brings less is the last
  /// Whether winners are crossed; where not said, by tree and beam.
  std::optional<bool> crossover;

  /// The passes that findings and states name are tried before anything else.
  bool answers = true;
  /// Whole schedules of raised kernels are tried before single steps.
  bool sketches = true;

  //===-- Ablations (KernelBlaster, section 6) ----------------------------===//
  /// False: nothing but the seed is known at the start, and nothing is taken from one state to the
  /// next. What may be chosen stays the same, and evidence is recorded.
  bool memory = true;
  /// False: times of whole programs and nothing else; no states, no metrics, no
  /// roofline.
  bool profile = true;
};

/// Told of everything in a fixed order, from the calling thread.
class SearchObserver {
public:
  virtual ~SearchObserver();
  virtual void started(const NodeJudgement &original) {}
  /// The original's own gates passed while candidates were screened: now its states are known.
  virtual void examined(const NodeJudgement &original) {}
  virtual void attempted(const Attempt &attempt) {}
  /// A debugger holds that the gate which refused \p attempt, told of before, is wrong.
  virtual void disputed(const Attempt &attempt) {}
  /// A model was asked; its move is yet to be applied. \p repair as in Attempt.
  virtual void asked(const ProposalRequest &request, unsigned repair, const Proposal &proposal) {}
  /// A batch was thought over; the evidence of lessons has the names of the run.
  virtual void reflected(const Reflection &reflection) {}
  virtual void improved(double timeUs, llvm::ArrayRef<Step> pipeline) {}
  /// A leader passed every gate; \p timeUs by its proof.
  virtual void proven(double timeUs, llvm::ArrayRef<Step> pipeline) {}
  /// A proof takes about \p seconds, and the budget leaves only \p left for it.
  virtual void proofDoesNotFit(double seconds, double left) {}
};

enum class SearchEnd {
  Done,
  NothingLeft,
  BudgetCandidates,
  BudgetSeconds,
  BudgetModel, ///< nothing is left that needs no model, and the model is asked no more
  Interrupted
};
/// "done", "nothing left to try", "candidate budget spent", …
llvm::StringRef endName(SearchEnd end);

/// When things first happened, in seconds of the clock; nothing: they did not.
struct SearchTimeline {
  std::optional<double> original;  ///< could be compared with candidates
  std::optional<double> candidate; ///< was timed
  std::optional<double> leader;    ///< was faster than the original
  std::optional<double> proof;     ///< passed every gate
};

struct SearchResult {
  NodeJudgement original;
  /// Of the winner; empty: the original stays.
  std::vector<Step> pipeline;
  NodeId best;
  double bestUs = 0;
  /// Where the fastest program gains less than `Environment::leastGain`, though more than noise:
  /// its time; else 0.
  double leastUs = 0;
  /// Every gate passed on every case. False with a pipeline: the run ended
  /// before that, and only the screening or the gates of the search have passed.
  bool confirmed = false;
  NodeJudgement winner; ///< the confirmation, or the search's judgement
  /// Times of programs that were faster than a confirmed winner and were not proven in time; 0:
  /// there was none.
  double unprovenUs = 0;
  std::vector<Step> ablated; ///< steps whose removal cost nothing
  bool ablationComplete = false;
  /// For each step of the pipeline the time without it over the time with it, as far as
  /// ablation knows: nothing where the rest does not work without the step or was not judged.
  std::vector<std::optional<double>> stepGains;
  std::vector<Attempt> attempts;
  /// To be appended to the log when the run ends: a run that is killed and
  /// started again then sees the same knowledge and repeats its choices.
  std::vector<Evidence> evidence;
  /// What the batches taught in words, with ids of `evidence`.
  std::vector<Finding> findings;
  SearchEnd end = SearchEnd::Done;
  uint64_t asked = 0;  ///< proposals and repairs that were answered
  uint64_t tokens = 0; ///< of all replies, reflections too
  double cost = 0;     ///< US dollars, of the replies whose cost is known
  bool costKnown = true;
  std::string modelEnd; ///< why the model was asked no more; empty: it was
  uint64_t judged = 0;  ///< candidates, the original not counted
  /// Candidates that were timed without a proof: screened on a device, or modelled.
  uint64_t screened = 0;
  uint64_t proven = 0; ///< programs that passed every gate on every case
  /// Candidates that a gate refused, by the gate; "" where it named none.
  std::map<std::string, uint64_t> refused;
  SearchTimeline timeline;
  uint64_t merged = 0; ///< identical machine code
  uint64_t pruned = 0; ///< dropped by the roofline
  uint64_t known = 0;  ///< programs reached again
};

/// Chooses what to try next; all the rest (asking, merging, pruning, budgets,
/// records, ablation, confirmation) is Explorer's and the same for all.
class Strategy {
public:
  virtual ~Strategy();
  /// Errors are those of the environment. An original that is not correct is no
  /// error: the result has no pipeline and says it in `original`.
  llvm::Expected<SearchResult> run(Environment &environment, const KnowledgeBase &knowledge,
                                   const SearchOptions &options, Clock &clock,
                                   SearchObserver *observer = nullptr);

protected:
  /// Takes from \p options what the strategy does not have.
  virtual void restrict(SearchOptions &options) const {}
  /// Searches until nothing is left or `explorer.mustEnd()`; the original is
  /// correct.
  virtual llvm::Expected<SearchEnd> explore(Explorer &explorer) = 0;
};

/// Names that `createStrategy` knows, the default first: "rollout", "tree", "beam",
/// "minimal".
std::vector<std::string> strategyNames();
/// Any other name is a `UsageError` that lists them.
llvm::Expected<std::unique_ptr<Strategy>> createStrategy(llvm::StringRef name);

} // namespace kbopt

#endif // KBOPT_POLICY_SEARCH_H
