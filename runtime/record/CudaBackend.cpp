//===- CudaBackend.cpp - Kernels on a GPU -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the work of recorded programs on a CUDA device: one stream, and a wait
// after each piece of work, so that a kernel that goes wrong is named.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#ifdef KBRT_HAS_CUDA
#include "CudaMemory.h"
#include "Execution.h"
#include "Matmul.h"
#include "kbrt/CubinTable.h"
#include "kbrt/Turn.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>

using namespace kbrt;
using cuda::Device;
using cuda::Error;
using cuda::LoadedImage;
using cuda::Problem;

namespace {

/// A block may use this much dynamic shared memory without asking.
constexpr uint64_t sharedWithoutOptIn = 48 << 10;

class CudaBackend : public Backend {
public:
  CudaBackend(std::string path, unsigned index, uint64_t limitBytes, BackendReports reports)
      : path(std::move(path)), index(index), limitBytes(limitBytes), reports(std::move(reports)) {}

  const DeviceKernel *findKernel(const std::string &name) override;
  std::vector<DeviceVariable> variables() override;
  void *allocate(uint64_t bytes, bool isHostVisible) override;
  void free(void *p) override {
    if (ready())
      memoryOnDevice->free(p);
  }
  MemoryAmount memory() override;
  void write(Rows to, Rows from, uint64_t width, uint64_t height) override {
    move(to, from, width, height, /*toHost=*/false, /*fromHost=*/true);
  }
  void read(Rows to, Rows from, uint64_t width, uint64_t height) override {
    move(to, from, width, height, /*toHost=*/true, /*fromHost=*/false);
  }
  void copy(Rows to, Rows from, uint64_t width, uint64_t height) override {
    move(to, from, width, height, /*toHost=*/false, /*fromHost=*/false);
  }
  void fill(Rows to, uint8_t value, uint64_t width, uint64_t height) override;
  void noteHostWrite(const void *, uint64_t) override {}
  Error launch(const KernelLaunch &launch) override;
  void multiply(const MatmulStep &step, const MatmulPlaces &places) override;
  std::optional<uint64_t> attribute(int number) override;
  std::string deviceName() override { return open().getFacts().name; }
  std::optional<int> activeBlocks(const DeviceKernel &kernel, int threads,
                                  uint64_t dynamicSharedBytes) override;
  void setLimit(int limit, size_t value) override;

private:
  Device &open();
  LoadedImage &image();
  /// Opens the device and makes it this thread's; false after a fault.
  bool ready();
  CUfunction functionOf(const DeviceKernel &kernel) {
    return image().getModule().function(kernel.name);
  }
  void move(Rows to, Rows from, uint64_t width, uint64_t height, bool toHost, bool fromHost);
  /// Waits for the stream; notes a fault of \p what. True if all is well.
  bool finish(CUresult code, const std::string &what, double wallSeconds = 0);
  CUresult wait(double wallSeconds);
  [[noreturn]] void giveUp(const std::string &message, const std::string &note);

  std::string path;
  unsigned index;
  uint64_t limitBytes;
  BackendReports reports;
  std::unique_ptr<Device> device;
  std::unique_ptr<CudaMemory> memoryOnDevice;
  std::unique_ptr<LoadedImage> loaded;
  CubinTable table;
  std::map<std::string, DeviceKernel> kernels; ///< by the name that was asked for
  uint64_t launches = 0;
  std::optional<cuda::Turn> turn; ///< of the device, from its opening on: launches of the program's
                                  ///< own come between other processes' measurements
};

void CudaBackend::giveUp(const std::string &message, const std::string &note) {
  reports.stop(Ending::NoDevice, message + (note.empty() ? "" : "; " + note));
  std::abort(); // stop does not return
}

Device &CudaBackend::open() {
  if (!device) {
    Problem problem;
    device = Device::open({index, ""}, problem);
    if (device)
      memoryOnDevice = CudaMemory::create(device->getHandles(), problem);
    if (!memoryOnDevice)
      giveUp(problem.message, problem.note);
    turn.emplace(device->getFacts().uuid);
    limitBytes = std::min(limitBytes, device->getFacts().freeBytes);
  }
  // The context is current for the thread that opened the device.
  static thread_local bool isCurrent = false;
  if (!isCurrent)
    device->getHandles().driver->cuCtxSetCurrent(device->getHandles().context);
  isCurrent = true;
  return *device;
}

bool CudaBackend::ready() { return !open().getHandles().isLost; }

LoadedImage &CudaBackend::image() {
  if (loaded)
    return *loaded;
  Problem problem;
  std::string error;
  Device &opened = open();
  auto bytes = readImage(path, error);
  auto tables = bytes ? readCubin(*bytes, error) : std::nullopt;
  if (!tables)
    reports.stop(Ending::Unsupported, "cannot read the cubin '" + path + "': it " + error);
  table = std::move(*tables);
  loaded = LoadedImage::load(opened, std::move(*bytes), path, problem);
  if (!loaded)
    giveUp(problem.message, problem.note);
  return *loaded;
}

const DeviceKernel *CudaBackend::findKernel(const std::string &name) {
  if (auto found = kernels.find(name); found != kernels.end())
    return &found->second;
  LoadedImage &code = image();
  const CubinKernel *found = table.findKernel(name);
  auto facts = found ? code.kernelFacts(name) : std::nullopt;
  if (!facts)
    return nullptr;
  DeviceKernel kernel{name,
                      found->parameterBytes,
                      facts->maxThreads,
                      facts->staticSharedBytes,
                      facts->registers,
                      facts->localBytes};
  return &kernels.emplace(name, std::move(kernel)).first->second;
}

std::vector<DeviceVariable> CudaBackend::variables() {
  std::vector<DeviceVariable> all;
  LoadedImage::Module &module = image().getModule();
  for (const CubinVariable &variable : table.variables) {
    CUdeviceptr place = 0;
    size_t bytes = 0;
    if (module.h->driver->cuModuleGetGlobal(&place, &bytes, module.handle, variable.name.c_str()) ==
        CUDA_SUCCESS)
      all.push_back({variable.name, place, bytes, variable.isManaged, ""});
  }
  return all;
}

void *CudaBackend::allocate(uint64_t bytes, bool isHostVisible) {
  if (!ready() || bytes > limitBytes || memoryOnDevice->getLiveBytes() > limitBytes - bytes)
    return nullptr;
  void *p = memoryOnDevice->allocate(bytes, isHostVisible);
  // As in a fresh process, whose memory the driver has cleared.
  if (p)
    fill({static_cast<char *>(p), bytes}, 0, bytes, 1);
  return p;
}

MemoryAmount CudaBackend::memory() {
  uint64_t total = open().getFacts().memoryBytes, live = memoryOnDevice->getLiveBytes();
  return {limitBytes - std::min(limitBytes, live), total};
}

CUresult CudaBackend::wait(double wallSeconds) {
  using namespace std::chrono;
  const Device::Handles &h = device->getHandles();
  auto start = steady_clock::now();
  for (unsigned looks = 0; wallSeconds > 0; ++looks) {
    CUresult code = h.driver->cuStreamQuery(h.stream);
    if (code != CUDA_ERROR_NOT_READY)
      break;
    if (duration<double>(steady_clock::now() - start).count() > wallSeconds)
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    // Short waits spin, long ones leave the processor to others.
    if (looks > 20000) {
      timespec pause = {0, 200'000};
      nanosleep(&pause, nullptr);
    }
  }
  return h.driver->cuStreamSynchronize(h.stream); // prints what kernels have printed
}

bool CudaBackend::finish(CUresult code, const std::string &what, double wallSeconds) {
  if (code == CUDA_SUCCESS)
    code = wait(wallSeconds);
  if (code == CUDA_SUCCESS)
    return true;
  Device::Handles &h = device->getHandles();
  h.isLost = true;
  std::string message = what + ": " + cuda::describe(*h.driver, code);
  if (cuda::statusOf(code) == LaunchStatus::Environment)
    giveUp(message, cuda::adviceFor(code));
  // The numbers of the driver's errors are those of the runtime.
  reports.fault(static_cast<Error>(code), message);
  return false;
}

void CudaBackend::move(Rows to, Rows from, uint64_t width, uint64_t height, bool toHost,
                       bool fromHost) {
  if (!ready() || !width || !height)
    return;
  // Work is done when a call returns: the host may touch what it sees by itself.
  toHost |= CudaMemory::isHostVisible(to.at);
  fromHost |= CudaMemory::isHostVisible(from.at);
  if (toHost && fromHost) {
    for (uint64_t y = 0; y < height; ++y)
      std::memmove(to.at + y * to.pitch, from.at + y * from.pitch, width);
    return;
  }
  const Device::Handles &h = device->getHandles();
  auto addressOf = [](char *p) { return reinterpret_cast<CUdeviceptr>(p); };
  if (height == 1 || (to.pitch == width && from.pitch == width)) {
    uint64_t bytes = width * height;
    CUresult code =
        toHost ? h.driver->cuMemcpyDtoHAsync(to.at, addressOf(from.at), bytes, h.stream)
        : fromHost
            ? h.driver->cuMemcpyHtoDAsync(addressOf(to.at), from.at, bytes, h.stream)
            : h.driver->cuMemcpyDtoDAsync(addressOf(to.at), addressOf(from.at), bytes, h.stream);
    finish(code, "a copy of " + std::to_string(bytes) + " bytes");
    return;
  }
  CUDA_MEMCPY2D rows = {};
  rows.dstMemoryType = toHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  rows.srcMemoryType = fromHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  rows.dstHost = to.at;
  rows.dstDevice = addressOf(to.at);
  rows.srcHost = from.at;
  rows.srcDevice = addressOf(from.at);
  rows.dstPitch = to.pitch;
  rows.srcPitch = from.pitch;
  rows.WidthInBytes = width;
  rows.Height = height;
  finish(h.driver->cuMemcpy2DAsync(&rows, h.stream),
         "a copy of " + std::to_string(height) + " rows of " + std::to_string(width) + " bytes");
}

void CudaBackend::fill(Rows to, uint8_t value, uint64_t width, uint64_t height) {
  if (!ready())
    return;
  if (CudaMemory::isHostVisible(to.at)) {
    for (uint64_t y = 0; y < height; ++y)
      std::memset(to.at + y * to.pitch, value, width);
    return;
  }
  const Device::Handles &h = device->getHandles();
  auto address = reinterpret_cast<CUdeviceptr>(to.at);
  bool isLinear = height == 1 || to.pitch == width;
  CUresult code =
      isLinear ? h.driver->cuMemsetD8Async(address, value, width * height, h.stream)
               : h.driver->cuMemsetD2D8Async(address, to.pitch, value, width, height, h.stream);
  finish(code, "a fill of " + std::to_string(width * height) + " bytes");
}

Error CudaBackend::launch(const KernelLaunch &request) {
  if (!ready())
    return cuda::success;
  const Device::Handles &h = device->getHandles();
  CUfunction function = functionOf(*request.kernel);
  CUresult code = CUDA_SUCCESS;
  if (request.sharedBytes + request.kernel->staticSharedBytes > sharedWithoutOptIn)
    code = h.driver->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        static_cast<int>(request.sharedBytes));
  turn->shared();
  if (code == CUDA_SUCCESS)
    code = h.driver->cuLaunchKernel(function, request.grid.x, request.grid.y, request.grid.z,
                                    request.block.x, request.block.y, request.block.z,
                                    static_cast<unsigned>(request.sharedBytes), h.stream,
                                    request.arguments, nullptr);
  ++launches;
  const bool isRefused =
      code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (!isRefused)
    finish(code, "kernel '" + request.kernel->name + "' (launch " + std::to_string(launches) + ")",
           request.wallSeconds);
  turn->leave();
  if (isRefused)
    return static_cast<Error>(code); // nothing ran
  return cuda::success;
}

void CudaBackend::multiply(const MatmulStep &step, const MatmulPlaces &places) {
  if (!ready())
    return;
  auto addressOf = [](const float *p) { return reinterpret_cast<uint64_t>(p); };
  finish(cuda::queueMatmul(device->getHandles(), step, addressOf(places.a), addressOf(places.b),
                           addressOf(places.c)),
         "a matrix product");
}

std::optional<uint64_t> CudaBackend::attribute(int number) {
  int value = 0;
  const Device::Handles &h = open().getHandles();
  if (h.driver->cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(number), h.device) !=
          CUDA_SUCCESS ||
      value < 0)
    return std::nullopt;
  return static_cast<uint64_t>(value);
}

std::optional<int> CudaBackend::activeBlocks(const DeviceKernel &kernel, int threads,
                                             uint64_t dynamicSharedBytes) {
  return static_cast<int>(image().blocksPerMultiprocessor(
      kernel.name, static_cast<unsigned>(threads), dynamicSharedBytes));
}

void CudaBackend::setLimit(int limit, size_t value) {
  if (!ready())
    return;
  if (auto set = device->getHandles().driver->cuCtxSetLimit)
    set(static_cast<CUlimit>(limit), value);
}

} // namespace

std::unique_ptr<Backend> kbrt::createCudaBackend(std::string path, unsigned deviceIndex,
                                                 uint64_t limitBytes, BackendReports reports) {
  return std::make_unique<CudaBackend>(std::move(path), deviceIndex, limitBytes,
                                       std::move(reports));
}

#else

std::unique_ptr<kbrt::Backend> kbrt::createCudaBackend(std::string path, unsigned, uint64_t,
                                                       BackendReports reports) {
  return createTableBackend(std::move(path), std::move(reports));
}

#endif // KBRT_HAS_CUDA
