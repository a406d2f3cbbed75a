//===- KnowledgeBaseTest.cpp - What is predicted, and why -----------------===//
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;

namespace {

State stateOf(llvm::StringRef primary, double blame = 0.6) {
  State state;
  state.primary = primary.str();
  state.active = 0.4;
  state.headroom = 10;
  state.shares.push_back({primary.str(), blame, primary == "memory_latency_bound", ""});
  return state;
}

KnowledgeBase baseFor(const char *chip, llvm::StringRef device = "cuda") {
  return KnowledgeBase(llvm::cantFail(loadChip(chip)), device.str());
}

/// \p count correct tries of a pass in uncoalesced_access.
EvidenceSet tries(llvm::StringRef pass, double gain, unsigned count, llvm::StringRef chip = "h200",
                  VerdictKind verdict = VerdictKind::Correct, llvm::StringRef predecessor = "",
                  std::map<std::string, std::string> parameters = {}) {
  EvidenceSet set;
  for (unsigned i = 0; i != count; ++i) {
    Evidence e;
    e.primary = "uncoalesced_access";
    e.pass = pass.str();
    e.chip = chip.str();
    e.device = "cuda";
    e.verdict = verdict;
    e.predecessor = predecessor.str();
    e.parameters = parameters;
    e.program = "p" + std::to_string(i);
    if (verdict == VerdictKind::Correct)
      e.achievedGain = e.creditGain = gain;
    set.insert(e);
  }
  return set;
}

} // namespace

TEST(KnowledgeBase, TheSeedAnswersTheState) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("uncoalesced_access");
  std::vector<RetrievedEntry> best = base.retrieve(state, "", 3);
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].pass, "coalesce-accesses");
  EXPECT_NEAR(best[0].prediction.logGain, -std::log1p(-0.6 * 0.9), 1e-12);
  for (const RetrievedEntry &entry : best)
    EXPECT_NE(entry.optimization->answerTo("uncoalesced_access"), nullptr) << entry.pass;
  // A pass for another state is worth little but never nothing.
  Prediction other = base.predict(state, "fast-math-intrinsics", {});
  EXPECT_GT(other.value, 0);
  EXPECT_LT(other.value, best[0].prediction.value / 10);
  EXPECT_GT(base.predict(state, "never-heard-of", {}).value, 0);
}

TEST(KnowledgeBase, SecondaryBottlenecksCountHalf) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("uncoalesced_access");
  double first = base.predict(stateOf("shared_bank_conflicts"), "pad-shared-array", {}).logGain;
  state.shares.push_back({"shared_bank_conflicts", 0.6, false, ""});
  EXPECT_NEAR(base.predict(state, "pad-shared-array", {}).logGain, first / 2, 1e-12);
}

TEST(KnowledgeBase, EvidenceOverrulesTheSeed) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("uncoalesced_access");
  double before = base.predict(state, "coalesce-accesses", {}).value;
  base.learn(tries("coalesce-accesses", -0.05, 30));
  Prediction after = base.predict(state, "coalesce-accesses", {});
  EXPECT_LT(after.value, before / 4);
  EXPECT_EQ(after.observations, 30);
  EXPECT_NE(after.why.find("30.0 tries"), std::string::npos) << after.why;
  base.learn(tries("unroll-loop", 1.0, 30));
  EXPECT_EQ(base.retrieve(state, "", 1)[0].pass, "unroll-loop");
}

TEST(KnowledgeBase, FailuresLowerTheChance) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("uncoalesced_access");
  double before = base.predict(state, "coalesce-accesses", {}).success;
  base.learn(tries("coalesce-accesses", 0, 12, "h200", VerdictKind::Incorrect));
  EXPECT_LT(base.predict(state, "coalesce-accesses", {}).success, before / 3);
}

TEST(KnowledgeBase, RelativesAreBorrowedFromAtADiscount) {
  State state = stateOf("uncoalesced_access");
  auto gainOn = [&](const char *chip, llvm::StringRef device) {
    KnowledgeBase base = baseFor(chip, device);
    base.learn(tries("unroll-loop", 1, 5));
    return base.predict(state, "unroll-loop", {}).logGain;
  };
  EXPECT_GT(gainOn("h200", "cuda"), gainOn("h100", "cuda"));
  EXPECT_GT(gainOn("h100", "cuda"), gainOn("a100", "cuda"));
  EXPECT_GT(gainOn("a100", "cuda"), 0.1);
  EXPECT_GT(gainOn("h200", "cuda"), gainOn("h200", "cpu-modelled"));
}

TEST(KnowledgeBase, EdgesRepeatsAndExclusions) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("memory_latency_bound");
  double alone = base.predict(state, "unroll-loop", {}).value;
  EXPECT_GT(base.predict(state, "unroll-loop", {"specialize-constants"}).value, alone);
  EXPECT_LT(base.predict(state, "unroll-loop", {"unroll-loop"}).value, 0.6 * alone);
  Prediction excluded = base.predict(state, "unroll-loop", {"limit-unroll"});
  EXPECT_EQ(excluded.value, 0);
  EXPECT_EQ(excluded.why, "'limit-unroll' excludes it");
}

TEST(KnowledgeBase, AStructuralPassCallsForTuningAgain) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("insufficient_parallelism");
  double again = base.predict(state, "tune-block-size", {"unroll-loop", "tune-block-size"}).value;
  double retuned = base.predict(state, "tune-block-size", {"tune-block-size", "unroll-loop"}).value;
  EXPECT_GT(retuned, 3 * again);
  EXPECT_GE(retuned, base.predict(state, "tune-block-size", {}).value);
}

TEST(KnowledgeBase, OpeningOtherPassesIsWorthSomething) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("memory_latency_bound");
  // tiling is opened by coalescing and answers latency.
  Prediction first = base.predict(state, "coalesce-accesses", {});
  EXPECT_NE(first.why.find("opens other passes"), std::string::npos) << first.why;
  EXPECT_GT(
      first.value,
      base.predict(state, "coalesce-accesses", {"shared-memory-tiling", "vectorize-loads"}).value);
}

TEST(KnowledgeBase, EdgesAreLearnt) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("uncoalesced_access");
  base.learn(tries("unroll-loop", 0.0, 10));
  double before = base.predict(state, "unroll-loop", {"branch-to-select"}).value;
  base.learn(tries("unroll-loop", 0.6, 10, "h200", VerdictKind::Correct, "branch-to-select"));
  EXPECT_GT(base.predict(state, "unroll-loop", {"branch-to-select"}).value,
            base.predict(state, "unroll-loop", {"hoist-loop-invariant"}).value + 0.1);
  EXPECT_GT(base.predict(state, "unroll-loop", {"branch-to-select"}).value, before);
}

TEST(KnowledgeBase, ShapeMovesItsPipelineUp) {
  KnowledgeBase base = baseFor("h200");
  State state = stateOf("memory_bandwidth_saturated");
  EXPECT_GT(base.predict(state, "online-single-pass", {}, "reduction").value,
            base.predict(state, "online-single-pass", {}, "elementwise").value);
}

TEST(KnowledgeBase, ParametersAreRankedByWhatTheyGained) {
  KnowledgeBase base = baseFor("h200");
  base.learn(tries("unroll-loop", 0.1, 4, "h200", VerdictKind::Correct, "", {{"factor", "2"}}));
  base.learn(tries("unroll-loop", 0.3, 4, "h200", VerdictKind::Correct, "", {{"factor", "4"}}));
  base.learn(tries("unroll-loop", -0.3, 4, "h200", VerdictKind::Correct, "", {{"factor", "8"}}));
  EXPECT_EQ(base.knownParameters(stateOf("uncoalesced_access"), "unroll-loop"),
            (std::vector<std::string>{"factor=4", "factor=2", "factor=8"}));
  EXPECT_TRUE(base.knownParameters(stateOf("memory_latency_bound"), "unroll-loop").empty());
}

TEST(KnowledgeBase, LogsOfSeveralFoldersAreUnited) {
  FakeFileSystem files;
  std::vector<BadLine> bad;
  auto log = [&](const EvidenceSet &set, llvm::StringRef path) {
    for (const auto &entry : set.records())
      llvm::cantFail(appendEvidence(files, path, {entry.second}));
  };
  log(tries("unroll-loop", 0.1, 3), "shared/evidence.jsonl");
  log(tries("unroll-loop", 0.1, 5), "mine/evidence.jsonl");
  files.files["mine/evidence.jsonl"] += "half a li";
  KnowledgeBase base = llvm::cantFail(loadKnowledge(llvm::cantFail(loadChip("h200")), "cuda", files,
                                                    {"shared", "mine", "absent"}, bad));
  std::vector<BadLine> none;
  KnowledgeBase builtin =
      llvm::cantFail(loadKnowledge(llvm::cantFail(loadChip("h200")), "cuda", files, {}, none));
  EXPECT_TRUE(none.empty()); // evidence that comes with the tool has no bad lines
  EXPECT_EQ(base.evidence().size(), builtin.evidence().size() + 5);
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].file, "mine/evidence.jsonl");
  EXPECT_EQ(bad[0].line, 6u);
}

TEST(KnowledgeBase, CountersRuleOutWhatCannotGain) {
  KnowledgeBase base = baseFor("h200");
  MetricMap full{{"kbopt__limited_by_registers", 0},
                 {"kbopt__waves", 4},
                 {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 0},
                 {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 1000}};
  EXPECT_TRUE(base.isPointless("launch-bounds", full));
  EXPECT_TRUE(base.isPointless("limit-registers", full));
  // Where less than a wave runs, registers are there for the taking.
  MetricMap small = full;
  small["kbopt__waves"] = 0.5;
  EXPECT_TRUE(base.isPointless("launch-bounds", small));
  EXPECT_FALSE(base.isPointless("limit-registers", small));
  MetricMap spilling = full;
  spilling["l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"] = 500;
  EXPECT_FALSE(base.isPointless("limit-unroll", spilling));
  // Nothing is known, or nothing is asked of the counters.
  EXPECT_FALSE(base.isPointless("launch-bounds", {}));
  EXPECT_FALSE(base.isPointless("launch-bounds", {{"kbopt__waves", 4}}));
  EXPECT_FALSE(base.isPointless("unroll-loop", full));
}

TEST(KnowledgeBase, EvidenceOfTheSecondBottleneckCountsByAQuarter) {
  KnowledgeBase base = baseFor("h200");
  base.learn(tries("unroll-loop", 0.5, 8));
  State state = stateOf("memory_latency_bound");
  EXPECT_EQ(base.predict(state, "unroll-loop", {}).observations, 0);
  state.secondary = "uncoalesced_access";
  EXPECT_NEAR(base.predict(state, "unroll-loop", {}).observations, 2, 1e-12);
}

TEST(KnowledgeBase, EvidenceOfAnotherShapeCountsByHalf) {
  const EvidenceSet plain = tries("unroll-loop", 0.5, 8);
  EvidenceSet set;
  for (const auto &[id, record] : plain.records()) {
    Evidence shaped = record;
    shaped.shape = "reduction";
    set.insert(shaped);
  }
  KnowledgeBase base = baseFor("h200");
  base.learn(set);
  const State state = stateOf("uncoalesced_access");
  EXPECT_NEAR(base.predict(state, "unroll-loop", {}, "reduction").observations, 8, 1e-12);
  EXPECT_NEAR(base.predict(state, "unroll-loop", {}, "stencil").observations, 4, 1e-12);
  EXPECT_NEAR(base.predict(state, "unroll-loop", {}).observations, 8, 1e-12) << "unknown here";
}

TEST(KnowledgeBase, WithoutEvidenceTheSeedStays) {
  KnowledgeBase base = baseFor("h200"), bare = base.withoutEvidence();
  base.learn(tries("unroll-loop", 0.9, 8));
  const State state = stateOf("uncoalesced_access");
  EXPECT_EQ(base.withoutEvidence().predict(state, "unroll-loop", {}).logGain,
            bare.predict(state, "unroll-loop", {}).logGain);
}
