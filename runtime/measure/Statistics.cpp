//===- Statistics.cpp - what samples of times say -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace kbrt;

namespace {

/// \p sorted at \p share from 0 to 1, interpolated.
double quantile(std::span<const double> sorted, double share) {
  if (sorted.empty())
    return 0;
  double at = share * static_cast<double>(sorted.size() - 1);
  size_t low = static_cast<size_t>(at), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

double medianOf(std::vector<double> &values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the same sequence everywhere.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
};

struct Pairs {
  std::vector<double> ratios; ///< baseline over candidate, one per block
  std::vector<double> baseline, candidate;
};

Pairs pairUp(std::span<const TimedSample> samples) {
  struct Block {
    std::vector<double> of[2];
  };
  std::map<uint32_t, Block> blocks;
  for (const TimedSample &sample : samples)
    blocks[sample.block].of[sample.candidate].push_back(sample.us);
  Pairs pairs;
  for (auto &[number, block] : blocks) {
    if (block.of[0].empty() || block.of[1].empty())
      continue;
    double mean[2] = {};
    for (int i : {0, 1}) {
      for (double us : block.of[i])
        mean[i] += us / static_cast<double>(block.of[i].size());
      auto &all = i ? pairs.candidate : pairs.baseline;
      all.insert(all.end(), block.of[i].begin(), block.of[i].end());
    }
    if (mean[1] > 0)
      pairs.ratios.push_back(mean[0] / mean[1]);
  }
  return pairs;
}

} // namespace

Summary kbrt::summarize(std::span<const double> samples) {
  Summary summary;
  summary.count = samples.size();
  if (samples.empty())
    return summary;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.q1 = quantile(sorted, 0.25);
  summary.median = quantile(sorted, 0.5);
  summary.q3 = quantile(sorted, 0.75);
  for (double value : sorted)
    summary.mean += value / static_cast<double>(sorted.size());
  double squares = 0;
  for (double value : sorted)
    squares += (value - summary.mean) * (value - summary.mean);
  if (sorted.size() > 1)
    summary.deviation = std::sqrt(squares / static_cast<double>(sorted.size() - 1));
  return summary;
}

ClockFilter kbrt::filterByClock(std::span<const TimedSample> samples, double leastShare) {
  ClockFilter filter;
  std::vector<double> clocks;
  for (const TimedSample &sample : samples)
    if (sample.smMHz > 0)
      clocks.push_back(sample.smMHz);
  filter.usualMHz = medianOf(clocks);
  size_t discarded = 0;
  for (const TimedSample &sample : samples) {
    bool isSlow = sample.smMHz > 0 && sample.smMHz < leastShare * filter.usualMHz;
    filter.keep.push_back(!isSlow && sample.held);
    discarded += !filter.keep.back();
  }
  if (!samples.empty())
    filter.discardedShare = static_cast<double>(discarded) / static_cast<double>(samples.size());
  return filter;
}

const char *kbrt::toString(StopReason reason) {
  switch (reason) {
  case StopReason::GoOn:
    return "go-on";
  case StopReason::Quiet:
    return "quiet";
  case StopReason::Narrow:
    return "narrow";
  case StopReason::Stable:
    return "stable";
  case StopReason::Apart:
    return "apart";
  case StopReason::TimeOut:
    return "time-out";
  }
  return "?";
}

/// Where one image takes so many times as long, more samples would change nothing.
static constexpr double farRatio = 3;

StopReason kbrt::whetherToStop(const StopRule &rule, size_t samplesOfEach, double seconds,
                               std::span<const double> noiseHistory, double apart) {
  if (seconds >= rule.maxSeconds * (samplesOfEach < leastSamples ? rule.patience : 1))
    return StopReason::TimeOut;
  if (seconds < rule.minSeconds || noiseHistory.empty())
    return StopReason::GoOn;
  const size_t few = apart >= farRatio ? leastSamples : rule.fewSamples;
  if (rule.apartRatio > 1 && samplesOfEach >= few && apart >= rule.apartRatio)
    return StopReason::Apart;
  if (samplesOfEach < rule.minSamples)
    return seconds >= rule.longSeconds && samplesOfEach >= rule.fewSamples &&
                   noiseHistory.back() <= rule.noise
               ? StopReason::Quiet
               : StopReason::GoOn;
  if (noiseHistory.back() <= rule.noise)
    return StopReason::Quiet;
  if (noiseHistory.back() <= rule.meanNoise * std::sqrt(static_cast<double>(samplesOfEach)))
    return StopReason::Narrow;
  if (noiseHistory.size() < rule.stabilityWindow)
    return StopReason::GoOn;
  auto window = noiseHistory.last(rule.stabilityWindow);
  auto [least, most] = std::minmax_element(window.begin(), window.end());
  return *most - *least <= rule.stability * *most ? StopReason::Stable : StopReason::GoOn;
}

const char *kbrt::toString(Comparison comparison) {
  switch (comparison) {
  case Comparison::Faster:
    return "faster";
  case Comparison::Slower:
    return "slower";
  case Comparison::Inconclusive:
    return "inconclusive";
  }
  return "?";
}

/// Too few blocks for a bootstrap, as of programs that take seconds: the images differ where every
/// sample of one lies below every sample of the other. Of equal ones, three blocks (six samples
/// each) do so in 2 of 924 draws.
static Decision decideFew(const Pairs &pairs, const AcceptRule &rule) {
  Decision decision;
  if (pairs.ratios.size() < leastSamples / 2) {
    decision.reason =
        "only " + std::to_string(pairs.ratios.size()) + " blocks have samples of both images";
    return decision;
  }
  std::vector<double> sorted = pairs.ratios;
  decision.ratio = medianOf(sorted);
  auto [lower, upper] = std::minmax_element(pairs.ratios.begin(), pairs.ratios.end());
  decision.lower = *lower;
  decision.upper = *upper;
  Summary baseline = summarize(pairs.baseline), candidate = summarize(pairs.candidate);
  if (candidate.max < baseline.min && decision.lower > rule.leastRatio)
    decision.comparison = Comparison::Faster;
  else if (baseline.max < candidate.min && 1 / decision.upper > rule.leastRatio)
    decision.comparison = Comparison::Slower;
  else
    decision.reason = "the samples of only " + std::to_string(pairs.ratios.size()) +
                      " blocks are not apart by " + std::to_string(rule.leastRatio);
  return decision;
}

Decision kbrt::decide(std::span<const TimedSample> samples, const AcceptRule &rule) {
  Decision decision;
  Pairs pairs = pairUp(samples);
  if (pairs.ratios.size() < 8)
    return decideFew(pairs, rule);
  std::vector<double> sorted = pairs.ratios;
  decision.ratio = medianOf(sorted);
  Random random{rule.seed};
  std::vector<double> medians, draw(pairs.ratios.size());
  for (uint32_t i = 0; i < rule.resamples; ++i) {
    for (double &value : draw)
      value = pairs.ratios[random.next() % pairs.ratios.size()];
    size_t middle = draw.size() / 2;
    std::nth_element(draw.begin(), draw.begin() + static_cast<ptrdiff_t>(middle), draw.end());
    medians.push_back(draw[middle]);
  }
  std::sort(medians.begin(), medians.end());
  decision.lower = quantile(medians, (1 - rule.confidence) / 2);
  decision.upper = quantile(medians, 1 - (1 - rule.confidence) / 2);

  Summary baseline = summarize(pairs.baseline), candidate = summarize(pairs.candidate);
  auto isBelow = [&](const Summary &fast, const Summary &slow, double bound) -> std::string {
    if (!(fast.q3 < slow.min))
      return "the intervals from minimum to third quartile overlap";
    if (!(slow.median - fast.median >= rule.leastCentreShift * slow.median))
      return "the medians differ by less than " + std::to_string(100 * rule.leastCentreShift) +
             " %";
    if (!(bound > rule.leastRatio))
      return "the bound of the ratio does not exceed " + std::to_string(rule.leastRatio);
    return "";
  };
  bool mayBeFaster = decision.ratio >= 1;
  std::string reason = mayBeFaster ? isBelow(candidate, baseline, decision.lower)
                                   : isBelow(baseline, candidate, 1 / decision.upper);
  if (reason.empty())
    decision.comparison = mayBeFaster ? Comparison::Faster : Comparison::Slower;
  decision.reason = reason;
  return decision;
}
