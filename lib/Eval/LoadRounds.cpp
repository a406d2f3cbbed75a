//===- LoadRounds.cpp - Which loads a warp waits for together -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is known of nvcc's scheduling of loads: those of one loop body wait together where no
// store that may alias stands between them (where that is unknown, sites that run equally often are
// taken for one body); loops are unrolled; registers bound what is in flight. Observed in PTX and
// SASS and in times on an H200 (docs/CostModel.md).
//
//===----------------------------------------------------------------------===//
#include "LaunchModel.h"
#include "kb-opt/Target/LaunchCosts.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace llvm;

namespace kbopt {
namespace {

bool isGlobal(const kbrt::SiteCounters &site) {
  return site.space == kbrt::MemorySpace::Global || site.space == kbrt::MemorySpace::Generic;
}
bool isShared(const kbrt::SiteCounters &site) { return site.space == kbrt::MemorySpace::Shared; }

/// Loads that a warp can issue one after another without waiting.
struct Body {
  std::vector<const kbrt::SiteCounters *> loads;
  double iterations = 0; ///< per warp, of one load
  /// Iterations that the compiler joins beyond those that the source joined.
  double unrolling = 1;
};

std::vector<Body> bodiesOf(const kbrt::KernelCounters &counters) {
  std::map<std::pair<unsigned, long>, Body>
      bodies; // by group and log of requests per warp, steps of 5 %
  for (const kbrt::SiteCounters &site : counters.sites)
    if (site.access.requests > 0 && site.kind != kbrt::AccessKind::Store &&
        (isGlobal(site) || isShared(site)))
      bodies[{site.loadGroup, std::lround(std::log(site.access.requests / counters.warps) / 0.05)}]
          .loads.push_back(&site);
  double barriersPerWarp = counters.blockBarriers / counters.warps;
  std::vector<Body> result;
  for (auto &[key, body] : bodies) {
    std::set<std::pair<unsigned, unsigned>> places; // lines and columns
    for (const kbrt::SiteCounters *load : body.loads) {
      body.iterations +=
          load->access.requests / counters.warps / static_cast<double>(body.loads.size());
      places.insert({load->line, load->column});
    }
    // The source unrolled where a place has several sites; nothing moves over a barrier.
    bool isAlone = any_of(body.loads, [](const kbrt::SiteCounters *load) { return load->isAlone; });
    if (!isAlone && barriersPerWarp <= 0.5 * body.iterations && places.size() == body.loads.size())
      body.unrolling = std::clamp(body.iterations, 1.0, defaultUnrolling);
    result.push_back(std::move(body));
  }
  return result;
}

std::vector<LoadRound> roundsOf(ArrayRef<Body> bodies, double warps,
                                bool (&space)(const kbrt::SiteCounters &)) {
  std::vector<LoadRound> rounds;
  for (const Body &body : bodies) {
    double sites = 0, registers = 0, requests = 0, wavefronts = 0, sectors = 0, hits = 0;
    for (const kbrt::SiteCounters *load : body.loads) {
      if (!space(*load))
        continue;
      sites += 1;
      registers += std::max(1.0, load->elementBytes / 4.0);
      requests += load->access.requests / warps;
      wavefronts += load->access.lineWavefronts / warps;
      sectors += load->access.sectors;
      hits += load->access.l1HitSectors;
    }
    if (!sites)
      continue;
    double inFlight =
        std::min(sites * body.unrolling, std::max(1.0, registersInFlight * sites / registers));
    LoadRound &round = rounds.emplace_back();
    round.perWarp = requests / inFlight;
    round.service = wavefronts / round.perWarp;
    double missShare = sectors > 0 ? 1 - hits / sectors : 0;
    round.missesL1 = std::min(1.0, missShare * inFlight);
  }
  return rounds;
}

} // namespace

LoadSchedule scheduleLoads(const kbrt::KernelCounters &counters) {
  LoadSchedule schedule;
  if (counters.warps <= 0)
    return schedule;
  std::vector<Body> bodies = bodiesOf(counters);
  schedule.global = roundsOf(bodies, counters.warps, isGlobal);
  schedule.shared = roundsOf(bodies, counters.warps, isShared);
  for (const Body &body : bodies)
    schedule.unrolledIterations += body.iterations * (1 - 1 / body.unrolling);
  return schedule;
}

} // namespace kbopt
