//===- Choice.h - Weights of the next step ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
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
struct StepOption {
  Step step;
  double weight = 0;
  double predictedGain = 0; ///< logarithmic, of the step itself
  bool fresh = true;        ///< not tried here: it costs a candidate
  unsigned ask = 0;         ///< from 1: a model is to be asked for it, as so often
};

/// What others of the same batch will try.
class Planned {
public:
  void add(const ExplorerRequest &request) {
    requests.insert({request.parent, request.step, request.ask});
  }
  bool empty() const { return requests.empty(); }
  bool has(const NodeId &node, const Step &move) const { return requests.count({node, move, 0}); }
  unsigned countAt(const NodeId &node) const;
  bool anyAt(const NodeId &node) const { return countAt(node) != 0; }
  unsigned count(const NodeId &node, const Action &action) const;

private:
  std::set<std::tuple<NodeId, Step, unsigned>> requests;
};

/// Whether \p move came of \p action; \p asked: a model was asked for it.
bool isOf(const Step &move, bool asked, const Action &action);

/// Every move that \p node offers: for each action the next untried parameters, or
/// one more question to the model, and the best tried ones to be followed at no cost.
/// In a fixed order; weights may be 0.
std::vector<StepOption> stepOptions(const Explorer &explorer, const ExplorerNode &node,
                                    llvm::ArrayRef<Action> actions, const Planned &planned);

/// The next parameters of \p action to try at \p node: those that worked best
/// before, then the defaults, then neighbours of the best of this search, one
/// option one place up or down. Nothing when all of these were tried.
std::optional<std::map<std::string, std::string>> nextParameters(const Explorer &explorer,
                                                                 const ExplorerNode &node,
                                                                 const Action &action,
                                                                 const Planned &planned);

/// Whether nothing is left to win: within 2 % of the attainable time, or, where that is not known,
/// of the roofline floor of the program's kernels.
bool isAtFloor(const Explorer &explorer, const ExplorerNode &node);

/// One of \p moves, which are not empty, in proportion to the weights.
const StepOption &drawn(llvm::ArrayRef<StepOption> moves, Random &random);

/// Credits each of \p steps, one behind the other, with its own gain and the
/// discounted gains behind it. A later step that lost time takes nothing from an
/// earlier one: it need not be kept.
void giveCredit(Explorer &explorer, llvm::ArrayRef<Attempt> steps);

/// Fresh moves of \p node that can be drawn: weights above 0, none at the floor.
llvm::Expected<std::vector<StepOption>> freshSteps(Explorer &explorer, const NodeId &node,
                                                   const Planned &planned);

} // namespace kbopt

#endif // KBOPT_POLICY_CHOICE_H
