//===- CallTables.cpp - What replies may call -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CallTables.h"
#include "kb-opt/Rewrite/Assisted/EditRules.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

/// A name, or with a star all that begin so.
struct HostCall {
  StringRef pattern;
  StringRef allowance; ///< empty: always
};

bool matches(StringRef pattern, StringRef name) {
  return pattern.consume_back("*") ? name.starts_with(pattern) : name == pattern;
}

constexpr HostCall hostCalls[] = {
    {"__cudaPushCallConfiguration", ""},
    {"cudaConfigureCall", ""},
    {"cudaDeviceGetAttribute", ""},
    {"cudaGetDevice", ""},
    {"cudaGetLastError", ""},
    {"cudaLaunchKernel", ""},
    {"cudaLaunchKernelEx", ""},
    {"cudaLaunchKernelExC", ""},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", ""},
    {"cudaOccupancyMaxPotentialBlockSize", ""},
    {"cudaPeekAtLastError", ""},
    {"abs", ""},
    {"ceil", ""},
    {"ceilf", ""},
    {"exp2", ""},
    {"floor", ""},
    {"floorf", ""},
    {"log2", ""},
    {"log2f", ""},
    {"max", ""},
    {"min", ""},
    {"pow", ""},
    {"sqrt", ""},
    {"sqrtf", ""},
    {"swap", ""},
    {"cudaFree", "allocations"},
    {"cudaFreeAsync", "allocations"},
    {"cudaMalloc", "allocations"},
    {"cudaMallocAsync", "allocations"},
    {"cudaMemset", "allocations"},
    {"cudaMemsetAsync", "allocations"},
    {"cudaGetSymbolAddress", "constant-memory"},
    {"cudaMemcpyToSymbol", "constant-memory"},
    {"cudaMemcpyToSymbolAsync", "constant-memory"},
    {"cudaLaunchCooperativeKernel", "cooperative-launch"},
    {"cudaFuncSetAttribute", "function-attributes"},
    {"cudaFuncSetCacheConfig", "function-attributes"},
    {"cudaFuncGetAttributes", "function-attributes"},
    {"cudaGraph*", "graphs"},
    {"cudaStreamBeginCapture", "graphs"},
    {"cudaStreamEndCapture", "graphs"},
    {"cudaFreeHost", "host-transfers"},
    {"cudaHostAlloc", "host-transfers"},
    {"cudaHostRegister", "host-transfers"},
    {"cudaHostUnregister", "host-transfers"},
    {"cudaMallocHost", "host-transfers"},
    {"cudaMemcpy*", "host-transfers"},
    {"cudaCtxResetPersistingL2Cache", "l2-policy"},
    {"cudaDeviceSetLimit", "l2-policy"},
    {"cudaStreamGetAttribute", "l2-policy"},
    {"cudaStreamSetAttribute", "l2-policy"},
    {"cudaEvent*", "streams"},
    {"cudaStreamCreate*", "streams"},
    {"cudaStreamDestroy", "streams"},
    {"cudaStreamSynchronize", "streams"},
    {"cudaStreamWaitEvent", "streams"},
    {"cuTensorMapEncode*", "tensor-maps"},
    {"cudaGetDriverEntryPoint*", "tensor-maps"},
    {"cudaCreateChannelDesc", "textures"},
    {"cudaCreateTextureObject", "textures"},
    {"cudaDestroyTextureObject", "textures"},
};

/// What device code may not call, and what it would do.
struct DeviceCall {
  StringRef pattern, does;
};

constexpr DeviceCall deviceCalls[] = {
    {"__assert_fail", "stops the program"},
    {"__assertfail", "stops the program"},
    {"__brkpt", "stops the program"},
    {"__builtin_*", "is a builtin of one compiler"},
    {"__globaltimer", "reads a clock"},
    {"__nanosleep", "waits"},
    {"__nv_*", "is internal to a compiler"},
    {"__nvvm_*", "is a builtin of one compiler"},
    {"__pm*", "counts for a profiler"},
    {"__prof_trigger", "counts for a profiler"},
    {"__trap", "stops the program"},
    {"_exit", "stops the program"},
    {"abort", "stops the program"},
    {"alloca", "allocates memory"},
    {"assert", "stops the program"},
    {"clock", "reads a clock"},
    {"clock64", "reads a clock"},
    {"cuda*", "is a call of the runtime"},
    {"exit", "stops the program"},
    {"fprintf", "prints"},
    {"free", "frees memory"},
    {"globaltimer", "reads a clock"},
    {"malloc", "allocates memory"},
    {"operator delete", "frees memory"},
    {"operator new", "allocates memory"},
    {"printf", "prints"},
    {"putchar", "prints"},
    {"puts", "prints"},
    {"vprintf", "prints"},
};

constexpr StringRef deviceExceptions[] = {
    "__builtin_assume",
    "__builtin_assume_aligned",
    "__builtin_expect",
    "cudaGridDependencySynchronize",
    "cudaTriggerProgrammaticLaunchCompletion",
};

/// A word, or with a star all that begin so, and the library behind it.
struct LibraryWord {
  StringRef pattern, library;
};

constexpr LibraryWord libraryWords[] = {
    {"cub", "CUB"},           {"cublas*", "cuBLAS"},     {"CUBLAS_*", "cuBLAS"},
    {"cudnn*", "cuDNN"},      {"CUDNN_*", "cuDNN"},      {"cufft*", "cuFFT"},
    {"curand*", "cuRAND"},    {"cusolver*", "cuSOLVER"}, {"cusparse*", "cuSPARSE"},
    {"cute", "CuTe"},         {"cutlass", "CUTLASS"},    {"nccl*", "NCCL"},
    {"nvrtc*", "NVRTC"},      {"thrust", "Thrust"},      {"torch", "PyTorch"},
    {"dlopen", "the loader"}, {"dlsym", "the loader"},
};

} // namespace

bool kbopt::hostMayCall(StringRef name, llvm::ArrayRef<StringRef> allow) {
  return llvm::any_of(hostCalls, [&](const HostCall &call) {
    return matches(call.pattern, name) &&
           (call.allowance.empty() || llvm::is_contained(allow, call.allowance));
  });
}

StringRef kbopt::allowanceForCall(StringRef name) {
  for (const HostCall &call : hostCalls)
    if (matches(call.pattern, name))
      return call.allowance;
  return "";
}

std::optional<StringRef> kbopt::whyDeviceMayNotCall(StringRef name) {
  if (llvm::is_contained(deviceExceptions, name))
    return std::nullopt;
  for (const DeviceCall &call : deviceCalls)
    if (matches(call.pattern, name))
      return call.does;
  return std::nullopt;
}

StringRef kbopt::libraryOf(StringRef word) {
  for (const LibraryWord &each : libraryWords)
    if (matches(each.pattern, word))
      return each.library;
  return "";
}

llvm::ArrayRef<StringRef> kbopt::allowedIncludes() {
  static constexpr StringRef headers[] = {
      "cfloat",
      "climits",
      "cooperative_groups.h",
      "cooperative_groups/memcpy_async.h",
      "cooperative_groups/reduce.h",
      "cooperative_groups/scan.h",
      "cstdint",
      "cuda/barrier",
      "cuda/pipeline",
      "cuda_bf16.h",
      "cuda_fp16.h",
      "cuda_fp8.h",
      "cuda_pipeline.h",
      "math_constants.h",
      "mma.h",
      "stdint.h",
      "vector_types.h",
  };
  return headers;
}
