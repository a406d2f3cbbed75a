//===- FakeEnvironment.h - Programs that are lists of moves -----*- C++ -*-===//
//
// Owns a world with a known best: a program is the moves made so far, its time
// a product of factors. Counts what was asked, and fails on request.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_POLICY_FAKEENVIRONMENT_H
#define KBOPT_TEST_UNIT_POLICY_FAKEENVIRONMENT_H

#include "kb-opt/Policy/Search.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include <mutex>

namespace kbopt {

/// What a pass does in the fake world.
struct FakePass {
  std::string name;
  /// Factor on the time by the value of its only option; "" for passes without.
  std::map<std::string, double> factors = {{"", 1.0}};
  std::vector<std::string> values = {}; ///< of the option "n", in order
  std::string defaultValue = {};
  std::string requires_ = {}; ///< does not apply before this pass
  bool changesCode = true;    ///< false: identical machine code
  AttemptVerdict verdict = AttemptVerdict::Correct;
  bool compiles = true;
  double floorUs = 0;
};

class FakeEnvironment : public Environment {
public:
  using Moves = std::vector<Move>;
  std::vector<FakePass> passes;
  double originalUs = 100;
  double programFloorUs = 0; ///< 0: unknown
  AttemptVerdict originalVerdict = AttemptVerdict::Correct;
  FakeClock *clock = nullptr; ///< advanced by a second per judgement
  std::function<llvm::Error()> onJudge = [] { return llvm::Error::success(); };
  std::function<bool(const Moves &)> refuse = [](const Moves &) { return false; };

  /// Judgements by machine code.
  std::map<Digest, unsigned> judged;
  std::map<NodeId, Moves> programs;
  std::mutex mutex;

  NodeId root() override { return put({}); }

  llvm::Expected<std::vector<Action>> actions(const NodeId &node) override {
    Moves moves = at(node);
    std::vector<Action> result;
    for (const FakePass &pass : passes) {
      if (llvm::any_of(moves, [&](const Move &move) { return move.pass == pass.name; }))
        continue;
      Action action{pass.name, "k", "", {}};
      if (!pass.values.empty())
        action.ranges.push_back({"n", pass.values, pass.defaultValue});
      result.push_back(std::move(action));
    }
    return result;
  }

  llvm::Expected<MoveResult> apply(const NodeId &node, const Move &move) override {
    Moves moves = at(node);
    const FakePass &pass = find(move.pass);
    MoveResult result;
    if (!pass.requires_.empty() &&
        llvm::none_of(moves, [&](const Move &m) { return m.pass == pass.requires_; })) {
      result.reason = "needs " + pass.requires_;
      return result;
    }
    result.applied = true;
    moves.push_back(move);
    if (!pass.compiles) {
      result.gate = "G1";
      result.failure = "compile";
      result.reason = "it does not compile";
      return result;
    }
    result.node = put(moves);
    result.code = codeOf(moves);
    result.floorUs = pass.floorUs;
    return result;
  }

  llvm::Expected<NodeJudgement> judge(const NodeId &node) override {
    if (llvm::Error error = onJudge())
      return std::move(error);
    Moves moves = at(node);
    std::lock_guard<std::mutex> guard(mutex);
    ++judged[codeOf(moves)];
    if (clock)
      clock->now += 1;
    return judgementOf(moves);
  }

  llvm::Expected<NodeJudgement> confirm(const NodeId &node) override {
    Moves moves = at(node);
    NodeJudgement judgement = judgementOf(moves);
    if (refuse(moves)) {
      judgement.verdict = AttemptVerdict::Incorrect;
      judgement.gate = "G15";
      judgement.reason = "wrong on a shape that the search never saw";
    }
    return judgement;
  }

  double timeOf(const Moves &moves) const {
    double time = originalUs;
    for (const Move &move : moves) {
      auto value = move.parameters.find("n");
      time *= find(move.pass).factors.at(value == move.parameters.end() ? "" : value->second);
    }
    return time;
  }

  unsigned totalJudged() const {
    unsigned total = 0;
    for (const auto &entry : judged)
      total += entry.second;
    return total;
  }

private:
  const FakePass &find(llvm::StringRef name) const {
    return *llvm::find_if(passes, [&](const FakePass &pass) { return pass.name == name; });
  }
  Moves at(const NodeId &node) {
    std::lock_guard<std::mutex> guard(mutex);
    return programs.at(node);
  }
  NodeId put(const Moves &moves) {
    DigestBuilder builder;
    for (const Move &move : moves)
      builder.add(move.text());
    NodeId id = builder.finish();
    std::lock_guard<std::mutex> guard(mutex);
    programs[id] = moves;
    return id;
  }
  /// The order of moves makes no difference to the machine.
  Digest codeOf(const Moves &moves) const {
    std::set<std::string> effective;
    for (const Move &move : moves)
      if (find(move.pass).changesCode)
        effective.insert(move.text());
    DigestBuilder builder;
    for (const std::string &text : effective)
      builder.add(text);
    return builder.finish();
  }
  NodeJudgement judgementOf(const Moves &moves) const {
    NodeJudgement judgement;
    judgement.code = codeOf(moves);
    judgement.verdict = moves.empty() ? originalVerdict : AttemptVerdict::Correct;
    for (const Move &move : moves)
      if (find(move.pass).verdict != AttemptVerdict::Correct) {
        judgement.verdict = find(move.pass).verdict;
        judgement.gate = "G4";
        judgement.failure = "correctness";
        judgement.reason = move.pass + " broke it";
      }
    if (judgement.verdict == AttemptVerdict::Correct)
      judgement.timeUs = timeOf(moves);
    bool coalesced =
        llvm::any_of(moves, [](const Move &move) { return move.pass == "coalesce-accesses"; });
    judgement.state.primary = coalesced ? "memory_latency_bound" : "uncoalesced_access";
    judgement.state.shares.push_back({judgement.state.primary, 0.6, coalesced, ""});
    judgement.state.active = 0.4;
    judgement.shape = "elementwise";
    judgement.floorUs = programFloorUs;
    return judgement;
  }
};

/// A world with a bit of everything; the best is 27.2 us: coalesced, vectorized
/// by 8, unrolled by 8.
inline void fillWorld(FakeEnvironment &world) {
  FakePass coalesce{"coalesce-accesses"};
  coalesce.factors = {{"", 0.4}};
  FakePass vectorize{
      "vectorize-loads", {{"2", 0.95}, {"4", 0.9}, {"8", 0.85}}, {"2", "4", "8"}, "4"};
  vectorize.requires_ = "coalesce-accesses";
  FakePass unroll{"unroll-loop",
                  {{"2", 1.05}, {"4", 0.97}, {"8", 0.8}, {"16", 1.2}},
                  {"2", "4", "8", "16"},
                  "4"};
  FakePass nothing{"add-restrict-const"};
  nothing.changesCode = false;
  FakePass wrong{"pad-shared-array"};
  wrong.verdict = AttemptVerdict::Incorrect;
  FakePass broken{"hoist-loop-invariant"};
  broken.compiles = false;
  FakePass undecided{"fix-double-literals"};
  undecided.verdict = AttemptVerdict::Inconclusive;
  FakePass neutral{"cache-hint-streaming"};
  world.passes = {nothing, coalesce, vectorize, unroll, wrong, broken, undecided, neutral};
}

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_POLICY_FAKEENVIRONMENT_H
