//===- Backend.h - Where device memory lives and kernels run -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the seam between the recorded calls and the device that stands behind
// them: the CPU device, a GPU, or nothing at all, where the host's reads are
// answered from an earlier recording. What a call means and what the plan says
// of it is decided before it comes here.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_BACKEND_H
#define KBRT_RECORD_BACKEND_H

#include "Cuda.h"
#include "kbrt/Matmul.h"
#include "kbrt/PointeeTypes.h"
#include <functional>
#include <memory>

namespace kbrt {

/// Rows of bytes in memory.
struct Rows {
  char *at;
  uint64_t pitch;
};

/// A kernel of the image.
struct DeviceKernel {
  std::string name;                     ///< as plans have it
  std::vector<uint32_t> parameterBytes; ///< in order
  uint32_t maxThreads = 0;              ///< per block; 0: as many as the chip takes
  uint64_t staticSharedBytes = 0;
  unsigned registers = 0; ///< per thread; 0 is unknown
  uint64_t localBytes = 0;
};

/// A variable of the image that the host may name.
struct DeviceVariable {
  std::string name;
  uint64_t address = 0, bytes = 0;
  bool isManaged = false;
  std::string elementType; ///< "" if unknown
};

struct KernelLaunch {
  const DeviceKernel *kernel = nullptr;
  Dim3 grid, block;
  uint64_t sharedBytes = 0;
  void **arguments = nullptr; ///< one pointer per parameter
  double wallSeconds = 0;     ///< 0 is no limit
};

struct MemoryAmount {
  uint64_t freeBytes = 0, totalBytes = 0;
};

/// How a backend tells of what is no call's result.
struct BackendReports {
  /// A kernel or the device went wrong: every call from here on returns the error.
  std::function<void(cuda::Error, const std::string &message)> fault;
  /// The process ends: something that the backend does not have, or a device that cannot be used.
  std::function<void(Ending, const std::string &message)> stop;
};

/// What kb-opt says of the types behind parameters and variables, from the source.
const KernelTypes &toldTypes();

/// Used under `DeviceLock`. Everything is done when a function returns; after a fault, functions
/// do nothing.
class Backend {
public:
  virtual ~Backend() = default;

  /// The kernel of that name as the compiler of the host side has it; null if the image has none.
  virtual const DeviceKernel *findKernel(const std::string &name) = 0;
  virtual std::vector<DeviceVariable> variables() = 0;
  /// What the pointers in each kernel parameter lead to; empty if that is not known.
  virtual std::vector<PointeeTypes> parameterTypes(const std::string &kernel);

  /// New memory that holds zeros; null if there is no room. `isHostVisible` memory is also touched
  /// by the host, without calls.
  virtual void *allocate(uint64_t bytes, bool isHostVisible) = 0;
  virtual void free(void *p) = 0;
  virtual MemoryAmount memory() = 0;

  virtual void write(Rows to, Rows from, uint64_t width, uint64_t height) = 0; ///< from the host
  virtual void read(Rows to, Rows from, uint64_t width, uint64_t height) = 0;  ///< to the host
  virtual void copy(Rows to, Rows from, uint64_t width, uint64_t height) = 0;
  virtual void fill(Rows to, uint8_t value, uint64_t width, uint64_t height) = 0;
  /// The host has written to host-visible memory.
  virtual void noteHostWrite(const void *p, uint64_t bytes) = 0;

  /// The error of a launch that is refused. One that goes wrong later is a fault.
  virtual cuda::Error launch(const KernelLaunch &launch) = 0;
  virtual void multiply(const MatmulStep &step, const MatmulPlaces &places) = 0;

  /// The device's own figures, if there is a real one: a cudaDeviceAttr by number, and the rest.
  virtual std::optional<uint64_t> attribute(int number) { return std::nullopt; }
  virtual std::string deviceName() { return ""; }
  /// Blocks that one multiprocessor holds, if a real device says so.
  virtual std::optional<int> activeBlocks(const DeviceKernel &kernel, int threads,
                                          uint64_t dynamicSharedBytes) {
    return std::nullopt;
  }
  /// cudaDeviceSetLimit, by cudaLimit's number.
  virtual void setLimit(int limit, size_t value) {}
};

/// Kernels of a CPU image run in this process. \p path may be empty until a kernel is needed.
std::unique_ptr<Backend> createCpuBackend(std::string path, BackendReports reports);
/// Memory without kernels that run: their names and parameters come from the cubin at \p path.
std::unique_ptr<Backend> createTableBackend(std::string path, BackendReports reports);
/// Kernels of the cubin at \p path run on a GPU, which is opened when it is first needed. Live
/// device memory is at most \p limitBytes.
std::unique_ptr<Backend> createCudaBackend(std::string path, unsigned deviceIndex,
                                           uint64_t limitBytes, BackendReports reports);

/// Reads a whole file; nothing and \p error on failure.
std::optional<std::string> readImage(const std::string &path, std::string &error);

} // namespace kbrt

#endif // KBRT_RECORD_BACKEND_H
