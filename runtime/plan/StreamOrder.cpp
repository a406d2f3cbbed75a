//===- StreamOrder.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/StreamOrder.h"

#include <algorithm>

using namespace kbrt;

static void join(StreamClock &into, const StreamClock &other) {
  for (auto [stream, number] : other) {
    uint64_t &known = into[stream];
    known = std::max(known, number);
  }
}

StreamClock &StreamClocks::clockOf(uint32_t stream) {
  StreamClock &clock = streams[stream];
  join(clock, host);
  if (stream == 0) {
    for (const auto &[other, its] : streams)
      if (other != 0 && !nonBlocking.count(other))
        join(clock, its);
  } else if (!nonBlocking.count(stream)) {
    join(clock, StreamClock(streams[0]));
  }
  return clock;
}

Moment StreamClocks::enqueue(uint32_t stream) {
  StreamClock &clock = clockOf(stream);
  Moment moment{stream, 0, clock};
  moment.number = ++clock[stream];
  return moment;
}

void StreamClocks::wait(uint32_t event, uint32_t stream) {
  if (auto covered = events.find(event); covered != events.end())
    join(streams[stream], covered->second);
}

void StreamClocks::hostWaits(std::optional<uint32_t> stream) {
  if (stream)
    return join(host, clockOf(*stream));
  for (const auto &[other, its] : streams)
    join(host, its);
}

void StreamClocks::hostWaitsForEvent(uint32_t event) {
  if (auto covered = events.find(event); covered != events.end())
    join(host, covered->second);
}

PlanOrder::PlanOrder(const Plan &plan) {
  for (const Stream &stream : plan.streams)
    if (stream.nonBlocking)
      clocks.addNonBlocking(stream.id);
}

namespace {

/// Performs what a step does to the clocks.
struct Follow {
  StreamClocks &clocks;

  Moment operator()(const AllocStep &step) {
    return step.stream ? clocks.enqueue(*step.stream) : clocks.hostMoment();
  }
  Moment operator()(const FreeStep &step) {
    if (step.stream)
      return clocks.enqueue(*step.stream);
    clocks.hostWaits(std::nullopt);
    return clocks.hostMoment();
  }
  Moment operator()(const UploadStep &step) {
    if (step.host == HostPart::Writes)
      return clocks.hostMoment();
    if (step.host == HostPart::Stages) // when the stream has done what came before
      clocks.hostWaits(step.stream);
    Moment moment = clocks.enqueue(step.stream);
    if (step.host == HostPart::Waits)
      clocks.hostWaits(step.stream);
    return moment;
  }
  Moment operator()(const ReadStep &step) {
    if (step.implicit) // by the host itself, or by a function of its on a stream
      return step.stream ? clocks.functionMoment(step.stream) : clocks.hostMoment();
    Moment moment = clocks.enqueue(step.stream);
    if (!step.asynchronous)
      clocks.hostWaits(step.stream);
    return moment;
  }
  Moment operator()(const FillStep &step) { return clocks.enqueue(step.stream); }
  Moment operator()(const CopyStep &step) { return clocks.enqueue(step.stream); }
  Moment operator()(const LaunchStep &step) { return clocks.enqueue(step.stream); }
  Moment operator()(const MatmulStep &step) { return clocks.enqueue(step.stream); }
  Moment operator()(const SyncStep &step) {
    if (step.event)
      clocks.hostWaitsForEvent(*step.event);
    else
      clocks.hostWaits(step.stream);
    return clocks.hostMoment();
  }
  Moment operator()(const EventStep &step) {
    clocks.record(step.event, step.stream);
    return clocks.hostMoment();
  }
  Moment operator()(const WaitStep &step) {
    clocks.wait(step.event, step.stream);
    return clocks.hostMoment();
  }
  Moment operator()(const ErrorStep &) { return clocks.hostMoment(); }
};

bool isLook(const Step &step) {
  const auto *read = std::get_if<ReadStep>(&step);
  return read && read->implicit;
}

} // namespace

Moment PlanOrder::next(const Step &step) { return std::visit(Follow{clocks}, step); }

bool kbrt::isOperation(const Step &step) {
  if (const auto *alloc = std::get_if<AllocStep>(&step))
    return alloc->stream.has_value();
  if (const auto *free = std::get_if<FreeStep>(&step))
    return free->stream.has_value();
  if (const auto *upload = std::get_if<UploadStep>(&step))
    return upload->host != HostPart::Writes;
  if (const auto *read = std::get_if<ReadStep>(&step))
    return !read->implicit;
  return std::holds_alternative<FillStep>(step) || std::holds_alternative<CopyStep>(step) ||
         std::holds_alternative<LaunchStep>(step) || std::holds_alternative<MatmulStep>(step);
}

std::vector<bool> kbrt::unorderedOperations(const Plan &plan) {
  std::vector<bool> result(plan.steps.size(), false);
  // By stream: the steps of its operations, and where a stretch of them begins or ends that some
  // later step does not wait for.
  struct Line {
    std::vector<size_t> steps;
    std::vector<int64_t> stretches = {0};
  };
  std::map<uint32_t, Line> lines;
  PlanOrder order(plan);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step &step = plan.steps[i];
    const Moment moment = order.next(step);
    if (!isOperation(step) && !isLook(step))
      continue;
    for (auto &[stream, line] : lines) {
      auto found = moment.clock.find(stream);
      const uint64_t known = found == moment.clock.end() ? 0 : found->second;
      if (stream == moment.stream || known >= line.steps.size())
        continue;
      result[i] = moment.stream.has_value();
      ++line.stretches[known];
      --line.stretches[line.steps.size()];
    }
    if (moment.stream) {
      lines[*moment.stream].steps.push_back(i);
      lines[*moment.stream].stretches.push_back(0);
    }
  }
  for (const auto &[stream, line] : lines) {
    int64_t open = 0;
    for (size_t k = 0; k < line.steps.size(); ++k) {
      open += line.stretches[k];
      if (open > 0)
        result[line.steps[k]] = true;
    }
  }
  return result;
}
