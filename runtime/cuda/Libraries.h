//===- Libraries.h - NVIDIA's libraries, found at run time -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tables of functions of the driver, NVML and NVRTC, filled by dlopen
// (CUPTI's is in Cupti.h): a program that links this runs on machines without
// any of them. The toolkit's headers give the types; NVML, whose header comes
// with few toolkits, is declared here as far as it is used.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_LIBRARIES_H
#define KBRT_CUDA_LIBRARIES_H

#include "kbrt/CudaDevice.h"
#include <cuda.h>
#include <nvrtc.h>
#include <string>

namespace kbrt::cuda {

/// Functions that every driver since CUDA 12.0 has.
#define KBRT_DRIVER_FUNCTIONS(F)                                                                   \
  F(cuInit)                                                                                        \
  F(cuDriverGetVersion)                                                                            \
  F(cuDeviceGetCount)                                                                              \
  F(cuDeviceGet)                                                                                   \
  F(cuDeviceGetName)                                                                               \
  F(cuDeviceGetAttribute)                                                                          \
  F(cuDeviceTotalMem)                                                                              \
  F(cuDeviceGetPCIBusId)                                                                           \
  F(cuDevicePrimaryCtxRetain)                                                                      \
  F(cuDevicePrimaryCtxRelease)                                                                     \
  F(cuCtxSetCurrent)                                                                               \
  F(cuCtxSynchronize)                                                                              \
  F(cuCtxResetPersistingL2Cache)                                                                   \
  F(cuGetErrorName)                                                                                \
  F(cuGetErrorString)                                                                              \
  F(cuMemGetInfo)                                                                                  \
  F(cuMemAlloc)                                                                                    \
  F(cuMemFree)                                                                                     \
  F(cuMemHostAlloc)                                                                                \
  F(cuMemFreeHost)                                                                                 \
  F(cuMemHostGetDevicePointer)                                                                     \
  F(cuMemcpyHtoD)                                                                                  \
  F(cuMemcpyDtoH)                                                                                  \
  F(cuMemcpyHtoDAsync)                                                                             \
  F(cuMemcpyDtoDAsync)                                                                             \
  F(cuMemcpyDtoHAsync)                                                                             \
  F(cuMemcpy2DAsync)                                                                               \
  F(cuMemsetD8Async)                                                                               \
  F(cuMemsetD2D8Async)                                                                             \
  F(cuModuleLoadData)                                                                              \
  F(cuModuleLoadDataEx)                                                                            \
  F(cuModuleUnload)                                                                                \
  F(cuModuleGetFunction)                                                                           \
  F(cuModuleGetGlobal)                                                                             \
  F(cuFuncGetAttribute)                                                                            \
  F(cuFuncSetAttribute)                                                                            \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                   \
  F(cuLaunchKernel)                                                                                \
  F(cuStreamCreate)                                                                                \
  F(cuStreamDestroy)                                                                               \
  F(cuStreamQuery)                                                                                 \
  F(cuStreamSynchronize)                                                                           \
  F(cuStreamBeginCapture)                                                                          \
  F(cuStreamEndCapture)                                                                            \
  F(cuGraphInstantiate)                                                                            \
  F(cuGraphLaunch)                                                                                 \
  F(cuGraphExecDestroy)                                                                            \
  F(cuGraphDestroy)                                                                                \
  F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventQuery) F(cuEventElapsedTime)

/// Functions that a driver may lack: null then.
#define KBRT_DRIVER_OPTIONAL(F)                                                                    \
  F(cuFuncGetParamInfo)                                                                            \
  F(cuCtxSetLimit)                                                                                 \
  F(cuMemGetAllocationGranularity)                                                                 \
  F(cuMemAddressReserve)                                                                           \
  F(cuMemAddressFree)                                                                              \
  F(cuMemExportToShareableHandle)                                                                  \
  F(cuMemImportFromShareableHandle)                                                                \
  F(cuMemCreate)                                                                                   \
  F(cuMemRelease)                                                                                  \
  F(cuMemMap) F(cuMemUnmap) F(cuMemSetAccess) F(cuMemHostRegister) F(cuMemHostUnregister)

struct Driver {
#define KBRT_MEMBER(NAME) decltype(&::NAME) NAME = nullptr;
  KBRT_DRIVER_FUNCTIONS(KBRT_MEMBER)
  KBRT_DRIVER_OPTIONAL(KBRT_MEMBER)
#undef KBRT_MEMBER
  /// Loads libcuda.so.1, once per process; null and \p problem if it cannot.
  static const Driver *get(Problem &problem);
};

/// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
std::string describe(const Driver &driver, CUresult code);
/// What \p code means for the plan that runs, or for the machine.
LaunchStatus statusOf(CUresult code);
/// The next step after \p code; may be empty.
std::string adviceFor(CUresult code);

/// The part of NVML that is used; its handles are opaque and its enumerations integers.
struct Nvml {
  using Device = void *;
  struct Utilization {
    unsigned gpu, memory;
  };
  /// nvmlProcessInfo_t of the functions with suffix _v3.
  struct Process {
    unsigned pid;
    unsigned long long usedBytes;
    unsigned gpuInstance, computeInstance;
  };
  int (*nvmlInit_v2)() = nullptr;
  int (*nvmlDeviceGetHandleByPciBusId_v2)(const char *, Device *) = nullptr;
  int (*nvmlSystemGetDriverVersion)(char *, unsigned) = nullptr;
  int (*nvmlDeviceGetUUID)(Device, char *, unsigned) = nullptr;
  int (*nvmlDeviceGetClockInfo)(Device, int type, unsigned *mhz) = nullptr;
  int (*nvmlDeviceGetMaxClockInfo)(Device, int type, unsigned *mhz) = nullptr;
  int (*nvmlDeviceGetTemperature)(Device, int sensor, unsigned *celsius) = nullptr;
  int (*nvmlDeviceGetPowerUsage)(Device, unsigned *milliwatts) = nullptr;
  int (*nvmlDeviceGetUtilizationRates)(Device, Utilization *) = nullptr;
  int (*nvmlDeviceGetComputeRunningProcesses_v3)(Device, unsigned *count, Process *) = nullptr;
  int (*nvmlDeviceGetTotalEccErrors)(Device, int type, int counter, unsigned long long *) = nullptr;
  int (*nvmlDeviceGetCurrentClocksEventReasons)(Device, unsigned long long *) = nullptr;
  /// Loads libnvidia-ml.so.1, once per process; null if it is not there. Members may be null.
  static const Nvml *get();
};

#define KBRT_NVRTC_FUNCTIONS(F)                                                                    \
  F(nvrtcVersion)                                                                                  \
  F(nvrtcCreateProgram)                                                                            \
  F(nvrtcDestroyProgram)                                                                           \
  F(nvrtcCompileProgram)                                                                           \
  F(nvrtcGetCUBINSize)                                                                             \
  F(nvrtcGetCUBIN)                                                                                 \
  F(nvrtcGetProgramLogSize)                                                                        \
  F(nvrtcGetProgramLog)                                                                            \
  F(nvrtcGetErrorString) F(nvrtcGetPTXSize) F(nvrtcGetPTX) F(nvrtcAddNameExpression)

struct Nvrtc {
#define KBRT_MEMBER(NAME) decltype(&::NAME) NAME = nullptr;
  KBRT_NVRTC_FUNCTIONS(KBRT_MEMBER)
#undef KBRT_MEMBER
  static const Nvrtc *get(Problem &problem);
};

/// Opens a library of the toolkit, "libnvrtc": as the loader finds it, else under CUDA_PATH and the
/// installers' places. Null if it is nowhere.
void *openToolkitLibrary(const std::string &stem);

} // namespace kbrt::cuda

#endif // KBRT_CUDA_LIBRARIES_H
