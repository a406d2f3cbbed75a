//===- Kernels.h - kernels of the fake driver --------------------*- C++ -*-===//
//
// Owns what the fake driver's kernels do: those of test/cuda/Inputs/kernels.cu,
// and kb-run's own (runtime/cuda/HelperPtx.cpp), as functions of the host.
//
//===----------------------------------------------------------------------===//
#ifndef KBFAKE_KERNELS_H
#define KBFAKE_KERNELS_H

#include <string>

namespace fake {

struct Launch {
  unsigned blocks, threads;
  void **arguments;
  template <typename T> T get(int i) const { return *static_cast<T *>(arguments[i]); }
};

enum class Ending { Done, Illegal, Trap, Assert, Endless };

struct Kernel {
  const char *name;
  double microseconds;
  Ending (*run)(const Launch &);
};

/// Null if there is no such kernel.
const Kernel *findKernel(const std::string &name);

} // namespace fake
#endif
