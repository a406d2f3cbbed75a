//===- StatisticsTest.cpp - the accept rule on made-up samples ------------===//
#include "kbrt/Statistics.h"
#include <gtest/gtest.h>

using namespace kbrt;

namespace {

/// A deterministic generator of samples: uniform noise around a time.
struct Samples {
  uint64_t state;
  double uniform() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return double(state >> 11) / double(1ull << 53);
  }
  /// \p blocks of A B B A; noise is the half width, a share of the time.
  std::vector<TimedSample> make(double baseline, double candidate, double noise, uint32_t blocks) {
    std::vector<TimedSample> samples;
    for (uint32_t block = 0; block < blocks; ++block)
      for (bool isCandidate : {false, true, true, false}) {
        double us = isCandidate ? candidate : baseline;
        samples.push_back({block, isCandidate, us * (1 + noise * (2 * uniform() - 1)), 1980, true});
      }
    return samples;
  }
};

TEST(Statistics, SummarizesByInterpolatedQuartiles) {
  double values[] = {4, 1, 3, 2, 5};
  Summary summary = summarize(values);
  EXPECT_EQ(summary.count, 5u);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.q1, 2);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.q3, 4);
  EXPECT_EQ(summary.max, 5);
  EXPECT_NEAR(summary.deviation, 1.5811, 1e-4);
  EXPECT_EQ(summarize({}).relativeDeviation(), 0);
}

TEST(Statistics, AcceptsAClearGain) {
  auto samples = Samples{1}.make(100, 80, 0.02, 30);
  Decision decision = decide(samples);
  EXPECT_EQ(decision.comparison, Comparison::Faster) << decision.reason;
  EXPECT_NEAR(decision.ratio, 1.25, 0.02);
  EXPECT_LE(decision.lower, decision.ratio);
  EXPECT_GE(decision.upper, decision.ratio);
  EXPECT_GT(decision.lower, 1.2);
}

TEST(Statistics, CallsTheMirrorImageSlower) {
  auto samples = Samples{1}.make(80, 100, 0.02, 30);
  EXPECT_EQ(decide(samples).comparison, Comparison::Slower);
}

TEST(Statistics, NeverAcceptsTheOriginalAgainstItself) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    auto samples = Samples{seed}.make(100, 100, 0.03, 30);
    EXPECT_EQ(decide(samples).comparison, Comparison::Inconclusive) << "seed " << seed;
  }
}

TEST(Statistics, OverlappingIntervalsAreInconclusive) {
  Decision decision = decide(Samples{3}.make(100, 97, 0.1, 30));
  EXPECT_EQ(decision.comparison, Comparison::Inconclusive);
  EXPECT_NE(decision.reason.find("overlap"), std::string::npos) << decision.reason;
}

TEST(Statistics, AGainBelowOnePercentIsInconclusive) {
  Decision decision = decide(Samples{4}.make(100, 99.2, 0.0005, 30));
  EXPECT_EQ(decision.comparison, Comparison::Inconclusive);
  EXPECT_NE(decision.reason.find("1.01"), std::string::npos) << decision.reason;
}

TEST(Statistics, TwoBlocksAreInconclusive) {
  Decision decision = decide(Samples{5}.make(100, 50, 0.01, 2));
  EXPECT_EQ(decision.comparison, Comparison::Inconclusive);
  EXPECT_NE(decision.reason.find("only 2 blocks"), std::string::npos) << decision.reason;
}

TEST(Statistics, FewBlocksDecideWhereAllSamplesLieApart) {
  EXPECT_EQ(decide(Samples{5}.make(100, 50, 0.01, 3)).comparison, Comparison::Faster);
  EXPECT_EQ(decide(Samples{5}.make(50, 100, 0.01, 7)).comparison, Comparison::Slower);
  Decision same = decide(Samples{5}.make(100, 100, 0.01, 7));
  EXPECT_EQ(same.comparison, Comparison::Inconclusive);
  EXPECT_NE(same.reason.find("only 7 blocks are not apart"), std::string::npos) << same.reason;
  Decision close = decide(Samples{5}.make(100, 99, 0.001, 7));
  EXPECT_EQ(close.comparison, Comparison::Inconclusive) << "below 1.01";
}

TEST(Statistics, EqualProgramsOfFewBlocksAreRarelyToldApart) {
  unsigned apart = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed)
    apart += decide(Samples{seed}.make(100, 100, 0.05, 3)).comparison != Comparison::Inconclusive;
  EXPECT_LE(apart, 6u);
}

TEST(Statistics, LongProgramsAreMeasuredWithFewSamples) {
  StopRule rule;
  std::vector<double> quiet{0.004}, noisy{0.02};
  EXPECT_EQ(whetherToStop(rule, 8, 1, quiet), StopReason::Quiet);
  EXPECT_EQ(whetherToStop(rule, 6, 1, quiet), StopReason::GoOn);
  rule.minSeconds = 0.1;
  EXPECT_EQ(whetherToStop(rule, 8, 0.4, quiet), StopReason::GoOn) << "short samples are cheap";
  EXPECT_EQ(whetherToStop(rule, 8, 1, noisy), StopReason::GoOn);
  EXPECT_EQ(whetherToStop(rule, 4, rule.maxSeconds, noisy), StopReason::GoOn)
      << "too few to decide anything";
  EXPECT_EQ(whetherToStop(rule, 6, rule.maxSeconds, noisy), StopReason::TimeOut);
  EXPECT_EQ(whetherToStop(rule, 2, 3 * rule.maxSeconds, noisy), StopReason::TimeOut);
}

TEST(Statistics, DecidesTheSameWheneverItIsAsked) {
  auto samples = Samples{6}.make(100, 90, 0.02, 30);
  EXPECT_EQ(decide(samples).lower, decide(samples).lower);
}

TEST(Statistics, LeavesOutSamplesAtALowClock) {
  auto samples = Samples{7}.make(100, 100, 0.01, 10);
  samples[3].smMHz = 1400;
  samples[8].held = false;
  ClockFilter filter = filterByClock(samples);
  EXPECT_EQ(filter.usualMHz, 1980);
  EXPECT_FALSE(filter.keep[3]);
  EXPECT_FALSE(filter.keep[8]);
  EXPECT_TRUE(filter.keep[4]);
  EXPECT_DOUBLE_EQ(filter.discardedShare, 2.0 / 40);
}

TEST(Statistics, KeepsSamplesWithoutAClock) {
  auto samples = Samples{8}.make(100, 100, 0.01, 10);
  for (TimedSample &sample : samples)
    sample.smMHz = 0;
  EXPECT_EQ(filterByClock(samples).discardedShare, 0);
}

TEST(Statistics, StopsWhereAllSamplesLieApart) {
  StopRule rule;
  std::vector<double> noisy{0.05};
  EXPECT_EQ(whetherToStop(rule, 8, 1, noisy, 2), StopReason::GoOn) << "only where it is asked for";
  rule.apartRatio = 1.25;
  EXPECT_EQ(whetherToStop(rule, 8, 1, noisy, 1.3), StopReason::Apart);
  EXPECT_EQ(whetherToStop(rule, 8, 1, noisy, 1.2), StopReason::GoOn);
  EXPECT_EQ(whetherToStop(rule, 6, 1, noisy, 1.3), StopReason::GoOn);
  EXPECT_EQ(whetherToStop(rule, 6, 1, noisy, 3.5), StopReason::Apart);
  EXPECT_EQ(whetherToStop(rule, 4, 1, noisy, 100), StopReason::GoOn)
      << "nothing is decided of two blocks";
  EXPECT_EQ(whetherToStop(rule, 8, 0.1, noisy, 1.3), StopReason::GoOn) << "short samples are cheap";
}

TEST(Statistics, StopsWhenQuietOrStableOrLate) {
  StopRule rule;
  std::vector<double> loud = {0.1, 0.08, 0.05, 0.04}, quiet = {0.1, 0.004}, stable(8, 0.03);
  EXPECT_EQ(whetherToStop(rule, 100, 1, loud), StopReason::GoOn);
  EXPECT_EQ(whetherToStop(rule, 100, 1, quiet), StopReason::Quiet);
  EXPECT_EQ(whetherToStop(rule, 100, 1, stable), StopReason::Stable);
  EXPECT_EQ(whetherToStop(rule, 400, 1, loud), StopReason::Narrow);
  EXPECT_EQ(whetherToStop(rule, 7, 1, quiet), StopReason::GoOn);
  EXPECT_EQ(whetherToStop(rule, 100, 0.4, quiet), StopReason::GoOn);
  EXPECT_EQ(whetherToStop(rule, 6, 15, loud), StopReason::TimeOut);
}

} // namespace
