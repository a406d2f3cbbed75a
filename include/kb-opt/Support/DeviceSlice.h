//===- DeviceSlice.h - What a device-only compiler needs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record that carries the device part of a translation unit from the
// library that knows its AST to the one that compiles it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_DEVICESLICE_H
#define KBOPT_SUPPORT_DEVICESLICE_H

#include "kb-opt/Support/Digest.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

/// Self-contained source for NVRTC: every header that it includes and that NVRTC does not
/// bring itself stands in `headers`.
struct DeviceSlice {
  /// The file with everything blanked out that kernels do not reach; lines stay where they were.
  std::string text;
  std::map<std::string, std::string> headers; ///< by the name in #include
  std::vector<std::string> instances; ///< instantiated kernels as C++ names them: "k<float, 4>"
  std::vector<std::string> options;   ///< in NVRTC's dialect, without the architecture
  /// Digest of the whole file that it was cut from: a slice of another program is none.
  Digest of;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_DEVICESLICE_H
