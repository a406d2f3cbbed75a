//===- RepeatedLaunches.h - Launches that change nothing --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the proof that a launch may be left out: programs that time themselves
// launch the same kernel hundreds of times, and from the second time on most
// of these launches write what is there already. Executing a deterministic
// kernel on memory that it left unchanged the last time changes nothing again.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_REPEATEDLAUNCHES_H
#define KBRT_REPEATEDLAUNCHES_H

#include "kbrt/Dim3.h"
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace kbrt {

/// Everything that a launch depends on beside memory.
struct LaunchKey {
  std::string kernel;
  Dim3 grid, block;
  uint64_t sharedBytes = 0;
  std::vector<uint8_t> arguments; ///< the bytes of all arguments

  std::string text() const;
};

/// Relies on DeviceMemory being told of every host write. Callers hold DeviceLock.
class RepeatedLaunches {
public:
  /// Whether the launch would leave memory as it is, because it did so before
  /// and memory has not changed since.
  bool changesNothing(const LaunchKey &key) const;
  /// Before and after a launch that is executed. \p repeatable is false for a
  /// launch with an effect beside memory (it printed, trapped, ...).
  void before(const LaunchKey &key);
  void after(const LaunchKey &key, bool repeatable);

private:
  struct Known {
    uint64_t fixpoint = ~uint64_t(0); ///< DeviceMemory's generation when it changed nothing
    /// Executions so far, and the one at which to look next whether it changes nothing.
    uint64_t executions = 0, nextLook = 1;
  };
  std::unordered_map<std::string, Known> launches;
  bool hashing = false;
  uint64_t digestBefore = 0;
};

/// A 64-bit hash of \p bytes bytes, as fast as memory; to notice a change.
uint64_t contentHash(const void *data, uint64_t bytes);
/// A 64-bit hash of all live device memory, for finding out whether it changed.
uint64_t digestOfDeviceMemory();

} // namespace kbrt
#endif
