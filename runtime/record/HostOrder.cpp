//===- HostOrder.cpp --------------------------------------------------------===//
#include "HostOrder.h"

#include <algorithm>

using namespace kbrt;

static void join(std::map<uint32_t, uint64_t> &into, const std::map<uint32_t, uint64_t> &other) {
  for (auto [stream, number] : other)
    into[stream] = std::max(into[stream], number);
}

HostOrder::Clock &HostOrder::clockOf(uint32_t stream) {
  Clock &clock = streams[stream];
  // The default stream and those that do not opt out wait for each other.
  if (stream == 0) {
    for (const auto &[other, its] : streams)
      if (other != 0 && !nonBlocking.count(other))
        join(clock, its);
  } else if (!nonBlocking.count(stream)) {
    join(clock, Clock(streams[0]));
  }
  return clock;
}

void HostOrder::enqueue(uint32_t stream) { ++clockOf(stream)[stream]; }
void HostOrder::record(uint32_t event, uint32_t stream) { events[event] = clockOf(stream); }
void HostOrder::wait(uint32_t event, uint32_t stream) { join(streams[stream], events[event]); }

void HostOrder::addCopy(uint32_t stream, std::function<void()> made) {
  pending.push_back({stream, streams[stream][stream], std::move(made)});
}

void HostOrder::settle(const Clock &done) {
  join(waited, done);
  std::vector<PendingCopy> all = std::move(pending);
  pending.clear();
  for (PendingCopy &copy : all) {
    auto known = done.find(copy.stream);
    if (known != done.end() && known->second >= copy.number)
      copy.made();
    else
      pending.push_back(std::move(copy));
  }
}

void HostOrder::hostWaits(std::optional<uint32_t> stream) {
  Clock done;
  if (stream)
    done = clockOf(*stream);
  else
    for (const auto &[other, its] : streams)
      join(done, its);
  settle(done);
}

void HostOrder::hostWaitsForEvent(uint32_t event) { settle(events[event]); }

bool HostOrder::isDone(const Clock &done) {
  const bool isKnown = std::all_of(done.begin(), done.end(), [&](const auto &step) {
    auto known = waited.find(step.first);
    return step.second == 0 || (known != waited.end() && known->second >= step.second);
  });
  if (!isKnown && asked.insert(done).second)
    return false;
  asked.erase(done);
  settle(done);
  return true;
}

bool HostOrder::isStreamDone(uint32_t stream) { return isDone(Clock(clockOf(stream))); }
bool HostOrder::isEventDone(uint32_t event) { return isDone(Clock(events[event])); }
