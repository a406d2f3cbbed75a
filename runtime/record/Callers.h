//===- Callers.h - The driver among the callers -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what functions need that the recorder defines in the place of the C library's: the C
// library's own, and telling calls of the driver from those of the program.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_CALLERS_H
#define KBRT_RECORD_CALLERS_H

#include <dlfcn.h>
#include <string_view>

namespace kbrt {

/// The function \p name of the C library, which the recorder's library comes before.
template <typename Function> Function *ownFunction(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

/// Whether \p caller, a return address, lies in the driver. It opens what it likes, starts
/// nvidia-modprobe and waits by the clock; its version is part of what a recording depends on.
inline bool isDriver(const void *caller) {
  Dl_info info;
  if (!dladdr(caller, &info) || !info.dli_fname)
    return false;
  const std::string_view name = info.dli_fname;
  return name.find("/libcuda.so") != name.npos || name.find("/libnvidia-") != name.npos;
}

} // namespace kbrt

#endif // KBRT_RECORD_CALLERS_H
