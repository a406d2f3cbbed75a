//===- Sketches.cpp -------------------------------------------------------===//
#include "Sketches.h"
#include "kb-opt/Policy/Choice.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

namespace {

/// Schedules of a kernel that are judged.
constexpr size_t mostJudged = 8;
/// Of those that a sketch lists, most promising first, so many are written and modelled.
constexpr size_t mostModelled = 16;
/// Where times are measured so many are judged together, without a model; when a group brings
/// less than `leastProgress`, the rest is left.
constexpr size_t group = 4;
constexpr double leastProgress = 0.03;
/// A kernel that takes less of the program's time is not worth eight judgements.
constexpr double leastShare = 0.02;
/// Less is noise.
constexpr double leastGain = 0.005;

class SketchPhase {
public:
  explicit SketchPhase(Explorer &explorer) : explorer(explorer), at(explorer.origin()) {}

  llvm::Expected<std::optional<SearchEnd>> run() {
    for (;;) {
      if (std::optional<SearchEnd> end = explorer.mustEnd())
        return end;
      llvm::Expected<std::optional<Action>> next = nextAction();
      if (!next)
        return next.takeError();
      if (!*next)
        return std::nullopt;
      done.insert((*next)->kernel);
      if (llvm::Error error = tryAll(**next))
        return std::move(error);
    }
  }

private:
  /// The sketches of the kernel that takes most time and was not tried. Kernels that a sketch
  /// printed are not sketched again.
  llvm::Expected<std::optional<Action>> nextAction() {
    const ExplorerNode &node = explorer.node(at);
    if (isAtFloor(node))
      return std::nullopt;
    llvm::Expected<llvm::ArrayRef<Action>> actions = explorer.actions(at);
    if (!actions)
      return actions.takeError();
    std::optional<Action> chosen;
    double most = leastShare;
    for (const Action &action : *actions) {
      if (!action.sketch || action.ranges.empty() || done.count(action.kernel))
        continue;
      if (at == explorer.root())
        given.insert(action.kernel);
      double share = node.shareOf(action.kernel);
      if (given.count(action.kernel) && share >= most && (!chosen || share > most)) {
        most = share;
        chosen = action;
      }
    }
    return chosen;
  }

  llvm::Error tryAll(const Action &action) {
    const NodeId parent = at;
    const ParameterRange &range = action.ranges.front();
    llvm::ArrayRef<std::string> values(range.values);
    if (!explorer.measures())
      return tryTogether(parent, action, values.take_front(mostModelled));
    values = values.take_front(mostJudged);
    for (; !values.empty() && !explorer.mustEnd(); values = values.drop_front(std::min(group, values.size()))) {
      double before = explorer.node(at).judgement.timeUs;
      if (llvm::Error error = tryTogether(parent, action, values.take_front(group)))
        return error;
      if (at != parent && explorer.node(at).judgement.timeUs > before * (1 - leastProgress))
        break;
    }
    return llvm::Error::success();
  }

  /// Tries \p values at \p parent and moves on to the best program, if it is better than where the
  /// phase stands.
  llvm::Error tryTogether(const NodeId &parent, const Action &action, llvm::ArrayRef<std::string> values) {
    std::vector<ExplorerRequest> requests;
    for (const std::string &value : values) {
      ExplorerRequest request{parent, action.move({{action.ranges.front().name, value}})};
      request.phase = AttemptPhase::Sketch;
      request.trajectory = 1;
      requests.push_back(std::move(request));
    }
    llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests, mostJudged);
    if (!attempts)
      return attempts.takeError();
    for (const Attempt &attempt : *attempts)
      if (attempt.correct() && !attempt.node.empty() &&
          attempt.timeUs < explorer.node(at).judgement.timeUs * (1 - leastGain))
        at = attempt.node;
    explorer.setOrigin(at);
    return llvm::Error::success();
  }

  Explorer &explorer;
  NodeId at;
  std::set<std::string> given, done;
};

} // namespace

llvm::Expected<std::optional<SearchEnd>> kbopt::trySketches(Explorer &explorer) {
  if (!explorer.settings().sketches)
    return std::nullopt;
  return SketchPhase(explorer).run();
}
