//===- LoadRounds.cpp - Which loads a warp waits for together -------------===//
//
// Owns what is known of nvcc's scheduling of loads: sites that run equally often
// stand in one loop body and wait together; loops are unrolled; registers bound
// what is in flight. Observed in PTX and in times on an H200 (docs/CostModel.md).
//
//===----------------------------------------------------------------------===//
#include "LaunchModel.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace llvm;

namespace kbopt {
namespace {

/// nvcc unrolls an inner loop without a pragma by 4, and ptxas such a loop by 4 again.
constexpr double defaultUnrolling = 16;
/// Registers that hold loads in flight: about half of the 32 with which all warps of an SM are
/// resident, which ptxas stays within where it can.
constexpr double registersInFlight = 16;

struct Group {
  double sites = 0, requests = 0, wavefronts = 0, sectors = 0, hits = 0, registers = 0;
  std::set<std::pair<unsigned, unsigned>> places; ///< lines and columns
};

bool waits(const kbrt::SiteCounters &site, bool shared) {
  if (site.access.requests <= 0 || site.kind == kbrt::AccessKind::Store)
    return false;
  if (shared)
    return site.space == kbrt::MemorySpace::Shared;
  return site.space == kbrt::MemorySpace::Global || site.space == kbrt::MemorySpace::Generic;
}

} // namespace

std::vector<LoadRound> loadRounds(const kbrt::KernelCounters &counters, bool shared,
                                  double *unrolledIterations) {
  std::vector<LoadRound> rounds;
  if (counters.warps <= 0)
    return rounds;
  std::map<long, Group> groups; // key: log of requests per warp in steps of 5 %
  for (const kbrt::SiteCounters &site : counters.sites) {
    if (!waits(site, shared))
      continue;
    Group &group = groups[std::lround(std::log(site.access.requests / counters.warps) / 0.05)];
    group.sites += 1;
    group.requests += site.access.requests / counters.warps;
    group.wavefronts += site.access.lineWavefronts / counters.warps;
    group.sectors += site.access.sectors;
    group.hits += site.access.l1HitSectors;
    group.registers += std::max(1.0, site.elementBytes / 4.0);
    group.places.insert({site.line, site.column});
  }
  double barriersPerWarp = counters.blockBarriers / counters.warps;
  for (const auto &[key, group] : groups) {
    double iterations = group.requests / group.sites;
    // The source unrolled where a place has several sites; nothing moves over a barrier.
    bool isFenced = barriersPerWarp > 0.5 * iterations;
    bool isUnrolled = group.places.size() < group.sites;
    double unrolling = isFenced || isUnrolled ? 1 : std::clamp(iterations, 1.0, defaultUnrolling);
    double inFlight = std::min(group.sites * unrolling,
                               std::max(1.0, registersInFlight * group.sites / group.registers));
    LoadRound &round = rounds.emplace_back();
    round.perWarp = group.requests / inFlight;
    round.service = group.wavefronts / round.perWarp;
    double missShare = group.sectors > 0 ? 1 - group.hits / group.sectors : 0;
    round.missesL1 = std::min(1.0, missShare * inFlight);
    if (unrolledIterations)
      *unrolledIterations += iterations * (1 - 1 / unrolling);
  }
  return rounds;
}

} // namespace kbopt
