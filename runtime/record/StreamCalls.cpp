//===- StreamCalls.cpp - Streams, events and synchronisation ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Allocations.h"
#include "Graphs.h"
#include "Session.h"
#include "Streams.h"

#include <algorithm>

using namespace kbrt;
using cuda::Error;

Streams &Streams::get() {
  static Streams *streams = new Streams;
  return *streams;
}

/// Handles look like aligned pointers, and never like the special values 0 to 2.
static constexpr uintptr_t handleOf(uint32_t id) { return (uintptr_t{id} + 16) * 64; }

std::optional<uint32_t> Streams::find(cuda::Stream handle) const {
  auto value = reinterpret_cast<uintptr_t>(handle);
  if (value <= 2) // default, cudaStreamLegacy, cudaStreamPerThread
    return 0;
  auto found = streams.find(value);
  return found == streams.end() ? std::nullopt : std::optional(found->second.id);
}

EventState *Streams::findEvent(cuda::Event handle) {
  auto found = events.find(reinterpret_cast<uintptr_t>(handle));
  return found == events.end() ? nullptr : &found->second;
}

std::vector<HeldObjects> Streams::held() const {
  std::vector<uint64_t> ofStreams, ofEvents;
  for (const auto &[handle, stream] : streams)
    ofStreams.push_back(streamMoments.at(handle));
  for (const auto &[handle, event] : events)
    ofEvents.push_back(event.moment);
  std::vector<HeldObjects> all;
  if (!ofStreams.empty())
    all.push_back(heldAt("streams", 0, std::move(ofStreams)));
  if (!ofEvents.empty())
    all.push_back(heldAt("events", 0, std::move(ofEvents)));
  return all;
}

static Error createStream(Session &session, cuda::Stream *stream, unsigned flags, int priority) {
  if (!stream || flags > 1)
    return cuda::invalidValue;
  Streams &streams = Streams::get();
  Stream created{streams.nextStream++, flags == 1, std::clamp(priority, -5, 0)};
  streams.streams[handleOf(created.id)] = created;
  streams.streamMoments[handleOf(created.id)] = session.sequence.launchCount;
  if (created.nonBlocking)
    session.sequence.order.addNonBlocking(created.id);
  if (session.sequence.mode != Mode::Run)
    session.sequence.plan.streams.push_back(created);
  *stream = reinterpret_cast<cuda::Stream>(handleOf(created.id));
  return cuda::success;
}

KB_API Error cudaStreamCreate(cuda::Stream *stream) {
  return apiCall(__func__, [&](Session &s) { return createStream(s, stream, 0, 0); });
}
KB_API Error cudaStreamCreateWithFlags(cuda::Stream *stream, unsigned flags) {
  return apiCall(__func__, [&](Session &s) { return createStream(s, stream, flags, 0); });
}
KB_API Error cudaStreamCreateWithPriority(cuda::Stream *stream, unsigned flags, int priority) {
  return apiCall(__func__, [&](Session &s) { return createStream(s, stream, flags, priority); });
}

KB_API Error cudaStreamDestroy(cuda::Stream stream) {
  return apiCall(__func__, [&](Session &) {
    bool known = Streams::get().streams.erase(reinterpret_cast<uintptr_t>(stream));
    return Error{known ? cuda::success : cuda::invalidResourceHandle};
  });
}

/// The host waits for \p stream, or for everything.
static Error synchronize(Session &session, std::optional<uint32_t> stream) {
  if (Error error = Graphs::get().checkWait())
    return error;
  session.sequence.order.hostWaits(stream);
  session.sequence.add(SyncStep{stream});
  session.allocations.hostMayLook();
  return cuda::success;
}

/// A call after which functions of the host that come before it have ended.
template <typename Body> static Error waitCall(const char *name, Body body) {
  Session::get().waitForFunctions();
  return apiCall(name, body);
}

KB_API Error cudaDeviceSynchronize() {
  return waitCall(__func__, [](Session &s) { return synchronize(s, std::nullopt); });
}
KB_API Error cudaThreadSynchronize() {
  return waitCall(__func__, [](Session &s) { return synchronize(s, std::nullopt); });
}

KB_API Error cudaStreamSynchronize(cuda::Stream stream) {
  return waitCall(__func__, [&](Session &s) {
    auto id = Streams::get().find(stream);
    return id ? synchronize(s, id) : Error{cuda::invalidResourceHandle};
  });
}
KB_PER_THREAD(cudaStreamSynchronize, _ptsz)

KB_API Error cudaStreamQuery(cuda::Stream stream) {
  return waitCall(__func__, [&](Session &s) {
    auto id = Streams::get().find(stream);
    if (!id)
      return Error{cuda::invalidResourceHandle};
    if (Error error = Graphs::get().checkWait())
      return error;
    return s.sequence.order.isStreamDone(*id) ? synchronize(s, id) : Error{cuda::notReady};
  });
}
KB_PER_THREAD(cudaStreamQuery, _ptsz)

KB_API Error cudaStreamWaitEvent(cuda::Stream stream, cuda::Event event, unsigned) {
  return apiCall(__func__, [&](Session &s) {
    auto id = Streams::get().find(stream);
    EventState *state = Streams::get().findEvent(event);
    if (!id || !state)
      return Error{cuda::invalidResourceHandle};
    if (Graphs::get().captures(*id) != state->captured && Graphs::get().isCapturing())
      s.stop(Ending::Unsupported, "a capture of several streams is not supported by the recorder");
    if (Graphs::get().captures(*id))
      return Error{cuda::success}; // nodes are in order
    if (state->recorded)
      s.sequence.add(WaitStep{state->id, *id});
    return Error{cuda::success};
  });
}
KB_PER_THREAD(cudaStreamWaitEvent, _ptsz)

KB_API Error cudaStreamGetPriority(cuda::Stream stream, int *priority) {
  return apiCall(__func__, [&](Session &) {
    auto found = Streams::get().streams.find(reinterpret_cast<uintptr_t>(stream));
    if (!priority || !Streams::get().find(stream))
      return Error{priority ? cuda::invalidResourceHandle : cuda::invalidValue};
    *priority = found == Streams::get().streams.end() ? 0 : found->second.priority;
    return Error{cuda::success};
  });
}
KB_PER_THREAD(cudaStreamGetPriority, _ptsz)

KB_API Error cudaStreamGetFlags(cuda::Stream stream, unsigned *flags) {
  return apiCall(__func__, [&](Session &) {
    auto found = Streams::get().streams.find(reinterpret_cast<uintptr_t>(stream));
    if (!flags || !Streams::get().find(stream))
      return Error{flags ? cuda::invalidResourceHandle : cuda::invalidValue};
    *flags = found != Streams::get().streams.end() && found->second.nonBlocking;
    return Error{cuda::success};
  });
}
KB_PER_THREAD(cudaStreamGetFlags, _ptsz)

/// Attributes of streams are hints (access policy, synchronisation policy).
KB_API Error cudaStreamSetAttribute(cuda::Stream, int, const void *) {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}
KB_PER_THREAD(cudaStreamSetAttribute, _ptsz)

KB_API Error cudaStreamAttachMemAsync(cuda::Stream, void *, size_t, unsigned) {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}
KB_PER_THREAD(cudaStreamAttachMemAsync, _ptsz)

KB_API Error cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return apiCall(__func__, [&](Session &) {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = -5;
    return Error{cuda::success};
  });
}

static Error enqueueFunction(const char *call, cuda::Stream stream, bool isFunction,
                             std::function<void()> function) {
  return apiCall(call, [&](Session &s) {
    if (Graphs::get().isCapturing())
      s.stop(Ending::Unsupported,
             "a host function in a captured stream is not supported by the recorder");
    auto id = Streams::get().find(stream);
    if (!isFunction || !id)
      return Error{cuda::invalidValue};
    s.addFunction(*id, std::move(function));
    return Error{cuda::success};
  });
}

KB_API Error cudaLaunchHostFunc(cuda::Stream stream, void (*function)(void *), void *data) {
  return enqueueFunction(__func__, stream, function, [=] { function(data); });
}
KB_PER_THREAD(cudaLaunchHostFunc, _ptsz)

KB_API Error cudaStreamAddCallback(cuda::Stream stream,
                                   void (*function)(cuda::Stream, Error, void *), void *data,
                                   unsigned) {
  return enqueueFunction(__func__, stream, function,
                         [=] { function(stream, cuda::success, data); });
}
KB_PER_THREAD(cudaStreamAddCallback, _ptsz)

static Error createEvent(Session &session, cuda::Event *event, unsigned flags) {
  if (!event)
    return cuda::invalidValue;
  constexpr unsigned disableTiming = 2;
  Streams &streams = Streams::get();
  uint32_t id = streams.nextEvent++;
  streams.events[handleOf(id)] = {id, false, !(flags & disableTiming),
                                  0,  false, session.sequence.launchCount};
  *event = reinterpret_cast<cuda::Event>(handleOf(id));
  return cuda::success;
}

KB_API Error cudaEventCreate(cuda::Event *event) {
  return apiCall(__func__, [&](Session &s) { return createEvent(s, event, 0); });
}
KB_API Error cudaEventCreateWithFlags(cuda::Event *event, unsigned flags) {
  return apiCall(__func__, [&](Session &s) { return createEvent(s, event, flags); });
}
KB_API Error cudaEventDestroy(cuda::Event event) {
  return apiCall(__func__, [&](Session &) {
    bool known = Streams::get().events.erase(reinterpret_cast<uintptr_t>(event));
    return Error{known ? cuda::success : cuda::invalidResourceHandle};
  });
}

static Error recordEvent(Session &session, cuda::Event event, cuda::Stream stream) {
  EventState *state = Streams::get().findEvent(event);
  auto id = Streams::get().find(stream);
  if (!state || !id)
    return cuda::invalidResourceHandle;
  state->captured = Graphs::get().captures(*id);
  if (state->captured)
    return cuda::success;
  session.deviceNanoseconds += 1000;
  state->recorded = true;
  state->nanoseconds = session.deviceNanoseconds * session.clockPace;
  session.sequence.add(EventStep{state->id, *id});
  return cuda::success;
}

KB_API Error cudaEventRecord(cuda::Event event, cuda::Stream stream) {
  return apiCall(__func__, [&](Session &s) { return recordEvent(s, event, stream); });
}
KB_PER_THREAD(cudaEventRecord, _ptsz)
KB_API Error cudaEventRecordWithFlags(cuda::Event event, cuda::Stream stream, unsigned) {
  return apiCall(__func__, [&](Session &s) { return recordEvent(s, event, stream); });
}
KB_PER_THREAD(cudaEventRecordWithFlags, _ptsz)

/// The host knows that \p state has come: what was before it is done.
static Error waitForEvent(Session &session, const EventState &state) {
  session.sequence.order.hostWaitsForEvent(state.id);
  session.sequence.add(SyncStep{std::nullopt, state.id});
  session.allocations.hostMayLook();
  return cuda::success;
}

KB_API Error cudaEventSynchronize(cuda::Event event) {
  return waitCall(__func__, [&](Session &s) {
    EventState *state = Streams::get().findEvent(event);
    if (!state)
      return Error{cuda::invalidResourceHandle};
    if (Error error = Graphs::get().checkWait())
      return error;
    return waitForEvent(s, *state);
  });
}

KB_API Error cudaEventQuery(cuda::Event event) {
  return waitCall(__func__, [&](Session &s) {
    EventState *state = Streams::get().findEvent(event);
    if (!state)
      return Error{cuda::invalidResourceHandle};
    if (Error error = Graphs::get().checkWait())
      return error;
    return s.sequence.order.isEventDone(state->id) ? waitForEvent(s, *state)
                                                   : Error{cuda::notReady};
  });
}

static Error elapsed(float *milliseconds, cuda::Event start, cuda::Event end) {
  EventState *from = Streams::get().findEvent(start), *to = Streams::get().findEvent(end);
  if (!milliseconds)
    return cuda::invalidValue;
  if (!from || !to || !from->recorded || !to->recorded || !from->timing || !to->timing)
    return cuda::invalidResourceHandle;
  *milliseconds = static_cast<float>(
      static_cast<double>(static_cast<int64_t>(to->nanoseconds - from->nanoseconds)) * 1e-6);
  return cuda::success;
}

KB_API Error cudaEventElapsedTime(float *milliseconds, cuda::Event start, cuda::Event end) {
  return apiCall(__func__, [&](Session &) { return elapsed(milliseconds, start, end); });
}
KB_API Error cudaEventElapsedTime_v2(float *milliseconds, cuda::Event start, cuda::Event end) {
  return apiCall(__func__, [&](Session &) { return elapsed(milliseconds, start, end); });
}
