//===- Libraries.cpp - NVIDIA's libraries, found at run time --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Libraries.h"

#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>

using namespace kbrt;
using namespace kbrt::cuda;

#define KBRT_TEXT_OF(TEXT) #TEXT
/// The name after the header's macros, cuMemAlloc_v2 for cuMemAlloc.
#define KBRT_SYMBOL(NAME) KBRT_TEXT_OF(NAME)

namespace {

void *openFirst(std::initializer_list<std::string> names) {
  for (const std::string &name : names)
    if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

/// Fills \p member.
template <typename T> bool load(void *library, const std::string &symbol, T &member) {
  member = reinterpret_cast<T>(dlsym(library, symbol.c_str()));
  // It has the type of its predecessor, which is all that older drivers have.
  if (!member && symbol == "cuEventElapsedTime_v2")
    member = reinterpret_cast<T>(dlsym(library, "cuEventElapsedTime"));
  return member != nullptr;
}

Problem environment(std::string message, std::string note) {
  return {LaunchStatus::Environment, std::move(message), std::move(note)};
}

} // namespace

void *kbrt::cuda::openToolkitLibrary(const std::string &stem) {
  std::initializer_list<const char *> versions = {".so", ".so.13", ".so.12"};
  for (const char *version : versions)
    if (void *library = dlopen((stem + version).c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  std::string path = std::getenv("CUDA_PATH") ? std::getenv("CUDA_PATH") : "";
  for (const std::string &root : {path, std::string("/usr/local/cuda")})
    for (const char *folder :
         {"/lib64/", "/lib/", "/extras/CUPTI/lib64/", "/targets/x86_64-linux/lib/"})
      for (const char *version : versions)
        if (!root.empty())
          if (void *library =
                  dlopen((root + folder + stem + version).c_str(), RTLD_NOW | RTLD_LOCAL))
            return library;
  return nullptr;
}

const Driver *Driver::get(Problem &problem) {
  static Problem why;
  static const Driver *driver = []() -> const Driver * {
    void *library =
        openFirst({"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1",
                   "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/local/nvidia/lib/libcuda.so.1"});
    if (!library) {
      why = environment("no CUDA driver: libcuda.so.1 is not on this machine",
                        "install NVIDIA's driver, or run on a machine that has one "
                        "(kb-run serve, docs/GPU.md)");
      return nullptr;
    }
    auto *table = new Driver;
    std::string missing;
#define KBRT_LOAD(NAME)                                                                            \
  if (!load(library, KBRT_SYMBOL(NAME), table->NAME) && missing.empty())                           \
    missing = KBRT_SYMBOL(NAME);
    KBRT_DRIVER_FUNCTIONS(KBRT_LOAD)
#undef KBRT_LOAD
#define KBRT_LOAD(NAME) load(library, KBRT_SYMBOL(NAME), table->NAME);
    KBRT_DRIVER_OPTIONAL(KBRT_LOAD)
#undef KBRT_LOAD
    if (missing.empty())
      return table;
    why = environment("the CUDA driver is too old: it has no " + missing,
                      "install a driver for CUDA 12.0 or later (525.60 or later)");
    return nullptr;
  }();
  if (!driver)
    problem = why;
  return driver;
}

const Nvml *Nvml::get() {
  static const Nvml *nvml = []() -> const Nvml * {
    void *library = openFirst({"libnvidia-ml.so.1", "libnvidia-ml.so",
                               "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
                               "/usr/local/nvidia/lib/libnvidia-ml.so.1"});
    if (!library)
      return nullptr;
    auto *table = new Nvml;
#define KBRT_LOAD(NAME) load(library, #NAME, table->NAME);
    KBRT_LOAD(nvmlInit_v2)
    KBRT_LOAD(nvmlDeviceGetHandleByPciBusId_v2)
    KBRT_LOAD(nvmlSystemGetDriverVersion)
    KBRT_LOAD(nvmlDeviceGetUUID)
    KBRT_LOAD(nvmlDeviceGetClockInfo)
    KBRT_LOAD(nvmlDeviceGetMaxClockInfo)
    KBRT_LOAD(nvmlDeviceGetTemperature)
    KBRT_LOAD(nvmlDeviceGetPowerUsage)
    KBRT_LOAD(nvmlDeviceGetUtilizationRates)
    KBRT_LOAD(nvmlDeviceGetTotalEccErrors)
    KBRT_LOAD(nvmlDeviceGetCurrentClocksEventReasons)
#undef KBRT_LOAD
    // Older ones fill a shorter structure: no fallback.
    table->nvmlDeviceGetComputeRunningProcesses_v3 =
        reinterpret_cast<decltype(table->nvmlDeviceGetComputeRunningProcesses_v3)>(
            dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3"));
    return table->nvmlInit_v2 && table->nvmlInit_v2() == 0 ? table : nullptr;
  }();
  return nvml;
}

const Nvrtc *Nvrtc::get(Problem &problem) {
  static const Nvrtc *nvrtc = []() -> const Nvrtc * {
    void *library = openToolkitLibrary("libnvrtc");
    if (!library)
      return nullptr;
    auto *table = new Nvrtc;
    bool whole = true;
#define KBRT_LOAD(NAME) whole &= load(library, KBRT_SYMBOL(NAME), table->NAME);
    KBRT_NVRTC_FUNCTIONS(KBRT_LOAD)
#undef KBRT_LOAD
    return whole ? table : nullptr;
  }();
  if (!nvrtc)
    problem = environment("no NVRTC: libnvrtc.so is not on this machine, or older than CUDA 12",
                          "set CUDA_PATH to a CUDA toolkit of version 12 or later");
  return nvrtc;
}

std::string kbrt::cuda::describe(const Driver &driver, CUresult code) {
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(code, &name);
  driver.cuGetErrorString(code, &text);
  return std::string(name ? name : "CUDA error " + std::to_string(code)) +
         (text ? " (" + std::string(text) + ")" : "");
}

LaunchStatus kbrt::cuda::statusOf(CUresult code) {
  switch (code) {
  case CUDA_SUCCESS:
    return LaunchStatus::Ok;
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
  case CUDA_ERROR_NOT_FOUND:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
  case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
    return LaunchStatus::InvalidLaunch;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_LAUNCH_FAILED: // __trap(), shared memory out of bounds, and more
    return LaunchStatus::Fault;
  case CUDA_ERROR_ASSERT:
    return LaunchStatus::Assert;
  case CUDA_ERROR_LAUNCH_TIMEOUT:
    return LaunchStatus::Timeout;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return LaunchStatus::OutOfMemory;
  case CUDA_ERROR_NOT_SUPPORTED:
    return LaunchStatus::Unsupported;
  default:
    return LaunchStatus::Environment;
  }
}

std::string kbrt::cuda::adviceFor(CUresult code) {
  switch (code) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
    return "the device's memory has failed: see nvidia-smi -q -d ECC, and use another device";
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
    return "another process has the device to itself (compute mode), or the driver refuses it; see "
           "nvidia-smi";
  case CUDA_ERROR_SYSTEM_NOT_READY:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return "the kernel module and libcuda.so.1 are of different versions, or a service of the "
           "driver does not run; see nvidia-smi";
  case CUDA_ERROR_NO_DEVICE:
    return "see nvidia-smi, and CUDA_VISIBLE_DEVICES if it is set";
  case CUDA_ERROR_INVALID_IMAGE:
    return "the file is damaged, or made by a compiler that is newer than the driver: install a "
           "newer driver";
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    return "compile for this device's architecture";
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return "the driver is older than the compiler of this PTX: install a newer driver, or compile "
           "to a cubin with nvcc -cubin";
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    return "the driver lacks its PTX compiler: compile to a cubin with nvcc -cubin";
  case CUDA_ERROR_OUT_OF_MEMORY:
    return "use a smaller workload, or free the device (nvidia-smi shows which processes have its "
           "memory)";
  case CUDA_ERROR_UNKNOWN:
  case CUDA_ERROR_OPERATING_SYSTEM:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_CONTAINED:
  case CUDA_ERROR_EXTERNAL_DEVICE:
    return "the device may have been lost: look for 'NVRM: Xid' in dmesg and see nvidia-smi";
  default:
    return "";
  }
}
