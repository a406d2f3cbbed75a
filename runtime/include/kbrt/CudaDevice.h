//===- CudaDevice.h - the GPU that plans run on ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The public face of runtime/cuda's device: what may keep a GPU from being
// used, and what is known of it. Needs no header of CUDA and no driver to link.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUDADEVICE_H
#define KBRT_CUDADEVICE_H

#include "kbrt/LaunchStatus.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kbrt::cuda {

/// Why something did not work, and what to do about it.
struct Problem {
  LaunchStatus status = LaunchStatus::Ok;
  std::string message; ///< lower case, no full stop
  std::string note;    ///< the next step; may be empty
  explicit operator bool() const { return status != LaunchStatus::Ok; }
};

/// What changes while the device works. Zero or negative is unknown.
struct DeviceReading {
  unsigned smMHz = 0, memoryMHz = 0;
  int celsius = -1;
  double watts = -1;
  int utilisationPercent = -1;          ///< over the last second or so, ours included
  std::vector<unsigned> otherProcesses; ///< process ids with a compute context, without ours
  std::optional<uint64_t> eccErrors;    ///< uncorrected, since the driver was loaded
  std::optional<uint64_t> clockReasons; ///< NVML's bit mask of what holds the clocks down
};

struct DeviceFacts {
  unsigned index = 0, count = 0; ///< which of how many that the driver shows
  std::string name, uuid, pciBusId;
  unsigned major = 0, minor = 0; ///< compute capability
  std::string driver;            ///< "580.95.05"; empty without NVML
  int cudaVersion = 0;           ///< that the driver has: 13000 is 13.0
  unsigned multiprocessors = 0;
  unsigned maxSmMHz = 0;
  uint64_t l2Bytes = 0, memoryBytes = 0, freeBytes = 0;
  unsigned sharedBytesPerBlock = 0; ///< with opt-in
  bool ecc = false;

  /// "sm_90".
  std::string arch() const { return "sm_" + std::to_string(major) + std::to_string(minor); }
};

/// An opened device with a context that is current on the opening thread. Everything done with it
/// happens on that thread. A kernel that faults poisons the context: the process must end.
class Device {
public:
  struct Options {
    unsigned index = 0;
    /// "sm_90" or "sm_90a": another compute capability is a problem; empty takes any.
    std::string arch;
  };
  static std::unique_ptr<Device> open(const Options &options, Problem &problem);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceFacts &getFacts() const { return facts; }
  DeviceReading read() const;
  /// The device's state for people who compare figures: what would make them noisy. One sentence
  /// each.
  std::vector<std::string> noise(const DeviceReading &reading) const;

  struct Handles; ///< runtime/cuda only
  Handles &getHandles() const { return *handles; }

private:
  Device();
  DeviceFacts facts;
  std::unique_ptr<Handles> handles;
};

/// Does what the first execution on \p device would do beside its own work.
void warmUp(Device &device);

/// CUDA C++ for one device, in NVRTC's terms.
struct NvrtcRequest {
  std::string source, name;                   ///< the text, and what messages call it
  std::map<std::string, std::string> headers; ///< by the name in #include
  std::vector<std::string> instances;         ///< kernels to instantiate, "k<float, 4>"
  std::string arch;                           ///< "sm_90"
  std::vector<std::string> options;
};

struct NvrtcOutput {
  std::string cubin, ptx, log; ///< the log also has what ptxas says of resources
};

/// The NVRTC of this machine: "13.0", and the folders of the headers that came with it.
struct NvrtcFacts {
  std::string version;
  std::vector<std::string> includeFolders;
};
std::optional<NvrtcFacts> nvrtcFacts(Problem &problem);

/// Compiles without a device or driver. Empty if it cannot: \p problem has the compiler's log.
std::optional<NvrtcOutput> compileWithNvrtc(const NvrtcRequest &request, Problem &problem);

/// What an image is, from its first bytes and ELF header.
struct ImageKind {
  enum Format { Unknown, Cubin, Ptx, Fatbin } format = Unknown;
  /// The architecture that the file says it is for, "sm_90"; empty if it does not say.
  std::string arch;
};
ImageKind imageKind(std::string_view bytes);
/// Whether the image holds the means to launch kernels or graphs from the device.
bool canLaunchFromDevice(std::string_view image);
/// Whether a device of \p facts can run the image at all; the problem says what is wrong.
bool checkImage(std::string_view bytes, const std::string &path, const DeviceFacts &facts,
                Problem &problem);

} // namespace kbrt::cuda

#endif // KBRT_CUDADEVICE_H
