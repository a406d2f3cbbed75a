//===- Statistics.h - what samples of times say ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the arithmetic of measuring, without a device: summaries, when to stop,
// which samples to leave out, and the rule by which a candidate counts as
// faster (docs/Measurement.md). Every function is pure and deterministic.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_STATISTICS_H
#define KBRT_STATISTICS_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kbrt {

/// Order statistics interpolate between neighbours; all are 0 without samples.
struct Summary {
  size_t count = 0;
  double min = 0, q1 = 0, median = 0, q3 = 0, max = 0, mean = 0;
  double deviation = 0; ///< of the samples, n - 1 in the denominator
  /// deviation / mean; 0 below two samples.
  double relativeDeviation() const { return mean > 0 ? deviation / mean : 0; }
};
Summary summarize(std::span<const double> samples);

/// One timed iteration of one image.
struct TimedSample {
  uint32_t block = 0;     ///< of A B B A; both images have two in each
  bool candidate = false; ///< else the baseline
  double us = 0;          ///< microseconds of the device's work
  double smMHz = 0;       ///< 0 is unknown
  bool held = true;       ///< everything was queued before the device began
};

struct ClockFilter {
  double usualMHz = 0; ///< the median
  /// For each sample whether it counts: it ran at 75 % of the usual clock or more, and was held.
  std::vector<bool> keep;
  double discardedShare = 0;
};
/// \p leastShare is of the usual clock.
ClockFilter filterByClock(std::span<const TimedSample> samples, double leastShare = 0.75);

/// Samples of each image without which nothing is decided, however long they take: those of three
/// blocks.
inline constexpr size_t leastSamples = 6;

/// When enough samples are there.
struct StopRule {
  size_t minSamples = 30; ///< of each image
  size_t fewSamples = 8;  ///< of each that suffice where they are quiet and took `longSeconds`
  double longSeconds = 0.5;
  double minSeconds = 0.5; ///< of measuring
  double maxSeconds = 15;
  double patience = 3; ///< times `maxSeconds` for the first `leastSamples`
  /// Relative standard deviation at which to stop.
  double noise = 0.005;
  /// The same of the mean: with enough samples a noisy time is known as well.
  double meanNoise = 0.002;
  /// The noise counts as stable when its last values differ by at most this share.
  double stability = 0.05;
  size_t stabilityWindow = 8;
  /// `fewSamples` of each suffice when all of one image are at least so many times as long as all
  /// of the other (from three times on `leastSamples`); 0: never.
  double apartRatio = 0;
};
enum class StopReason : uint8_t { GoOn, Quiet, Narrow, Stable, Apart, TimeOut };
const char *toString(StopReason reason);
/// \p noiseHistory has one relative deviation (the larger one of both images) per look; \p apart is
/// the shortest sample of the slower image over the longest of the faster one.
StopReason whetherToStop(const StopRule &rule, size_t samplesOfEach, double seconds,
                         std::span<const double> noiseHistory, double apart = 1);

enum class Comparison : uint8_t { Faster, Slower, Inconclusive };
const char *toString(Comparison comparison);

struct AcceptRule {
  double leastCentreShift = 0.005; ///< of the medians
  double leastRatio = 1.01;        ///< that the lower bound must exceed
  double confidence = 0.95;
  uint32_t resamples = 2000;
  uint64_t seed = 1;
};

struct Decision {
  Comparison comparison = Comparison::Inconclusive;
  double ratio = 1;            ///< median over blocks of baseline time over candidate time
  double lower = 1, upper = 1; ///< bounds of the ratio by the paired bootstrap
  std::string reason;
};

/// Whether the candidate is faster: its interval [min, q3] lies below the baseline's, the medians
/// differ by `leastCentreShift`, and the lower bound of a paired bootstrap of the median ratio
/// exceeds `leastRatio`. Of fewer than eight blocks, all samples must lie apart, and the least
/// ratio exceed `leastRatio`. Slower is the mirror image; anything else is inconclusive, with the
/// reason. Blocks that lack a sample of either image do not count.
Decision decide(std::span<const TimedSample> samples, const AcceptRule &rule = {});

} // namespace kbrt

#endif // KBRT_STATISTICS_H
