//===- TimedRun.h - one timed iteration of a plan ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what one sample is (docs/Measurement.md): which part of the plan lies
// between the two events, and what its reads hash to. How many samples, in
// which order and of what is Timing.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_TIMEDRUN_H
#define KBRT_CUDA_TIMEDRUN_H

#include "Execution.h"
#include "ReadHash.h"

namespace kbrt::cuda {

/// The two events around what is timed.
class Events {
public:
  explicit Events(const Device::Handles &h) : h(h) {}
  ~Events();
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;
  /// False and \p problem if they cannot be made.
  bool create(Problem &problem);

  CUevent begin = nullptr, end = nullptr;

private:
  const Device::Handles &h;
};

/// One iteration of one image on one set of buffers. What lies between uploads and reads is a
/// segment: held back until all of it is queued, then timed. Of a repetition that rests the first
/// period is a segment of its own, and a few further ones stand for all others.
class TimedRun : public Execution {
public:
  TimedRun(Device &device, const Subject &subject, const SlabLayout &layout, const Slab &slab,
           const TimingOptions &options, const Staging &stagedUploads, HelperKernels &helpers,
           const Events &events, bool cold)
      : Execution(device, subject, layout, slab.base(), options.poison, options.wallSeconds),
        helpers(helpers), events(events), cold(cold), resting(subject.resting) {
    staging = &stagedUploads;
    for (const RestingRepetition &each : resting)
      repetitions.push_back(each.repetition);
  }

  bool run();

  const LentMemory *keptIn = nullptr; ///< reads go there, and are not hashed
  double us = 0;                      ///< of the whole plan
  double timedUs = 0;                 ///< of what was executed of it
  bool held = true;
  double smMHz = 0;
  bool emptiedL2 = true;
  unsigned segments = 0;
  uint64_t outputHash() const { return readHash; }
  Problem problem() const { return {status, message, note}; }

private:
  bool beforeDeviceWork(bool isLaunch) override;
  bool beforeHostWork() override { return endSegment(); }
  bool read(uint64_t from, const Region &region, char *into) override;
  bool endsAfter(const Repetition &repetition, size_t periods) override;
  bool repeat(size_t step, size_t like) override;
  bool beginSegment();
  bool endSegment();

  HelperKernels &helpers;
  const Events &events;
  bool cold, open = false;
  unsigned queued = 0;
  const std::vector<RestingRepetition> &resting;
  double weight = 1; ///< of the segment: how many times as often the program does it
  uint64_t readHash = 0;
  std::map<size_t, uint64_t> reads; ///< by step: its hash, or its number where reads are kept
};

/// Queues the plan's launches again and again, for a graph.
class QueuedRun : public Execution {
public:
  QueuedRun(Device &device, const Subject &subject, const SlabLayout &layout, const Slab &slab,
            const TimingOptions &options)
      : Execution(device, subject, layout, slab.base(), options.poison, options.wallSeconds) {}
  bool run() { return walk(); }

private:
  bool allocate(uint32_t id) override {
    address[id] = slabBase + layout.offset[id];
    return true;
  }
  bool upload(uint64_t, const Region &, std::string_view) override { return true; }
  bool fill(uint64_t, const Region &, uint8_t) override { return true; }
  bool copy(uint64_t, const Region &, uint64_t, const Region &) override { return true; }
  bool read(uint64_t, const Region &, char *) override { return true; }
};

} // namespace kbrt::cuda

#endif // KBRT_CUDA_TIMEDRUN_H
