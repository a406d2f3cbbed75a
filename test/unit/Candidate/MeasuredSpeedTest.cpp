#include "kb-opt/Candidate/MeasuredSpeed.h"
#include "gtest/gtest.h"

using namespace kbopt;
namespace json = llvm::json;

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
  json::Object counters = countersJson(twoKernels());
  EXPECT_EQ(counters.getString("longest"), llvm::StringRef("a"));
  const json::Object &a = *counters.getObject("kernels")->getObject("a");
  EXPECT_DOUBLE_EQ(*a.getNumber("us"), 3 + 1 + 3);
  EXPECT_DOUBLE_EQ(*a.getObject("metrics")->getNumber("x.sum"), 20) << "the mean";
  EXPECT_DOUBLE_EQ(*a.getObject("metrics")->getNumber("x.pct"), 60) << "the mean by time";
  EXPECT_DOUBLE_EQ(*counters.getObject("kernels")->getObject("b")->getNumber("us"), 4);
}

static json::Object modelled() {
  return json::Object{
      {"kernels", json::Object{{"a", json::Object{{"us", 1},
                                                  {"metrics", json::Object{{"kbopt__waves", 2},
                                                                           {"kbopt__time_us", 7},
                                                                           {"x.pct", 1},
                                                                           {"y.pct", 2}}}}}}}};
}

TEST(MeasuredSpeed, SharesOfTheProgramAndStaticFacts) {
  json::Object speed = measuredSpeed(countersJson(twoKernels()), modelled(), 22);
  const json::Object &a = *speed.getObject("kernels")->getObject("a");
  EXPECT_DOUBLE_EQ(*a.getNumber("us"), 14);
  const json::Object &metrics = *a.getObject("metrics");
  EXPECT_DOUBLE_EQ(*metrics.getNumber("kbopt__waves"), 2);
  EXPECT_DOUBLE_EQ(*metrics.getNumber("x.pct"), 60) << "measured, not modelled";
  EXPECT_FALSE(metrics.get("y.pct")) << "modelled figures do not mix with measured ones";
  EXPECT_FALSE(metrics.get("kbopt__time_us"));
}

TEST(MeasuredSpeed, DegradedMeansModelledMetrics) {
  GpuProfile profile = twoKernels();
  for (LaunchMetrics &each : profile.launches)
    each.metrics.clear();
  profile.degraded = "no permission";
  json::Object speed = measuredSpeed(countersJson(profile), modelled(), 22);
  EXPECT_EQ(speed.getString("degraded"), llvm::StringRef("no permission"));
  EXPECT_DOUBLE_EQ(
      *speed.getObject("kernels")->getObject("a")->getObject("metrics")->getNumber("y.pct"), 2);
}

TEST(MeasuredSpeed, NothingModelledIsNoTrouble) {
  json::Object speed = measuredSpeed(countersJson(twoKernels()), json::Object(), 22);
  EXPECT_FALSE(
      speed.getObject("kernels")->getObject("a")->getObject("metrics")->get("kbopt__waves"));
}
