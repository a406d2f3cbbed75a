#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "gtest/gtest.h"

using namespace kbopt;

static TimingSeries series(TimingDecision decision, double ratio) {
  TimingSeries result;
  result.decision = decision;
  result.ratio = ratio;
  return result;
}

TEST(MeasuredSpeed, OnlyFasterIsAGain) {
  EXPECT_DOUBLE_EQ(acceptedUs(series(TimingDecision::Faster, 2), 10), 5);
  EXPECT_DOUBLE_EQ(acceptedUs(series(TimingDecision::Inconclusive, 1.2), 10), 10);
  EXPECT_DOUBLE_EQ(acceptedUs(series(TimingDecision::Inconclusive, 0.8), 10), 12.5);
  EXPECT_DOUBLE_EQ(acceptedUs(series(TimingDecision::Slower, 0.5), 10), 20);
  EXPECT_DOUBLE_EQ(acceptedUs(series(TimingDecision::Inconclusive, 0), 10), 10) << "no ratio";
}

static LaunchMetrics launch(const char *kernel, double us, std::map<std::string, double> metrics,
                            unsigned grid = 1) {
  LaunchMetrics result;
  result.kernel = kernel;
  result.us = us;
  result.grid[0] = grid;
  result.metrics = std::move(metrics);
  return result;
}

static GpuProfile twoKernels() {
  GpuProfile profile;
  profile.launches = {launch("a", 3, {{"x.sum", 10}, {"x.pct", 50}}),
                      launch("a", 1, {{"x.sum", 30}, {"x.pct", 90}}, 2),
                      launch("a", 99, {}), // like the first one, which was counted
                      launch("b", 4, {})};
  return profile;
}

TEST(MeasuredSpeed, CountersByKernel) {
  SpeedRecord counters = countersOf(twoKernels());
  EXPECT_EQ(counters.longest, "a");
  const KernelSpeed &a = counters.kernels.at("a");
  EXPECT_DOUBLE_EQ(a.us, 3 + 1 + 3);
  EXPECT_EQ(a.launches, 3u);
  EXPECT_DOUBLE_EQ(a.metrics.at("x.sum"), 20) << "the mean";
  EXPECT_DOUBLE_EQ(a.metrics.at("x.pct"), 60) << "the mean by time";
  EXPECT_DOUBLE_EQ(counters.kernels.at("b").us, 4);
}

static SpeedRecord modelled() {
  SpeedRecord record;
  record.kernels["a"] = {1,
                         {{"kbopt__waves", 2}, {"kbopt__time_us", 7}, {"x.pct", 1}, {"y.pct", 2}}};
  return record;
}

TEST(MeasuredSpeed, SharesOfTheProgramAndStaticFacts) {
  SpeedRecord speed = measuredSpeed(countersOf(twoKernels()), modelled(), 22);
  const KernelSpeed &a = speed.kernels.at("a");
  EXPECT_DOUBLE_EQ(a.us, 14);
  EXPECT_DOUBLE_EQ(a.metrics.at("kbopt__waves"), 2);
  EXPECT_DOUBLE_EQ(a.metrics.at("x.pct"), 60) << "measured, not modelled";
  EXPECT_FALSE(a.metrics.count("y.pct")) << "modelled figures do not mix with measured ones";
  EXPECT_FALSE(a.metrics.count("kbopt__time_us"));
}

TEST(MeasuredSpeed, DegradedMeansModelledMetrics) {
  GpuProfile profile = twoKernels();
  for (LaunchMetrics &each : profile.launches)
    each.metrics.clear();
  profile.degraded = "no permission";
  SpeedRecord speed = measuredSpeed(countersOf(profile), modelled(), 22);
  EXPECT_EQ(speed.degraded, "no permission");
  EXPECT_DOUBLE_EQ(speed.kernels.at("a").metrics.at("y.pct"), 2);
}

TEST(MeasuredSpeed, NothingModelledIsNoTrouble) {
  SpeedRecord speed = measuredSpeed(countersOf(twoKernels()), SpeedRecord(), 22);
  EXPECT_FALSE(speed.kernels.at("a").metrics.count("kbopt__waves"));
}
