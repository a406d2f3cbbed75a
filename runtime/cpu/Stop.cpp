//===- Stop.cpp - how a kernel that goes wrong ends -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way out of device code, the words for where it was, and the report
// of which thread waits for what in a deadlock.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"
#include "Mbarrier.h"
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <map>

namespace kbrt {

std::string toText(const Dim3 &d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

std::string baseName(std::string_view path) {
  size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string variableName(const char *symbol) {
  std::string name = symbol;
  if (!name.starts_with("_Z"))
    return name;
  int status = 0;
  char *text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  if (text && status == 0) {
    // "k(float*)::tile" → "tile"; the arguments of a template variable stay.
    name = text;
    if (size_t colon = name.rfind("::");
        colon != std::string::npos && name.find('<', colon) == std::string::npos)
      name = name.substr(colon + 2);
  }
  free(text);
  return name;
}

Dim3 unflatten(uint64_t linear, Dim3 extent) {
  return {uint32_t(linear % extent.x), uint32_t(linear / extent.x % extent.y),
          uint32_t(linear / extent.x / extent.y)};
}

AccessPlace placeOf(uint32_t site, Dim3 blockIndex, Dim3 threadIndex) {
  AccessPlace place;
  place.site = site;
  place.block = blockIndex;
  place.thread = threadIndex;
  if (machine.info && site < machine.info->siteCount) {
    const SiteInfo &info = machine.info->sites[site];
    place.access = toString(info.kind);
    place.file = info.file;
    place.line = info.line;
    place.column = info.column;
  }
  return place;
}

std::string Machine::sitePlace(uint32_t site) const {
  if (!info || site >= info->siteCount || !info->sites[site].line)
    return "unknown place";
  return baseName(info->sites[site].file) + ":" + std::to_string(info->sites[site].line);
}

std::string Machine::whereAmI(uint32_t site) const {
  std::string text = "kernel " + std::string(kernel ? kernel->displayName : "?") + ", block " +
                     toText(toDim3(block.ctaid));
  if (kbrt_current && kbrt_current->linear != unknownThread)
    text += ", thread " + toText(toDim3(kbrt_current->tid));
  return info && site < info->siteCount ? text + ", " + sitePlace(site) : text;
}

void Machine::stop(LaunchStatus status, std::string message) {
  result->status = status;
  result->message = std::move(message);
  // What the string owned has moved; nothing else on this stack needs its destructor.
  message.~basic_string();
  new (&message) std::string();
  siglongjmp(wayOut, 1);
}

void Machine::stopDeadlocked() {
  struct Group {
    uint32_t threads = 0;
    Dim3 first;
    std::string what;
  };
  std::map<std::string, Group> groups;
  bool hasNamedCount = false;
  for (uint32_t i = 0; i < block.threads; ++i) {
    const Fiber &fiber = fibers[i];
    std::string what;
    char text[96];
    switch (states[fiber.thread.linear]) {
    case FiberState::AtBarrier:
      snprintf(text, sizeof text, "at barrier %u (", fiber.barrier);
      hasNamedCount |= barriers[fiber.barrier].expected != 0;
      what = text + sitePlace(fiber.site) + ")";
      break;
    case FiberState::AtMbarrier:
      hasNamedCount = true;
      what = mbarrier::describeWait(fiber);
      break;
    case FiberState::AtWarpOp:
      snprintf(text, sizeof text, "for the lanes of mask 0x%08x (", fiber.mask);
      what = text + sitePlace(fiber.site) + ")";
      break;
    default:
      continue;
    }
    Group &group = groups[what];
    if (group.threads++ == 0)
      group.first = toDim3(fiber.thread.tid);
  }
  bool isDivergent = groups.size() > 1 && !hasNamedCount;
  std::string text = isDivergent ? "threads wait at different barriers and can never meet: "
                                 : "every thread waits for something that cannot come: ";
  bool isFirst = true;
  for (auto &[what, group] : groups) {
    text += std::string(isFirst ? "" : "; ") + std::to_string(group.threads) +
            (group.threads == 1 ? " thread waits " : " threads wait ") + what +
            ", the first is thread " + toText(group.first);
    isFirst = false;
  }
  uint32_t ended = block.threads - liveThreads;
  if (ended)
    text +=
        "; " + std::to_string(ended) + (ended == 1 ? " thread has ended" : " threads have ended");
  text += " (kernel " + std::string(kernel->displayName) + ", block " +
          toText(toDim3(block.ctaid)) + ")";
  stop(isDivergent ? LaunchStatus::DivergentBarrier : LaunchStatus::Deadlock, std::move(text));
}

} // namespace kbrt
