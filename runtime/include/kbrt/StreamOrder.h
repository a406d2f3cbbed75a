//===- StreamOrder.h - What waits for what -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the order that streams, events and the host's waits give to operations: vector clocks,
// one component a stream (Lamport, CACM 1978; Mattern, 1988). The default stream and those that
// do not opt out wait for each other, as CUDA's legacy default stream does. What operations touch
// is not its business.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_STREAMORDER_H
#define KBRT_STREAMORDER_H

#include "kbrt/Plan.h"
#include <map>
#include <set>

namespace kbrt {

/// By stream, how many of its operations are known to have ended.
using StreamClock = std::map<uint32_t, uint64_t>;

/// When an operation is enqueued, or the host does something, and what has ended before it begins.
struct Moment {
  std::optional<uint32_t> stream; ///< none: the host
  uint64_t number = 0;            ///< of the operation on its stream, from 1
  StreamClock clock;

  /// Whether \p earlier, an operation of a stream that was enqueued before, has ended by then.
  bool isAfter(const Moment &earlier) const { return knows(*earlier.stream, earlier.number); }
  bool knows(uint32_t other, uint64_t its) const {
    auto found = clock.find(other);
    return found != clock.end() && found->second >= its;
  }
};

/// Follows the calls of a host.
class StreamClocks {
public:
  /// \p stream does not wait for the default one.
  void addNonBlocking(uint32_t stream) { nonBlocking.insert(stream); }

  Moment enqueue(uint32_t stream);
  void record(uint32_t event, uint32_t stream) { events[event] = clockOf(stream); }
  /// What \p event covered when it was recorded last; empty if it never was.
  StreamClock covered(uint32_t event) const {
    auto found = events.find(event);
    return found == events.end() ? StreamClock() : found->second;
  }
  /// \p stream waits for what \p event covered when it was recorded last.
  void wait(uint32_t event, uint32_t stream);

  /// The host waits for \p stream, or for everything.
  void hostWaits(std::optional<uint32_t> stream);
  void hostWaitsForEvent(uint32_t event);
  /// The host does something now.
  Moment hostMoment() const { return {std::nullopt, 0, host}; }
  /// A function of the host on \p stream does something before the stream goes on.
  Moment functionMoment(uint32_t stream) { return {std::nullopt, 0, clockOf(stream)}; }

private:
  /// All that the next operation of \p stream waits for.
  StreamClock &clockOf(uint32_t stream);

  std::set<uint32_t> nonBlocking;
  StreamClock host;
  std::map<uint32_t, StreamClock> streams, events;
};

/// The same for a plan, step by step.
class PlanOrder {
public:
  explicit PlanOrder(const Plan &plan);
  /// Of the next step of the plan. Steps that touch no memory are the host's.
  Moment next(const Step &step);

private:
  StreamClocks clocks;
};

/// Whether \p step touches memory when the device comes to it, and not the host itself.
bool isOperation(const Step &step);

/// For each step of \p plan, whether it is an operation beside another one, or a look of the host,
/// that nothing orders with it.
std::vector<bool> unorderedOperations(const Plan &plan);

} // namespace kbrt

#endif // KBRT_STREAMORDER_H
