//===- CudaResult.h - what was found on a CUDA device, as JSON ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the parts of a result that only CUDA devices have (docs/JobFormat.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_CUDARESULT_H
#define KBRUN_CUDARESULT_H

#include "Sanitizer.h"
#include "kbrt/CudaPlan.h"
#include <nlohmann/json_fwd.hpp>

namespace kbrun {

using OrderedJson = nlohmann::ordered_json;

OrderedJson deviceJson(const kbrt::cuda::Device &device, const kbrt::cuda::DeviceReading &reading);
/// Every kernel of the plan in every shape that it is launched in, once.
OrderedJson kernelsJson(const kbrt::Plan &plan, kbrt::cuda::LoadedImage &image);
OrderedJson findingJson(const kbrt::cuda::RunFinding &finding);
OrderedJson launchesJson(const kbrt::Plan &plan, const kbrt::cuda::RunResult &run);
OrderedJson timingJson(const kbrt::cuda::TimingResult &timing, bool hasBaseline);
OrderedJson profileJson(const kbrt::Plan &plan, const kbrt::cuda::ProfileResult &profile);
/// Puts `lines` or `noLines` into a profile.
void addLines(OrderedJson &profile, const kbrt::cuda::LineSamples &samples);
OrderedJson auditJson(const kbrt::cuda::AuditResult &audit);
OrderedJson sanitizerJson(const SanitizerReport &report);

} // namespace kbrun
#endif
