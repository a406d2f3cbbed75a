//===- LibraryCalls.cpp - Handles of CUDA's libraries ------------------------===//
//
// Owns the calls by which programs open and set up cuBLAS, so that one that
// opens it and launches its own kernels can be recorded. What the library
// computes is no kernel of the program: those calls are refused by name when
// the program is linked (Source) and reached.
//
//===----------------------------------------------------------------------===//
#include "Cuda.h"

namespace {

/// CUBLAS_STATUS_SUCCESS and CUBLAS_STATUS_INVALID_VALUE.
enum BlasStatus : int { blasSuccess = 0, blasInvalidValue = 7 };

BlasStatus open(void **handle) {
  static int library;
  if (!handle)
    return blasInvalidValue;
  *handle = &library;
  return blasSuccess;
}

} // namespace

KB_API BlasStatus cublasCreate_v2(void **handle) { return open(handle); }
KB_API BlasStatus cublasDestroy_v2(void *) { return blasSuccess; }
KB_API BlasStatus cublasLtCreate(void **handle) { return open(handle); }
KB_API BlasStatus cublasLtDestroy(void *) { return blasSuccess; }
KB_API BlasStatus cublasSetMathMode(void *, int) { return blasSuccess; }
KB_API BlasStatus cublasSetStream_v2(void *, void *) { return blasSuccess; }
KB_API BlasStatus cublasSetWorkspace_v2(void *, void *, size_t) { return blasSuccess; }
KB_API BlasStatus cublasSetPointerMode_v2(void *, int) { return blasSuccess; }
