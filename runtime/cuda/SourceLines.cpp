//===- SourceLines.cpp - from machine code to source lines ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is known of a cubin without a device: the line of an instruction.
//
//===----------------------------------------------------------------------===//
#include "Cupti.h"
#include "kbrt/CudaPlan.h"

#include <cstdlib>
#include <memory>

using namespace kbrt;
using namespace kbrt::cuda;

std::optional<SourcePlace> kbrt::cuda::sourcePlace(const std::string &cubin,
                                                   const std::string &kernel, uint64_t offset,
                                                   Problem &problem) {
  const Cupti *cupti = Cupti::get(Cupti::Sampling, problem);
  if (!cupti)
    return std::nullopt;
  CUpti_GetSassToSourceCorrelationParams p = {};
  p.size = CUpti_GetSassToSourceCorrelationParamsSize;
  p.cubin = cubin.data();
  p.cubinSize = cubin.size();
  p.functionName = kernel.c_str();
  p.pcOffset = offset;
  CUptiResult code = cupti->cuptiGetSassToSourceCorrelation(&p);
  std::unique_ptr<char, decltype(&std::free)> file(p.fileName, std::free),
      folder(p.dirName, std::free);
  if (code != CUPTI_SUCCESS) {
    problem = {LaunchStatus::Environment,
               "CUPTI finds no line of " + kernel + ": " + cupti->describe(code),
               "compile with nvcc -cubin -lineinfo"};
    return std::nullopt;
  }
  SourcePlace place;
  if (!file || !*file || !p.lineNumber)
    return place;
  place.line = p.lineNumber;
  place.file = file.get();
  if (place.file[0] != '/' && folder && *folder)
    place.file = std::string(folder.get()) + "/" + place.file;
  return place;
}

std::string kbrt::cuda::stallName(const std::string &cuptiName) {
  constexpr std::string_view prefix = "smsp__pcsamp_warps_issue_stalled_", again = "_not_issued";
  if (!cuptiName.starts_with(prefix) || cuptiName.ends_with(again))
    return "";
  return cuptiName.substr(prefix.size());
}
