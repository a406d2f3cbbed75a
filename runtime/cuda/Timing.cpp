//===- Timing.cpp - two images measured against each other ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the loop of docs/Measurement.md: fresh memory for every iteration, cold
// caches, everything queued before the device begins, A B B A, and outputs
// checked. What the samples say is kbrt/Statistics.h's.
//
//===----------------------------------------------------------------------===//
#include "TimedRun.h"

#include <algorithm>
#include <functional>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

using Clock = std::chrono::steady_clock;

/// Rotated working sets exceed the L2 cache this many times.
constexpr uint64_t rotationFactor = 5;
constexpr size_t mostInstances = 64;
/// Of the free device memory, for buffers and for staged uploads.
constexpr uint64_t memoryShare = 4;
/// Samples between two looks at the noise, of each image.
constexpr size_t samplesPerLook = 8;
/// Seconds of a block after which the noise is looked at each time.
constexpr double slowBlock = 0.1;

/// SplitMix64, as in Statistics.cpp.
uint64_t nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// The shortest sample of the slower image over the longest of the faster one; 1 if there is one
/// image.
double apart(const TimingResult::Series &series) {
  const Summary &a = series.baseline, &b = series.candidate;
  if (!a.count || !b.count || a.max <= 0 || b.max <= 0)
    return 1;
  return std::max(a.min / b.max, b.min / a.max);
}

class Measurement {
public:
  Measurement(Device &device, const Subject &baseline, const Subject &candidate,
              const TimingOptions &options)
      : device(device), h(device.getHandles()), options(options), random(options.seed) {
    if (baseline.image)
      sides.push_back({&baseline, SlabLayout::of(*baseline.plan), false, {}, {}, 0, false});
    sides.push_back({&candidate, SlabLayout::of(*candidate.plan), true, {}, {}, 0, false});
    if (options.outputHash) {
      sides.back().outputHash = *options.outputHash;
      sides.back().hasHash = true;
    }
  }

  TimingResult run() {
    result.before = device.read();
    if (prepare()) {
      options.begins();
      for (Side &side : sides)
        for (Slab &slab : side.slabs)
          slab.wipe(options.poison);
      if (warmUp() && series(result.cold, true) && (!options.hot || series(result.hot, false)))
        overheads();
      options.ends();
    }
    result.after = device.read();
    return std::move(result);
  }

private:
  struct Side {
    const Subject *subject;
    SlabLayout layout;
    bool isCandidate;
    std::vector<Slab> slabs;
    Staging staging;
    uint64_t outputHash;
    bool hasHash;
  };

  bool fail(const Problem &problem) {
    result.status = problem.status;
    result.message = problem.message;
    result.note = problem.note;
    return false;
  }

  bool prepare();
  bool warmUp();
  bool iterate(Side &side, bool cold, TimedSample &sample);
  bool series(TimingResult::Series &into, bool cold);
  void overheads();
  std::optional<double> batch(Side &side);
  /// The median of two events around what \p queue puts into the held stream.
  std::optional<double> timeBetweenEvents(const std::function<bool()> &queue, int count);

  Device &device;
  Device::Handles &h;
  const TimingOptions &options;
  uint64_t random;
  std::vector<Side> sides;
  HelperKernels *helpers = nullptr;
  Events events{h};
  size_t turn = 0;
  TimingResult result;
};

bool Measurement::prepare() {
  Problem problem;
  helpers = HelperKernels::of(device, problem);
  if (!helpers || !events.create(problem))
    return fail(problem);
  size_t free = 0, total = 0;
  h.driver->cuMemGetInfo(&free, &total);
  uint64_t budget = free / memoryShare / sides.size();
  for (Side &side : sides) {
    if (!side.subject->image->reload(problem))
      return fail(problem);
    uint64_t bytes = std::max<uint64_t>(side.layout.bytes, 1);
    uint64_t wanted = rotationFactor * device.getFacts().l2Bytes / bytes + 2;
    size_t count = std::clamp<uint64_t>(std::min(wanted, budget / bytes), 1, mostInstances);
    for (size_t i = 0; i < count; ++i) {
      Slab slab;
      // Other addresses also within a page and a cache set.
      if (!slab.allocate(h, side.layout.bytes, (i % 16) * 8 * slabAlignment, problem)) {
        if (i > 0)
          break;
        return fail(problem);
      }
      side.slabs.push_back(std::move(slab));
    }
    result.instances = static_cast<unsigned>(side.slabs.size());
    side.staging.add(h, *side.subject, budget);
  }
  if (result.instances < 2)
    result.notes.push_back("too little free memory to rotate buffers");
  return true;
}

bool Measurement::iterate(Side &side, bool cold, TimedSample &sample) {
  Slab &slab = side.slabs[turn++ % side.slabs.size()];
  TimedRun run(device, *side.subject, side.layout, slab, options, side.staging, *helpers, events,
               cold);
  if (!run.run())
    return fail(run.problem());
  sample = {0, side.isCandidate, run.us, run.smMHz, run.held};
  result.emptiesL2 = run.emptiedL2;
  // Where nothing was verified before, what the first iteration gave is what all others must give.
  uint64_t hash = run.outputHash();
  TimedOutputs &outputs = result.outputs[side.isCandidate];
  if (!side.hasHash)
    side.outputHash = hash;
  side.hasHash = true;
  ++outputs.checked;
  outputs.different += hash != side.outputHash;
  // No result may lie around for the next image to find.
  slab.wipe(options.poison);
  return true;
}

bool Measurement::warmUp() {
  auto start = Clock::now();
  TimedSample ignored;
  do {
    for (Side &side : sides)
      if (!iterate(side, true, ignored))
        return false;
  } while (std::chrono::duration<double>(Clock::now() - start).count() < options.warmUpSeconds);
  return true;
}

bool Measurement::series(TimingResult::Series &into, bool cold) {
  auto start = Clock::now();
  std::vector<double> noise;
  bool hasBaseline = sides.size() == 2;
  for (uint32_t block = 0; into.stop == StopReason::GoOn; ++block) {
    bool flip = nextRandom(random) & 1;
    for (bool second : {false, true, true, false}) {
      if (!hasBaseline && second)
        continue;
      Side &side = hasBaseline ? sides[second != flip] : sides[0];
      TimedSample sample;
      if (!iterate(side, cold, sample))
        return false;
      sample.block = block;
      into.samples.push_back(sample);
    }
    if (cold) { // hot ones follow each other
      auto before = Clock::now();
      options.between();
      start += Clock::now() - before;
    }
    size_t ofEach = 2 * (block + 1);
    into.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    bool isSlow = into.seconds > slowBlock * (block + 1);
    if (ofEach % samplesPerLook && !isSlow && into.seconds < options.stop.maxSeconds)
      continue;
    into.clocks = filterByClock(into.samples, options.leastClockShare);
    std::vector<double> kept[2];
    for (size_t i = 0; i < into.samples.size(); ++i)
      if (into.clocks.keep[i])
        kept[into.samples[i].candidate].push_back(into.samples[i].us);
    into.baseline = summarize(kept[0]);
    into.candidate = summarize(kept[1]);
    noise.push_back(
        std::max(into.baseline.relativeDeviation(), into.candidate.relativeDeviation()));
    size_t least = hasBaseline ? std::min(kept[0].size(), kept[1].size()) : kept[1].size();
    into.stop = whetherToStop(options.stop, least, into.seconds, noise, apart(into));
  }
  std::vector<TimedSample> kept;
  for (size_t i = 0; i < into.samples.size(); ++i)
    if (into.clocks.keep[i])
      kept.push_back(into.samples[i]);
  if (hasBaseline) {
    into.decision = decide(kept, options.accept);
    if (into.clocks.discardedShare > options.mostDiscarded) {
      into.decision.comparison = Comparison::Inconclusive;
      into.decision.reason = std::to_string(static_cast<int>(100 * into.clocks.discardedShare)) +
                             " % of the samples ran at a low clock or were not held back in time";
    }
  }
  return true;
}

std::optional<double> Measurement::timeBetweenEvents(const std::function<bool()> &queue,
                                                     int count) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    helpers->hold();
    bool isQueued = h.driver->cuEventRecord(events.begin, h.stream) == CUDA_SUCCESS && queue();
    h.driver->cuEventRecord(events.end, h.stream);
    helpers->release();
    float milliseconds = 0;
    if (h.driver->cuStreamSynchronize(h.stream) != CUDA_SUCCESS || !isQueued ||
        h.driver->cuEventElapsedTime(&milliseconds, events.begin, events.end) != CUDA_SUCCESS)
      return std::nullopt;
    samples.push_back(1e3 * milliseconds);
  }
  return summarize(samples).median;
}

std::optional<double> Measurement::batch(Side &side) {
  // Memory as the plan leaves it, so that data-dependent kernels find sense in it.
  for (Slab &slab : side.slabs) {
    TimedRun run(device, *side.subject, side.layout, slab, options, side.staging, *helpers, events,
                 false);
    if (!run.run() || run.segments != 1)
      return std::nullopt; // uploads in between cannot be part of a graph
  }
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  unsigned nodes = std::max<unsigned>(options.batchNodes, static_cast<unsigned>(side.slabs.size()));
  bool isQueued =
      h.driver->cuStreamBeginCapture(h.stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS;
  for (unsigned i = 0; isQueued && i < nodes; ++i)
    isQueued =
        QueuedRun(device, *side.subject, side.layout, side.slabs[i % side.slabs.size()], options)
            .run();
  bool isCaptured = h.driver->cuStreamEndCapture(h.stream, &graph) == CUDA_SUCCESS && isQueued &&
                    graph && h.driver->cuGraphInstantiate(&executable, graph, 0) == CUDA_SUCCESS;
  std::optional<double> us;
  if (isCaptured)
    us = timeBetweenEvents(
        [&] { return h.driver->cuGraphLaunch(executable, h.stream) == CUDA_SUCCESS; }, 20);
  if (executable)
    h.driver->cuGraphExecDestroy(executable);
  if (graph)
    h.driver->cuGraphDestroy(graph);
  for (Slab &slab : side.slabs)
    slab.wipe(options.poison);
  if (us)
    *us /= nodes;
  return us;
}

void Measurement::overheads() {
  result.eventPairUs = timeBetweenEvents([] { return true; }, 50);
  if (result.cold.candidate.median >= options.batchBelowUs)
    return;
  result.emptyKernelUs = timeBetweenEvents(
      [&] {
        helpers->launchEmpty();
        return true;
      },
      50);
  for (Side &side : sides) {
    result.batchedUs[side.isCandidate] = batch(side);
    if (!result.batchedUs[side.isCandidate])
      result.notes.push_back("the plan cannot be batched in a graph");
  }
}

} // namespace

TimingResult kbrt::cuda::measure(Device &device, const Subject &baseline, const Subject &candidate,
                                 const TimingOptions &options) {
  return Measurement(device, baseline, candidate, options).run();
}
