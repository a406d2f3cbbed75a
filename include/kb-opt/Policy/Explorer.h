//===- Explorer.h - The graph of programs that a search has seen *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what every strategy needs: the nodes, batches that give the same result
// with any number of threads, merging of identical machine code, roofline
// pruning, budgets, the records of what was tried; tuning, ablation and
// confirmation of the winner. It chooses nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_POLICY_EXPLORER_H
#define KBOPT_POLICY_EXPLORER_H

#include "kb-opt/Policy/Search.h"
#include <set>

namespace kbopt {

/// One program.
struct ExplorerNode {
  NodeId id;
  Digest code;
  NodeJudgement judgement;
  std::vector<Step> pipeline; ///< that first led here
  NodeId parent;              ///< on the same way; empty: the original, or made at the end
  std::optional<std::vector<Action>> actions;
  std::vector<Action> offered; ///< replies with numbers to fill in

  /// Passes of the pipeline that touched \p kernel (or everything), in order.
  std::vector<std::string> predecessors(llvm::StringRef kernel) const;
  const State &stateOf(const std::string &kernel) const;
  const std::string &shapeOf(const std::string &kernel) const;
  const MetricMap &metricsOf(const std::string &kernel) const;
  /// Part of the time of the program's kernels that \p kernel takes: 0 where the program runs
  /// others alone, 1 for the host, and where no times are known.
  double shareOf(const std::string &kernel) const;
};

/// What a gain of one kernel means for a program of which it takes \p share of the
/// time (Amdahl); both gains are logarithmic.
double programGain(double kernelGain, double share);

/// One thing to try.
struct ExplorerRequest {
  NodeId parent;
  Step step; ///< without parameters where a model is to be asked
  double predictedGain = 0;
  unsigned trajectory = 0;
  unsigned ask = 0;     ///< from 1: ask a model, for this action at this place as so often
  bool minimal = false; ///< ProposalRequest::minimal
  AttemptPhase phase = AttemptPhase::Search;
  /// Moves that come before `move` without a judgement of the programs in between. Those of them
  /// that do not apply are left out; of all of them and `move` at least one has to.
  std::vector<Step> before = {};
};

/// The request for \p steps, of which there is one at least, together at \p parent before the
/// trajectories of a search begin.
ExplorerRequest earlyRequest(const NodeId &parent, llvm::ArrayRef<Step> steps, AttemptPhase phase);

/// Not thread-safe; uses threads inside.
class Explorer {
public:
  Explorer(Environment &environment, const KnowledgeBase &knowledge, const SearchOptions &options,
           Clock &clock, SearchObserver *observer);

  /// Judges the original. False if it is not correct: then there is no search.
  llvm::Expected<bool> start();

  /// Tries all of \p requests and returns one attempt for each, in order, or
  /// fewer where a budget ended first. A move that was tried at its parent before
  /// is answered from memory. Where a model is to be asked, all are asked at once, and
  /// what fails goes to the debugger; the attempt is then the last one. With \p mostJudged
  /// only so many are judged, those that the cost model ranks first; 0: all.
  llvm::Expected<std::vector<Attempt>> evaluate(llvm::ArrayRef<ExplorerRequest> requests,
                                                size_t mostJudged = 0);

  /// Why the search must end now, if it must.
  std::optional<SearchEnd> mustEnd();
  /// Where a model may be asked of the original: keeps half of the candidates of the budget for
  /// what comes after the sketches, until `releaseCandidates`.
  llvm::Error keepCandidates();
  void releaseCandidates();

  const ExplorerNode &node(const NodeId &id) const { return nodes.at(id); }
  const NodeId &root() const { return rootId; }
  /// Where strategies begin: the best of the sketches, or the root.
  const NodeId &origin() const { return originId; }
  void setOrigin(const NodeId &id) { originId = id; }
  /// Passes that apply to \p id; asked of the environment once.
  llvm::Expected<llvm::ArrayRef<Action>> actions(const NodeId &id);
  /// Those that apply after \p moves, one after the other without those that do not apply; nothing
  /// is judged.
  llvm::Expected<std::vector<Action>> actionsAfter(const NodeId &id, llvm::ArrayRef<Step> moves);
  /// The attempt of \p move at \p parent, or null. Valid until the next call.
  const Attempt *tried(const NodeId &parent, const Step &move) const;
  const std::vector<Attempt> &attempts() const { return result.attempts; }
  /// So often a model was asked for \p action at \p node, repairs not counted.
  unsigned asks(const NodeId &node, const Action &action) const;
  /// Whether the planner, which was shown all that may be asked about \p kernel at \p node, saw no
  /// use in any of it.
  bool isDeclined(const NodeId &node, const std::string &kernel) const {
    return declinedAt.count({node, kernel});
  }
  /// Whether one more question makes sense: budgets of the model are not spent.
  bool mayAsk() const { return result.modelEnd.empty(); }

  /// Raises the credit of the step \p move at \p parent to its own gain and \p later,
  /// what the steps behind it are worth to it.
  void credit(const NodeId &parent, const Step &move, double later);
  /// Folds what was seen so far, which no model is asked about.
  void recall();
  /// What is believed since `start`, the last `recall` or the last `learn`.
  const KnowledgeBase &knowledge() const { return believed; }
  /// The end of a batch: the evidence is folded, and a model may say what it teaches.
  llvm::Error learn();
  double bestUs() const { return best; }
  /// Of the original; nothing is known of it to a search without a profile.
  AttainableTime attainable() const {
    return options.profile ? result.original.attainable : AttainableTime();
  }
  /// The fastest program so far.
  const NodeId &leader() const { return bestNode; }
  const std::vector<Step> &bestPipeline() const { return nodes.at(bestNode).pipeline; }
  /// Correct programs that are faster than the original, fastest first; of equally
  /// fast ones the shorter pipeline, of those with equal machine code one.
  std::vector<Leader> leaders() const;
  const SearchOptions &settings() const { return options; }
  bool measures() const { return environment.measures(); }
  double leastGain() const { return environment.leastGain(); }

  /// Ablates and confirms the winner (the next best where a confirmation fails), tunes it within
  /// what is left of the budget, and hands out the result.
  llvm::Expected<SearchResult> finish(SearchEnd end);

  ~Explorer();

private:
  struct Pending;
  template <typename T, typename Take>
  llvm::Error keepUnlessStopped(llvm::Expected<T> answer, Take take);
  /// Whether a debugger may mend what became of \p attempt.
  static bool isRepairable(const ExplorerRequest &request, const Attempt &attempt);
  llvm::Error askAll(std::vector<Pending> &pending);
  /// Shows what of \p attempts can be mended to a debugger, and puts its last attempt in its place.
  llvm::Error repairAll(llvm::ArrayRef<ExplorerRequest> requests, std::vector<Attempt> &attempts);
  llvm::Expected<std::vector<Attempt>> carryOut(std::vector<Pending> &pending, size_t mostJudged);
  ProposalRequest question(const ExplorerRequest &request, unsigned repair) const;
  ContextWindow window(std::vector<Attempt> attempts, std::vector<Leader> leaders,
                       const std::string &purpose) const;
  std::vector<Attempt> childrenOf(const NodeId &id) const;
  /// ProposalRequest's, for \p kernel at \p node.
  std::vector<Attempt> bestSchedules(const ExplorerNode &node, const std::string &kernel) const;
  std::optional<Attempt> contrastTo(const ExplorerNode &node, const std::string &kernel) const;
  /// Keeps what a debugger says against the gate that refused \p failed, and takes the attempt out
  /// of the evidence.
  void dispute(const Attempt &failed, const Proposal &said);
  bool isBelow(const NodeId &id, const NodeId &above) const;
  void note(const Proposal &proposal);
  void offer(const Attempt &attempt, const std::vector<ParameterRange> &ranges);
  llvm::Error suggestFor(const ExplorerNode &node);
  llvm::Error reflect();
  ReplayBuffer replayBuffer() const;
  void take(Reflection reflection);
  void believe();
  std::vector<Finding> namedFindings() const;
  /// \p judgement with discovered states in place of those of the rules.
  NodeJudgement refined(NodeJudgement judgement) const;
  /// What of \p judgement this search may know.
  NodeJudgement seen(NodeJudgement judgement) const;
  llvm::Error applyMoves(Pending &entry);
  llvm::Error applyAll(std::vector<Pending> &pending);
  /// Screens what was just applied, unless there is a reason not to, without waiting for the others
  /// of the batch.
  llvm::Error screenAtOnce(Pending &entry);
  /// Holds the fastest of \p open against more cases where it is to be built on; what they refuse
  /// leaves the place to the next one.
  llvm::Error examineBest(llvm::ArrayRef<Pending *> open);
  llvm::Error judgeAll(std::vector<Pending> &pending, size_t mostJudged);
  void outrank(std::vector<Pending> &pending, std::vector<Pending *> &open, size_t mostJudged);
  /// For whom there are candidates of the budget left.
  enum class Room { ForAll, ForReplies, None };
  void settle(Pending &pending, std::set<NodeId> &coming, std::map<Digest, NodeId> &comingCode,
              Room room);
  /// How many of \p requests, from the first one, can be tried so that each reply of a model can be
  /// judged.
  size_t judgeable(llvm::ArrayRef<ExplorerRequest> requests) const;
  Attempt resolve(const Pending &pending);
  /// Puts the schedules of \p action, a sketch, in the order of what is believed.
  void rank(Action &action) const;
  void addNode(const NodeId &id, const Digest &code, const NodeJudgement &judgement,
               std::vector<Step> pipeline, const NodeId &parent);
  /// What the schedule that \p step gives \p node is judged by: of the action of \p node that has
  /// it, or of a program before, which had other schedules. These change nothing of the nest.
  const NestFacts *factsOf(const ExplorerNode &node, const Step &step) const;
  void record(const Attempt &attempt, const Digest &code);
  void noteBest(const NodeId &id);

  //===-- Proofs (Proofs.cpp) ---------------------------------------------===//
  /// Whether \p node may be gone on from.
  static bool isUsable(const ExplorerNode &node);
  /// A proven program with the machine code of \p node.
  std::optional<NodeId> provenTwin(const NodeId &node) const;
  /// Takes proofs that ended, and begins the next one.
  llvm::Error reviewProofs();
  /// Waits for the proof that runs where little more than its time is left.
  llvm::Error makeWayForProof();
  llvm::Error takeProof();
  /// \p judgement with what a program that was screened alone does not tell, taken from \p parent.
  NodeJudgement completed(NodeJudgement judgement, const NodeId &parent) const;
  /// The original passed its own gates as \p judged: what it tells of states is known from here on.
  void takeOriginal(NodeJudgement judged);
  /// What the proof of \p node said: kept where it is correct, else \p node is no leader any more.
  void settleProof(const NodeId &node, const NodeJudgement &judgement);
  /// \p node is wrong after all: no leader, no example, and `incorrect` in the evidence.
  void refute(const NodeId &node, const NodeJudgement &judgement);
  /// Confirms \p node, unless that was done; nothing where the run ended before.
  llvm::Expected<std::optional<NodeJudgement>> prove(const NodeId &node);
  /// Lets a debugger mend the reply that led to \p node, which a proof refused.
  llvm::Error mend(const NodeId &node);
  /// Waits for the original's own gates, where they run beside the search.
  llvm::Error awaitOriginal();
  llvm::Error unlessStopped(llvm::Error error) const;
  /// The first of \p shorter, or else the fastest leader, that is not in \p seen and was not
  /// refused; leaders without a step that was blamed go first.
  std::optional<Leader> nextLeader(const std::set<NodeId> &seen,
                                   llvm::ArrayRef<Leader> shorter) const;
  /// Whether \p node can be kept and is faster than the original by `leastGain`.
  bool isFaster(const ExplorerNode &node) const;
  /// What \p pipeline, of a refused leader, leads to without one of its steps, where that is faster
  /// than the original: those that promise most first, then the fastest. The step may be all that
  /// was wrong.
  llvm::Expected<std::vector<Leader>> withoutOneStep(llvm::ArrayRef<Step> pipeline, bool mayJudge);
  /// Confirms the fastest leader that passes, into `result`.
  llvm::Error proveWinner();
  /// Tunes and ablates the winner in \p result, and takes what is better and proven as well.
  llvm::Error improveWinner();
  void keepWinner(const NodeId &node, std::vector<Step> pipeline, const NodeJudgement &judgement,
                  bool confirmed);
  /// That the budget still has and that are not kept; without a budget as many as there can be.
  uint64_t candidatesLeft() const {
    const uint64_t taken = result.judged + keptCandidates;
    return !options.budgetCandidates
               ? UINT64_MAX
               : options.budgetCandidates - std::min<uint64_t>(options.budgetCandidates, taken);
  }
  bool stopped() const { return options.stop && options.stop(); }
  /// Decides what of the budget is kept for a proof, \p taken seconds after the start.
  void keepForProof(double taken);
  /// Says once that what is left after \p taken seconds is less than a proof takes.
  void tellIfNoProofFits(double taken);
  /// Lets work end \p seconds after the start of the search.
  void giveUpAt(double seconds);
  /// Of the whole budget, what is kept for a proof included.
  double secondsLeft() { return options.budgetSeconds - (clock.monotonicSeconds() - startSeconds); }
  bool outOfTime() { return options.budgetSeconds > 0 && secondsLeft() <= finalSeconds; }

  /// Where a whole pipeline led.
  struct Replayed {
    NodeId node;         ///< judged; empty: a step was refused
    StepOutcome refusal; ///< of that step
    Step refused;
    std::string shortcut; ///< as in Attempt
  };
  llvm::Expected<Replayed> replay(llvm::ArrayRef<Step> pipeline);
  /// Pipelines that differ from \p pipeline in one option of one step, or else in two of replies.
  std::vector<std::vector<Step>> tunings(llvm::ArrayRef<Step> pipeline) const;
  Attempt tuned(const NodeId &winner, llvm::ArrayRef<Step> from, llvm::ArrayRef<Step> to,
                const Replayed &end) const;
  /// Keeps \p attempt and shows it.
  void tell(Attempt attempt);
  llvm::Error tune(NodeId &winner, std::vector<Step> &pipeline);
  llvm::Error ablate(NodeId &winner, std::vector<Step> &pipeline, bool mayJudge);
  /// Where \p pipeline leads from the root, if the search has judged that.
  std::optional<NodeId> judgedAlready(llvm::ArrayRef<Step> pipeline) const;

  /// Less is noise: centres must differ by 0.5 % (docs/Measurement.md).
  static constexpr double leastImprovement = 0.005;
  /// A leader better by less than this ratio does not put its proof off.
  static constexpr double clearlyBetter = 1.05;

  Environment &environment;
  SearchOptions options;
  const KnowledgeBase initial;
  KnowledgeBase believed;
  Clock &clock;
  SearchObserver *observer;

  double startSeconds = 0;
  double finalSeconds = 0; ///< of the budget, kept for the final check
  bool toldNoProofFits = false;
  NodeId rootId, originId;
  std::map<NodeId, ExplorerNode> nodes;
  std::map<Digest, NodeId> byCode;
  std::map<std::pair<NodeId, Step>, size_t> triedAt; ///< index of the attempt
  std::map<std::pair<NodeId, Step>, size_t> evidenceAt;
  std::vector<size_t> attemptOf; ///< by record
  /// Of this run; their evidence has the names of the replay buffer.
  std::vector<Finding> findings;
  /// Ranges of every action seen, by pass and reply.
  std::map<std::pair<std::string, std::string>, std::vector<ParameterRange>> rangesOf;
  std::map<std::tuple<NodeId, std::string, std::string, unsigned>, unsigned> asked;
  std::set<std::pair<NodeId, std::string>> declinedAt; ///< nodes and kernels
  std::set<std::string> suggestedStates;               ///< that `suggest` was asked about
  std::map<Digest, ModelRole> replyRoles;              ///< the role that gave a reply first
  unsigned batches = 0;                                ///< learnt from
  size_t reflectedUpTo = 0;                            ///< records that earlier batches had
  unsigned silences = 0;                               ///< "unavailable" in a row
  std::set<unsigned> succeeded; ///< trajectories with a program that was examined
  double best = 0;
  NodeId bestNode;
  double standingUs = 0; ///< of the leader that the next one has to be clearly better than
  double bestSince = 0;  ///< when it came, by the clock
  /// Where candidates are screened: of the original's own gates, and of a leader's.
  std::unique_ptr<class Prover> originalProver, prover;
  ///< where candidates are screened
  bool originalIsProven = true;           ///< its own gates have run
  std::map<NodeId, NodeJudgement> proofs; ///< correct ones
  std::set<Digest> refusedCode;           ///< by a proof
  std::set<Step> blamed;                  ///< last steps of refused leaders
  bool candidatesSpent = false;
  uint64_t keptCandidates = 0; ///< of the budget, for what comes after the sketches
  SearchResult result;
};

} // namespace kbopt

#endif // KBOPT_POLICY_EXPLORER_H
