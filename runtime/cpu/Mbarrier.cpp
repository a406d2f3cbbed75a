//===- Mbarrier.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Mbarrier.h"
#include "AsyncCopies.h"
#include "Check.h"
#include "Count.h"
#include "Findings.h"
#include "Races.h"
#include "WgmmaMemory.h"
#include "kbrt/MbarrierAbi.h"
#include <map>
#include <vector>

namespace kbrt::mbarrier {

namespace {

constexpr uint64_t barrierBytes = 8;
constexpr int64_t mostCount = (1 << 20) - 1; ///< of threads, and of bytes (PTX ISA, "mbarrier")

struct Copy {
  uint64_t phase, offset, bytes;
};

struct State {
  int64_t expected = 0, pending = 0; ///< arrivals of a phase, and those that it still needs
  int64_t bytes = 0;                 ///< of copies that the phase still waits for
  uint64_t phase = 0;                ///< as many are complete
  uint32_t site = 0;                 ///< where it was initialised
  wgmma::Time initialised;           ///< check mode
  races::PhaseClock clock;           ///< check mode
  std::vector<Copy> copies;          ///< check mode: no thread has waited for them
};

std::map<uint64_t, State> barriers; ///< by offset in shared memory

uint64_t offsetOf(const void *barrier) {
  return reinterpret_cast<uint64_t>(barrier) - reinterpret_cast<uint64_t>(machine.block.shared);
}

bool isChecked() { return machine.info->mode == ImageMode::Check; }

[[noreturn]] void fault(uint32_t site, const std::string &what) {
  machine.stop(LaunchStatus::Fault, what + ", in " + machine.whereAmI(site));
}

/// The barrier at \p place, which must be initialised.
State &barrierAt(uint32_t site, const void *place) {
  machine.lastSite = site;
  if (machine.usesFibers())
    machine.currentFiber().site = site;
  auto found = barriers.find(offsetOf(place));
  if (found == barriers.end())
    fault(site, "an mbarrier that is not initialised");
  return found->second;
}

/// Instructions for the barrier come after its initialisation.
void noteUse(const void *place, uint32_t site) {
  races::onAccess(races::Space::Shared, offsetOf(place), reinterpret_cast<uint64_t>(place),
                  barrierBytes, AccessKind::Load, site);
}

bool isWaiting(uint64_t offset, uint64_t phase, const Fiber &fiber) {
  return machine.states[fiber.thread.linear] == FiberState::AtMbarrier &&
         fiber.mbarrier == offset && fiber.result < phase;
}

/// Begins the next phase if the present one is complete.
void advance(uint64_t offset, State &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  machine.progress();
  ++barrier.phase;
  barrier.pending = barrier.expected;
  if (isChecked())
    races::onPhase(barrier.clock);
  for (uint32_t i = 0; i < machine.block.threads; ++i)
    if (Fiber &fiber = machine.inOrder(i); isWaiting(offset, barrier.phase, fiber))
      machine.wake(fiber);
}

void expect(uint32_t site, State &barrier, int64_t bytes) {
  barrier.bytes += bytes;
  if (barrier.bytes > mostCount || barrier.bytes < -mostCount)
    fault(site, "an mbarrier that counts " + std::to_string(barrier.bytes) +
                    " bytes of copies, more than 2^20 - 1");
}

/// The phase \p phase is complete for the running thread.
void learn(State &barrier, uint64_t phase) {
  if (!isChecked())
    return;
  races::onPhaseWait(barrier.clock, machine.current());
  std::erase_if(barrier.copies, [&](const Copy &copy) {
    if (copy.phase > phase)
      return false;
    async::land(copy.offset, copy.bytes);
    return true;
  });
}

} // namespace

void onBlock() { barriers.clear(); }

void onAccess(uint64_t offset, uint64_t bytes, uint32_t site) {
  if (barriers.empty())
    return;
  auto next = barriers.lower_bound(offset + bytes);
  if (next == barriers.begin() || std::prev(next)->first + barrierBytes <= offset ||
      !findings::isNew(FindingKind::WeakOrder, site, site, Severity::Benign))
    return;
  Finding finding = findings::make(FindingKind::WeakOrder, site);
  finding.severity = Severity::Benign;
  finding.message =
      finding.place.access + " of an mbarrier, which only instructions for it may use";
  findings::add(std::move(finding));
}

void onCopy(void *place, uint64_t offset, uint64_t bytes) {
  State &barrier = barriers.at(offsetOf(place));
  barrier.copies.push_back({barrier.phase, offset, bytes});
  async::begin(offset, bytes);
}

void complete(uint32_t site, void *place, uint64_t bytes) {
  State &barrier = barrierAt(site, place);
  if (isChecked()) {
    noteUse(place, site);
    wgmma::onAsyncUse(barrier.initialised, site);
    races::onPhaseArrival(barrier.clock, machine.current());
  }
  expect(site, barrier, -static_cast<int64_t>(bytes));
  advance(offsetOf(place), barrier);
}

std::string describeWait(const Fiber &fiber) {
  auto found = barriers.find(fiber.mbarrier);
  if (found == barriers.end())
    return "for an mbarrier that is no longer valid";
  const State &barrier = found->second;
  auto count = [](int64_t n, const char *what) {
    return std::to_string(n) + " more " + what + (n == 1 ? "" : "s");
  };
  return "for the mbarrier of " + machine.sitePlace(barrier.site) + ", which needs " +
         count(barrier.pending, "arrival") + " and " + count(barrier.bytes, "byte") +
         " of copies (" + machine.sitePlace(fiber.site) + ")";
}

} // namespace kbrt::mbarrier

using namespace kbrt;
using namespace kbrt::mbarrier;

extern "C" {

void kbrt_mbarrier_init(uint32_t site, void *place, uint32_t count) {
  machine.lastSite = site;
  const uint64_t offset = offsetOf(place);
  if (offset % barrierBytes ||
      offset + barrierBytes > machine.kernel->sharedSpan + machine.block.dynamicSharedBytes)
    fault(site,
          "an mbarrier at byte " + std::to_string(offset) +
              " of shared memory, which the block does not have there or is no multiple of 8");
  if (count < 1 || count > mostCount)
    fault(site, "an mbarrier for " + std::to_string(count) + " arrivals");
  State barrier;
  barrier.expected = barrier.pending = count;
  barrier.site = site;
  barriers.erase(offset);
  if (isChecked()) {
    check::access(site, reinterpret_cast<uint64_t>(place), barrierBytes, AccessKind::Store, true);
    barrier.initialised = wgmma::currentTime();
  }
  barriers.emplace(offset, std::move(barrier));
}

void kbrt_mbarrier_inval(uint32_t site, void *place) {
  barrierAt(site, place);
  barriers.erase(offsetOf(place));
}

uint64_t kbrt_mbarrier_arrive(uint32_t site, void *place, uint32_t count, uint32_t bytes) {
  State &barrier = barrierAt(site, place);
  const uint64_t phase = barrier.phase;
  if (isChecked()) {
    noteUse(place, site);
    races::onPhaseArrival(barrier.clock, machine.current());
  }
  if (machine.isCounting && count)
    count::onBarrier(machine.current());
  expect(site, barrier, bytes);
  barrier.pending -= count;
  if (barrier.pending < 0)
    fault(site, "more threads arrive at the mbarrier of " + machine.sitePlace(barrier.site) +
                    " than the " + std::to_string(barrier.expected) + " of a phase");
  advance(offsetOf(place), barrier);
  return phase;
}

uint32_t kbrt_mbarrier_wait(uint32_t site, void *place, uint64_t phase, uint32_t isParity,
                            uint32_t waits) {
  State *barrier = &barrierAt(site, place);
  if (isChecked())
    noteUse(place, site);
  // A parity names the present phase, or the one before it.
  if (isParity)
    phase = phase % 2 == barrier->phase % 2 ? barrier->phase : barrier->phase - 1;
  if (barrier->phase != phase) {
    if (barrier->phase)
      learn(*barrier, phase);
    return 1;
  }
  if (!waits) {
    machine.yield();
    return 0;
  }
  Fiber &self = machine.currentFiber();
  self.mbarrier = offsetOf(place);
  self.result = phase;
  machine.sleep(FiberState::AtMbarrier);
  barrier = &barrierAt(site, place);
  learn(*barrier, phase);
  return 1;
}
}
