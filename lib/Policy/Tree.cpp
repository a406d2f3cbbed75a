//===- Tree.cpp -----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Tree.h"
#include "Crossover.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {

/// What the attempts at a program have come to; the debugger's belong to the
/// proposal that they mend.
struct Children {
  unsigned made = 0; ///< candidates, whatever became of them
  unsigned correct = 0;
};

class Tree {
public:
  explicit Tree(Explorer &explorer)
      : explorer(explorer), options(explorer.settings()), random(Random(options.seed).fork("tree")),
        nodes{explorer.origin()} {}

  llvm::Expected<SearchEnd> run() {
    unsigned total = options.trajectories * options.steps;
    while (made < total) {
      unsigned roundEnd = std::min(total, made + std::max(1u, options.steps));
      bool open = true;
      while (open && made < roundEnd) {
        if (std::optional<SearchEnd> end = explorer.mustEnd())
          return *end;
        llvm::Expected<bool> more = expand(std::min(std::max(1u, options.batch), roundEnd - made));
        if (!more)
          return more.takeError();
        open = *more;
      }
      llvm::Expected<bool> crossed = endRound();
      if (!crossed)
        return crossed.takeError();
      if (std::optional<SearchEnd> end = explorer.mustEnd())
        return *end;
      if (!open && !*crossed)
        return SearchEnd::NothingLeft;
    }
    return SearchEnd::Done;
  }

private:
  /// Selects and tries \p count moves together. False where nothing is open.
  llvm::Expected<bool> expand(unsigned count) {
    std::vector<ExplorerRequest> requests;
    Planned planned;
    while (requests.size() != count) {
      llvm::Expected<std::optional<ExplorerRequest>> request = select(planned);
      if (!request)
        return request.takeError();
      if (!*request)
        break;
      (*request)->trajectory = made + static_cast<unsigned>(requests.size()) + 1;
      planned.add(**request);
      requests.push_back(std::move(**request));
    }
    if (requests.empty())
      return false;
    llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests);
    if (!attempts)
      return attempts.takeError();
    made += static_cast<unsigned>(requests.size());
    grow();
    return true;
  }

  /// Takes in the correct programs that were found since the last time.
  void grow() {
    llvm::ArrayRef<Attempt> attempts = explorer.attempts();
    for (; seen != attempts.size(); ++seen) {
      const Attempt &attempt = attempts[seen];
      if (attempt.usable() && !attempt.node.empty() && !llvm::is_contained(nodes, attempt.node))
        nodes.push_back(attempt.node);
    }
  }

  /// A program by the epsilon-greedy rule, and one of its moves by predicted gain.
  llvm::Expected<std::optional<ExplorerRequest>> select(const Planned &planned) {
    bool explores = random.uniform() < options.epsilon;
    std::vector<NodeId> left = eligible(planned);
    while (!left.empty()) {
      NodeId chosen = explores ? leaf(left) : fastest(left);
      llvm::Expected<std::vector<StepOption>> moves = freshSteps(explorer, chosen, planned);
      if (!moves)
        return moves.takeError();
      if (!moves->empty()) {
        const StepOption &move = drawn(*moves, random);
        return ExplorerRequest{chosen, move.step, move.predictedGain, 0, move.ask};
      }
      if (!planned.anyAt(chosen))
        exhausted.insert(chosen);
      llvm::erase(left, chosen);
      if (left.empty() && chosen != explorer.origin() && mayReopen(planned))
        left = {explorer.origin()};
    }
    return std::nullopt;
  }

  std::vector<NodeId> eligible(const Planned &planned) {
    children.clear();
    for (const Attempt &attempt : explorer.attempts()) {
      if (attempt.trajectory == 0)
        continue;
      Children &at = children[attempt.parent];
      at.made += attempt.repair == 0 && (attempt.verdict != VerdictKind::NotApplied || attempt.ask);
      at.correct += attempt.usable();
    }
    std::vector<NodeId> result;
    for (const NodeId &node : nodes)
      if (!exhausted.count(node) && !isDead(node) && !isThrottled(node, planned))
        result.push_back(node);
    if (result.empty() && mayReopen(planned))
      result.push_back(explorer.origin());
    return result;
  }

  /// The original is opened again where nothing else is left, nor on its way.
  bool mayReopen(const Planned &planned) const {
    return planned.empty() && !exhausted.count(explorer.origin());
  }

  bool isDead(const NodeId &node) {
    return node != explorer.origin() && children[node].made >= options.deadAfter &&
           children[node].correct == 0;
  }
  bool isThrottled(const NodeId &node, const Planned &planned) {
    return node == explorer.origin() &&
           children[node].made + planned.countAt(node) >= options.rootChildren;
  }

  /// Of equally fast ones the first that was found.
  NodeId fastest(llvm::ArrayRef<NodeId> from) {
    return *llvm::min_element(from, [&](const NodeId &a, const NodeId &b) {
      return explorer.node(a).judgement.timeUs < explorer.node(b).judgement.timeUs;
    });
  }
  /// Any of those without a correct child; where there is none, any.
  NodeId leaf(llvm::ArrayRef<NodeId> from) {
    std::vector<NodeId> leaves;
    for (const NodeId &node : from)
      if (children[node].correct == 0)
        leaves.push_back(node);
    llvm::ArrayRef<NodeId> among = leaves.empty() ? from : llvm::ArrayRef<NodeId>(leaves);
    return among[random.below(among.size())];
  }

  /// Credit to every step on the way to what this round found; then winners are
  /// crossed. Whether that gave something new.
  llvm::Expected<bool> endRound() {
    for (; credited != nodes.size(); ++credited) {
      std::vector<Attempt> way;
      for (NodeId at = nodes[credited]; at != explorer.root(); at = explorer.node(at).parent) {
        const ExplorerNode &node = explorer.node(at);
        way.insert(way.begin(), *explorer.tried(node.parent, node.pipeline.back()));
      }
      giveCredit(explorer, way);
    }
    if (llvm::Error error = explorer.learn())
      return std::move(error);
    if (!options.crossover.value_or(true) || explorer.mustEnd())
      return false;
    llvm::Expected<bool> crossed = crossWinners(explorer, 1, made + 1);
    if (crossed && *crossed) {
      ++made;
      grow();
    }
    return crossed;
  }

  Explorer &explorer;
  const SearchOptions &options;
  Random random;
  std::vector<NodeId> nodes;  ///< correct programs in the order of their discovery
  std::set<NodeId> exhausted; ///< with nothing left to try
  std::map<NodeId, Children> children;
  size_t seen = 0;     ///< attempts that `nodes` has
  size_t credited = 1; ///< nodes, the original first, whose way has its credit
  unsigned made = 0;   ///< moves
};

} // namespace

llvm::Expected<SearchEnd> TreeStrategy::explore(Explorer &explorer) { return Tree(explorer).run(); }
