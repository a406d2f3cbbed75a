//===- JobScreenTest.cpp - Screening by jobs ---------------------------------===//
#include "../Eval/JudgeGpuFakes.h"
#include "kb-opt/Screen/Screen.h"

using namespace kbopt;

namespace {

struct JobScreenTest : JudgeGpuTest {
  std::unique_ptr<ScreenDevice> device_;
  ScreenSubject subject(const std::string &text) { return {text, {cases.folder, cases.folder}}; }
  void SetUp() override {
    JudgeGpuTest::SetUp();
    device_ = createJobScreen(fake);
  }
  ScreenReport open() { return llvm::cantFail(device_->open(subject("original"), {})); }
  ScreenReport screen(const std::string &text) {
    return llvm::cantFail(device_->screen(subject(text), {}));
  }
};

TEST_F(JobScreenTest, ComparesEverySetAndTimesTheFirst) {
  ScreenReport original = open();
  ASSERT_EQ(original.status, RunStatus::Ok);
  ASSERT_EQ(original.matches.size(), 2u);
  EXPECT_EQ(original.matches[0][0].differing, 0u);
  ScreenReport good = screen("good");
  ASSERT_EQ(good.matches.size(), 2u);
  EXPECT_EQ(good.matches[1][0].elements, count);
  EXPECT_EQ(good.matches[1][0].differing, 0u);
  EXPECT_EQ(good.originalUs, 100);
  EXPECT_EQ(good.candidateUs, 50);
  EXPECT_EQ(fake.count("time good"), 1);
}

TEST_F(JobScreenTest, FiguresOfAWrongOne) {
  program("wrong", [](const RunOptions &) { return floats([](unsigned i) { return i + 2.0f; }); });
  open();
  ScreenReport wrong = screen("wrong");
  EXPECT_EQ(wrong.matches[0][0].differing, count - 1); // out[0] is 2 by chance
  EXPECT_GT(wrong.matches[0][0].relativeL2, 0.4);
}

TEST_F(JobScreenTest, MemoryThatNobodyWroteShows) {
  program("lazy", [](const RunOptions &options) {
    return floats([&](unsigned i) {
      return i == 9 ? static_cast<float>(options.memoryPoison) : 2.0f * (i + 1);
    });
  });
  open();
  ScreenReport lazy = screen("lazy");
  EXPECT_EQ(lazy.matches[0][0].differing, 1u);
  EXPECT_NE(lazy.matches[0][0].largestError, lazy.matches[1][0].largestError);
}

TEST_F(JobScreenTest, ABadEndNamesTheSet) {
  open();
  device.programs["bad"] = [](RunMode, llvm::StringRef, const RunOptions &) {
    RunResult result;
    result.status = RunStatus::Fault;
    result.message = "an illegal address";
    return result;
  };
  ScreenReport bad = screen("bad");
  EXPECT_EQ(bad.status, RunStatus::Fault);
  EXPECT_EQ(bad.message, "an illegal address");
  EXPECT_EQ(fake.count("time bad"), 0);
}

TEST_F(JobScreenTest, AnOriginalThatMovesByItselfSaysHowFar) {
  unsigned run = 0;
  program("original", [&](const RunOptions &) {
    ++run;
    return floats([&](unsigned i) { return 2.0f * (i + 1) + (i == 3 && run % 2 ? 0.001f : 0); });
  });
  ScreenReport original = open();
  EXPECT_EQ(original.matches[0][0].differing, 1u);
}

} // namespace
