//===- ErrorCalls.cpp - Error queries and their texts -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Session.h"

using namespace kbrt;
using cuda::Error;

namespace {

struct ErrorText {
  Error error;
  const char *name, *text;
};

/// Every error that the recorder returns, and those that programs compare with.
constexpr ErrorText errors[] = {
    {cuda::success, "cudaSuccess", "no error"},
    {cuda::invalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cuda::memoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {cuda::invalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cuda::invalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cuda::invalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cuda::invalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cuda::invalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cuda::invalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cuda::invalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {209, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cuda::peerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cuda::invalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cuda::illegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cuda::notReady, "cudaErrorNotReady", "device not ready"},
    {cuda::illegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cuda::launchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cuda::launchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cuda::peerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
     "peer access has not been enabled"},
    {cuda::assertFailed, "cudaErrorAssert", "device-side assert triggered"},
    {cuda::hostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cuda::hostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cuda::launchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cuda::notSupported, "cudaErrorNotSupported", "operation not supported"},
    {cuda::captureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cuda::captureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {999, "cudaErrorUnknown", "unknown error"},
};

const ErrorText *find(Error error) {
  for (const ErrorText &entry : errors)
    if (entry.error == error)
      return &entry;
  return nullptr;
}

} // namespace

const char *cuda::errorName(Error error) {
  const ErrorText *entry = find(error);
  return entry ? entry->name : "unrecognized error code";
}

const char *cuda::errorString(Error error) {
  const ErrorText *entry = find(error);
  return entry ? entry->text : "unrecognized error code";
}

KB_API Error cudaGetLastError() {
  DeviceLock lock;
  Error error = Session::lastError;
  // Errors of a broken device stay.
  Session::lastError = Session::get().stickyError;
  return Session::get().stickyError ? Session::get().stickyError : error;
}
KB_API Error cudaPeekAtLastError() {
  DeviceLock lock;
  Error sticky = Session::get().stickyError;
  return sticky ? sticky : Session::lastError;
}
KB_API const char *cudaGetErrorName(Error error) { return cuda::errorName(error); }
KB_API const char *cudaGetErrorString(Error error) { return cuda::errorString(error); }
