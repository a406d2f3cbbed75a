//===- TimedRun.cpp - one timed iteration of a plan -----------------------===//
#include "TimedRun.h"

#include <algorithm>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Launches that are held back at once; a stream takes about a thousand.
constexpr unsigned mostHeldLaunches = 256;

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
  helpers.clearHashes();
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
  if (keptIn)
    return keepRead(*keptIn, from, region);
  if (!endSegment())
    return false;
  addReadHash(helpers, plan, index, from, region, 0);
  return wait("the hash of step " + std::to_string(index));
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
  us += 1e3 * milliseconds;
  held &= !helpers.timedOut();
  double mhz = helpers.readClock().mhz;
  smMHz = smMHz > 0 ? std::min(smMHz, mhz) : mhz;
  return true;
}
