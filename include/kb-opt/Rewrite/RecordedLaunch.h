//===- RecordedLaunch.h - What a workload passes to a kernel ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sizes with which a workload launched a kernel. Estimates may rest on them,
// legality never.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_RECORDEDLAUNCH_H
#define KBOPT_REWRITE_RECORDEDLAUNCH_H

#include "llvm/ADT/StringMap.h"
#include <array>
#include <functional>
#include <string>
#include <vector>

namespace kbopt {

namespace kb {
class NestOp;
} // namespace kb

/// One launch of a run; of several launches of a kernel the one with most threads.
struct RecordedLaunch {
  std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  /// The bytes of each argument, as the ABI lays them out.
  std::vector<std::string> arguments;
};

/// The launch of the kernel with that mangled name; null if the run has none or nothing was
/// recorded.
using RecordedLaunches = std::function<const RecordedLaunch *(llvm::StringRef mangledName)>;

/// The `LaunchSizes` of Schedule/Sketch.h: values of the parameters that \p nest names, and of bdim
/// and gdim, in \p launch.
llvm::StringMap<int64_t> launchSizes(kb::NestOp nest, const RecordedLaunch &launch);

} // namespace kbopt

#endif // KBOPT_REWRITE_RECORDEDLAUNCH_H
