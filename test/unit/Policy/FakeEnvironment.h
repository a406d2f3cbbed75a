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
#include "llvm/ADT/StringExtras.h"
#include <mutex>

namespace kbopt {

/// What the fake model answers.
struct FakeReply {
  std::string digest;                        ///< empty: no move, and `failure` says why
  FailureClass failure = FailureClass::None; ///< of the proposal, or Compile of the candidate
  /// Factor on the time by the value of its parameter "T"; "" for replies without.
  std::map<std::string, double> factors = {{"", 1.0}};
  std::vector<std::string> values = {}; ///< of "T", in order; the first is the default
  VerdictKind verdict = VerdictKind::Correct;
  std::optional<double> cost = 0.01;
  std::string chosen = {}; ///< the pass that the planner preferred to the one that was drawn
  std::vector<std::string> unfit = {};  ///< Proposal's
  std::string dispute = {};             ///< likewise; of a debugger
  std::vector<std::string> others = {}; ///< values of a second number, "U", as `values`
};

/// What a pass does in the fake world.
struct FakePass {
  std::string name;
  /// Factor on the time by the value of its only option; "" for passes without.
  std::map<std::string, double> factors = {{"", 1.0}};
  std::vector<std::string> values = {}; ///< of the option "n", in order
  std::string defaultValue = {};
  std::string requires_ = {}; ///< does not apply before this pass
  bool changesCode = true;    ///< false: identical machine code
  VerdictKind verdict = VerdictKind::Correct;
  bool compiles = true;
  double floorUs = 0;
  /// Of the model, one after the other; empty: a rule writes the pass.
  std::vector<FakeReply> replies = {};
  /// Of the debugger, by the digest of what failed, one after the other.
  std::map<std::string, std::vector<FakeReply>> repairs = {};
  std::string kernel = "k";
  bool sketch = false;  ///< its values are whole schedules
  bool isNamed = false; ///< by findings
  bool isRecipe = false;
  std::map<std::string, double> modelled = {}; ///< time by value that the cost model tells
  NestFacts facts = {};                        ///< of a sketch

  const FakeReply *reply(llvm::StringRef digest) const {
    auto named = [&](const FakeReply &reply) { return reply.digest == digest; };
    if (auto found = llvm::find_if(replies, named); found != replies.end())
      return &*found;
    for (const auto &[failed, list] : repairs)
      if (auto found = llvm::find_if(list, named); found != list.end())
        return &*found;
    return nullptr;
  }
};

class FakeEnvironment : public Environment {
public:
  using Moves = std::vector<Step>;
  std::vector<FakePass> passes;
  double originalUs = 100;
  double programFloorUs = 0; ///< 0: unknown
  VerdictKind originalVerdict = VerdictKind::Correct;
  FakeClock *clock = nullptr; ///< advanced by a second per judgement
  std::function<llvm::Error()> onJudge = [] { return llvm::Error::success(); };
  std::function<bool(const Moves &)> refuse = [](const Moves &) { return false; };

  /// Judgements by machine code.
  std::map<Digest, unsigned> judged;
  std::map<NodeId, Moves> programs;
  std::mutex mutex;
  Model *model = nullptr;            ///< thinks batches over
  std::vector<ReplayBuffer> buffers; ///< that were thought over
  std::vector<SuggestionRequest> suggestions;
  /// The state of a program, if not that of `judgementOf`.
  std::function<void(const Moves &, NodeJudgement &)> adjust = [](const Moves &, NodeJudgement &) {
  };
  /// Every question, as "pass/ask" or "pass/ask/repair" and the request itself.
  std::vector<std::pair<std::string, ProposalRequest>> questions;

  bool measured = false;  ///< times come from a GPU
  bool screening = false; ///< candidates are screened, and leaders proven beside that
  unsigned screened = 0;
  std::function<llvm::Error()> onConfirm = [] { return llvm::Error::success(); };
  std::function<bool(const Moves &)> refuseBest = [](const Moves &) { return false; };
  std::function<bool(const Moves &)> refuseWhole = [](const Moves &) { return false; };
  unsigned examinedWhole = 0;
  std::optional<double> proof; ///< seconds
  bool screens() const override { return screening; }
  std::optional<double> proofSeconds() override { return proof; }
  /// Of a program; by default every bit.
  std::function<Promise(const Moves &)> promised = [](const Moves &) { return Promise::Bitwise; };
  Promise promise(const NodeId &node) override { return promised(at(node)); }

  llvm::Expected<NodeJudgement> screen(const NodeId &node) override {
    Moves moves = at(node);
    std::lock_guard<std::mutex> guard(mutex);
    ++screened;
    if (clock)
      clock->now += 1;
    NodeJudgement judgement = judgementOf(moves);
    if (moves.empty())
      judgement.verdict = VerdictKind::Correct;
    if (judgement.verdict != VerdictKind::Correct)
      return judgement;
    judgement.verdict = VerdictKind::Screened;
    judgement.timeUs = timeOf(moves);
    judgement.state = State();
    return judgement;
  }

  llvm::Expected<NodeJudgement> examine(const NodeId &node, const NodeJudgement &judged,
                                        bool whole) override {
    NodeJudgement judgement = judged;
    examinedWhole += whole;
    if (whole && refuseWhole(at(node))) {
      judgement.verdict = VerdictKind::Incorrect;
      judgement.gate = GateId::G14;
      judgement.reason = "the program prints something else";
    } else if (refuseBest(at(node))) {
      judgement.verdict = VerdictKind::Incorrect;
      judgement.gate = GateId::G7;
      judgement.reason = "wrong on another case";
    }
    return judgement;
  }
  bool measures() const override { return measured; }
  double least = 0.005; ///< gain
  double leastGain() const override { return least; }

  NodeId root() override { return put({}); }

  llvm::Expected<std::vector<Action>> actions(const NodeId &node) override {
    Moves moves = at(node);
    std::vector<Action> result;
    for (const FakePass &pass : passes) {
      if (llvm::any_of(moves, [&](const Step &move) { return move.pass == pass.name; }))
        continue;
      Action action{pass.name, pass.kernel, 0, {}};
      action.assisted = !pass.replies.empty();
      action.sketch = action.composes = pass.sketch;
      action.isNamed = pass.isNamed;
      action.isRecipe = pass.isRecipe;
      action.facts = pass.facts;
      if (!pass.values.empty())
        action.ranges.push_back({"n", pass.values, pass.defaultValue});
      result.push_back(std::move(action));
    }
    return result;
  }

  llvm::Expected<StepOutcome> apply(const NodeId &node, const Step &move) override {
    Moves moves = at(node);
    const FakePass &pass = find(move.pass);
    StepOutcome result;
    if (!pass.requires_.empty() &&
        llvm::none_of(moves, [&](const Step &m) { return m.pass == pass.requires_; })) {
      result.reason = "needs " + pass.requires_;
      return result;
    }
    result.applied = true;
    if (pass.sketch) // a later schedule of a kernel takes the place of an earlier one
      llvm::erase_if(moves, [&](const Step &earlier) {
        return earlier.pass == move.pass && earlier.kernel == move.kernel;
      });
    moves.push_back(move);
    const FakeReply *reply = pass.reply(move.reply);
    if (!pass.compiles || (reply && reply->failure == FailureClass::Compile)) {
      result.gate = GateId::G1;
      result.failure = FailureClass::Compile;
      result.reason = "it does not compile";
      return result;
    }
    result.node = put(moves);
    result.code = codeOf(moves);
    result.floorUs = pass.floorUs;
    if (auto value = move.parameters.find("n"); value != move.parameters.end())
      if (auto us = pass.modelled.find(value->second); us != pass.modelled.end())
        result.modelledUs = us->second;
    return result;
  }

  llvm::Expected<NodeJudgement> judge(const NodeId &node) override {
    if (llvm::Error error = onJudge())
      return std::move(error);
    Moves moves = at(node);
    std::lock_guard<std::mutex> guard(mutex);
    ++judged[codeOf(moves)];
    if (clock && !screening)
      clock->now += 1;
    return judgementOf(moves);
  }

  llvm::Expected<NodeJudgement> confirm(const NodeId &node) override {
    if (llvm::Error error = onConfirm())
      return std::move(error);
    Moves moves = at(node);
    NodeJudgement judgement = judgementOf(moves);
    if (refuse(moves)) {
      judgement.verdict = VerdictKind::Incorrect;
      judgement.gate = GateId::G15;
      judgement.reason = "wrong on a shape that the search never saw";
    }
    return judgement;
  }

  llvm::Expected<Proposal> propose(const NodeId &, const ProposalRequest &request) override {
    const FakePass &pass = find(request.action.pass);
    note(pass.name + "/" + std::to_string(request.ask), request);
    return answer(request.action, pass.replies[(request.ask - 1) % pass.replies.size()]);
  }

  llvm::Expected<Proposal> repair(const NodeId &, const ProposalRequest &request,
                                  const Attempt &failed) override {
    const FakePass &pass = find(request.action.pass);
    note(pass.name + "/" + std::to_string(request.ask) + "/" + std::to_string(failed.repair + 1),
         request);
    auto list = pass.repairs.find(failed.step.reply);
    if (list == pass.repairs.end())
      return answer(request.action, {"", FailureClass::Declined});
    return answer(request.action, list->second[failed.repair % list->second.size()]);
  }

  llvm::Expected<Reflection> reflect(const ReplayBuffer &buffer) override {
    buffers.push_back(buffer);
    return model ? reflectWith(*model, buffer) : Reflection();
  }

  llvm::Expected<Reflection> suggest(const SuggestionRequest &request) override {
    suggestions.push_back(request);
    return model ? suggestWith(*model, request) : Reflection();
  }

  double timeOf(const Moves &moves) const {
    double time = originalUs;
    for (const Step &move : moves) {
      if (const FakeReply *reply = find(move.pass).reply(move.reply)) {
        auto value = move.parameters.find("T");
        time *= reply->factors.at(value == move.parameters.end() ? "" : value->second);
        continue;
      }
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
  void note(const std::string &name, const ProposalRequest &request) {
    std::lock_guard<std::mutex> guard(mutex);
    questions.emplace_back(name, request);
  }
  static Proposal answer(const Action &action, const FakeReply &reply) {
    Proposal proposal;
    proposal.tokens = 100;
    proposal.cost = reply.cost;
    if (!reply.chosen.empty())
      proposal.chosen = Step{reply.chosen, action.kernel, action.site, {}};
    proposal.unfit = reply.unfit;
    proposal.dispute = reply.dispute;
    if (reply.digest.empty()) {
      proposal.failure = reply.failure;
      proposal.reason = "the model gave nothing to use: " + toString(reply.failure).str();
      return proposal;
    }
    proposal.step = proposal.chosen ? *proposal.chosen : action.step();
    proposal.step->reply = reply.digest;
    if (!reply.values.empty()) {
      proposal.ranges = {{"T", reply.values, reply.values.front()}};
      proposal.step->parameters["T"] = reply.values.front();
    }
    if (!reply.others.empty()) {
      proposal.ranges.push_back({"U", reply.others, reply.others.front()});
      proposal.step->parameters["U"] = reply.others.front();
    }
    return proposal;
  }
  const FakePass &find(llvm::StringRef name) const {
    return *llvm::find_if(passes, [&](const FakePass &pass) { return pass.name == name; });
  }
  Moves at(const NodeId &node) {
    std::lock_guard<std::mutex> guard(mutex);
    return programs.at(node);
  }
  NodeId put(const Moves &moves) {
    DigestBuilder builder;
    for (const Step &move : moves)
      builder.add(move.text());
    NodeId id = builder.finish();
    std::lock_guard<std::mutex> guard(mutex);
    programs[id] = moves;
    return id;
  }
  /// The order of moves makes no difference to the machine.
  Digest codeOf(const Moves &moves) const {
    std::set<std::string> effective;
    for (const Step &move : moves)
      if (find(move.pass).changesCode)
        effective.insert(move.text());
    DigestBuilder builder;
    for (const std::string &text : effective)
      builder.add(text);
    return builder.finish();
  }
  VerdictKind verdictOf(const Step &move) const {
    const FakePass &pass = find(move.pass);
    const FakeReply *reply = pass.reply(move.reply);
    return reply ? reply->verdict : pass.verdict;
  }
  NodeJudgement judgementOf(const Moves &moves) const {
    NodeJudgement judgement;
    judgement.code = codeOf(moves);
    judgement.verdict = moves.empty() ? originalVerdict : VerdictKind::Correct;
    for (const Step &move : moves)
      if (VerdictKind verdict = verdictOf(move); verdict != VerdictKind::Correct) {
        judgement.verdict = verdict;
        judgement.gate = GateId::G4;
        judgement.failure = FailureClass::Correctness;
        judgement.reason = move.pass + " broke it";
      }
    if (judgement.verdict == VerdictKind::Correct)
      judgement.timeUs = timeOf(moves);
    bool coalesced =
        llvm::any_of(moves, [](const Step &move) { return move.pass == "coalesce-accesses"; });
    judgement.state.primary = coalesced ? "memory_latency_bound" : "uncoalesced_access";
    judgement.state.shares.push_back({judgement.state.primary, 0.6, coalesced, ""});
    judgement.state.active = 0.4;
    judgement.shape = "elementwise";
    judgement.floorUs = programFloorUs;
    adjust(moves, judgement);
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
  wrong.verdict = VerdictKind::Incorrect;
  FakePass broken{"hoist-loop-invariant"};
  broken.compiles = false;
  FakePass undecided{"fix-double-literals"};
  undecided.verdict = VerdictKind::Inconclusive;
  FakePass neutral{"cache-hint-streaming"};
  world.passes = {nothing, coalesce, vectorize, unroll, wrong, broken, undecided, neutral};
}

inline KnowledgeBase seedKnowledge() { return KnowledgeBase(llvm::cantFail(loadChip("h200"))); }

/// A search to its end; what findings and states name comes first in `AnswersTest` alone.
inline SearchResult search(Environment &world, SearchOptions options = {},
                           llvm::StringRef strategy = "rollout", SearchObserver *observer = nullptr,
                           const KnowledgeBase &knowledge = seedKnowledge(), bool answers = false) {
  FakeClock clock;
  options.answers = answers;
  return llvm::cantFail(
      llvm::cantFail(createStrategy(strategy))->run(world, knowledge, options, clock, observer));
}

inline std::string textOf(llvm::ArrayRef<Step> pipeline) {
  std::string text;
  for (const Step &move : pipeline)
    text += (text.empty() ? "" : ",") + move.text();
  return text;
}

/// Everything that a run did, as text.
inline std::string storyOf(const SearchResult &result) {
  std::string story = textOf(result.pipeline) + "\n" + std::to_string(result.bestUs) + "\n";
  for (const Attempt &attempt : result.attempts)
    story += std::to_string(attempt.trajectory) + " " + attempt.parent + " " + attempt.step.text() +
             " " + std::to_string(attempt.ask) + "/" + std::to_string(attempt.repair) + " " +
             attempt.word() + " " + attempt.shortcut + " " + std::to_string(attempt.timeUs) + "\n";
  for (const Evidence &record : result.evidence)
    story += record.toLine() + "\n";
  for (const Finding &finding : result.findings)
    story += finding.text + " " + llvm::join(finding.evidence, ",") + "\n";
  return story;
}

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_POLICY_FAKEENVIRONMENT_H
