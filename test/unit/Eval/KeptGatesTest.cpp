//===- KeptGatesTest.cpp - A proof that goes on where one ended -----------===//
#include "JudgeGpuFakes.h"

using namespace kbopt;

namespace {

struct MemoryStore : GateStore {
  std::mutex mutex;
  std::map<std::string, std::string> kept;
  std::optional<std::string> find(llvm::StringRef name) override {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = kept.find(name.str());
    return found == kept.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(llvm::StringRef name, llvm::StringRef text) override {
    std::lock_guard<std::mutex> lock(mutex);
    kept[name.str()] = text.str();
  }
};

struct KeptGatesTest : JudgeGpuTest {
  MemoryStore ofOriginal, ofGood;
  Verdict prove(std::string text, GateStore &store) {
    Judge judge(artefacts("original"), compiler, device, cases, clock, options, gpu);
    judge.keepOriginalIn(&ofOriginal);
    auto result =
        judge.judge(artefacts(text), rewritten(text), promise, JudgeEffort::Final, &store);
    EXPECT_TRUE(bool(result));
    return std::move(*result);
  }
};

TEST_F(KeptGatesTest, ASecondProofRunsNothing) {
  Verdict first = prove("good", ofGood);
  ASSERT_TRUE(first.isCorrect()) << first.summary();
  ASSERT_TRUE(ofOriginal.kept.count("original"));
  for (const char *gate : {"G4", "G6", "G7", "G8", "G10", "G12"})
    EXPECT_TRUE(ofGood.kept.count(gate)) << gate;
  fake.log.clear();
  device.log.clear();
  Verdict second = prove("good", ofGood);
  EXPECT_TRUE(second.isCorrect()) << second.summary();
  EXPECT_EQ(second.gates.size(), first.gates.size());
  EXPECT_EQ(second.gates[6].details.back(), "answered by an earlier run");
  ASSERT_TRUE(second.timing.has_value());
  EXPECT_DOUBLE_EQ(second.timing->cold.ratio, first.timing->cold.ratio);
  EXPECT_EQ(fake.count("run good") + fake.count("time good"), 0);
  EXPECT_LE(fake.count("run original"), 1); // how long a run takes says how many cases fit
  EXPECT_TRUE(device.log.empty());
}

TEST_F(KeptGatesTest, AProofThatWasCutShortGoesOnWhereItEnded) {
  ASSERT_TRUE(prove("good", ofGood).isCorrect());
  ofGood.kept.erase("G12"); // the run ended before it
  fake.log.clear();
  ASSERT_TRUE(prove("good", ofGood).isCorrect());
  EXPECT_EQ(fake.count("run good"), 0);
  EXPECT_EQ(fake.count("time good"), 1);
}

TEST_F(KeptGatesTest, AnotherInputIsAnotherQuestion) {
  ASSERT_TRUE(prove("good", ofGood).isCorrect());
  ASSERT_FALSE(bool(realFileSystem().write(cases.folder + "/data.bin",
                                           floats([](unsigned i) { return i + 3.0f; }))));
  fake.log.clear();
  Verdict again = prove("good", ofGood);
  EXPECT_TRUE(again.isCorrect()) << again.summary();
  EXPECT_GT(fake.count("run good"), 0);
  EXPECT_GT(fake.count("run original"), 0);
}

TEST_F(KeptGatesTest, ARefusalIsKeptAndWhatWasNotRunIsNot) {
  program("wrong", [](const RunOptions &) { return floats([](unsigned) { return 7.0f; }); });
  MemoryStore ofWrong;
  Verdict first = prove("wrong", ofWrong);
  ASSERT_EQ(first.kind, VerdictKind::Incorrect);
  Verdict second = prove("wrong", ofWrong);
  EXPECT_EQ(second.gate, first.gate);
  EXPECT_EQ(second.reason, first.reason);
  EXPECT_FALSE(ofWrong.kept.count("G9"));
}

TEST_F(KeptGatesTest, WhatCannotBeReadIsAskedAgain) {
  ASSERT_TRUE(prove("good", ofGood).isCorrect());
  ofGood.kept["G6"] = "half a li";
  ofOriginal.kept["original"] = "{}";
  EXPECT_TRUE(prove("good", ofGood).isCorrect());
}

TEST_F(JudgeTest, InspectionRunsNothingAndRefusesByTheFirstFourGates) {
  program("good", [](const RunOptions &) { return right(); });
  Judge judge(artefacts("original"), compiler, device, cases, clock, options);
  auto inspected = judge.inspect(artefacts("good"), rewritten("good"), promise);
  ASSERT_TRUE(inspected && inspected->isCorrect());
  EXPECT_EQ(inspected->gates.size(), 4u);
  inspected = judge.inspect(artefacts("good"), {}, promise);
  ASSERT_TRUE(bool(inspected));
  EXPECT_EQ(inspected->gate, GateId::G0);
  compiler.ptx["nosy"] = ".visible .entry k()\n{\nmov.u64 %rd1, %globaltimer;\nret;\n}\n";
  inspected = judge.inspect(artefacts("nosy"), rewritten("nosy"), promise);
  ASSERT_TRUE(bool(inspected));
  EXPECT_EQ(inspected->gate, GateId::G2);
  EXPECT_TRUE(device.log.empty());
}

TEST_F(JudgeTest, ExaminationLooksAtCasesThatASearchLeavesOut) {
  for (unsigned size = 0; size != 8; ++size)
    cases.list.insert(cases.list.begin(), {"extra " + std::to_string(size), false, true, false});
  options.searchCases = 1;
  // Wrong on the last of the cheap cases alone.
  device.programs["late"] = [this](RunMode mode, llvm::StringRef folder,
                                   const RunOptions &options) {
    RunResult result = device.programs.at("original")(mode, folder, options);
    if (cases.folders.count("extra 0") && folder == cases.folders.at("extra 0"))
      result.outputs = {floats([](unsigned) { return 7.0f; })};
    return result;
  };
  cases.folders["extra 0"] = cases.folder + "-0";
  writeRecording(cases.folders["extra 0"], 1);
  Judge judge(artefacts("original"), compiler, device, cases, clock, options);
  auto searched = judge.judge(artefacts("late"), rewritten("late"), promise, JudgeEffort::Search);
  ASSERT_TRUE(searched && searched->isCorrect()) << searched->summary();
  auto examined = judge.examine(artefacts("late"), promise, /*whole=*/false);
  ASSERT_TRUE(bool(examined));
  EXPECT_EQ(examined->gate, GateId::G7);
}

} // namespace
