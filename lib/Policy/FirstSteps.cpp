//===- FirstSteps.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FirstSteps.h"
#include "kb-opt/Policy/Choice.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {

/// In the order in which they are applied: first those that change the text of a kernel, then those
/// that put a second kernel beside it. Where one of these has taken a launch the others do not
/// apply and are left out.
constexpr llvm::StringLiteral usualPasses[] = {
    "fix-double-literals",  "add-restrict-const",     "hoist-loop-invariant", "vectorize-loads",
    "specialize-constants", "strength-reduce-divmod", "narrow-index-type"};
/// The one that may cost something: where runs are short a wide access moves more than is used.
constexpr llvm::StringLiteral riskyPass = "vectorize-loads";
/// The pass that copies a kernel of a header into the file, where the other passes can change it.
constexpr llvm::StringLiteral importingPass = "import-kernel";
/// A copy may be so much slower: it is the same code under another name.
constexpr double mostLost = 0.02;
/// A kernel that takes less of the program's time is left as it is.
constexpr double leastShare = 0.02;

class FirstSteps {
public:
  explicit FirstSteps(Explorer &explorer) : explorer(explorer) {}

  llvm::Error run() {
    const ExplorerNode &node = explorer.node(explorer.origin());
    llvm::Expected<llvm::ArrayRef<Action>> given = explorer.actions(explorer.root());
    if (!given)
      return given.takeError();
    ours = kernelsOf(*given);
    llvm::Expected<llvm::ArrayRef<Action>> now = explorer.actions(node.id);
    if (!now)
      return now.takeError();
    const std::vector<Step> imports = movesBy(importingPass, *now);
    if (imports.empty())
      return tryTogether({}, *now);
    std::set<std::string> before = kernelsOf(*now);
    llvm::Expected<std::vector<Action>> after = explorer.actionsAfter(node.id, imports);
    if (!after)
      return after.takeError();
    for (const std::string &kernel : kernelsOf(*after))
      if (!before.count(kernel))
        ours.insert(kernel);
    return tryTogether(imports, *after);
  }

private:
  static std::set<std::string> kernelsOf(llvm::ArrayRef<Action> actions) {
    std::set<std::string> kernels;
    for (const Action &action : actions)
      kernels.insert(action.kernel);
    return kernels;
  }

  /// The moves by \p passes, in their order, of \p actions.
  std::vector<Step> movesBy(llvm::ArrayRef<llvm::StringLiteral> passes,
                            llvm::ArrayRef<Action> actions) const {
    const ExplorerNode &node = explorer.node(explorer.origin());
    std::vector<Step> moves;
    for (llvm::StringRef pass : passes)
      for (const Action &action : actions)
        if (action.pass == pass && !action.assisted && !action.sketch &&
            ours.count(action.kernel) && node.shareOf(action.kernel) >= leastShare)
          if (auto parameters = nextParameters(explorer, node, action, {}))
            moves.push_back(action.step(std::move(*parameters)));
    return moves;
  }

  /// Moves the origin to the fastest of \p requests below \p least.
  llvm::Error evaluate(llvm::ArrayRef<ExplorerRequest> requests, double least) {
    llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests);
    if (!attempts)
      return attempts.takeError();
    for (const Attempt &attempt : *attempts)
      if (attempt.usable() && !attempt.node.empty() && attempt.timeUs < least) {
        least = attempt.timeUs;
        explorer.setOrigin(attempt.node);
      }
    return llvm::Error::success();
  }

  /// Tries the usual passes of \p actions, which apply after \p imports. Other steps may gain from
  /// copies that gain nothing by themselves.
  llvm::Error tryTogether(llvm::ArrayRef<Step> imports, llvm::ArrayRef<Action> actions) {
    std::vector<Step> all = movesBy(usualPasses, actions), cautious = all;
    llvm::erase_if(cautious, [](const Step &move) { return move.pass == riskyPass; });
    std::vector<ExplorerRequest> requests;
    auto add = [&](std::vector<Step> moves) {
      moves.insert(moves.begin(), imports.begin(), imports.end());
      if (moves.size() > 1 || !imports.empty())
        requests.push_back(earlyRequest(explorer.origin(), moves, AttemptPhase::Search));
    };
    add(all);
    if (cautious.size() < all.size())
      add(cautious);
    double now = explorer.node(explorer.origin()).judgement.timeUs;
    return requests.empty()
               ? llvm::Error::success()
               : evaluate(requests, now * (imports.empty() ? 1 - timeNoise : 1 + mostLost));
  }

  Explorer &explorer;
  /// Kernels that the user wrote, and their copies: what sketches printed is left as it is.
  std::set<std::string> ours;
};

} // namespace

llvm::Error kbopt::tryFirstSteps(Explorer &explorer) {
  const SearchOptions &options = explorer.settings();
  bool endsEarly = explorer.measures() || options.budgetSeconds > 0;
  const ExplorerNode &node = explorer.node(explorer.origin());
  if (!options.sketches || !endsEarly || explorer.mustEnd() || isAtFloor(explorer, node))
    return llvm::Error::success();
  return FirstSteps(explorer).run();
}
