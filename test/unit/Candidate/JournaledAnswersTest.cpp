//===- JournaledAnswersTest.cpp - Effects that are asked for once ---------===//
#include "kb-opt/Candidate/JournaledAnswers.h"
#include "kb-opt/Candidate/JournaledGates.h"
#include "kb-opt/Candidate/LinesRecord.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Parallel.h"
#include <atomic>

using namespace kbopt;

namespace {

struct JournaledAnswersTest : testing::Test {
  std::unique_ptr<Journal> journal = Journal::inMemory();
  JournaledAnswers answers{*journal, "run"};
  std::atomic<unsigned> computed = 0;

  llvm::Expected<LinesRecord> ask(JournaledAnswers &of, llvm::StringRef kind, llvm::StringRef what,
                                  std::string line = "line 1") {
    return of.ask<LinesRecord>(kind, of.request({what}), [&]() -> llvm::Expected<LinesRecord> {
      ++computed;
      return LinesRecord{{{"k", {line}}}};
    });
  }
};

TEST_F(JournaledAnswersTest, AskedTwiceComputesOnce) {
  LinesRecord first = llvm::cantFail(ask(answers, "lines", "a"));
  LinesRecord second = llvm::cantFail(ask(answers, "lines", "a", "line 2"));
  EXPECT_EQ(computed, 1u);
  EXPECT_EQ(second.kernels, first.kernels);
  JournaledAnswers later{*journal, "run"};
  EXPECT_EQ(llvm::cantFail(ask(later, "lines", "a")).kernels, first.kernels);
  EXPECT_EQ(computed, 1u);
}

TEST_F(JournaledAnswersTest, OtherRequestsAreOtherAnswers) {
  llvm::cantFail(ask(answers, "lines", "a"));
  llvm::cantFail(ask(answers, "lines", "b"));
  llvm::cantFail(ask(answers, "stalls", "a"));
  JournaledAnswers other{*journal, "another run"};
  llvm::cantFail(ask(other, "lines", "a"));
  EXPECT_EQ(computed, 4u);
  EXPECT_NE(answers.request({"ab"}), answers.request({"a", "b"}));
}

TEST_F(JournaledAnswersTest, ThreadsWaitForOneComputation) {
  parallelFor(4, 4, [&](size_t) { llvm::cantFail(ask(answers, "lines", "a")); });
  EXPECT_EQ(computed, 1u);
}

TEST_F(JournaledAnswersTest, ErrorsAreNotKept) {
  for (int i = 0; i < 2; ++i) {
    auto failed = answers.ask<LinesRecord>("lines", answers.request({"a"}),
                                           [&]() -> llvm::Expected<LinesRecord> {
                                             ++computed;
                                             return llvm::make_error<UsageError>("no GPU");
                                           });
    EXPECT_EQ(llvm::toString(failed.takeError()), "no GPU");
  }
  EXPECT_EQ(computed, 2u);
  EXPECT_FALSE(llvm::cantFail(answers.has("lines", answers.request({"a"}))));
}

TEST_F(JournaledAnswersTest, AnOlderFormIsComputedAgainOnceAndStays) {
  const std::string older = R"({"kernels":["another form"]})";
  const Digest request = answers.request({"a"});
  llvm::cantFail(journal->put("lines", request, older));
  EXPECT_EQ(llvm::cantFail(ask(answers, "lines", "a")).kernels["k"],
            std::vector<std::string>{"line 1"});
  EXPECT_EQ(llvm::cantFail(ask(answers, "lines", "a", "line 2")).kernels["k"],
            std::vector<std::string>{"line 1"});
  EXPECT_EQ(computed, 1u);
  EXPECT_EQ(llvm::cantFail(journal->find("lines", request)), older);
}

TEST_F(JournaledAnswersTest, NoJsonIsComputedAgain) {
  llvm::cantFail(journal->put("lines", answers.request({"a"}), "cut of"));
  EXPECT_EQ(llvm::cantFail(ask(answers, "lines", "a")).kernels.size(), 1u);
  EXPECT_EQ(computed, 1u);
}

TEST_F(JournaledAnswersTest, SaysWhetherItIsAnswered) {
  const Digest request = answers.request({"a"});
  EXPECT_FALSE(llvm::cantFail(answers.has("lines", request)));
  llvm::cantFail(ask(answers, "lines", "a"));
  EXPECT_TRUE(llvm::cantFail(answers.has("lines", request)));
  EXPECT_FALSE(llvm::cantFail(answers.has("stalls", request)));
}

TEST_F(JournaledAnswersTest, GatesOfProgramsAreApart) {
  JournaledGates original{answers}, first{answers, "first"}, second{answers, "second"};
  first.keep("G7", "seven");
  EXPECT_EQ(first.find("G7"), "seven");
  EXPECT_FALSE(first.find("G8").has_value());
  EXPECT_FALSE(second.find("G7").has_value());
  EXPECT_FALSE(original.find("G7").has_value());
  original.keep("G7", "of the original");
  EXPECT_EQ(original.find("G7"), "of the original");
  EXPECT_EQ(first.find("G7"), "seven");
}

TEST_F(JournaledAnswersTest, AGateKeepsItsFirstAnswer) {
  JournaledGates gates{answers, "program"};
  gates.keep("G7", "seven");
  gates.keep("G7", "eight");
  JournaledAnswers later{*journal, "run"};
  EXPECT_EQ(JournaledGates(later, "program").find("G7"), "seven");
  JournaledAnswers other{*journal, "another run"};
  EXPECT_FALSE(JournaledGates(other, "program").find("G7").has_value());
  // Where earlier builds kept it.
  EXPECT_EQ(llvm::cantFail(journal->find("gate", answers.request({"program", "G7"}))), "seven");
}

} // namespace
