//===- Device.cpp - opening a GPU and reading its state -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Handles.h"
#include "OneQueue.h"

#include <cstdlib>
#include <unistd.h>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

// NVML's enumerations, as far as they are used.
constexpr int nvmlClockSm = 1, nvmlClockMemory = 2;
constexpr int nvmlTemperatureGpu = 0;
constexpr int nvmlErrorUncorrected = 1, nvmlEccVolatile = 0;
/// Idle (1), application clocks (2) and the display (0x100) are no reasons to worry.
constexpr uint64_t harmlessClockReasons = 0x1 | 0x2 | 0x100;

Problem problemOf(const Driver &driver, CUresult code, const std::string &what) {
  LaunchStatus status = statusOf(code);
  // Nothing of the plan has run yet: whatever is wrong is the machine's.
  return {status == LaunchStatus::OutOfMemory ? status : LaunchStatus::Environment,
          what + ": " + describe(driver, code), adviceFor(code)};
}

} // namespace

Device::Device() : handles(std::make_unique<Handles>()) {}

Device::~Device() {
  if (handles->isLost)
    return;
  handles->helpers.reset();
  handles->pinned.reset();
  if (handles->stream)
    handles->driver->cuStreamDestroy(handles->stream);
  if (handles->context)
    handles->driver->cuDevicePrimaryCtxRelease(handles->device);
}

std::unique_ptr<Device> Device::open(const Options &options, Problem &problem) {
  OneQueue queue;
  std::unique_ptr<Device> device(new Device);
  Handles &h = *device->handles;
  h.driver = Driver::get(problem);
  if (!h.driver)
    return nullptr;
  const Driver &driver = *h.driver;
  auto check = [&](CUresult code, const char *what) {
    if (code != CUDA_SUCCESS)
      problem = problemOf(driver, code, what);
    return code == CUDA_SUCCESS;
  };
  int count = 0;
  if (!check(driver.cuInit(0), "the CUDA driver does not start") ||
      !check(driver.cuDeviceGetCount(&count), "cannot count the CUDA devices"))
    return nullptr;
  if (options.index >= static_cast<unsigned>(count)) {
    problem = {LaunchStatus::Environment,
               count ? "no CUDA device " + std::to_string(options.index) + ": the driver shows " +
                           std::to_string(count)
                     : "no CUDA device",
               "see nvidia-smi, and CUDA_VISIBLE_DEVICES if it is set"};
    return nullptr;
  }
  DeviceFacts &facts = device->facts;
  facts.index = options.index;
  facts.count = static_cast<unsigned>(count);
  if (!check(driver.cuDeviceGet(&h.device, static_cast<int>(options.index)),
             "cannot get the device"))
    return nullptr;
  auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, h.device);
    return static_cast<unsigned>(value);
  };
  char text[256] = {};
  driver.cuDeviceGetName(text, sizeof text, h.device);
  facts.name = text;
  driver.cuDeviceGetPCIBusId(text, sizeof text, h.device);
  facts.pciBusId = text;
  driver.cuDriverGetVersion(&facts.cudaVersion);
  facts.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.l2Bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.sharedBytesPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.maxSmMHz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  facts.ecc = attribute(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  std::string wanted = options.arch;
  while (!wanted.empty() && (wanted.back() == 'a' || wanted.back() == 'f'))
    wanted.pop_back();
  if (!wanted.empty() && wanted != facts.arch()) {
    problem = {LaunchStatus::Environment,
               "the job is for " + options.arch + ", device " + std::to_string(facts.index) + " (" +
                   facts.name + ") is " + facts.arch(),
               "compile with -arch=" + facts.arch() + ", or send the job to another machine"};
    return nullptr;
  }
  h.nvml = Nvml::get();
  if (h.nvml && h.nvml->nvmlDeviceGetHandleByPciBusId_v2 &&
      h.nvml->nvmlDeviceGetHandleByPciBusId_v2(facts.pciBusId.c_str(), &h.nvmlDevice) != 0)
    h.nvmlDevice = nullptr;
  if (h.nvmlDevice) {
    if (h.nvml->nvmlSystemGetDriverVersion &&
        h.nvml->nvmlSystemGetDriverVersion(text, sizeof text) == 0)
      facts.driver = text;
    if (h.nvml->nvmlDeviceGetUUID &&
        h.nvml->nvmlDeviceGetUUID(h.nvmlDevice, text, sizeof text) == 0)
      facts.uuid = text;
    if (h.nvml->nvmlDeviceGetMaxClockInfo)
      h.nvml->nvmlDeviceGetMaxClockInfo(h.nvmlDevice, nvmlClockSm, &facts.maxSmMHz);
  }
  if (!check(driver.cuDevicePrimaryCtxRetain(&h.context, h.device), "cannot use the device") ||
      !check(driver.cuCtxSetCurrent(h.context), "cannot use the device") ||
      !check(driver.cuStreamCreate(&h.stream, CU_STREAM_NON_BLOCKING), "cannot use the device"))
    return nullptr;
  size_t free = 0, total = 0;
  driver.cuMemGetInfo(&free, &total);
  facts.freeBytes = free;
  facts.memoryBytes = total;
  return device;
}

DeviceReading Device::read() const {
  DeviceReading reading;
  const Nvml *nvml = handles->nvml;
  Nvml::Device device = handles->nvmlDevice;
  if (!device)
    return reading;
  unsigned value = 0;
  unsigned long long wide = 0;
  if (nvml->nvmlDeviceGetClockInfo) {
    nvml->nvmlDeviceGetClockInfo(device, nvmlClockSm, &reading.smMHz);
    nvml->nvmlDeviceGetClockInfo(device, nvmlClockMemory, &reading.memoryMHz);
  }
  if (nvml->nvmlDeviceGetTemperature &&
      nvml->nvmlDeviceGetTemperature(device, nvmlTemperatureGpu, &value) == 0)
    reading.celsius = static_cast<int>(value);
  if (nvml->nvmlDeviceGetPowerUsage && nvml->nvmlDeviceGetPowerUsage(device, &value) == 0)
    reading.watts = value / 1000.0;
  Nvml::Utilization utilization = {};
  if (nvml->nvmlDeviceGetUtilizationRates &&
      nvml->nvmlDeviceGetUtilizationRates(device, &utilization) == 0)
    reading.utilisationPercent = static_cast<int>(utilization.gpu);
  if (nvml->nvmlDeviceGetTotalEccErrors &&
      nvml->nvmlDeviceGetTotalEccErrors(device, nvmlErrorUncorrected, nvmlEccVolatile, &wide) == 0)
    reading.eccErrors = wide;
  if (nvml->nvmlDeviceGetCurrentClocksEventReasons &&
      nvml->nvmlDeviceGetCurrentClocksEventReasons(device, &wide) == 0)
    reading.clockReasons = wide;
  if (nvml->nvmlDeviceGetComputeRunningProcesses_v3) {
    Nvml::Process processes[64] = {};
    unsigned count = 64;
    if (nvml->nvmlDeviceGetComputeRunningProcesses_v3(device, &count, processes) == 0)
      for (unsigned i = 0; i < count && i < 64; ++i)
        // Those of our server wait, or take turns with us. In a container they may be listed under
        // other numbers.
        if (processes[i].pid != 0 && getpgid(static_cast<pid_t>(processes[i].pid)) != getpgrp())
          reading.otherProcesses.push_back(processes[i].pid);
  }
  return reading;
}

std::vector<std::string> Device::noise(const DeviceReading &reading) const {
  std::vector<std::string> result;
  if (reading.utilisationPercent > 5)
    result.push_back("the device was " + std::to_string(reading.utilisationPercent) +
                     " % busy before the job began");
  if (!reading.otherProcesses.empty())
    result.push_back(std::to_string(reading.otherProcesses.size()) +
                     " other process(es) use the device");
  if (reading.eccErrors.value_or(0))
    result.push_back(std::to_string(*reading.eccErrors) +
                     " uncorrected memory errors since the driver was loaded");
  if (reading.clockReasons.value_or(0) & ~harmlessClockReasons) {
    char mask[32];
    snprintf(mask, sizeof mask, "0x%llx", static_cast<unsigned long long>(*reading.clockReasons));
    result.push_back("the clocks are held down (NVML reasons " + std::string(mask) + ")");
  }
  return result;
}
