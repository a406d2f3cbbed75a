//===- Cupti.h - CUPTI, found at run time ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the table of CUPTI's functions, in groups: an older library that lacks
// one group still serves the others.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDA_CUPTI_H
#define KBRT_CUDA_CUPTI_H

#include "kbrt/CudaDevice.h"
#include <cstring>
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

namespace kbrt::cuda {

/// Counters of launches, CUPTI 12.6 and later.
#define KBRT_CUPTI_COUNTERS(F)                                                                     \
  F(cuptiProfilerInitialize)                                                                       \
  F(cuptiDeviceGetChipName)                                                                        \
  F(cuptiProfilerHostInitialize)                                                                   \
  F(cuptiProfilerHostDeinitialize)                                                                 \
  F(cuptiProfilerHostGetSupportedChips)                                                            \
  F(cuptiProfilerHostGetSubMetrics)                                                                \
  F(cuptiProfilerHostConfigAddMetrics)                                                             \
  F(cuptiProfilerHostGetConfigImageSize)                                                           \
  F(cuptiProfilerHostGetConfigImage)                                                               \
  F(cuptiProfilerHostGetNumOfPasses)                                                               \
  F(cuptiProfilerHostEvaluateToGpuValues)                                                          \
  F(cuptiRangeProfilerEnable)                                                                      \
  F(cuptiRangeProfilerDisable)                                                                     \
  F(cuptiRangeProfilerSetConfig)                                                                   \
  F(cuptiRangeProfilerStart)                                                                       \
  F(cuptiRangeProfilerStop)                                                                        \
  F(cuptiRangeProfilerDecodeData)                                                                  \
  F(cuptiRangeProfilerGetCounterDataSize)                                                          \
  F(cuptiRangeProfilerCounterDataImageInitialize) F(cuptiRangeProfilerGetCounterDataInfo)

/// The trace of what the device executes.
#define KBRT_CUPTI_ACTIVITY(F)                                                                     \
  F(cuptiActivityEnable)                                                                           \
  F(cuptiActivityDisable)                                                                          \
  F(cuptiActivityRegisterCallbacks)                                                                \
  F(cuptiActivityFlushAll)                                                                         \
  F(cuptiActivityGetNextRecord) F(cuptiActivityGetNumDroppedRecords) F(cuptiGetStreamIdEx)

/// Samples of the program counter, CUPTI 11.3 and later.
#define KBRT_CUPTI_SAMPLING(F)                                                                     \
  F(cuptiPCSamplingEnable)                                                                         \
  F(cuptiPCSamplingDisable)                                                                        \
  F(cuptiPCSamplingSetConfigurationAttribute)                                                      \
  F(cuptiPCSamplingStart)                                                                          \
  F(cuptiPCSamplingStop)                                                                           \
  F(cuptiPCSamplingGetData)                                                                        \
  F(cuptiPCSamplingGetNumStallReasons)                                                             \
  F(cuptiPCSamplingGetStallReasons) F(cuptiGetCubinCrc) F(cuptiGetSassToSourceCorrelation)

struct Cupti {
  enum Feature { Counters, Activity, Sampling };
  decltype(&::cuptiGetResultString) cuptiGetResultString = nullptr;
#define KBRT_MEMBER(NAME) decltype(&::NAME) NAME = nullptr;
  KBRT_CUPTI_COUNTERS(KBRT_MEMBER)
  KBRT_CUPTI_ACTIVITY(KBRT_MEMBER)
  KBRT_CUPTI_SAMPLING(KBRT_MEMBER)
#undef KBRT_MEMBER
  /// Loads libcupti.so, once per process; null and \p problem if it is not there or does not have
  /// \p feature.
  static const Cupti *get(Feature feature, Problem &problem);
  /// "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", with the next step where there is one.
  std::string describe(CUptiResult code) const;

private:
  std::string missing[3]; ///< by feature: a function that the library lacks
};

/// A CUPTI parameter block with its size filled in.
template <typename T> T sizedParameters(size_t bytes) {
  T parameters;
  std::memset(&parameters, 0, sizeof parameters);
  parameters.structSize = bytes;
  return parameters;
}
#define KBRT_PARAMETERS(TYPE) sizedParameters<TYPE##_Params>(TYPE##_Params_STRUCT_SIZE)

} // namespace kbrt::cuda

#endif // KBRT_CUDA_CUPTI_H
