//===- StreamOrder.cpp - Gate G6: does the host wait for its streams? ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the order of a plan's steps and the places of their pointers tell of steps that do
// not wait for each other. Devices execute a plan's steps one after the other. Where the CPU device
// can check the plan, it knows what launches touch (runtime/cpu/PlanTouches.h), and this is not
// asked.
//
//===----------------------------------------------------------------------===//
#include "kbrt/StreamOrder.h"
#include "../JudgeImpl.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {
namespace {

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

class Order {
public:
  explicit Order(const kbrt::Plan &plan) : order(plan) {}

  /// Step \p index of the plan comes, and makes \p accesses; what has no name makes none.
  void step(size_t index, const kbrt::Step &step, ArrayRef<Access> accesses,
            const std::string &name) {
    const kbrt::Moment &moment = moments.emplace_back(order.next(step));
    if (name.empty())
      return;
    meet(index, moment, accesses, name);
    if (moment.stream)
      for (const Access &access : accesses)
        last[{access.buffer, *moment.stream, access.writes}][{access.begin, access.end}] = {
            moment.number, name, index};
  }

  std::vector<Conflict> conflicts;
  std::vector<kbrt::Moment> moments; ///< by index in the plan

private:
  void meet(size_t index, const kbrt::Moment &moment, ArrayRef<Access> accesses,
            const std::string &name) {
    for (const Access &access : accesses)
      for (const auto &[key, regions] : last) {
        auto [buffer, other, writes] = key;
        if (buffer != access.buffer || other == moment.stream || (!writes && !access.writes))
          continue;
        for (const auto &[region, before] : regions) {
          if (moment.knows(other, before.number))
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

  kbrt::PlanOrder order;
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
    std::vector<Access> accesses;
    std::string name;
    uint32_t stream = 0;
    auto ofBuffer = [&](uint32_t buffer) {
      accesses = {Access{buffer, true, 0, plan.buffers[buffer].bytes}};
    };
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step)) {
      accesses = {accessTo(upload->to, true)};
      name = upload->host == kbrt::HostPart::Writes ? "the host" : "an upload";
      stream = upload->stream;
    } else if (const auto *fill = std::get_if<kbrt::FillStep>(&step)) {
      accesses = {accessTo(fill->to, true)};
      name = "a fill";
      stream = fill->stream;
    } else if (const auto *copy = std::get_if<kbrt::CopyStep>(&step)) {
      accesses = {accessTo(copy->to, true), accessTo(copy->from, false)};
      name = "a copy";
      stream = copy->stream;
    } else if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step)) {
      accesses = accessesOf(*launch);
      name = "the launch of " + launch->kernel;
      stream = launch->stream;
    } else if (const auto *product = std::get_if<kbrt::MatmulStep>(&step)) {
      accesses = {Access{product->a.at.buffer, false}, Access{product->b.at.buffer, false},
                  Access{product->c.at.buffer, true}};
      name = "a matrix product";
      stream = product->stream;
    } else if (const auto *read = std::get_if<kbrt::ReadStep>(&step)) {
      accesses = {accessTo(read->from, false)};
      name = read->implicit ? "the host" : "a read";
      stream = read->stream;
    } else if (const auto *alloc = std::get_if<kbrt::AllocStep>(&step); alloc && alloc->stream) {
      ofBuffer(alloc->buffer);
      name = "cudaMallocAsync";
      stream = *alloc->stream;
    } else if (const auto *free = std::get_if<kbrt::FreeStep>(&step); free && free->stream) {
      ofBuffer(free->buffer);
      name = "cudaFreeAsync";
      stream = *free->stream;
    }
    if (!name.empty() && name != "the host")
      name += " on stream " + std::to_string(stream);
    order.step(i, step, accesses, name);
  }
  return order;
}

/// \p plan with the second step of \p conflict, and what it needs, before the first.
kbrt::Plan otherOrder(const kbrt::Plan &plan, const Order &order, const Conflict &conflict) {
  const kbrt::Moment &first = order.moments[conflict.first];
  kbrt::Plan other = plan;
  other.steps.assign(plan.steps.begin(), plan.steps.begin() + conflict.first);
  std::vector<kbrt::Step> later = {plan.steps[conflict.first]};
  for (size_t i = conflict.first + 1; i < plan.steps.size(); ++i)
    if (i <= conflict.second && !order.moments[i].isAfter(first))
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
    if (conflict.isCertain) {
      result.certain = conflict.text;
      return result;
    }
  result.tooMany = order.conflicts.size() > mostOrders;
  for (const Conflict &conflict : ArrayRef(order.conflicts).take_front(mostOrders))
    result.otherOrders.push_back({conflict.text, otherOrder(plan, order, conflict)});
  return result;
}

} // namespace kbopt
