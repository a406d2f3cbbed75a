//===- Clocks.cpp - which accesses happened before ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Clocks.h"
#include "Findings.h"
#include "Races.h"
#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

namespace kbrt::races {

BlockClock blockClock;
bool orderedByBlockFence = false;

namespace {

/// Barriers with a count order whole warps: know[w][v] is the block stamp below which accesses of
/// warp v happened before warp w.
struct PartialKnowledge {
  bool isUsed = false;
  uint32_t know[maxWarps][maxWarps];
  uint32_t arrival[barrierCount][maxWarps]; ///< stamp of the last arrival, 0 for none
  uint32_t joined[barrierCount][maxWarps];
} partial;

/// Warp barriers of some lanes: lanes[w][i][j] is the warp stamp below which accesses of lane j
/// happened before lane i.
bool hasLaneKnowledge[maxWarps];
uint32_t laneKnowledge[maxWarps][warpLanes][warpLanes];

struct Fence {
  uint32_t warpStamp = 0; ///< 0: none in this block
  bool isOfBlock = false; ///< the last one was for threads of the block alone
};
Fence fences[maxThreads];

/// What one atomic after a fence passed on.
struct Release {
  uint32_t block;
  uint32_t thread;
  uint32_t warpStamp; ///< the thread's own accesses below it
  uint32_t fullStamp; ///< the block's accesses below it
  uint32_t warpFull;  ///< its warp's accesses below it
  uint32_t acquired;  ///< the block knew as many acquisitions by then
  bool isOfBlock;     ///< passed on by a fence for the block alone
};
struct Variable {
  std::vector<Release> releases;
  std::unordered_map<uint32_t, std::vector<uint32_t>> byBlock;
};
/// A thread of a block learnt the first `count` releases of a variable.
struct Acquisition {
  uint64_t address;
  uint32_t count, thread, blockStamp, warpStamp;
};
std::unordered_map<uint64_t, Variable> variables;
std::unordered_map<uint32_t, std::vector<Acquisition>>
    acquisitions;                  ///< by block, releasing blocks only
std::vector<Acquisition> acquired; ///< of the running block
bool blockReleases = false;
uint32_t clockedBlock = 0; ///< the block that `acquired` belongs to

bool covers(const Release &release, const Stamp &access) {
  if (access.thread == release.thread)
    return access.warpStamp < release.warpStamp || access.blockStamp < release.fullStamp;
  if (access.blockStamp < release.fullStamp)
    return true;
  return access.thread / warpLanes == release.thread / warpLanes &&
         access.warpStamp < release.warpFull;
}

constexpr int deepestChain = 16;

/// True if one of the first \p n acquisitions in \p known hands on \p access.
/// \p isWeak becomes true if a release of the block's scope does.
bool isPassedOn(const std::vector<Acquisition> &known, size_t n, const Stamp &access, int depth,
                bool &isWeak) {
  for (size_t i = std::min(n, known.size()); i-- > 0;) {
    const Variable &variable = variables[known[i].address];
    if (auto it = variable.byBlock.find(uint32_t(access.block)); it != variable.byBlock.end())
      for (uint32_t index : it->second)
        if (index < known[i].count && covers(variable.releases[index], access)) {
          if (!variable.releases[index].isOfBlock)
            return true;
          isWeak = true;
        }
    if (depth >= deepestChain)
      continue;
    // Chains: the releasing block had learnt it from a third one. The latest release knows most.
    uint32_t tried = 0;
    for (uint32_t r = known[i].count; r-- > 0 && tried < 4;) {
      const Release &release = variable.releases[r];
      if (release.block == machine.blockLinear || !release.acquired)
        continue;
      ++tried;
      auto it = acquisitions.find(release.block);
      if (it != acquisitions.end() &&
          isPassedOn(it->second, release.acquired, access, depth + 1, isWeak))
        return true;
    }
  }
  return false;
}

uint32_t bump(uint32_t &stamp) {
  if (stamp >= (1u << 27) - 2) {
    findings::note(
        "races were not checked to the end: a block synchronises more often than stamps can count");
    return stamp;
  }
  return ++stamp;
}

} // namespace

void resetClocksForLaunch() {
  variables.clear();
  acquisitions.clear();
  acquired.clear();
  blockReleases = false;
}

void resetClocksForBlock() {
  if (blockReleases)
    acquisitions[clockedBlock] = acquired;
  clockedBlock = uint32_t(machine.blockLinear);
  blockReleases = false;
  acquired.clear();
  blockClock.blockStamp = 1;
  blockClock.fullStamp = 0;
  for (unsigned w = 0; w < maxWarps; ++w) {
    blockClock.warpStamp[w] = 1;
    blockClock.warpFull[w] = 0;
    hasLaneKnowledge[w] = false;
  }
  if (partial.isUsed)
    memset(static_cast<void *>(&partial), 0, sizeof partial);
  std::fill(std::begin(fences), std::end(fences), Fence{});
}

bool isOrderedSlow(const Stamp &previous) {
  const Thread &self = machine.current();
  uint32_t lane = previous.thread % warpLanes, warp = previous.thread / warpLanes;
  if (previous.block == (machine.blockLinear & 0xffffffffu)) {
    if (partial.isUsed && previous.blockStamp < partial.know[self.warp][warp])
      return true;
    if (warp == self.warp && hasLaneKnowledge[warp] &&
        previous.warpStamp < laneKnowledge[warp][self.lane][lane])
      return true;
  }
  if (acquired.empty())
    return false;
  bool isWeak = false;
  // What another thread of the block learnt counts once a barrier lies between.
  for (size_t i = acquired.size(); i-- > 0;) {
    const Acquisition &a = acquired[i];
    bool isMine =
        a.thread == self.linear || a.blockStamp < blockClock.fullStamp ||
        (a.thread / warpLanes == self.warp && a.warpStamp < blockClock.warpFull[self.warp]);
    if (!isMine)
      continue;
    std::vector<Acquisition> one{a};
    if (isPassedOn(one, 1, previous, 0, isWeak))
      return true;
  }
  orderedByBlockFence |= isWeak;
  return isWeak;
}

void onBarrierArrival(uint32_t id, const Thread &thread) {
  if (!machine.barriers[id].expected)
    return;
  partial.isUsed = true;
  partial.arrival[id][thread.warp] = bump(blockClock.blockStamp);
}

void onBlockBarrier(uint32_t id, bool isWhole) {
  uint32_t stamp = bump(blockClock.blockStamp);
  if (isWhole) {
    blockClock.fullStamp = stamp;
    return;
  }
  partial.isUsed = true;
  uint32_t *joined = partial.joined[id], *arrival = partial.arrival[id];
  std::fill_n(joined, maxWarps, 0u);
  for (unsigned v = 0; v < maxWarps; ++v) {
    if (!arrival[v])
      continue;
    for (unsigned u = 0; u < maxWarps; ++u)
      joined[u] = std::max(joined[u], partial.know[v][u]);
    joined[v] = std::max(joined[v], arrival[v]);
  }
  std::fill_n(arrival, maxWarps, 0u);
}

void onBarrierRelease(uint32_t id, const Thread &thread) {
  if (!partial.isUsed)
    return;
  uint32_t *know = partial.know[thread.warp];
  for (unsigned u = 0; u < maxWarps; ++u)
    know[u] = std::max(know[u], partial.joined[id][u]);
}

void onPhaseArrival(PhaseClock &clock, const Thread &thread) {
  partial.isUsed = true;
  for (unsigned u = 0; u < maxWarps; ++u)
    clock.arrived[u] = std::max(clock.arrived[u], partial.know[thread.warp][u]);
  clock.arrived[thread.warp] = bump(blockClock.blockStamp);
}

void onPhase(PhaseClock &clock) {
  std::copy(std::begin(clock.arrived), std::end(clock.arrived), clock.complete);
}

void onPhaseWait(const PhaseClock &clock, const Thread &thread) {
  partial.isUsed = true;
  uint32_t *know = partial.know[thread.warp];
  for (unsigned u = 0; u < maxWarps; ++u)
    know[u] = std::max(know[u], clock.complete[u]);
}

void onWarpSync(uint32_t w, uint32_t mask) {
  uint32_t stamp = bump(blockClock.warpStamp[w]);
  if (mask == machine.warps[w].live) {
    blockClock.warpFull[w] = stamp;
    return;
  }
  auto &know = laneKnowledge[w];
  if (!hasLaneKnowledge[w]) {
    memset(know, 0, sizeof know);
    hasLaneKnowledge[w] = true;
  }
  uint32_t joined[warpLanes] = {};
  for (unsigned i = 0; i < warpLanes; ++i)
    if (mask >> i & 1) {
      for (unsigned j = 0; j < warpLanes; ++j)
        joined[j] = std::max(joined[j], know[i][j]);
    }
  for (unsigned i = 0; i < warpLanes; ++i)
    if (mask >> i & 1)
      joined[i] = stamp;
  for (unsigned i = 0; i < warpLanes; ++i)
    if (mask >> i & 1)
      memcpy(know[i], joined, sizeof joined);
}

void onFence(const Thread &thread, bool isOfBlock) {
  fences[thread.linear] = {bump(blockClock.warpStamp[thread.warp]), isOfBlock};
}

void onSynchronisation(uint64_t address, AccessKind kind, const char *detail) {
  const Thread &self = machine.current();
  std::string_view text = detail;
  bool isReleasing =
      text.find("rel") != std::string_view::npos || text.find(".sc") != std::string_view::npos;
  if (kind != AccessKind::Store) {
    auto it = variables.find(address);
    if (it != variables.end() && !it->second.releases.empty()) {
      auto count = static_cast<uint32_t>(it->second.releases.size());
      uint32_t warpStamp = blockClock.warpStamp[self.warp];
      Acquisition *last = acquired.empty() ? nullptr : &acquired.back();
      if (last && last->address == address && last->thread == self.linear &&
          last->blockStamp == blockClock.blockStamp && last->warpStamp == warpStamp)
        last->count = count;
      else
        acquired.push_back({address, count, self.linear, blockClock.blockStamp, warpStamp});
    }
  }
  if (kind == AccessKind::Load)
    return;
  if (isReleasing)
    onFence(self, text.find(".cta") != std::string_view::npos);
  if (!fences[self.linear].warpStamp)
    return;
  Variable &variable = variables[address];
  variable.byBlock[uint32_t(machine.blockLinear)].push_back(
      static_cast<uint32_t>(variable.releases.size()));
  variable.releases.push_back(
      {uint32_t(machine.blockLinear), self.linear, fences[self.linear].warpStamp,
       blockClock.fullStamp, blockClock.warpFull[self.warp], static_cast<uint32_t>(acquired.size()),
       fences[self.linear].isOfBlock});
  blockReleases = true;
}

} // namespace kbrt::races
