//===- LibraryCalls.cpp - cuBLAS, as far as the recorder has it --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the calls by which programs open and set up cuBLAS, and its products in
// f32, which become steps of the plan. Whatever else the library computes is
// refused by name when it is reached: it is no kernel of the program.
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "Streams.h"

#include <cmath>

using namespace kbrt;

namespace {

/// cublasStatus_t.
enum BlasStatus : int { blasSuccess = 0, blasNotInitialized = 1, blasInvalidValue = 7 };

struct Handle {
  cuda::Stream stream = nullptr;
};

BlasStatus open(Handle **handle) {
  if (!handle)
    return blasInvalidValue;
  *handle = new Handle;
  return blasSuccess;
}

BlasStatus close(Handle *handle) {
  delete handle;
  return handle ? blasSuccess : blasNotInitialized;
}

/// cublasOperation_t; conjugating a real matrix is transposing it.
enum Operation : int { plain, transposed, conjugated };

struct Side {
  const float *at;
  int leading;
  long long stride;
};

struct Product {
  const char *call;
  Operation onA, onB;
  int m, n, k, batch;
  const float *alpha, *beta;
  Side a, b, c;
};

/// Fills \p operand but for its place; false if it cannot be a matrix.
bool shapeOf(const Side &side, Operation operation, MatmulOperand &operand) {
  if (side.leading < 1 || side.stride < 0 || operation < plain || operation > conjugated)
    return false;
  operand.leading = static_cast<uint64_t>(side.leading);
  operand.stride = static_cast<uint64_t>(side.stride);
  operand.transposed = operation != plain;
  return true;
}

std::string textOf(const Product &product, const char *what) {
  return std::string(product.call) + ": " + what + " of " + std::to_string(product.m) + " x " +
         std::to_string(product.n) + " x " + std::to_string(product.k) + ", " +
         std::to_string(product.batch) + " times";
}

/// Finds the operand's place; a matrix that reaches beyond its allocation is a
/// fault, as it would be on a GPU.
bool place(Session &session, const Product &product, const MatmulStep &step, const char *name,
           const Side &side, MatmulOperand &operand) {
  auto extent = step.extentOf(operand);
  auto region = extent ? session.allocations.region(side.at, *extent, 1, *extent) : std::nullopt;
  if (!region) {
    session.fault(cuda::illegalAddress,
                  textOf(product, name) + " does not lie inside one allocation of device memory");
    return false;
  }
  operand.at = region->at;
  return true;
}

BlasStatus record(Session &session, Handle *handle, const Product &product) {
  if (!handle)
    return blasNotInitialized;
  auto stream = Streams::get().find(handle->stream);
  MatmulStep step;
  if (product.m < 0 || product.n < 0 || product.k < 0 || product.batch < 0 || !product.alpha ||
      !product.beta || !stream || !shapeOf(product.a, product.onA, step.a) ||
      !shapeOf(product.b, product.onB, step.b) || !shapeOf(product.c, plain, step.c))
    return blasInvalidValue;
  if (session.allocations.isDevice(product.alpha) || session.allocations.isDevice(product.beta) ||
      !std::isfinite(*product.alpha) || !std::isfinite(*product.beta))
    session.stop(Ending::Unsupported, std::string(product.call) +
                                          " with factors in device memory or without a finite "
                                          "value is not supported by the recorder");
  step.m = static_cast<uint32_t>(product.m);
  step.n = static_cast<uint32_t>(product.n);
  step.k = static_cast<uint32_t>(product.k);
  step.batch = static_cast<uint32_t>(product.batch);
  step.alpha = *product.alpha;
  step.beta = *product.beta;
  step.stream = *stream;
  for (const MatmulOperand *operand : {&step.a, &step.b, &step.c})
    if (!step.extentOf(*operand)) // a column is longer than the leading dimension
      return blasInvalidValue;
  if (!step.m || !step.n || !step.batch)
    return blasSuccess;
  session.allocations.flushHostWrites();
  if (!place(session, product, step, "A", product.a, step.a) ||
      !place(session, product, step, "B", product.b, step.b) ||
      !place(session, product, step, "C", product.c, step.c))
    return blasSuccess; // the fault sticks and is reported
  session.sequence.add(step);
  // Simulated time: a launch, and ten products of elements per picosecond.
  session.deviceNanoseconds +=
      3000 + uint64_t{step.batch} * step.m * step.n * uint64_t{step.k} / 10000;
  if (session.sequence.executing())
    session.backend->multiply(step,
                              {product.a.at, product.b.at, const_cast<float *>(product.c.at)});
  session.allocations.deviceWrote({reinterpret_cast<uint64_t>(product.c.at)});
  return blasSuccess;
}

BlasStatus multiply(Handle *handle, const Product &product) {
  BlasStatus status = blasSuccess;
  apiCall(product.call, [&](Session &session) {
    status = record(session, handle, product);
    return cuda::success;
  });
  return status;
}

} // namespace

KB_API BlasStatus cublasCreate_v2(Handle **handle) { return open(handle); }
KB_API BlasStatus cublasDestroy_v2(Handle *handle) { return close(handle); }
KB_API BlasStatus cublasLtCreate(Handle **handle) { return open(handle); }
KB_API BlasStatus cublasLtDestroy(Handle *handle) { return close(handle); }
KB_API BlasStatus cublasSetMathMode(Handle *, int) { return blasSuccess; }
KB_API BlasStatus cublasSetWorkspace_v2(Handle *, void *, size_t) { return blasSuccess; }
KB_API BlasStatus cublasSetPointerMode_v2(Handle *, int) { return blasSuccess; }
KB_API BlasStatus cublasSetStream_v2(Handle *handle, cuda::Stream stream) {
  if (!handle)
    return blasNotInitialized;
  handle->stream = stream;
  return blasSuccess;
}

KB_API BlasStatus cublasSgemm_v2(Handle *handle, Operation onA, Operation onB, int m, int n, int k,
                                 const float *alpha, const float *a, int leadingA, const float *b,
                                 int leadingB, const float *beta, float *c, int leadingC) {
  return multiply(handle, {"cublasSgemm",
                           onA,
                           onB,
                           m,
                           n,
                           k,
                           1,
                           alpha,
                           beta,
                           {a, leadingA, 0},
                           {b, leadingB, 0},
                           {c, leadingC, 0}});
}

KB_API BlasStatus cublasSgemmStridedBatched(Handle *handle, Operation onA, Operation onB, int m,
                                            int n, int k, const float *alpha, const float *a,
                                            int leadingA, long long strideA, const float *b,
                                            int leadingB, long long strideB, const float *beta,
                                            float *c, int leadingC, long long strideC, int batch) {
  return multiply(handle, {"cublasSgemmStridedBatched",
                           onA,
                           onB,
                           m,
                           n,
                           k,
                           batch,
                           alpha,
                           beta,
                           {a, leadingA, strideA},
                           {b, leadingB, strideB},
                           {c, leadingC, strideC}});
}
