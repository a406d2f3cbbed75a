//===- LaunchStatus.h - how a launch or a plan ended ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the words in which every device says how a launch ended, as they stand
// in results (docs/JobFormat.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_LAUNCHSTATUS_H
#define KBRT_LAUNCHSTATUS_H

#include <cstdint>

namespace kbrt {

enum class LaunchStatus : uint8_t {
  Ok,
  InvalidLaunch,    ///< bad grid, block or shared size; nothing ran
  Fault,            ///< illegal address, misaligned or arithmetic fault, stack overflow
  Trap,             ///< __trap(), unreachable code
  Assert,           ///< assert() failed
  Deadlock,         ///< every thread waits for something that cannot come
  DivergentBarrier, ///< threads wait at different barriers, or a warp operation's mask is not met
  Timeout,          ///< wall limit, or a spin that cannot end
  Unsupported,      ///< a construct that the device names but cannot execute
  OutOfMemory,      ///< an allocation of the plan beyond the limit
  Environment,      ///< the machine's fault, not the plan's: the same job may work elsewhere
};

constexpr const char *toString(LaunchStatus status) {
  switch (status) {
  case LaunchStatus::Ok:
    return "ok";
  case LaunchStatus::InvalidLaunch:
    return "invalid-launch";
  case LaunchStatus::Fault:
    return "fault";
  case LaunchStatus::Trap:
    return "trap";
  case LaunchStatus::Assert:
    return "assert";
  case LaunchStatus::Deadlock:
    return "deadlock";
  case LaunchStatus::DivergentBarrier:
    return "divergent-barrier";
  case LaunchStatus::Timeout:
    return "timeout";
  case LaunchStatus::Unsupported:
    return "unsupported";
  case LaunchStatus::OutOfMemory:
    return "out-of-memory";
  case LaunchStatus::Environment:
    return "environment";
  }
  return "?";
}

} // namespace kbrt

#endif // KBRT_LAUNCHSTATUS_H
