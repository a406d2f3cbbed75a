//===- Compile.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Compile.h"
#include "Job.h"
#include "Run.h"
#include "kbrt/CudaDevice.h"
#include <cstdio>
#include <nlohmann/json.hpp>

namespace kbrun {

#ifndef KBRUN_HAS_CUDA
int compile(const std::string &path) {
  fprintf(stderr, "kb-run: error: %s: this kb-run was built without CUDA\n", path.c_str());
  return exitEnvironment;
}
#else

static kbrt::cuda::NvrtcRequest requestFrom(const nlohmann::json &json) {
  kbrt::cuda::NvrtcRequest request;
  json.at("source").get_to(request.source);
  json.at("name").get_to(request.name);
  json.at("arch").get_to(request.arch);
  json.at("headers").get_to(request.headers);
  json.at("instances").get_to(request.instances);
  json.at("options").get_to(request.options);
  return request;
}

int compile(const std::string &path) {
  std::string error;
  std::optional<std::string> text = readFile(path, error);
  std::string cubin, ptx;
  kbrt::cuda::NvrtcRequest request;
  if (text)
    try {
      auto json = nlohmann::json::parse(*text);
      request = requestFrom(json);
      json.at("cubin").get_to(cubin);
      json.at("ptx").get_to(ptx);
    } catch (const nlohmann::json::exception &exception) {
      error = path + ": " + exception.what();
    }
  if (!error.empty()) {
    fprintf(stderr, "kb-run: error: %s\n", error.c_str());
    return exitUsage;
  }
  kbrt::cuda::Problem problem;
  std::optional<kbrt::cuda::NvrtcOutput> output = kbrt::cuda::compileWithNvrtc(request, problem);
  if (!output) {
    fprintf(stderr, "kb-run: error: %s\n", problem.message.c_str());
    return problem.status == kbrt::LaunchStatus::InvalidLaunch ? exitDiagnostics : exitEnvironment;
  }
  fputs(output->log.c_str(), stdout);
  if (writeFile(ptx, output->ptx, error) && writeFile(cubin, output->cubin, error))
    return exitOk;
  fprintf(stderr, "kb-run: error: %s\n", error.c_str());
  return exitEnvironment;
}
#endif

} // namespace kbrun
