//===- HostClock.cpp - The time of day that programs see --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the functions that tell the time of day, and std::random_device, defined once more: programs
// seed their generators from them before they use the device, and each run is to have the numbers
// of the one before. Until the first launch the time of day stands still between two questions and
// goes on by a millisecond at each, so that what a program waits for comes. From then on it goes on
// as time does: what programs print of it differs from run to run, and is known to. Clocks that
// only measure (CLOCK_MONOTONIC) go as ever.
//
//===----------------------------------------------------------------------===//
#include "HostClock.h"
#include "Callers.h"
#include "Cuda.h"
#include "Settings.h"

#include <atomic>
#include <sys/time.h>
#include <time.h>

namespace {

constexpr int64_t nanosecondsOfSecond = 1'000'000'000;

std::atomic<int64_t> passed = 0;   ///< nanoseconds that questions before the first launch took
std::atomic<int64_t> goesOnAt = 0; ///< of CLOCK_MONOTONIC; 0: before the first launch

int ownTime(clockid_t clock, timespec *into) {
  static auto *own = kbrt::ownFunction<int(clockid_t, timespec *)>("clock_gettime");
  return own(clock, into);
}

int64_t monotonic() {
  timespec now = {};
  ownTime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * nanosecondsOfSecond + now.tv_nsec;
}

timespec nextTime() {
  constexpr int64_t start = 1'767'225'600;        // 2026-01-01, 00:00 UTC, in seconds
  constexpr int64_t otherStart = start + 1234567; // where other random numbers are asked for
  constexpr int64_t step = 1'000'000;             // nanoseconds
  const bool isOther = kbrt::givesOtherNumbers();
  const int64_t from = goesOnAt.load();
  const int64_t now = from ? passed.load() + monotonic() - from : passed.fetch_add(step);
  return {(isOther ? otherStart : start) + now / nanosecondsOfSecond, now % nanosecondsOfSecond};
}

} // namespace

void kbrt::hostClockGoesOn() {
  int64_t never = 0;
  if (!goesOnAt.load(std::memory_order_relaxed))
    goesOnAt.compare_exchange_strong(never, monotonic());
}

KB_API int clock_gettime(clockid_t clock, timespec *into) noexcept {
  const bool isTimeOfDay = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (!isTimeOfDay || kbrt::isDriver(__builtin_return_address(0)))
    return ownTime(clock, into);
  *into = nextTime();
  return 0;
}

KB_API int gettimeofday(timeval *into, void *zone) noexcept {
  static auto *own = kbrt::ownFunction<int(timeval *, void *)>("gettimeofday");
  if (kbrt::isDriver(__builtin_return_address(0)))
    return own(into, zone);
  const timespec now = nextTime();
  *into = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

KB_API time_t time(time_t *into) noexcept {
  static auto *own = kbrt::ownFunction<time_t(time_t *)>("time");
  if (kbrt::isDriver(__builtin_return_address(0)))
    return own(into);
  const time_t now = nextTime().tv_sec;
  if (into)
    *into = now;
  return now;
}

/// `std::random_device::operator()` of libstdc++, in whose place programs are linked with it
/// (lib/Source/CodeEmission.cpp): the recorder's own libstdc++ hides the name.
KB_API unsigned __wrap__ZNSt13random_device9_M_getvalEv(void *) {
  const bool isOther = kbrt::givesOtherNumbers();
  static std::atomic<uint64_t> asked = 0;
  // SplitMix64 (Steele, Lea and Flood, 2014).
  uint64_t state = (asked.fetch_add(1, std::memory_order_relaxed) + (isOther ? 1'000'003 : 1)) *
                   0x9e3779b97f4a7c15;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return static_cast<unsigned>(state >> 32);
}
