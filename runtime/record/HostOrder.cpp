//===- HostOrder.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostOrder.h"

#include <algorithm>
#include <utility>

using namespace kbrt;

void HostOrder::settle(const Moment &now) {
  for (PendingWork &work : std::exchange(pending, {}))
    if (now.isAfter(work.moment))
      due.push_back(std::move(work));
    else
      pending.push_back(std::move(work));
  makeDueCopies();
}

void HostOrder::makeDueCopies() {
  while (!due.empty() && !due.front().isFunction) {
    PendingWork work = std::move(due.front());
    due.pop_front();
    work.happens();
  }
}

void HostOrder::hostWaits(std::optional<uint32_t> stream) {
  clocks.hostWaits(stream);
  if (!pending.empty())
    settle(clocks.hostMoment());
}

void HostOrder::hostWaitsForEvent(uint32_t event) {
  clocks.hostWaitsForEvent(event);
  if (!pending.empty())
    settle(clocks.hostMoment());
}

void HostOrder::makeDueBefore(uint32_t stream) {
  if (!pending.empty())
    settle(clocks.functionMoment(stream));
}

void HostOrder::makeAllDue() {
  for (PendingWork &work : std::exchange(pending, {}))
    due.push_back(std::move(work));
  makeDueCopies();
}

bool HostOrder::hasFunctions() const {
  return std::any_of(pending.begin(), pending.end(),
                     [](const PendingWork &work) { return work.isFunction; });
}

std::optional<PendingWork> HostOrder::takeFunction() {
  makeDueCopies();
  if (due.empty())
    return std::nullopt;
  PendingWork work = std::move(due.front());
  due.pop_front();
  return work;
}

bool HostOrder::isDone(const StreamClock &done) {
  const Moment now = hostMoment();
  const bool isKnown = std::all_of(done.begin(), done.end(), [&](const auto &step) {
    return step.second == 0 || now.knows(step.first, step.second);
  });
  if (!isKnown && asked.insert(done).second)
    return false;
  asked.erase(done);
  return true;
}

bool HostOrder::isStreamDone(uint32_t stream) { return isDone(functionMoment(stream).clock); }
bool HostOrder::isEventDone(uint32_t event) { return isDone(clocks.covered(event)); }
