//===- Parallel.h - The loop over threads, for this library -----*- C++ -*-===//
#include "kb-opt/Support/Parallel.h" // IWYU pragma: export
