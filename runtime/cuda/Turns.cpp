//===- Turns.cpp - two images timed in short turns ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the times of screening: few samples, one set of buffers in lent memory,
// no statistics. What a sample is, is TimedRun.h's; figures that decide come
// from Timing.cpp.
//
//===----------------------------------------------------------------------===//
#include "TimedRun.h"
#include "kbrt/CudaScreen.h"

#include <algorithm>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// A candidate that takes so many times as long in the first pair, in which machine code is loaded
/// and clocks rise, is timed no further.
constexpr double hopelessRatio = 4;
/// In an execution of this length it does not show what the first one has to do beside.
constexpr double longUs = 20e3;
/// Samples of so much time together are enough, from two of each on.
constexpr double enoughUs = 300e3;
/// One pair of samples says enough where it takes so long: what others do on the device meanwhile
/// is little beside it.
constexpr double longPairUs = 100e3;
/// A sample whose work was not queued in time is taken again, so often in all.
constexpr unsigned mostTries = 3;
/// Of an original alone, whose time need not be compared with any.
constexpr size_t mostAlone = 4;

class Turns {
public:
  Turns(Device &device, const TurnsOptions &options, TurnsResult &result)
      : device(device), h(device.getHandles()), options(options), result(result) {
    timing.poison = options.poison;
    timing.wallSeconds = options.wallSeconds;
  }

  void add(const Subject &subject, const LentMemory &memory, bool isCandidate) {
    sides.push_back({&subject, &memory, SlabLayout::of(*subject.plan), {}, {}, isCandidate});
    sides.back().slab.use(h, memory.work, memory.workBytes);
    sides.back().staging.use(memory.uploads);
  }
  void run();

private:
  struct Side {
    const Subject *subject;
    const LentMemory *memory;
    SlabLayout layout;
    Slab slab;
    Staging staging;
    bool isCandidate;
  };

  bool prepare();
  struct Sample {
    double us = 0, timedUs = 0; ///< of the plan, and of what was executed of it
    bool isHeld = true;         ///< the device began when all was queued
  };
  /// Nothing after it failed.
  std::optional<Sample> iterate(Side &side);
  bool sample(Side &side);
  bool isKnownEnough() const;
  void fail(const Problem &problem, bool isOriginals) {
    result.status = problem.status;
    result.message = problem.message;
    result.note = problem.note;
    result.isOriginals = isOriginals;
  }

  Device &device;
  Device::Handles &h;
  const TurnsOptions &options;
  TurnsResult &result;
  TimingOptions timing;
  HelperKernels *helpers = nullptr;
  Events events{h};
  std::vector<Side> sides;
  double timedUs = 0; ///< of all samples that count
};

bool Turns::prepare() {
  Problem problem;
  helpers = HelperKernels::of(device, problem);
  if (helpers)
    events.create(problem);
  for (Side &side : sides)
    if (!problem && !side.subject->image->reload(problem)) {
      fail(problem, !side.isCandidate);
      return false;
    }
  if (problem)
    fail(problem, /*isOriginals=*/true);
  return !problem;
}

std::optional<Turns::Sample> Turns::iterate(Side &side) {
  TimedRun run(device, *side.subject, side.layout, side.slab, timing, side.staging, *helpers,
               events, /*cold=*/true);
  if (side.isCandidate) {
    wipeResults(device, *side.memory, options.poison);
    run.keptIn = side.memory;
  }
  if (!run.run()) {
    fail(run.problem(), !side.isCandidate);
    return std::nullopt;
  }
  // No result may lie around for the next image to find.
  side.slab.wipe(options.poison);
  return Sample{run.us, run.timedUs, run.held};
}

bool Turns::sample(Side &side) {
  std::optional<Sample> taken;
  for (unsigned tries = 0; tries < mostTries && (!taken || !taken->isHeld); ++tries) {
    taken = iterate(side);
    options.between();
    if (!taken)
      return false;
  }
  (side.isCandidate ? result.candidateUs : result.originalUs).push_back(taken->us);
  timedUs += taken->timedUs;
  return true;
}

bool Turns::isKnownEnough() const {
  const std::vector<double> &a = result.originalUs, &b = result.candidateUs;
  if (sides.size() == 1)
    return a.size() >= mostAlone || timedUs >= enoughUs;
  auto [leastA, mostA] = std::minmax_element(a.begin(), a.end());
  auto [leastB, mostB] = std::minmax_element(b.begin(), b.end());
  const bool areApart =
      *leastA >= options.apartRatio * *mostB || *leastB >= options.apartRatio * *mostA;
  return b.size() >= options.mostPairs || (b.size() >= 2 && (timedUs >= enoughUs || areApart)) ||
         (timedUs >= longPairUs && areApart);
}

void Turns::run() {
  if (!prepare())
    return;
  options.begins();
  for (Side &side : sides)
    side.slab.wipe(options.poison);
  std::vector<bool> turns; // whose is next: true is the candidate's
  bool goesOn = sample(sides[0]) && (sides.size() == 1 || sample(sides[1]));
  const bool isHopeless =
      goesOn && sides.size() == 2 && result.candidateUs[0] >= hopelessRatio * result.originalUs[0];
  if (timedUs >= longUs * static_cast<double>(sides.size()) || isHopeless) {
    goesOn = goesOn && !isHopeless && !isKnownEnough();
    turns = {true, false}; // the second half of A B B A
  } else if (goesOn) {
    result.originalUs.clear();
    result.candidateUs.clear();
    timedUs = 0;
    turns = {false, true, true, false};
  }
  while (goesOn) {
    for (bool isCandidates : turns)
      goesOn = goesOn && sample(sides[isCandidates && sides.size() == 2]);
    goesOn = goesOn && !isKnownEnough();
    turns = {false, true, true, false};
  }
  options.ends();
}

} // namespace

TurnsResult kbrt::cuda::timeInTurns(Device &device, const Subject &original,
                                    const LentMemory &originalMemory, const Subject &candidate,
                                    const LentMemory &candidateMemory,
                                    const TurnsOptions &options) {
  TurnsResult result;
  Turns turns(device, options, result);
  turns.add(original, originalMemory, false);
  if (candidate.image)
    turns.add(candidate, candidateMemory, true);
  turns.run();
  return result;
}
