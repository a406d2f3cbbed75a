//===- Registry.h - What the host object registers at start ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_RECORD_REGISTRY_H
#define KBRT_RECORD_REGISTRY_H

#include "Cuda.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kbrt {

struct RegisteredKernel {
  std::string name;                   ///< mangled
  uint64_t maxDynamicSharedBytes = 0; ///< by cudaFuncSetAttribute; 0: the default
};

struct CallConfiguration {
  cuda::Dim grid, block;
  size_t sharedBytes;
  cuda::Stream stream;
};

/// Kernels by the address of their stub and variables by the address of their
/// host shadow. Used under `DeviceLock`.
class Registry {
public:
  static Registry &get();
  std::map<const void *, RegisteredKernel> kernels;
  std::map<const void *, std::string> variables;
  /// `__managed__` variables whose host pointer must still be set.
  std::vector<std::pair<void **, std::string>> managed;
};

} // namespace kbrt

#endif // KBRT_RECORD_REGISTRY_H
