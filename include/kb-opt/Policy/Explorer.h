//===- Explorer.h - The graph of programs that a search has seen *- C++ -*-===//
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
  std::vector<Move> pipeline; ///< that first led here
  std::optional<std::vector<Action>> actions;

  /// Passes of the pipeline that touched \p kernel (or everything), in order.
  std::vector<std::string> predecessors(llvm::StringRef kernel) const;
  const State &stateOf(const std::string &kernel) const;
  const std::string &shapeOf(const std::string &kernel) const;
  /// Part of the program's time that \p kernel takes; 1 where unknown.
  double shareOf(const std::string &kernel) const;
};

/// What a gain of one kernel means for a program of which it takes \p share of the
/// time (Amdahl); both gains are logarithmic.
double programGain(double kernelGain, double share);

/// One thing to try.
struct ExplorerRequest {
  NodeId parent;
  Move move;
  double predictedGain = 0;
  unsigned trajectory = 0;
};

/// Not thread-safe; uses threads inside.
class Explorer {
public:
  Explorer(Environment &environment, const KnowledgeBase &knowledge, const SearchOptions &options,
           Clock &clock, SearchObserver *observer);

  /// Judges the original. False if it is not correct: then there is no search.
  llvm::Expected<bool> start();

  /// Tries all of \p requests and returns one attempt for each, in order, or
  /// fewer where a budget ended first. A move that was tried at its parent before
  /// is answered from memory.
  llvm::Expected<std::vector<Attempt>> evaluate(llvm::ArrayRef<ExplorerRequest> requests);

  /// Why the search must end now, if it must.
  std::optional<SearchEnd> mustEnd();

  const ExplorerNode &node(const NodeId &id) const { return nodes.at(id); }
  const NodeId &root() const { return rootId; }
  /// Passes that apply to \p id; asked of the environment once.
  llvm::Expected<llvm::ArrayRef<Action>> actions(const NodeId &id);
  /// The attempt of \p move at \p parent, or null. Valid until the next call.
  const Attempt *tried(const NodeId &parent, const Move &move) const;
  const std::vector<Attempt> &attempts() const { return result.attempts; }

  /// Raises the credit of the step \p move at \p parent to its own gain and \p later,
  /// what the steps behind it are worth to it.
  void credit(const NodeId &parent, const Move &move, double later);
  /// The knowledge that the search began with and all that was tried since.
  KnowledgeBase learnt() const;
  double bestUs() const { return best; }

  /// Tunes the parameters of the winner within the budget, ablates and confirms
  /// it (the next best where a confirmation fails) and hands out the result.
  llvm::Expected<SearchResult> finish(SearchEnd end);

private:
  struct Pending;
  template <typename T, typename Take>
  llvm::Error keepUnlessStopped(llvm::Expected<T> answer, Take take);
  llvm::Error applyAll(std::vector<Pending> &pending);
  llvm::Error judgeAll(std::vector<Pending> &pending);
  void settle(Pending &pending, std::set<NodeId> &coming, std::map<Digest, NodeId> &comingCode,
              uint64_t open);
  Attempt resolve(const Pending &pending);
  void addNode(const NodeId &id, const Digest &code, const NodeJudgement &judgement,
               std::vector<Move> pipeline);
  void record(const Attempt &attempt, const Digest &code);
  void noteBest(const NodeId &id);
  bool stopped() const { return options.stop && options.stop(); }
  bool outOfTime() {
    return options.budgetSeconds > 0 &&
           clock.monotonicSeconds() - startSeconds >= options.budgetSeconds;
  }

  llvm::Expected<std::optional<NodeId>> replay(llvm::ArrayRef<Move> pipeline, bool counted);
  llvm::Error tune(NodeId &winner, std::vector<Move> &pipeline);
  llvm::Error ablate(NodeId &winner, std::vector<Move> &pipeline, bool mayJudge);
  /// Where \p pipeline leads from the root, if the search has judged that.
  std::optional<NodeId> judgedAlready(llvm::ArrayRef<Move> pipeline) const;
  std::vector<NodeId> leaders() const;

  Environment &environment;
  const KnowledgeBase &initial;
  SearchOptions options;
  Clock &clock;
  SearchObserver *observer;

  double startSeconds = 0;
  NodeId rootId;
  std::map<NodeId, ExplorerNode> nodes;
  std::map<Digest, NodeId> byCode;
  std::map<std::pair<NodeId, Move>, size_t> triedAt; ///< index of the attempt
  std::map<std::pair<NodeId, Move>, size_t> evidenceAt;
  /// Ranges of every action seen, by pass.
  std::map<std::string, std::vector<ParameterRange>> rangesOf;
  double best = 0;
  NodeId bestNode;
  bool candidatesSpent = false;
  SearchResult result;
};

} // namespace kbopt

#endif // KBOPT_POLICY_EXPLORER_H
