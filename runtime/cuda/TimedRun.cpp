//===- TimedRun.cpp - one timed iteration of a plan -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TimedRun.h"

#include <algorithm>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Launches that are held back at once; a stream takes about a thousand.
constexpr unsigned mostHeldLaunches = 256;

/// The periods of a repetition that are timed take so long together, or are this many.
constexpr double enoughUs = 5000;
constexpr size_t fewestPeriods = 5;

size_t periodsToTime(const RestingRepetition &resting) {
  const double most = static_cast<double>(resting.repetition.count);
  const double enough = enoughUs / std::max(resting.periodUs, 0.1);
  return std::max(fewestPeriods, static_cast<size_t>(std::min(enough, most)));
}

} // namespace

Events::~Events() {
  if (h.isLost)
    return;
  if (begin)
    h.driver->cuEventDestroy(begin);
  if (end)
    h.driver->cuEventDestroy(end);
}

bool Events::create(Problem &problem) {
  for (CUevent *event : {&begin, &end})
    if (CUresult code = h.driver->cuEventCreate(event, 0); code != CUDA_SUCCESS) {
      problem = {LaunchStatus::Environment, "an event: " + describe(*h.driver, code),
                 adviceFor(code)};
      return false;
    }
  return true;
}

bool TimedRun::run() {
  snapshotSymbols();
  for (auto &[name, symbol] : module.symbols)
    h.driver->cuMemcpyHtoDAsync(symbol.first, symbol.second.data(), symbol.second.size(), h.stream);
  return walk() && endSegment() && wait("the end of the plan");
}

bool TimedRun::beforeDeviceWork(bool isLaunch) {
  if (open && queued >= mostHeldLaunches && !endSegment())
    return false;
  if (!open && isLaunch && !beginSegment())
    return false;
  queued += open;
  return true;
}

bool TimedRun::read(uint64_t from, const Region &region, char *) {
  if (keptIn) {
    reads[index] = keptReads;
    return keepRead(*keptIn, from, region);
  }
  if (!endSegment())
    return false;
  helpers.clearHashes();
  addReadHash(helpers, plan, from, region, 0);
  if (!wait("the hash of step " + std::to_string(index)))
    return false;
  reads[index] = helpers.readHash(0);
  readHash += shareOfRead(reads[index], index);
  return true;
}

bool TimedRun::endsAfter(const Repetition &repetition, size_t periods) {
  auto found = std::find_if(resting.begin(), resting.end(), [&](const RestingRepetition &each) {
    return each.repetition == repetition;
  });
  const size_t timed = periodsToTime(*found);
  if (timed >= repetition.count || (periods != 1 && periods != timed))
    return false;
  endSegment();
  weight =
      periods == 1 ? static_cast<double>(repetition.count - 1) / static_cast<double>(timed - 1) : 1;
  return periods == timed;
}

bool TimedRun::repeat(size_t step, size_t like) {
  auto *read = std::get_if<ReadStep>(&plan.steps[step]);
  if (!read)
    return true;
  const uint64_t known = reads[like];
  if (!keptIn) {
    readHash += shareOfRead(known, step);
    return true;
  }
  return check(h.driver->cuMemcpyDtoDAsync(keptIn->results + keptIn->reads[keptReads++],
                                           keptIn->results + keptIn->reads[known],
                                           read->from.bytes(), h.stream),
               "the read of step " + std::to_string(step));
}

bool TimedRun::beginSegment() {
  // What was prepared must be over: the hold's words are shared by all segments.
  if (!wait("the preparation of step " + std::to_string(index)))
    return false;
  if (cold && segments == 0)
    emptiedL2 = helpers.emptyL2();
  h.driver->cuCtxResetPersistingL2Cache();
  helpers.hold();
  open = true;
  queued = 0;
  ++segments;
  return check(h.driver->cuEventRecord(events.begin, h.stream), "an event");
}

bool TimedRun::endSegment() {
  if (!open)
    return true;
  open = false;
  bool isRecorded = check(h.driver->cuEventRecord(events.end, h.stream), "an event");
  helpers.startClock();
  helpers.release();
  if (!isRecorded || !wait("a timed iteration (step " + std::to_string(index) + ")"))
    return false;
  float milliseconds = 0;
  if (!check(h.driver->cuEventElapsedTime(&milliseconds, events.begin, events.end), "an event"))
    return false;
  timedUs += 1e3 * milliseconds;
  us += weight * 1e3 * milliseconds;
  held &= !helpers.timedOut();
  double mhz = helpers.readClock().mhz;
  smMHz = smMHz > 0 ? std::min(smMHz, mhz) : mhz;
  return true;
}
