//===- StreamOrder.cpp - Gate G6: does the host wait for its streams? ------===//
//
// Owns the order that streams, events and waits give to the steps of a plan. Devices
// execute a plan's steps one after the other, so that a host that forgot to wait, and would
// read what is not there yet, shows nowhere else.
//
//===----------------------------------------------------------------------===//
#include "../JudgeImpl.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {
namespace {

/// By stream, how many of its steps are known to have ended.
using VectorClock = std::map<uint32_t, uint64_t>;

void join(VectorClock &into, const VectorClock &other) {
  for (const auto &[stream, count] : other)
    into[stream] = std::max(into[stream], count);
}

struct Access {
  uint32_t buffer = 0;
  bool writes = false;
};

class Order {
public:
  explicit Order(const kbrt::Plan &plan) {
    for (const kbrt::Stream &stream : plan.streams)
      if (stream.nonBlocking)
        nonBlocking.insert(stream.id);
  }

  /// What \p accesses of a step on \p stream may meet; nothing if all is in order.
  std::optional<std::string> step(uint32_t stream, ArrayRef<Access> accesses, const std::string &name) {
    VectorClock &clock = streams[stream];
    join(clock, host);
    // The default stream and those that do not opt out wait for each other.
    if (stream == 0) {
      for (const auto &[other, its] : VectorClocks(streams))
        if (!nonBlocking.count(other))
          join(clock, its);
    } else if (!nonBlocking.count(stream)) {
      join(clock, VectorClock(streams[0]));
    }
    std::optional<std::string> conflict = meet(clock, stream, accesses, name);
    uint64_t now = ++streams[stream][stream];
    for (const Access &access : accesses)
      for (bool writes : {false, true})
        if (!writes || access.writes)
          last[{access.buffer, stream, writes}] = {now, name};
    return conflict;
  }
  /// The host itself looks at \p buffer.
  std::optional<std::string> look(uint32_t buffer, const std::string &name) {
    return meet(host, std::nullopt, Access{buffer, false}, name);
  }
  void waitFor(std::optional<uint32_t> stream) {
    for (const auto &[other, its] : streams)
      if (!stream || *stream == other)
        join(host, its);
  }
  void record(uint32_t event, uint32_t stream) { events[event] = streams[stream]; }
  void wait(uint32_t event, uint32_t stream) { join(streams[stream], events[event]); }

private:
  using VectorClocks = std::map<uint32_t, VectorClock>;

  std::optional<std::string> meet(const VectorClock &clock, std::optional<uint32_t> stream,
                                  ArrayRef<Access> accesses, const std::string &name) {
    for (const Access &access : accesses)
      for (const auto &[key, before] : last) {
        auto [buffer, other, writes] = key;
        if (buffer != access.buffer || other == stream || (!writes && !access.writes))
          continue;
        auto known = clock.find(other);
        if (known == clock.end() || known->second < before.first)
          return formatv("{0} and {1} use buffer {2}, and nothing makes one wait for the other",
                         before.second, name, buffer)
              .str();
      }
    return std::nullopt;
  }

  std::set<uint32_t> nonBlocking;
  VectorClock host;
  VectorClocks streams, events;
  /// The last step of each stream that reads or writes a buffer, and its name.
  std::map<std::tuple<uint32_t, uint32_t, bool>, std::pair<uint64_t, std::string>> last;
};

std::vector<Access> accessesOf(const kbrt::LaunchStep &launch) {
  std::vector<Access> accesses;
  std::optional<std::vector<bool>> constants = kbrt::constPointerParameters(launch.kernel);
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    for (const kbrt::PointerWord &word : launch.arguments[i].pointers)
      accesses.push_back({word.target.buffer, !(constants && i < constants->size() && (*constants)[i])});
  return accesses;
}

} // namespace

std::optional<std::string> unorderedSteps(const kbrt::Plan &plan) {
  Order order(plan);
  for (const kbrt::Step &step : plan.steps) {
    std::optional<std::string> conflict;
    auto on = [](uint32_t stream) { return " on stream " + std::to_string(stream); };
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
      conflict = order.step(upload->stream, Access{upload->to.at.buffer, true},
                            "an upload" + on(upload->stream));
    else if (const auto *fill = std::get_if<kbrt::FillStep>(&step))
      conflict = order.step(fill->stream, Access{fill->to.at.buffer, true}, "a fill" + on(fill->stream));
    else if (const auto *copy = std::get_if<kbrt::CopyStep>(&step))
      conflict = order.step(copy->stream,
                            {Access{copy->to.at.buffer, true}, Access{copy->from.at.buffer, false}},
                            "a copy" + on(copy->stream));
    else if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step))
      conflict = order.step(launch->stream, accessesOf(*launch),
                            "the launch of " + launch->kernel + on(launch->stream));
    else if (const auto *product = std::get_if<kbrt::MatmulStep>(&step))
      conflict = order.step(product->stream,
                            {Access{product->a.at.buffer, false}, Access{product->b.at.buffer, false},
                             Access{product->c.at.buffer, true}},
                            "a matrix product" + on(product->stream));
    else if (const auto *read = std::get_if<kbrt::ReadStep>(&step)) {
      conflict = read->implicit ? order.look(read->from.at.buffer, "the host")
                                : order.step(read->stream, Access{read->from.at.buffer, false},
                                             "a read" + on(read->stream));
      if (!read->implicit)
        order.waitFor(read->stream);
    } else if (std::holds_alternative<kbrt::FreeStep>(step))
      order.waitFor(std::nullopt);
    else if (const auto *sync = std::get_if<kbrt::SyncStep>(&step))
      order.waitFor(sync->stream);
    else if (const auto *event = std::get_if<kbrt::EventStep>(&step))
      order.record(event->event, event->stream);
    else if (const auto *wait = std::get_if<kbrt::WaitStep>(&step))
      order.wait(wait->event, wait->stream);
    if (conflict)
      return conflict;
  }
  return std::nullopt;
}

} // namespace kbopt
