//===- TimedRun.cpp - one timed iteration of a plan -----------------------===//
#include "TimedRun.h"

#include <algorithm>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Launches that are held back at once; a stream takes about a thousand.
constexpr unsigned mostHeldLaunches = 256;

uint64_t saltOf(size_t step, uint64_t row) { return (uint64_t(step) << 24) + row * 7919; }

/// Buffers lie at multiples of 512; of variables nothing is known.
bool isInWords(const Plan &plan, const Region &region) {
  return plan.buffers[region.at.buffer].kind != BufferKind::Symbol && region.at.offset % 4 == 0 &&
         region.width % 4 == 0 && region.pitch % 4 == 0;
}

} // namespace

uint64_t kbrt::cuda::hashOfReads(const Plan &plan, std::string_view observables) {
  uint64_t sum = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    auto *step = std::get_if<ReadStep>(&plan.steps[i]);
    if (!step || step->observable + step->from.bytes() > observables.size())
      continue;
    for (uint64_t row = 0; row < step->from.height; ++row)
      sum += contentHash(
          observables.substr(step->observable + row * step->from.width, step->from.width),
          saltOf(i, row), isInWords(plan, step->from));
  }
  return sum;
}

bool TimedRun::run() {
  helpers.clearHashes();
  snapshotSymbols();
  for (auto &[name, symbol] : module.symbols)
    h.driver->cuMemcpyHtoDAsync(symbol.first, symbol.second.data(), symbol.second.size(),
                                h.stream);
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
  if (!endSegment())
    return false;
  for (uint64_t row = 0; row < region.height; ++row)
    helpers.hash(from + row * region.pitch, region.width, saltOf(index, row), 0,
                 isInWords(plan, region));
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
