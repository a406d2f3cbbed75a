//===- NodeCountersTest.cpp - When a GPU's counters are read --------------===//
#include "../../../lib/Candidate/NodeCounters.h"
#include "../Eval/JudgeGpuFakes.h"
#include "CandidateFakes.h"

using namespace kbopt;

namespace {

struct NodeCountersTest : CandidateTest {
  FakeGpu fake{device.programs};
  std::unique_ptr<Judge> judge;
  std::optional<CandidateSetup> given;
  std::optional<NodeTable> nodes;
  std::optional<NodeCounters> counters;

  void SetUp() override {
    CandidateTest::SetUp();
    gpu = &fake;
    judge = makeJudge();
    given.emplace(setup(*judge));
    nodes.emplace(*given);
    counters.emplace(*given, answers, *nodes);
  }
  /// Of a candidate of one kernel that takes half as long as the original.
  llvm::Expected<SpeedRecord> ofWinner() {
    NodeId id = nodes->add(NodeProgram{"faster", "host", {}});
    SpeedRecord modelled;
    modelled.kernels["k"].us = 3;
    ProgramArtefacts program = artefacts("faster");
    return counters->counters(id, program, FakeGpu::report(100, 50), modelled);
  }
};

TEST_F(NodeCountersTest, AProofIsNotLostForThem) {
  judge->setSecondsLeft([] { return 1.0; });
  auto counted = ofWinner();
  ASSERT_TRUE(bool(counted)) << llvm::toString(counted.takeError());
  EXPECT_EQ(counted->degraded, "the time budget leaves no time to read counters");
  EXPECT_EQ(counted->longest, "k");
  EXPECT_TRUE(fake.log.empty());
}

TEST_F(NodeCountersTest, TheyAreReadWhereThereIsTime) {
  judge->setSecondsLeft([] { return 100.0; });
  auto counted = ofWinner();
  EXPECT_FALSE(bool(counted)) << "it has no recording here to read them of";
  llvm::consumeError(counted.takeError());
}

} // namespace
