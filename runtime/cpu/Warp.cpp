//===- Warp.cpp - operations of a warp ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns shuffles, votes, matches, reductions and warp barriers.
// Lanes meet if they name the same mask, operation and qualifiers; the last one
// to arrive computes the results of all lanes.
//
//===----------------------------------------------------------------------===//
#include "Count.h"
#include "Machine.h"
#include "Mma.h"
#include "OracleMatrices.h"
#include "Races.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace kbrt {

namespace {

std::string hex(uint32_t mask) {
  char text[16];
  snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

/// Every lane's source by \p sourceOf(lane, operand, lowest lane of its segment, segment mask).
template <ShuffleMode mode, typename SourceOf>
void shuffleBy(const WarpOp &op, uint32_t *result, uint32_t *flag, SourceOf sourceOf) {
  for (uint32_t i = 0; i < warpLanes; ++i) {
    uint32_t b = op.lane[i] & 31, c = op.clamp[i] & 31, segment = op.clamp[i] >> 8 & 31;
    int32_t maxLane = int32_t((i & segment) | (c & ~segment));
    int32_t j = sourceOf(i, b, i & segment, segment);
    bool inRange = mode == ShuffleMode::Up ? j >= maxLane : j <= maxLane;
    uint32_t from = inRange ? uint32_t(j) & 31 : i;
    // A lane that does not take part has an undefined value: its reader keeps its own.
    result[i] = uint32_t(op.value[op.arrived >> from & 1 ? from : i]);
    flag[i] = inRange;
  }
}

void shuffle(const WarpOp &op, uint32_t *result, uint32_t *flag) {
  switch (static_cast<ShuffleMode>(op.detail)) {
  case ShuffleMode::Up:
    return shuffleBy<ShuffleMode::Up>(
        op, result, flag,
        [](uint32_t i, uint32_t b, uint32_t, uint32_t) { return int32_t(i) - int32_t(b); });
  case ShuffleMode::Down:
    return shuffleBy<ShuffleMode::Down>(
        op, result, flag,
        [](uint32_t i, uint32_t b, uint32_t, uint32_t) { return int32_t(i + b); });
  case ShuffleMode::Bfly:
    return shuffleBy<ShuffleMode::Bfly>(
        op, result, flag,
        [](uint32_t i, uint32_t b, uint32_t, uint32_t) { return int32_t(i ^ b); });
  case ShuffleMode::Idx:
    return shuffleBy<ShuffleMode::Idx>(
        op, result, flag, [](uint32_t, uint32_t b, uint32_t minLane, uint32_t segment) {
          return int32_t(minLane | (b & ~segment));
        });
  }
}

uint32_t reduce(const WarpOp &op) {
  auto kind = static_cast<ReduxOp>(op.detail);
  bool isFirst = true;
  uint32_t result = 0;
  auto asFloat = [](uint32_t v) { return std::bit_cast<float>(v); };
  // -0 is less than +0.
  auto least = [](float x, float y) { return x != y ? fminf(x, y) : std::signbit(x) ? x : y; };
  auto largest = [](float x, float y) { return x != y ? fmaxf(x, y) : std::signbit(x) ? y : x; };
  for (uint32_t i = 0; i < warpLanes; ++i) {
    if (!(op.arrived >> i & 1))
      continue;
    auto v = static_cast<uint32_t>(op.value[i]);
    if (kind == ReduxOp::MinAbsFloat || kind == ReduxOp::MaxAbsFloat)
      v &= 0x7fffffffu;
    if (isFirst) {
      result = v;
      isFirst = false;
      continue;
    }
    switch (kind) {
    case ReduxOp::Add:
      result += v;
      break;
    case ReduxOp::MinSigned:
      result = int32_t(v) < int32_t(result) ? v : result;
      break;
    case ReduxOp::MaxSigned:
      result = int32_t(v) > int32_t(result) ? v : result;
      break;
    case ReduxOp::MinUnsigned:
      result = v < result ? v : result;
      break;
    case ReduxOp::MaxUnsigned:
      result = v > result ? v : result;
      break;
    case ReduxOp::And:
      result &= v;
      break;
    case ReduxOp::Or:
      result |= v;
      break;
    case ReduxOp::Xor:
      result ^= v;
      break;
    case ReduxOp::MinFloat:
    case ReduxOp::MinAbsFloat:
      result = std::bit_cast<uint32_t>(least(asFloat(v), asFloat(result)));
      break;
    case ReduxOp::MaxFloat:
    case ReduxOp::MaxAbsFloat:
      result = std::bit_cast<uint32_t>(largest(asFloat(v), asFloat(result)));
      break;
    }
  }
  return result;
}

uint32_t vote(const WarpOp &op) {
  uint32_t ballot = 0;
  for (uint32_t i = 0; i < warpLanes; ++i)
    if ((op.arrived >> i & 1) && op.value[i])
      ballot |= 1u << i;
  switch (static_cast<VoteMode>(op.detail)) {
  case VoteMode::All:
    return ballot == op.arrived;
  case VoteMode::Any:
    return ballot != 0;
  case VoteMode::Uni:
    return ballot == op.arrived || ballot == 0;
  case VoteMode::Ballot:
    break;
  }
  return ballot;
}

void match(const WarpOp &op, uint32_t *result, uint32_t *flag) {
  bool isEqual = true;
  uint64_t first = op.value[std::countr_zero(op.arrived)];
  for (uint32_t i = 0; i < warpLanes; ++i) {
    if (!(op.arrived >> i & 1))
      continue;
    uint32_t same = 0;
    for (uint32_t j = 0; j < warpLanes; ++j)
      if ((op.arrived >> j & 1) && op.value[j] == op.value[i])
        same |= 1u << j;
    result[i] = same;
    isEqual &= op.value[i] == first;
  }
  if (op.kind != WarpOpKind::MatchAll)
    return;
  for (uint32_t i = 0; i < warpLanes; ++i)
    if (op.arrived >> i & 1) {
      result[i] = isEqual ? op.arrived : 0;
      flag[i] = isEqual;
    }
}

void finish(WarpOp &op, uint32_t warpIndex) {
  machine.progress();
  machine.noteMeeting(machine.warps[warpIndex], warpIndex, op.arrived);
  Fiber *lanes = &machine.fibers[warpIndex * warpLanes];
  if (op.kind == WarpOpKind::Mma && op.arrived != ~0u)
    machine.stop(LaunchStatus::DivergentBarrier,
                 "a matrix operation needs all 32 lanes of its warp, only " +
                     std::to_string(std::popcount(op.arrived)) + " take part, in " +
                     machine.whereAmI(op.site));
  if (op.kind == WarpOpKind::Mma) {
    const auto &shape = *reinterpret_cast<const MmaShape *>(op.value[0]);
    const bool isShadowed = machine.info->mode == ImageMode::Oracle;
    const std::vector<OracleSum> shadows =
        isShadowed ? oracle::multiplyFragments(lanes, shape) : std::vector<OracleSum>();
    computeMma(lanes, shape);
    oracle::keepFragments(lanes, shape, shadows);
  } else {
    uint32_t result[warpLanes], flag[warpLanes];
    computeWarpOp(op, result, flag);
    for (uint32_t i = 0; i < warpLanes; ++i)
      if (op.arrived >> i & 1) {
        lanes[i].result = result[i];
        lanes[i].flag = flag[i];
      }
  }
  if (machine.info->mode == ImageMode::Check)
    races::onWarpSync(warpIndex, op.arrived);
}

/// Brings the running lane to an operation and returns when it is done; results are in the fiber.
Fiber &meet(uint32_t site, uint32_t mask, WarpOpKind kind, uint32_t detail, uint64_t value,
            uint32_t laneOperand = 0, uint32_t clamp = 0) {
  machine.lastSite = site;
  Fiber &self = machine.currentFiber();
  self.site = site;
  uint32_t lane = self.thread.lane, w = self.thread.warp;
  if (!(mask >> lane & 1))
    machine.stopOutsideMask(site, lane, mask);
  if (machine.isCounting)
    count::onWarpOp(self.thread, kind);
  Warp &warp = machine.warps[w];
  WarpOp *op = nullptr;
  for (WarpOp &pending : warp.pending)
    if (pending.mask == mask && pending.kind == kind && pending.detail == detail &&
        !(pending.arrived >> lane & 1)) {
      op = &pending;
      break;
    }
  if (!op) {
    op = &warp.pending.emplace_back();
    op->mask = mask;
    op->arrived = 0;
    op->kind = kind;
    op->detail = detail;
    op->site = site;
  }
  op->arrived |= 1u << lane;
  op->value[lane] = value;
  op->lane[lane] = laneOperand;
  op->clamp[lane] = clamp;
  if (op->arrived == (mask & warp.live)) {
    // A copy: the list may grow while the lanes wake.
    WarpOp done = *op;
    warp.pending.erase(warp.pending.begin() + (op - warp.pending.data()));
    finish(done, w);
    machine.wakeWarp(w, done.arrived, lane);
    return self;
  }
  self.mask = mask;
  machine.sleep(FiberState::AtWarpOp);
  return self;
}

} // namespace

void computeWarpOp(const WarpOp &op, uint32_t *result, uint32_t *flag) {
  switch (op.kind) {
  case WarpOpKind::Shuffle:
    return shuffle(op, result, flag);
  case WarpOpKind::MatchAny:
  case WarpOpKind::MatchAll:
    return match(op, result, flag);
  case WarpOpKind::Vote:
    std::fill_n(result, warpLanes, vote(op));
    return;
  case WarpOpKind::Redux:
    std::fill_n(result, warpLanes, reduce(op));
    return;
  case WarpOpKind::Sync:
  case WarpOpKind::Mma:
    return;
  }
}

void Machine::stopOutsideMask(uint32_t site, uint32_t lane, uint32_t mask) {
  stop(LaunchStatus::DivergentBarrier, "lane " + std::to_string(lane) + " is not in the mask " +
                                           hex(mask) + " of the warp operation it executes, in " +
                                           whereAmI(site));
}

void Machine::warpOnExit(Warp &warp, uint32_t w) {
  for (size_t i = 0; i < warp.pending.size();) {
    WarpOp &op = warp.pending[i];
    if ((op.mask & warp.live) != op.arrived) {
      ++i;
      continue;
    }
    WarpOp done = op;
    warp.pending.erase(warp.pending.begin() + long(i));
    finish(done, w);
    for (uint32_t lane = 0; lane < warpLanes; ++lane)
      if (done.arrived >> lane & 1)
        wake(fibers[w * warpLanes + lane]);
  }
}

} // namespace kbrt

using namespace kbrt;

extern "C" {

void kbrt_warp_sync(uint32_t site, uint32_t mask) { meet(site, mask, WarpOpKind::Sync, 0, 0); }

uint32_t kbrt_shuffle(uint32_t site, uint32_t mask, ShuffleMode mode, uint32_t value, uint32_t lane,
                      uint32_t clamp, uint32_t *inRange) {
  Fiber &self = meet(site, mask, WarpOpKind::Shuffle, uint32_t(mode), value, lane, clamp);
  if (inRange)
    *inRange = self.flag;
  return static_cast<uint32_t>(self.result);
}

uint32_t kbrt_vote(uint32_t site, uint32_t mask, VoteMode mode, uint32_t predicate) {
  return static_cast<uint32_t>(
      meet(site, mask, WarpOpKind::Vote, uint32_t(mode), predicate != 0).result);
}

uint32_t kbrt_match_any(uint32_t site, uint32_t mask, uint64_t value) {
  return static_cast<uint32_t>(meet(site, mask, WarpOpKind::MatchAny, 0, value).result);
}

uint32_t kbrt_match_all(uint32_t site, uint32_t mask, uint64_t value, uint32_t *allEqual) {
  Fiber &self = meet(site, mask, WarpOpKind::MatchAll, 0, value);
  if (allEqual)
    *allEqual = self.flag;
  return static_cast<uint32_t>(self.result);
}

uint32_t kbrt_redux(uint32_t site, uint32_t mask, ReduxOp op, uint32_t value) {
  return static_cast<uint32_t>(meet(site, mask, WarpOpKind::Redux, uint32_t(op), value).result);
}

void kbrt_mma(uint32_t site, const MmaShape *shape, const void *a, const void *b, const void *c,
              void *d) {
  Fiber &self = machine.currentFiber();
  self.mma[0] = a;
  self.mma[1] = b;
  self.mma[2] = c;
  self.mma[3] = d;
  meet(site, ~0u, WarpOpKind::Mma, 0, reinterpret_cast<uint64_t>(shape));
}
}
