//===- Cuda.h - The CUDA runtime's binary interface, as far as needed -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the numbers and layouts that the toolkit's headers put into programs
// (CUDA 12 and 13). No toolkit header is included, so that one library serves
// programs built with either.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_CUDA_H
#define KBRT_RECORD_CUDA_H

#include <cstddef>
#include <cstdint>

/// A function that the program links against.
#define KB_API extern "C" __attribute__((visibility("default")))
/// The same function under the name that per-thread default streams give it.
#define KB_PER_THREAD(name, suffix)                                                                \
  extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) name##suffix;

namespace kbrt::cuda {

/// cudaError_t.
using Error = int;
enum : Error {
  success = 0,
  invalidValue = 1,
  memoryAllocation = 2,
  invalidConfiguration = 9,
  invalidPitchValue = 12,
  invalidSymbol = 13,
  invalidDevicePointer = 17,
  invalidMemcpyDirection = 21,
  invalidDeviceFunction = 98,
  invalidDevice = 101,
  peerAccessUnsupported = 217,
  invalidResourceHandle = 400,
  illegalState = 401,
  notReady = 600,
  illegalAddress = 700,
  launchOutOfResources = 701,
  launchTimeout = 702,
  peerAccessNotEnabled = 705,
  assertFailed = 710,
  hostMemoryAlreadyRegistered = 712,
  hostMemoryNotRegistered = 713,
  launchFailure = 719,
  notSupported = 801,
  captureUnsupported = 900,
  captureImplicit = 906,
};

const char *errorName(Error error);   ///< "cudaErrorInvalidValue"
const char *errorString(Error error); ///< "invalid argument"

/// cudaMemcpyKind.
enum class CopyKind : int { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, Default };

using Stream = void *;
using Event = void *;

struct Dim {
  unsigned x, y, z;
};

/// cudaLaunchAttribute: an id and a union of 64 bytes.
struct LaunchAttribute {
  int id;
  int padding;
  union {
    int cooperative;
    Dim clusterDim;
    char bytes[64];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// cudaLaunchConfig_t.
struct LaunchConfig {
  Dim grid, block;
  size_t sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

/// The part of cudaFuncAttributes that is filled in; the rest is zero.
struct FunctionAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
  int maxDynamicSharedSizeBytes, preferredShmemCarveout;
  char rest[92];
};
static_assert(sizeof(FunctionAttributes) == 144);

/// The part of cudaPointerAttributes that CUDA 12 and 13 share.
struct PointerAttributes {
  int type, device;
  void *devicePointer, *hostPointer;
};
static_assert(sizeof(PointerAttributes) == 24);

/// Limits that every chip since compute capability 7.0 has.
inline constexpr unsigned maxThreadsPerBlock = 1024, maxBlockZ = 64, maxGridYZ = 65535;
inline constexpr unsigned maxGridX = 0x7fffffff;
inline constexpr uint64_t sharedBytesPerBlock = 48 << 10;

} // namespace kbrt::cuda

#endif // KBRT_RECORD_CUDA_H
