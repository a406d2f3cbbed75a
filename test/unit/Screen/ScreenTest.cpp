//===- ScreenTest.cpp - What figures of screening mean ----------------------===//
#include "kb-opt/Screen/Screen.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace kbopt;

namespace {

template <typename T> std::vector<uint8_t> bytesOf(std::vector<T> values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

OutputMatch floats(std::vector<float> reference, std::vector<float> candidate) {
  return matchOutput("out", kbrt::ElementType::F32, bytesOf(reference), bytesOf(candidate));
}

Closeness close(const OutputMatch &match, Promise promise, OutputMatch own = {}) {
  return closenessOf(match, own, promise);
}

/// Answers as it is told.
struct FakeScreen : ScreenDevice {
  ScreenReport opened, next;
  std::vector<ScreenRequest> requests;
  llvm::Expected<ScreenReport> open(const ScreenSubject &, const ScreenRequest &) override {
    return opened;
  }
  llvm::Expected<ScreenReport> screen(const ScreenSubject &,
                                      const ScreenRequest &request) override {
    requests.push_back(request);
    return next;
  }
};

ScreenReport timed(double originalUs, double candidateUs) {
  ScreenReport report;
  report.matches = {{OutputMatch()}};
  report.originalUs = originalUs;
  report.candidateUs = candidateUs;
  report.launches = {{"k", candidateUs}};
  return report;
}

struct ScreenTest : testing::Test {
  FakeScreen *fake = nullptr;
  std::unique_ptr<Screen> screen;
  void SetUp() override {
    auto device = std::make_unique<FakeScreen>();
    fake = device.get();
    fake->opened = timed(0, 0);
    fake->next = timed(100, 100);
    screen = std::make_unique<Screen>(std::move(device));
    auto original = screen->open({});
    ASSERT_TRUE(bool(original));
    ASSERT_EQ(original->verdict, VerdictKind::Screened);
    ASSERT_EQ(original->us, 100);
  }
  ScreenedProgram candidate(ScreenReport report, Promise promise = Promise::Reassociates) {
    fake->next = std::move(report);
    return llvm::cantFail(screen->candidate({}, promise, /*isFresh=*/false));
  }
};

} // namespace

TEST(Match, CountsWhatDiffersAndByHowMuch) {
  OutputMatch same = floats({1, NAN, INFINITY}, {1, NAN, INFINITY});
  EXPECT_EQ(same.elements, 3u);
  EXPECT_EQ(same.differing, 0u);
  OutputMatch one = floats({3, 4, 0, 0}, {3, 4.5f, 0, 0});
  EXPECT_EQ(one.differing, 1u);
  EXPECT_EQ(one.otherClass, 0u);
  EXPECT_NEAR(one.largestError, 0.5 / 4, 1e-12);
  EXPECT_NEAR(one.relativeL2, 0.1, 1e-12);
  // What is near zero is measured by what the others are like.
  OutputMatch small = floats({3, 4, 0, 0}, {3, 4, 0.25f, 0});
  EXPECT_NEAR(small.largestError, 0.25 / 2.5, 1e-12);
  OutputMatch other = floats({1, 2, INFINITY, NAN}, {1, NAN, -INFINITY, 3});
  EXPECT_EQ(other.differing, 3u);
  EXPECT_EQ(other.otherClass, 3u);
  EXPECT_EQ(other.largestError, 0);
  OutputMatch whole =
      matchOutput("n", kbrt::ElementType::I32, bytesOf<int>({1, 2, 3}), bytesOf<int>({1, 2, 4}));
  EXPECT_EQ(whole.elements, 3u);
  EXPECT_EQ(whole.differing, 1u);
  OutputMatch bytes = matchOutput("b", kbrt::ElementType::Unknown, bytesOf<uint8_t>({1, 2}),
                                  bytesOf<uint8_t>({1, 3}));
  EXPECT_EQ(bytes.elements, 2u);
  EXPECT_EQ(bytes.differing, 1u);
  OutputMatch shorter =
      matchOutput("n", kbrt::ElementType::I32, bytesOf<int>({1, 2, 3}), bytesOf<int>({1, 2}));
  EXPECT_EQ(shorter.differing, 3u);
}

TEST(Closeness, DependsOnThePromise) {
  OutputMatch last = floats({1, 2}, {1, std::nextafter(2.0f, 3.0f)});
  EXPECT_EQ(close(OutputMatch(), Promise::Bitwise), Closeness::Equal);
  EXPECT_EQ(close(last, Promise::Bitwise), Closeness::Off);
  EXPECT_EQ(close(last, Promise::Reassociates), Closeness::Within);
  OutputMatch sum = floats({1, 2}, {1, 2.002f});
  EXPECT_EQ(close(sum, Promise::Reassociates), Closeness::Possible);
  OutputMatch coarse = floats({1, 2}, {1.04f, 2});
  EXPECT_EQ(close(coarse, Promise::Reassociates), Closeness::Off);
  EXPECT_EQ(close(coarse, Promise::LowerPrecision), Closeness::Possible);
  OutputMatch gone = floats({1, 2}, {1, NAN});
  EXPECT_EQ(close(gone, Promise::LowerPrecision), Closeness::Off);
  OutputMatch whole =
      matchOutput("n", kbrt::ElementType::I32, bytesOf<int>({1}), bytesOf<int>({2}));
  EXPECT_EQ(close(whole, Promise::LowerPrecision), Closeness::Off);
}

TEST(Closeness, WhatTheOriginalDoesItselfIsNoFault) {
  OutputMatch own = floats({1, 2}, {1, 2.0002f}), same = floats({1, 2}, {1, 2.0005f}),
              more = floats({1, 2}, {1, 2.1f});
  EXPECT_EQ(close(same, Promise::Bitwise, own), Closeness::Within);
  EXPECT_EQ(close(more, Promise::Bitwise, own), Closeness::Possible);
}

TEST_F(ScreenTest, TimesAreOnTheClockOfTheOriginal) {
  // Both are slower now than when the original was timed.
  ScreenedProgram faster = candidate(timed(110, 55));
  EXPECT_EQ(faster.verdict, VerdictKind::Screened);
  EXPECT_DOUBLE_EQ(faster.us, 50);
  EXPECT_EQ(faster.launches.size(), 1u);
}

TEST_F(ScreenTest, OtherResultsAreRefusedWithTheirFigures) {
  ScreenReport report = timed(100, 10);
  report.matches = {{floats({1, 2, 3, 4}, {1, 2, 3, 5})}};
  ScreenedProgram wrong = candidate(report);
  EXPECT_EQ(wrong.verdict, VerdictKind::Incorrect);
  EXPECT_EQ(wrong.failure, FailureClass::Correctness);
  EXPECT_EQ(wrong.reason,
            "screening: 1 of 4 elements of 'out' differ, by 2.5e-01 of their size at most");
}

TEST_F(ScreenTest, WhoseFaultABadEndIs) {
  ScreenReport report;
  report.status = RunStatus::Fault;
  report.message = "an illegal address";
  EXPECT_EQ(candidate(report).verdict, VerdictKind::Incorrect);
  EXPECT_EQ(candidate(report).reason, "screening: an illegal address");
  report.status = RunStatus::Timeout;
  EXPECT_EQ(candidate(report).failure, FailureClass::Timeout);
  for (RunStatus machine : {RunStatus::Lost, RunStatus::OutOfMemory, RunStatus::Unsupported}) {
    report.status = machine;
    EXPECT_EQ(candidate(report).verdict, VerdictKind::Inconclusive);
  }
}

TEST_F(ScreenTest, CodeThatNoRuleWroteGetsAFreshProcess) {
  (void)llvm::cantFail(screen->candidate({}, Promise::Bitwise, /*isFresh=*/true));
  EXPECT_TRUE(fake->requests.back().isFresh);
}

TEST_F(ScreenTest, SurvivesItsJson) {
  ScreenReport report = timed(100, 10);
  report.matches = {{floats({1, 2}, {1, std::nextafter(2.0f, 3.0f)})}};
  ScreenedProgram one = candidate(report), other;
  llvm::json::Path::Root path;
  ASSERT_TRUE(fromJSON(toJSON(one), other, path));
  EXPECT_EQ(other.verdict, one.verdict);
  EXPECT_EQ(other.us, one.us);
  EXPECT_EQ(other.closeness, Closeness::Within);
  ASSERT_EQ(other.launches.size(), 1u);
  EXPECT_EQ(other.launches.front().kernel, "k");
  EXPECT_FALSE(fromJSON(llvm::json::Object{{"verdict", "fine"}}, other, path));
}
