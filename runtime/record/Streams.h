//===- Streams.h - Stream and event handles ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_RECORD_STREAMS_H
#define KBRT_RECORD_STREAMS_H

#include "Cuda.h"
#include "kbrt/Plan.h"
#include <map>
#include <optional>

namespace kbrt {

struct EventState {
  uint32_t id = 0;
  bool recorded = false, timing = true;
  uint64_t nanoseconds = 0; ///< simulated time of the last recording
  bool captured = false;    ///< last recorded in a stream that was captured
  uint64_t moment = 0;      ///< how many launches came before it
};

/// Streams execute in the order of their calls, so a handle is just a number.
/// Used under `DeviceLock`.
class Streams {
public:
  static Streams &get();
  /// The plan's number of \p handle: 0 for the default streams (legacy and per
  /// thread); nothing for a handle that was never given out or is destroyed.
  std::optional<uint32_t> find(cuda::Stream handle) const;
  EventState *findEvent(cuda::Event handle);
  /// What has not been destroyed.
  std::vector<HeldObjects> held() const;

  std::map<uintptr_t, Stream> streams;
  std::map<uintptr_t, uint64_t> streamMoments; ///< how many launches came before each
  std::map<uintptr_t, EventState> events;
  uint32_t nextStream = 1, nextEvent = 1;
};

} // namespace kbrt

#endif // KBRT_RECORD_STREAMS_H
