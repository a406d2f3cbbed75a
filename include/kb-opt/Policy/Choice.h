//===- Choice.h - Weights of the next step ----------------------*- C++ -*-===//
//
// Owns how a step is drawn: which moves a node offers, with which parameters,
// and how likely each is. The draw itself is a strategy's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_POLICY_CHOICE_H
#define KBOPT_POLICY_CHOICE_H

#include "kb-opt/Policy/Explorer.h"
#include "kb-opt/Support/Random.h"

namespace kbopt {

/// A move with its weight in the draw.
struct MoveOption {
  Move move;
  double weight = 0;
  double predictedGain = 0; ///< logarithmic, of the step itself
  bool fresh = true;        ///< not tried here: it costs a candidate
};

/// Every move that \p node offers: for each action the next untried parameters,
/// and the best tried ones to be followed at no cost. \p planned holds moves that
/// others will try in the same batch. In a fixed order; weights may be 0.
std::vector<MoveOption> movesOf(const Explorer &explorer, const ExplorerNode &node,
                                llvm::ArrayRef<Action> actions, const KnowledgeBase &knowledge,
                                const std::set<std::pair<NodeId, Move>> &planned);

/// The next parameters of \p action to try at \p node: those that worked best
/// before, then the defaults, then neighbours of the best of this search, one
/// option one place up or down. Nothing when all of these were tried.
std::optional<std::map<std::string, std::string>>
nextParameters(const Explorer &explorer, const ExplorerNode &node, const Action &action,
               const KnowledgeBase &knowledge, const std::set<std::pair<NodeId, Move>> &planned);

} // namespace kbopt

#endif // KBOPT_POLICY_CHOICE_H
