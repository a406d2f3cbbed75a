//===- TrajectoryTest.cpp - Chains of attempts, and smaller logs ----------===//
#include "kb-opt/Knowledge/Trajectory.h"
#include "kb-opt/Knowledge/Fold.h"
#include "kb-opt/Knowledge/Prune.h"
#include "kb-opt/Support/Random.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

Evidence step(llvm::StringRef pass, llvm::StringRef before, llvm::StringRef after,
              llvm::StringRef predecessor = "", double gain = 0.25) {
  Evidence e;
  e.primary = ("state_at_" + before).str();
  e.pass = pass.str();
  e.predecessor = predecessor.str();
  e.chip = "h200";
  e.device = "cpu-modelled";
  e.program = "p";
  e.before = before.str();
  e.after = after.str();
  e.achievedGain = gain;
  e.creditGain = gain + 1;
  return e;
}

EvidenceSet setOf(llvm::ArrayRef<Evidence> attempts) {
  EvidenceSet set;
  for (const Evidence &e : attempts)
    set.insert(e);
  return set;
}

llvm::json::Object stepOf(const EvidenceSet &set, const Evidence &e) {
  std::string text = exportTrajectories(set, false, true);
  for (llvm::StringRef rest = text; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    rest = after;
    llvm::json::Object object = std::move(*llvm::cantFail(llvm::json::parse(line)).getAsObject());
    if (object.getString("id") == e.id())
      return object;
  }
  ADD_FAILURE() << "no step " << e.id();
  return {};
}

} // namespace

TEST(Trajectory, AStepNamesTheOneBeforeIt) {
  Evidence first = step("a", "0", "1"), second = step("b", "1", "2", "a"),
           third = step("c", "2", "3", "b"), other = step("b", "9", "2", "a"),
           elsewhere = step("b", "1", "5", "x");
  auto all = trajectories(setOf({first, second, third, other, elsewhere}));
  EXPECT_EQ(all.at(first.id()).depth, 0u);
  EXPECT_EQ(all.at(first.id()).next, "state_at_1");
  EXPECT_EQ(all.at(second.id()).previous, first.id());
  EXPECT_EQ(all.at(third.id()).previous, second.id());
  EXPECT_EQ(all.at(third.id()).depth, 2u);
  EXPECT_EQ(all.at(third.id()).next, "");
  // What came before is not there, or was another pass.
  EXPECT_EQ(all.at(other.id()).depth, std::nullopt);
  EXPECT_EQ(all.at(elsewhere.id()).previous, "");
}

TEST(Trajectory, CirclesAndIdleStepsEnd) {
  Evidence idle = step("a", "0", "0"), back = step("a", "0", "1"), there = step("b", "1", "0", "a"),
           again = step("a", "0", "1", "b");
  auto all = trajectories(setOf({idle, back, there, again}));
  EXPECT_EQ(all.at(there.id()).previous, back.id());
  EXPECT_EQ(all.at(again.id()).depth, 2u);
  EXPECT_EQ(all.at(again.id()).next, "state_at_1"); // where `there` stands already
}

TEST(Trajectory, RewardsAreOfTheVerdict) {
  Evidence good = step("a", "0", "1"), wrong = step("b", "0", "2"), open = step("c", "0", "3");
  wrong.verdict = VerdictKind::Incorrect;
  open.verdict = VerdictKind::Inconclusive;
  wrong.achievedGain = wrong.creditGain = open.achievedGain = open.creditGain = std::nullopt;
  EvidenceSet set = setOf({good, wrong, open});
  llvm::json::Object line = stepOf(set, good);
  EXPECT_EQ(line.getNumber("reward"), 0.25);
  EXPECT_EQ(line.getNumber("credit"), 1.25);
  EXPECT_EQ(stepOf(set, wrong).getNumber("reward"), 0);
  EXPECT_EQ(stepOf(set, wrong).getBoolean("terminal"), true);
  EXPECT_TRUE(bool(stepOf(set, open).getNull("reward")));
  EXPECT_EQ(exportTrajectories(set, true, true),
            exportTrajectories(set, true, false) + exportTrajectories(set, false, true));
}

TEST(Prune, KeepsWhatFoldingNeedsAndNothingTwice) {
  Evidence once = step("a", "0", "1"), again = once, rested = once, measured = once, late = once;
  again.predictedGain = 0.1;
  rested.predictedGain = 0.2;
  measured.device = "cuda";
  Evidence measuredAgain = measured;
  measuredAgain.predictedGain = 0.1;
  late.time = "2027-01-01T00:00:00Z";
  Finding lesson;
  lesson.state = "state_at_0";
  lesson.pass = "a";
  lesson.text = "words";
  lesson.evidence = {rested.id()};
  std::string log;
  for (const std::string &line : {late.toLine(), once.toLine(), std::string("half a line"),
                                  std::string(), again.toLine(), rested.toLine(), measured.toLine(),
                                  measuredAgain.toLine(), lesson.toLine(), lesson.toLine()})
    log += line + "\n";
  PrunedLog pruned = llvm::cantFail(pruneLog(log, "e.jsonl"));
  EXPECT_EQ(pruned.doubled, 2u);
  EXPECT_EQ(pruned.unreadable, 1u);
  std::vector<BadLine> bad;
  EvidenceSet before = parseEvidenceLog(log, "", bad),
              after = parseEvidenceLog(pruned.text, "", bad);
  EXPECT_EQ(toJson(foldEvidence(before), true), toJson(foldEvidence(after), true));
  EXPECT_EQ(after.size(), pruned.kept);
  EXPECT_EQ(pruned.kept + pruned.attempts, before.size());
  EXPECT_TRUE(after.contains(rested.id()));
  EXPECT_TRUE(after.contains(measured.id()) && after.contains(measuredAgain.id()));
  EXPECT_NE(pruned.text.find("half a line\n"), std::string::npos);
  // The earlier of two lines with one id stays; a second time there is nothing to do.
  EXPECT_EQ(pruned.text.find("2027"), std::string::npos);
  PrunedLog second = llvm::cantFail(pruneLog(pruned.text, "e.jsonl"));
  EXPECT_EQ(second.text, pruned.text);
  EXPECT_EQ(second.attempts + second.doubled, 0u);
}

TEST(Prune, ChangesNothingThatIsKnownWhateverTheLog) {
  Random random(31);
  for (int round = 0; round != 30; ++round) {
    std::string log;
    std::vector<Digest> ids;
    size_t lines = 20 + random.below(40);
    for (size_t i = 0; i != lines; ++i) {
      Evidence e = step("pass-" + std::to_string(random.below(3)), std::to_string(random.below(2)),
                        std::to_string(random.below(2)), "", 0.1);
      e.device = random.below(3) ? "cpu-modelled" : "cuda";
      e.predictedGain = static_cast<double>(random.below(4));
      e.time = std::to_string(random.below(5));
      ids.push_back(e.id());
      log += e.toLine() + "\n";
      if (random.below(5))
        continue;
      Finding lesson;
      lesson.state = "state_at_0";
      lesson.text = "words " + std::to_string(random.below(5));
      lesson.evidence = {ids[random.below(ids.size())], ids[random.below(ids.size())]};
      log += lesson.toLine() + "\n";
    }
    // The function itself verifies that the fold is the same.
    PrunedLog pruned = llvm::cantFail(pruneLog(log, "e.jsonl"));
    EXPECT_LT(pruned.text.size(), log.size());
    // A log that came with less is united to the same.
    std::vector<BadLine> bad;
    EvidenceSet both = parseEvidenceLog(log, "", bad);
    both.merge(parseEvidenceLog(pruned.text, "", bad));
    EXPECT_EQ(toJson(foldEvidence(both), true),
              toJson(foldEvidence(parseEvidenceLog(pruned.text, "", bad)), true));
  }
}
