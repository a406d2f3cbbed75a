//===- Sketches.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Sketches.h"
#include "Answers.h"
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
/// The passes that put one kernel in place of several launches, and how often they are tried at
/// most.
constexpr llvm::StringLiteral joiningPasses[] = {"batch-launches", "fuse-kernels-vertical"};
constexpr unsigned mostJoins = 6;
/// The pass whose gain no schedule has: threads that wait for each other's atomics leave nothing
/// else to gain.
constexpr llvm::StringLiteral privatizingPass = "privatize-atomics";

/// A candidate of this phase.
ExplorerRequest sketchRequest(const NodeId &parent, llvm::ArrayRef<Step> steps) {
  return earlyRequest(parent, steps, AttemptPhase::Sketch);
}

class SketchPhase {
public:
  SketchPhase(Explorer &explorer, const NodeId &start)
      : explorer(explorer), start(start), at(start) {}

  /// The best program that it found.
  const NodeId &best() const { return at; }

  llvm::Expected<std::optional<SearchEnd>> run() {
    if (llvm::Error error = lookAtStart())
      return std::move(error);
    if (llvm::Error error = tryPrivateCounters())
      return std::move(error);
    if (llvm::Error error = tryOneOfEach())
      return std::move(error);
    for (;;) {
      if (std::optional<SearchEnd> end = explorer.mustEnd())
        return end;
      llvm::Expected<std::optional<Action>> next = nextAction();
      if (!next)
        return next.takeError();
      if (!*next)
        return std::nullopt;
      if (llvm::Error error = tryNext(**next))
        return std::move(error);
    }
  }

private:
  /// None where the search must end, or nothing is left to gain.
  llvm::Expected<llvm::ArrayRef<Action>> actionsAtStart() {
    if (explorer.mustEnd() || isAtFloor(explorer, explorer.node(start)))
      return llvm::ArrayRef<Action>();
    return explorer.actions(start);
  }

  /// Finds the kernels that have sketches.
  llvm::Error lookAtStart() {
    const ExplorerNode &node = explorer.node(start);
    llvm::Expected<llvm::ArrayRef<Action>> actions = actionsAtStart();
    if (!actions)
      return actions.takeError();
    for (const Action &action : *actions)
      if (action.sketch && !action.ranges.empty())
        given.try_emplace(action.kernel, Progress{action, node.shareOf(action.kernel)});
    return llvm::Error::success();
  }

  /// Gives blocks counters of their own wherever a rule can. A kernel that gains by it gets no
  /// schedule: the original is only its fallback from then on.
  llvm::Error tryPrivateCounters() {
    const ExplorerNode &node = explorer.node(start);
    llvm::Expected<llvm::ArrayRef<Action>> actions = actionsAtStart();
    if (!actions)
      return actions.takeError();
    std::vector<Action> chosen;
    for (const Action &action : *actions)
      if (action.pass == privatizingPass && !action.assisted &&
          node.shareOf(action.kernel) >= leastShare && !isScattered(action.kernel))
        chosen.push_back(action);
    for (const Action &action : chosen) {
      if (explorer.mustEnd())
        break;
      llvm::Expected<std::vector<Attempt>> attempts =
          explorer.evaluate({sketchRequest(at, {action.step()})});
      if (!attempts)
        return attempts.takeError();
      if (attempts->empty() || !takeIfFaster(attempts->front()))
        continue;
      explorer.setOrigin(at);
      given.erase(action.kernel);
    }
    return llvm::Error::success();
  }

  /// Whether the schedules of \p kernel combine its atomics, in bins among others.
  bool isScattered(const std::string &kernel) const {
    auto found = given.find(kernel);
    return found != given.end() && !found->second.action.ranges.front().values.empty() &&
           llvm::StringRef(found->second.action.ranges.front().values.front())
               .starts_with("scatter ");
  }

  /// Tries the first schedule of every kernel that takes time, all of them as one candidate: a
  /// short search, which may end after the first ones, leaves no slow kernel as it was.
  llvm::Error tryOneOfEach() {
    std::vector<Progress *> slow;
    for (auto &[kernel, progress] : given)
      if (progress.share >= leastShare)
        slow.push_back(&progress);
    if (slow.size() < 2 || explorer.mustEnd())
      return llvm::Error::success();
    llvm::sort(slow, [](const Progress *a, const Progress *b) {
      return std::tuple(-a->share, a->action.kernel) < std::tuple(-b->share, b->action.kernel);
    });
    std::vector<Step> moves;
    for (const Progress *each : slow) {
      const ParameterRange &range = each->action.ranges.front();
      moves.push_back(each->action.step({{range.name, range.values.front()}}));
    }
    llvm::Expected<std::vector<Attempt>> attempts =
        explorer.evaluate({sketchRequest(start, moves)});
    if (!attempts)
      return attempts.takeError();
    if (attempts->empty() || !takeIfFaster(attempts->front()))
      return llvm::Error::success();
    explorer.setOrigin(at);
    moves = attempts->front().before;
    moves.push_back(attempts->front().step);
    for (const Step &move : moves) {
      Progress &progress = given.at(move.kernel);
      progress.tried = 1;
      progress.hasGained = true;
    }
    return llvm::Error::success();
  }

  /// The sketches of the kernel that takes most time, of those that were tried least. Kernels that
  /// a sketch printed are not sketched again.
  llvm::Expected<std::optional<Action>> nextAction() {
    const ExplorerNode &node = explorer.node(at);
    if (isAtFloor(explorer, node))
      return std::nullopt;
    std::optional<Action> chosen;
    size_t least = 0;
    double most = 0;
    for (auto &[kernel, progress] : given) {
      // What the others take less is what this one takes more, until it is another kernel that
      // runs.
      if (!progress.hasGained)
        progress.share = node.shareOf(kernel);
      if (progress.isDone || progress.share < leastShare)
        continue;
      if (!chosen || progress.tried < least || (progress.tried == least && progress.share > most)) {
        least = progress.tried;
        most = progress.share;
        chosen = progress.action;
      }
    }
    return chosen;
  }

  /// Tries the next schedules of \p action: all of them where times are modelled, else one group,
  /// so that every kernel has had its first group before any gets a second one.
  llvm::Error tryNext(const Action &action) {
    Progress &progress = given.at(action.kernel);
    const NodeId parent = at;
    llvm::ArrayRef<std::string> values(action.ranges.front().values);
    values = values.take_front(explorer.measures() ? mostJudged : mostModelled)
                 .drop_front(progress.tried);
    if (!explorer.measures()) {
      progress.isDone = true;
      return tryTogether(parent, action, values);
    }
    double before = explorer.node(at).judgement.timeUs;
    if (llvm::Error error = tryTogether(parent, action, values.take_front(group)))
      return error;
    double now = explorer.node(at).judgement.timeUs;
    // The best schedule of every kind is in the first group.
    progress.isDone = values.size() <= group || now > before * (1 - leastProgress);
    progress.hasGained |= at != parent;
    progress.tried += group;
    return llvm::Error::success();
  }

  /// Tries \p values at \p parent and moves on to the best program, if it is better than where the
  /// phase stands.
  llvm::Error tryTogether(const NodeId &parent, const Action &action,
                          llvm::ArrayRef<std::string> values) {
    std::vector<ExplorerRequest> requests;
    for (const std::string &value : values) {
      requests.push_back(
          sketchRequest(parent, {action.step({{action.ranges.front().name, value}})}));
    }
    llvm::Expected<std::vector<Attempt>> attempts = explorer.evaluate(requests, mostJudged);
    if (!attempts)
      return attempts.takeError();
    for (const Attempt &attempt : *attempts)
      takeIfFaster(attempt);
    explorer.setOrigin(at);
    return llvm::Error::success();
  }

  /// Moves on to the program of \p attempt, if it is better than where the phase stands.
  bool takeIfFaster(const Attempt &attempt) {
    bool isFaster = attempt.usable() && !attempt.node.empty() &&
                    attempt.timeUs < explorer.node(at).judgement.timeUs * (1 - timeNoise);
    if (isFaster)
      at = attempt.node;
    return isFaster;
  }

  /// What was tried of a kernel of the program that the phase began with.
  struct Progress {
    Action action;
    double share = 0; ///< of the program's time
    size_t tried = 0;
    bool hasGained = false, isDone = false;
  };

  Explorer &explorer;
  const NodeId start;
  NodeId at;
  std::map<std::string, Progress> given;
};

/// The program of \p explorer's origin with launches joined wherever a rule can: a schedule may
/// gain from a joined kernel even where the kernel as it is printed gains nothing.
llvm::Expected<NodeId> joinLaunches(Explorer &explorer) {
  NodeId at = explorer.origin();
  std::set<std::pair<std::string, std::string>> refused; ///< pass and kernel
  for (unsigned joins = 0; joins < mostJoins && !explorer.mustEnd();) {
    llvm::Expected<llvm::ArrayRef<Action>> actions = explorer.actions(at);
    if (!actions)
      return actions.takeError();
    std::optional<Action> chosen;
    for (llvm::StringRef pass : joiningPasses)
      for (const Action &action : *actions)
        if (!chosen && action.pass == pass && !action.assisted &&
            !refused.count({action.pass, action.kernel}))
          chosen = action;
    if (!chosen)
      break;
    llvm::Expected<std::vector<Attempt>> attempts =
        explorer.evaluate({sketchRequest(at, {chosen->step()})});
    if (!attempts)
      return attempts.takeError();
    if (attempts->size() == 1 && attempts->front().usable() && !attempts->front().node.empty() &&
        attempts->front().node != at) {
      at = attempts->front().node;
      ++joins;
    } else {
      refused.emplace(chosen->pass, chosen->kernel);
    }
  }
  return at;
}

/// The pass that makes a header's kernels and launches part of the file, where everything else can
/// change them.
constexpr llvm::StringLiteral inliningPass = "inline-header";

/// Begins with the headers in the file wherever a rule can put them there: the same program.
llvm::Error inlineHeaders(Explorer &explorer) {
  llvm::Expected<llvm::ArrayRef<Action>> actions = explorer.actions(explorer.origin());
  if (!actions)
    return actions.takeError();
  std::vector<Step> moves;
  for (const Action &action : *actions)
    if (action.pass == inliningPass && !action.assisted)
      moves.push_back(action.step());
  if (moves.empty() || explorer.mustEnd())
    return llvm::Error::success();
  llvm::Expected<std::vector<Attempt>> attempts =
      explorer.evaluate({sketchRequest(explorer.origin(), moves)});
  if (!attempts)
    return attempts.takeError();
  if (attempts->size() == 1 && attempts->front().usable() && !attempts->front().node.empty())
    explorer.setOrigin(attempts->front().node);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::optional<SearchEnd>> kbopt::trySketches(Explorer &explorer) {
  if (!explorer.settings().sketches)
    return std::nullopt;
  if (llvm::Error error = inlineHeaders(explorer))
    return std::move(error);
  const NodeId given = explorer.origin();
  llvm::Expected<std::optional<Leader>> answer = tryAnswers(explorer);
  if (!answer)
    return answer.takeError();
  auto timeOf = [&](const NodeId &node) { return explorer.node(node).judgement.timeUs; };
  NodeId best = given;
  std::optional<SearchEnd> end;
  auto schedule = [&](const NodeId &start) -> llvm::Error {
    SketchPhase phase(explorer, start);
    llvm::Expected<std::optional<SearchEnd>> ended = phase.run();
    if (!ended)
      return ended.takeError();
    end = *ended;
    if (timeOf(phase.best()) < timeOf(best))
      best = phase.best();
    return llvm::Error::success();
  };
  // A measured candidate takes seconds, and a joined program that is slower by itself would have
  // taken the first ones.
  const bool isGivenFirst = explorer.measures();
  if (isGivenFirst)
    if (llvm::Error error = schedule(given))
      return std::move(error);
  llvm::Expected<NodeId> joined = joinLaunches(explorer);
  if (!joined)
    return joined.takeError();
  if (*joined != given || !isGivenFirst)
    if (llvm::Error error = schedule(*joined))
      return std::move(error);
  // Where joining gains nothing by itself, the kernels that were joined get schedules, too.
  if (*joined != given && !isGivenFirst && timeOf(*joined) >= timeOf(given) * (1 - timeNoise))
    if (llvm::Error error = schedule(given))
      return std::move(error);
  if (*answer) {
    llvm::Expected<NodeId> joint = joinAnswer(explorer, given, **answer, best);
    if (!joint)
      return joint.takeError();
    best = *joint;
  }
  explorer.setOrigin(best);
  return end;
}
