//===- Registry.cpp - Calls that the compiler puts into the host object ----===//
// SPDX-License-Identifier: Apache-2.0
#include "Registry.h"
#include "Session.h"

using namespace kbrt;

Registry &Registry::get() {
  static Registry *registry = new Registry;
  return *registry;
}

/// Filled by `<<<>>>`, taken by the stub. Per thread and nested at most by
/// arguments that launch themselves.
static thread_local std::vector<CallConfiguration> configurations;

KB_API void **__cudaRegisterFatBinary(void *) {
  static void *handle;
  return &handle;
}
KB_API void __cudaRegisterFatBinaryEnd(void **) {}
KB_API void __cudaUnregisterFatBinary(void **) {}

KB_API char __cudaInitModule(void **) {
  DeviceLock lock;
  Registry &registry = Registry::get();
  if (registry.managed.empty())
    return 1;
  Session &session = Session::get();
  session.loadImage();
  for (auto &[pointer, name] : registry.managed)
    if (Allocation *symbol = session.allocations.symbol(name))
      *pointer = symbol->data();
  registry.managed.clear();
  return 1;
}

KB_API void __cudaRegisterFunction(void **, const char *stub, char *, const char *name, int, void *,
                                   void *, void *, void *, int *) {
  DeviceLock lock;
  Registry::get().kernels[stub].name = name;
}

KB_API void __cudaRegisterVar(void **, char *shadow, char *, const char *name, int, size_t, int,
                              int) {
  DeviceLock lock;
  Registry::get().variables[shadow] = name;
}

KB_API void __cudaRegisterManagedVar(void **, void **pointer, char *, const char *name, int, size_t,
                                     int, int) {
  DeviceLock lock;
  Registry::get().variables[pointer] = name;
  Registry::get().managed.push_back({pointer, name});
}

KB_API unsigned __cudaPushCallConfiguration(cuda::Dim grid, cuda::Dim block, size_t sharedBytes,
                                            cuda::Stream stream) {
  configurations.push_back({grid, block, sharedBytes, stream});
  return 0;
}

KB_API cuda::Error __cudaPopCallConfiguration(cuda::Dim *grid, cuda::Dim *block,
                                              size_t *sharedBytes, cuda::Stream *stream) {
  if (configurations.empty())
    return cuda::invalidConfiguration;
  CallConfiguration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *sharedBytes = last.sharedBytes;
  *stream = last.stream;
  return cuda::success;
}
