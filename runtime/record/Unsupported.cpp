//===- Unsupported.cpp - Every other call of the CUDA runtime ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a weak function for each name in RuntimeCalls.def, so that a program
// that uses more of CUDA than the recorder has still links, and ends with the
// name of the call. Strong definitions elsewhere in this library win.
//
//===----------------------------------------------------------------------===//
#include "Session.h"

using namespace kbrt;

[[noreturn]] static void refuse(const char *call) {
  DeviceLock lock;
  Session::get().stop(Ending::Unsupported, std::string(call) + " is not supported by the recorder");
}

/// Called in place of a function of another CUDA library (cuBLAS, the driver):
/// kb-opt links such functions to it by name.
extern "C" __attribute__((visibility("default"))) void kbrecord_unsupported(const char *call) {
  refuse(call);
}

#define KB_RUNTIME_CALL(name)                                                                      \
  extern "C" __attribute__((weak, visibility("default"))) cuda::Error name() { refuse(#name); }
#include "RuntimeCalls.def"
