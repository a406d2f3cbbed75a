//===- CpuBackend.cpp - Kernels on the CPU device ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ArenaBackend.h"
#include "DeviceFacts.h"
#include "Settings.h"
#include "kbrt/CpuRuntime.h"
#include "kbrt/RepeatedLaunches.h"

#include <cfenv>
#include <cstdio>
#include <unordered_map>

using namespace kbrt;
using cuda::Error;

namespace {

Error errorOf(LaunchStatus status) {
  switch (status) {
  case LaunchStatus::Ok:
    return cuda::success;
  case LaunchStatus::InvalidLaunch:
    return cuda::invalidConfiguration;
  case LaunchStatus::Fault:
    return cuda::illegalAddress;
  case LaunchStatus::Assert:
    return cuda::assertFailed;
  case LaunchStatus::Timeout:
    return cuda::launchTimeout;
  default:
    return cuda::launchFailure;
  }
}

/// KBRECORD_ROUNDING: a direction for the kernels' operations, to see how far rounding moves what a
/// program prints.
int roundingOf(const std::string &direction) {
  return direction == "up" ? FE_UPWARD : direction == "down" ? FE_DOWNWARD : FE_TONEAREST;
}

class CpuBackend : public ArenaBackend {
public:
  CpuBackend(std::string path, BackendReports reports)
      : path(std::move(path)), reports(std::move(reports)) {}

  const DeviceKernel *findKernel(const std::string &name) override;
  std::vector<DeviceVariable> variables() override;
  std::vector<PointeeTypes> parameterTypes(const std::string &kernel) override;
  Error launch(const KernelLaunch &launch) override;
  void multiply(const MatmulStep &step, const MatmulPlaces &places) override {
    matmul(step, places, repeated);
  }

private:
  Image &image();

  struct Known {
    const KernelInfo *info;
    DeviceKernel kernel;
  };
  std::string path;
  BackendReports reports;
  std::unique_ptr<Image> loaded;
  std::unordered_map<std::string, Known> kernels; ///< by the name that was asked for
  RepeatedLaunches repeated;
};

Image &CpuBackend::image() {
  if (loaded)
    return *loaded;
  if (path.empty())
    reports.stop(Ending::Unsupported, "the program launches a kernel or uses a device variable, "
                                      "but KBRECORD_IMAGE names no image");
  std::string error;
  loaded = Image::load(path, error);
  if (!loaded)
    reports.stop(Ending::Unsupported, "cannot load the CPU image '" + path + "': " + error);
  return *loaded;
}

const DeviceKernel *CpuBackend::findKernel(const std::string &name) {
  auto found = kernels.find(name);
  if (found != kernels.end())
    return &found->second.kernel;
  const KernelInfo *info = image().findKernel(name);
  if (!info)
    return nullptr;
  DeviceKernel kernel{info->name, {}, info->maxThreads, info->staticSharedBytes, 0, 0};
  for (uint32_t i = 0; i < info->paramCount; ++i)
    kernel.parameterBytes.push_back(info->params[i].bytes);
  return &kernels.emplace(name, Known{info, std::move(kernel)}).first->second.kernel;
}

std::vector<DeviceVariable> CpuBackend::variables() {
  std::vector<DeviceVariable> all;
  for (const SymbolInfo &symbol : image().getSymbols())
    all.push_back({symbol.name, symbol.address, symbol.bytes, symbol.kind == VariableKind::Managed,
                   symbol.elementType});
  return all;
}

std::vector<PointeeTypes> CpuBackend::parameterTypes(const std::string &kernel) {
  std::vector<PointeeTypes> types = Backend::parameterTypes(kernel);
  const KernelInfo *info = image().findKernel(kernel);
  if (!info)
    return types;
  types.resize(info->paramCount);
  for (uint32_t i = 0; i < info->paramCount; ++i)
    if (const ParamInfo &param = info->params[i];
        param.isPointer && param.elementType && types[i].empty())
      if (auto type = elementTypeFromCxx(param.elementType); type != ElementType::Unknown)
        types[i][0].element = type;
  return types;
}

/// A kernel that goes wrong is found out by the next call, as on a GPU.
Error CpuBackend::launch(const KernelLaunch &request) {
  const KernelInfo &kernel = *image().findKernel(request.kernel->name);
  LaunchOptions options;
  options.wallSeconds = request.wallSeconds;
  options.maxSharedBytes = deviceFact("sharedMemPerBlockOptin");
  options.rounding = roundingOf(recorderSetting("ROUNDING"));
  LaunchKey key{request.kernel->name, request.grid, request.block, request.sharedBytes, {}};
  for (size_t i = 0; i < request.kernel->parameterBytes.size(); ++i) {
    auto *first = static_cast<const uint8_t *>(request.arguments[i]);
    key.arguments.insert(key.arguments.end(), first, first + request.kernel->parameterBytes[i]);
  }
  if (repeated.changesNothing(key))
    return cuda::success;
  bool printed = false;
  options.print = [&](std::string_view text) {
    printed = true;
    std::fwrite(text.data(), 1, text.size(), stdout);
  };
  repeated.before(key);
  LaunchResult result = kbrt::launch(image(), kernel, request.arguments, request.grid,
                                     request.block, request.sharedBytes, options);
  repeated.after(key, result.status == LaunchStatus::Ok && !printed);
  if (result.status == LaunchStatus::Unsupported)
    reports.stop(Ending::Unsupported, result.message);
  if (result.status == LaunchStatus::InvalidLaunch)
    return cuda::invalidConfiguration;
  for (const Finding &finding : result.findings)
    if (finding.severity == Severity::Error) {
      reports.fault(cuda::illegalAddress, toText(finding));
      return cuda::success;
    }
  if (result.status != LaunchStatus::Ok)
    reports.fault(errorOf(result.status), result.message);
  return cuda::success;
}

} // namespace

std::unique_ptr<Backend> kbrt::createCpuBackend(std::string path, BackendReports reports) {
  return std::make_unique<CpuBackend>(std::move(path), std::move(reports));
}
