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

constexpr uint64_t unknownEnd = ~uint64_t(0);

/// Bytes [begin, end) of a buffer. What a launch touches is not known: its pointer is where it
/// begins.
struct Access {
  uint32_t buffer = 0;
  bool writes = false;
  uint64_t begin = 0, end = unknownEnd;
};

Access accessTo(const kbrt::Region &region, bool writes) {
  const uint64_t bytes = region.height ? (region.height - 1) * region.pitch + region.width : 0;
  return {region.at.buffer, writes, region.at.offset, region.at.offset + bytes};
}

/// Two steps on one buffer, neither of which waits for the other.
struct Conflict {
  std::string text;
  size_t first = 0, second = 0; ///< in the plan
  bool isCertain = false;       ///< of bytes that both touch
};

/// When a step is queued, and what has ended then.
struct Moment {
  std::optional<uint32_t> stream; ///< none: the host
  uint64_t number = 0;
  VectorClock clock;
};

class Order {
public:
  explicit Order(const kbrt::Plan &plan) {
    for (const kbrt::Stream &stream : plan.streams)
      if (stream.nonBlocking)
        nonBlocking.insert(stream.id);
  }

  /// Step \p index of the plan comes, on \p stream.
  void step(size_t index, uint32_t stream, ArrayRef<Access> accesses, const std::string &name) {
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
    meet(index, clock, stream, accesses, name);
    moments[index] = {stream, 0, clock};
    uint64_t now = moments[index].number = ++streams[stream][stream];
    for (const Access &access : accesses)
      last[{access.buffer, stream, access.writes}][{access.begin, access.end}] = {now, name, index};
  }
  /// The host itself looks at \p region.
  void look(size_t index, const kbrt::Region &region, const std::string &name) {
    moments[index] = {std::nullopt, 0, host};
    meet(index, host, std::nullopt, accessTo(region, false), name);
  }
  void waitFor(std::optional<uint32_t> stream) {
    for (const auto &[other, its] : streams)
      if (!stream || *stream == other)
        join(host, its);
  }
  void record(uint32_t event, uint32_t stream) { events[event] = streams[stream]; }
  void wait(uint32_t event, uint32_t stream) { join(streams[stream], events[event]); }
  const VectorClock &known() const { return host; }

  std::vector<Conflict> conflicts;
  std::map<size_t, Moment> moments; ///< by index in the plan; what has none is the host's own

private:
  using VectorClocks = std::map<uint32_t, VectorClock>;

  void meet(size_t index, const VectorClock &clock, std::optional<uint32_t> stream,
            ArrayRef<Access> accesses, const std::string &name) {
    for (const Access &access : accesses)
      for (const auto &[key, regions] : last) {
        auto [buffer, other, writes] = key;
        if (buffer != access.buffer || other == stream || (!writes && !access.writes))
          continue;
        auto known = clock.find(other);
        for (const auto &[region, before] : regions) {
          if (known != clock.end() && known->second >= before.number)
            continue;
          const bool bothKnown = region.second != unknownEnd && access.end != unknownEnd;
          if (bothKnown && (region.second <= access.begin || access.end <= region.first))
            continue;
          conflicts.push_back(
              {formatv("{0} and {1} use buffer {2}, and nothing makes one wait for the other",
                       before.name, name, buffer)
                   .str(),
               before.index, index, bothKnown || region.first == access.begin});
        }
      }
  }

  struct Before {
    uint64_t number = 0;
    std::string name;
    size_t index = 0;
  };

  std::set<uint32_t> nonBlocking;
  VectorClock host;
  VectorClocks streams, events;
  /// By buffer, stream and whether it is written: the last step on each range of bytes.
  std::map<std::tuple<uint32_t, uint32_t, bool>, std::map<std::pair<uint64_t, uint64_t>, Before>>
      last;
};

std::vector<Access> accessesOf(const kbrt::LaunchStep &launch) {
  std::vector<Access> accesses;
  std::optional<std::vector<bool>> constants = kbrt::constPointerParameters(launch.kernel);
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    for (const kbrt::PointerWord &word : launch.arguments[i].pointers)
      accesses.push_back({word.target.buffer,
                          !(constants && i < constants->size() && (*constants)[i]),
                          word.target.offset});
  return accesses;
}

/// The order of all steps of \p plan.
Order orderOf(const kbrt::Plan &plan) {
  Order order(plan);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const kbrt::Step &step = plan.steps[i];
    auto on = [](uint32_t stream) { return " on stream " + std::to_string(stream); };
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
      order.step(i, upload->stream, accessTo(upload->to, true), "an upload" + on(upload->stream));
    else if (const auto *fill = std::get_if<kbrt::FillStep>(&step))
      order.step(i, fill->stream, accessTo(fill->to, true), "a fill" + on(fill->stream));
    else if (const auto *copy = std::get_if<kbrt::CopyStep>(&step))
      order.step(i, copy->stream, {accessTo(copy->to, true), accessTo(copy->from, false)},
                 "a copy" + on(copy->stream));
    else if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step))
      order.step(i, launch->stream, accessesOf(*launch),
                 "the launch of " + launch->kernel + on(launch->stream));
    else if (const auto *product = std::get_if<kbrt::MatmulStep>(&step))
      order.step(i, product->stream,
                 {Access{product->a.at.buffer, false}, Access{product->b.at.buffer, false},
                  Access{product->c.at.buffer, true}},
                 "a matrix product" + on(product->stream));
    else if (const auto *read = std::get_if<kbrt::ReadStep>(&step)) {
      if (read->implicit)
        order.look(i, read->from, "the host");
      else
        order.step(i, read->stream, accessTo(read->from, false), "a read" + on(read->stream));
      if (!read->implicit)
        order.waitFor(read->stream);
    } else if (std::holds_alternative<kbrt::FreeStep>(step)) {
      order.waitFor(std::nullopt);
      order.moments[i] = {std::nullopt, 0, order.known()};
    } else if (const auto *sync = std::get_if<kbrt::SyncStep>(&step)) {
      order.waitFor(sync->stream);
      order.moments[i] = {std::nullopt, 0, order.known()};
    } else if (const auto *event = std::get_if<kbrt::EventStep>(&step))
      order.record(event->event, event->stream);
    else if (const auto *wait = std::get_if<kbrt::WaitStep>(&step))
      order.wait(wait->event, wait->stream);
  }
  return order;
}

/// \p plan with the second step of \p conflict, and what it needs, before the first.
kbrt::Plan otherOrder(const kbrt::Plan &plan, const Order &order, const Conflict &conflict) {
  const Moment &first = order.moments.at(conflict.first);
  auto waitsForFirst = [&](size_t index) {
    auto found = order.moments.find(index);
    if (found == order.moments.end())
      return false;
    auto known = found->second.clock.find(*first.stream);
    return known != found->second.clock.end() && known->second >= first.number;
  };
  kbrt::Plan other = plan;
  other.steps.assign(plan.steps.begin(), plan.steps.begin() + conflict.first);
  std::vector<kbrt::Step> later = {plan.steps[conflict.first]};
  for (size_t i = conflict.first + 1; i < plan.steps.size(); ++i)
    if (i <= conflict.second && !waitsForFirst(i))
      other.steps.push_back(plan.steps[i]);
    else
      later.push_back(plan.steps[i]);
  other.steps.insert(other.steps.end(), later.begin(), later.end());
  return other;
}

} // namespace

UnorderedSteps unorderedSteps(const kbrt::Plan &plan) {
  /// More other orders than these are not looked at.
  constexpr size_t mostOrders = 24;
  Order order = orderOf(plan);
  UnorderedSteps result;
  for (const Conflict &conflict : order.conflicts)
    if (conflict.isCertain || !order.moments.at(conflict.first).stream) {
      result.certain = conflict.text;
      return result;
    }
  result.tooMany = order.conflicts.size() > mostOrders;
  for (const Conflict &conflict : ArrayRef(order.conflicts).take_front(mostOrders))
    result.otherOrders.push_back({conflict.text, otherOrder(plan, order, conflict)});
  return result;
}

} // namespace kbopt
