//===- Nvrtc.cpp - CUDA C++ to machine code in one process ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Libraries.h"
#include "kbrt/CudaDevice.h"
#include <cstring>
#include <dlfcn.h>
#include <filesystem>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Ends with its scope.
struct Program {
  explicit Program(const Nvrtc &nvrtc) : nvrtc(nvrtc) {}
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program() {
    if (handle)
      nvrtc.nvrtcDestroyProgram(&handle);
  }
  /// What one pair of size and content functions gives; empty if there is nothing.
  std::string text(nvrtcResult (*size)(nvrtcProgram, size_t *),
                   nvrtcResult (*get)(nvrtcProgram, char *)) const {
    size_t bytes = 0;
    std::string result;
    if (handle && size(handle, &bytes) == NVRTC_SUCCESS && bytes > 1) {
      result.resize(bytes);
      get(handle, result.data());
    }
    return result;
  }
  const Nvrtc &nvrtc;
  nvrtcProgram handle = nullptr;
};

} // namespace

std::optional<NvrtcFacts> kbrt::cuda::nvrtcFacts(Problem &problem) {
  const Nvrtc *nvrtc = Nvrtc::get(problem);
  if (!nvrtc)
    return std::nullopt;
  int major = 0, minor = 0;
  nvrtc->nvrtcVersion(&major, &minor);
  NvrtcFacts facts{std::to_string(major) + "." + std::to_string(minor), {}};
  Dl_info library = {};
  std::error_code code;
  if (dladdr(reinterpret_cast<void *>(nvrtc->nvrtcVersion), &library) == 0)
    return facts;
  // lib, lib64 or targets/x86_64-linux/lib: include lies beside it.
  const auto include =
      std::filesystem::canonical(library.dli_fname, code).parent_path().parent_path() / "include";
  for (const auto &folder : {include, include / "cccl"})
    if (std::filesystem::is_directory(folder, code))
      facts.includeFolders.push_back(folder.string());
  return facts;
}

std::optional<NvrtcOutput> kbrt::cuda::compileWithNvrtc(const NvrtcRequest &request,
                                                        Problem &problem) {
  const Nvrtc *nvrtc = Nvrtc::get(problem);
  if (!nvrtc)
    return std::nullopt;
  std::vector<const char *> names, texts, options;
  for (const auto &[name, text] : request.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  std::string target = "--gpu-architecture=" + request.arch;
  options = {target.c_str(), "--ptxas-options=-v"};
  for (const std::string &option : request.options)
    options.push_back(option.c_str());
  Program program(*nvrtc);
  nvrtcResult code =
      nvrtc->nvrtcCreateProgram(&program.handle, request.source.c_str(), request.name.c_str(),
                                static_cast<int>(names.size()), texts.data(), names.data());
  for (const std::string &instance : request.instances)
    if (code == NVRTC_SUCCESS)
      code = nvrtc->nvrtcAddNameExpression(program.handle, instance.c_str());
  if (code == NVRTC_SUCCESS)
    code = nvrtc->nvrtcCompileProgram(program.handle, static_cast<int>(options.size()),
                                      options.data());
  NvrtcOutput output;
  output.log = program.text(nvrtc->nvrtcGetProgramLogSize, nvrtc->nvrtcGetProgramLog);
  output.log.resize(std::strlen(output.log.c_str()));
  if (code == NVRTC_SUCCESS) {
    output.cubin = program.text(nvrtc->nvrtcGetCUBINSize, nvrtc->nvrtcGetCUBIN);
    output.ptx = program.text(nvrtc->nvrtcGetPTXSize, nvrtc->nvrtcGetPTX);
    output.ptx.resize(std::strlen(output.ptx.c_str()));
  }
  if (!output.cubin.empty())
    return output;
  problem = {LaunchStatus::InvalidLaunch,
             request.name + ": " + nvrtc->nvrtcGetErrorString(code) +
                 (output.log.empty() ? "" : "\n" + output.log),
             "nvcc -cubin compiles more: standard headers and host code"};
  return std::nullopt;
}
