//===- LaunchCalls.cpp - Kernel launches and kernel attributes --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DeviceFacts.h"
#include "Graphs.h"
#include "HostClock.h"
#include "Registry.h"
#include "Session.h"
#include "Settings.h"
#include "Streams.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace kbrt;
using cuda::Error;

namespace {

struct Request {
  const void *stub;
  cuda::Dim grid, block;
  void **arguments;
  uint64_t sharedBytes;
  cuda::Stream stream;
};

/// Null if \p stub is no registered kernel or the image lacks it.
const DeviceKernel *imageKernel(Session &session, const void *stub) {
  auto found = Registry::get().kernels.find(stub);
  return found == Registry::get().kernels.end() ? nullptr : session.findKernel(found->second.name);
}

/// Per thread, 0 if unknown: as the device has them, as KBRECORD_REGISTERS ("name=40;...") says of
/// the kernel, or as the image does.
unsigned registersOf(const DeviceKernel &kernel) {
  if (uint64_t all = deviceFact("kernelRegisters")) { // no more than leave room for its threads
    const uint64_t threads = kernel.maxThreads ? kernel.maxThreads : cuda::maxThreadsPerBlock;
    return static_cast<unsigned>(std::min(all, deviceFact("regsPerBlock") / threads));
  }
  const std::string text = ";" + recorderSetting("REGISTERS"), name = ";" + kernel.name + "=";
  if (size_t at = text.find(name); at != text.npos)
    return static_cast<unsigned>(std::strtoul(text.c_str() + at + name.size(), nullptr, 10));
  return kernel.registers;
}

Error checkConfiguration(const Request &request, const DeviceKernel &kernel) {
  auto [gx, gy, gz] = request.grid;
  auto [bx, by, bz] = request.block;
  uint64_t threads = uint64_t{bx} * by * bz;
  if (!gx || !gy || !gz || gx > cuda::maxGridX || gy > cuda::maxGridYZ || gz > cuda::maxGridYZ ||
      threads == 0 || threads > cuda::maxThreadsPerBlock || bz > cuda::maxBlockZ)
    return cuda::invalidConfiguration;
  if (kernel.maxThreads && threads > kernel.maxThreads)
    return cuda::invalidValue;
  uint64_t allowed =
      std::max<uint64_t>(Registry::get().kernels[request.stub].maxDynamicSharedBytes,
                         cuda::sharedBytesPerBlock - std::min<uint64_t>(kernel.staticSharedBytes,
                                                                        cuda::sharedBytesPerBlock));
  return request.sharedBytes > allowed ? cuda::invalidValue : cuda::success;
}

/// "k with a grid of 4 x 1 x 1, blocks of 2048 x 1 x 1 and 0 bytes of dynamic shared memory"
std::string describe(const Request &request, const DeviceKernel &kernel) {
  auto text = [](const cuda::Dim &dim) {
    return std::to_string(dim.x) + " x " + std::to_string(dim.y) + " x " + std::to_string(dim.z);
  };
  return kernel.name + " with a grid of " + text(request.grid) + ", blocks of " +
         text(request.block) + " and " + std::to_string(request.sharedBytes) +
         " bytes of dynamic shared memory";
}

/// Copies one argument; words that point into an allocation become pointers.
Argument argument(Session &session, const void *value, uint32_t bytes) {
  Argument result;
  auto *first = static_cast<const uint8_t *>(value);
  result.bytes.assign(first, first + bytes);
  for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
    uint64_t word;
    std::memcpy(&word, first + at, 8);
    if (!session.allocations.mayContain(word))
      continue;
    if (Allocation *target = session.allocations.find(reinterpret_cast<void *>(word)))
      result.pointers.push_back(
          {at, {session.allocations.buffer(*target), word - target->address}});
  }
  return result;
}

/// Where the pointers of \p step begin that are not to const.
std::vector<uint64_t> writablePlaces(const LaunchStep &step) {
  std::vector<uint64_t> places;
  auto constants = constPointerParameters(step.kernel);
  for (size_t i = 0; i < step.arguments.size(); ++i)
    for (const PointerWord &word : step.arguments[i].pointers)
      if (!constants || i >= constants->size() || !(*constants)[i]) {
        uint64_t &place = places.emplace_back();
        std::memcpy(&place, step.arguments[i].bytes.data() + word.at, sizeof place);
      }
  return places;
}

/// Launches \p kernel on stream \p stream.
Error launchOn(Session &session, const Request &request, const DeviceKernel &kernel,
               uint32_t stream) {
  session.countLaunch();
  if (session.allocations.hasHostVisible())
    session.makeDueBefore(stream); // functions of the host may have filled it
  session.allocations.flushHostWrites();
  LaunchStep step;
  step.kernel = kernel.name;
  step.grid = {request.grid.x, request.grid.y, request.grid.z};
  step.block = {request.block.x, request.block.y, request.block.z};
  step.sharedBytes = request.sharedBytes;
  step.stream = stream;
  for (size_t i = 0; i < kernel.parameterBytes.size(); ++i)
    step.arguments.push_back(argument(session, request.arguments[i], kernel.parameterBytes[i]));
  KernelLaunch launch{&kernel,          step.grid,         step.block,
                      step.sharedBytes, request.arguments, session.kernelSeconds};
  uint64_t threads = step.grid.count() * step.block.count();
  const std::vector<uint64_t> places = writablePlaces(step);
  session.sequence.add(std::move(step));
  // Simulated time: a launch, and two threads per nanosecond.
  session.deviceNanoseconds += 3000 + threads / 2;
  Error error = session.sequence.executing() ? session.backend->launch(launch) : cuda::success;
  session.allocations.deviceWrote(places, /*isKernel=*/true);
  if (session.allocations.hasHidden())
    session.startToCatchUpWhenQuiet();
  return error;
}

/// The launch as part of a graph, with the arguments that it has now.
GraphNode launchNode(const Request &request, const DeviceKernel &kernel) {
  std::vector<std::vector<char>> values;
  for (size_t i = 0; i < kernel.parameterBytes.size(); ++i) {
    auto *first = static_cast<const char *>(request.arguments[i]);
    values.emplace_back(first, first + kernel.parameterBytes[i]);
  }
  return [request, values, &kernel](Session &session, uint32_t stream) mutable {
    std::vector<void *> arguments;
    for (std::vector<char> &value : values)
      arguments.push_back(value.data());
    Request now = request;
    now.arguments = arguments.data();
    return launchOn(session, now, kernel, stream);
  };
}

Error launchKernel(Session &session, const Request &request) {
  hostClockGoesOn();
  auto stream = Streams::get().find(request.stream);
  if (!stream)
    return cuda::invalidResourceHandle;
  const DeviceKernel *kernel = imageKernel(session, request.stub);
  if (!kernel)
    return cuda::invalidDeviceFunction;
  if (Error error = checkConfiguration(request, *kernel)) {
    session.failedLaunch = describe(request, *kernel);
    return error;
  }
  Graphs &graphs = Graphs::get();
  if (graphs.captures(*stream))
    return graphs.add(launchNode(request, *kernel));
  if (graphs.isCapturing() && *stream == 0)
    return cuda::captureImplicit;
  return launchOn(session, request, *kernel, *stream);
}

/// Attributes that change what a launch means, and not just how fast it is.
void refuseAttributes(Session &session, const cuda::LaunchConfig &config) {
  enum { cooperative = 2, clusterDimension = 4, programmaticEvent = 7, completionEvent = 12 };
  for (unsigned i = 0; i < config.attributeCount; ++i) {
    const cuda::LaunchAttribute &attribute = config.attributes[i];
    const char *what = nullptr;
    const cuda::Dim &cluster = attribute.value.clusterDim;
    if (attribute.id == cooperative && attribute.value.cooperative)
      what = "a cooperative launch";
    if (attribute.id == clusterDimension && uint64_t{cluster.x} * cluster.y * cluster.z > 1)
      what = "a thread block cluster";
    if (attribute.id == programmaticEvent || attribute.id == completionEvent)
      what = "a launch event";
    if (what)
      session.stop(Ending::Unsupported, std::string("cudaLaunchKernelExC with ") + what +
                                            " is not supported by the recorder");
  }
}

} // namespace

KB_API Error cudaLaunchKernel(const void *stub, cuda::Dim grid, cuda::Dim block, void **arguments,
                              size_t sharedBytes, cuda::Stream stream) {
  return apiCall(__func__, [&](Session &session) {
    return launchKernel(session, {stub, grid, block, arguments, sharedBytes, stream});
  });
}
KB_PER_THREAD(cudaLaunchKernel, _ptsz)

KB_API Error cudaLaunchKernelExC(const cuda::LaunchConfig *config, const void *stub,
                                 void **arguments) {
  return apiCall(__func__, [&](Session &session) {
    if (!config)
      return Error{cuda::invalidValue};
    refuseAttributes(session, *config);
    return launchKernel(session, {stub, config->grid, config->block, arguments, config->sharedBytes,
                                  config->stream});
  });
}
KB_PER_THREAD(cudaLaunchKernelExC, _ptsz)

KB_API Error cudaLaunchCooperativeKernel(const void *stub, cuda::Dim, cuda::Dim, void **, size_t,
                                         cuda::Stream) {
  return apiCall(__func__, [&](Session &session) -> Error {
    auto found = Registry::get().kernels.find(stub);
    std::string name = found == Registry::get().kernels.end() ? "?" : found->second.name;
    session.stop(Ending::Unsupported, "cudaLaunchCooperativeKernel of '" + name +
                                          "' is not supported by the recorder: grid-wide "
                                          "synchronisation needs all blocks at once");
  });
}
KB_PER_THREAD(cudaLaunchCooperativeKernel, _ptsz)

KB_API Error cudaFuncGetAttributes(cuda::FunctionAttributes *attributes, const void *stub) {
  return apiCall(__func__, [&](Session &session) {
    if (!attributes)
      return Error{cuda::invalidValue};
    const DeviceKernel *kernel = imageKernel(session, stub);
    if (!kernel)
      return Error{cuda::invalidDeviceFunction};
    std::memset(attributes, 0, sizeof *attributes);
    attributes->sharedSizeBytes = kernel->staticSharedBytes;
    attributes->maxThreadsPerBlock =
        static_cast<int>(kernel->maxThreads ? kernel->maxThreads : cuda::maxThreadsPerBlock);
    attributes->localSizeBytes = kernel->localBytes;
    // Registers are the business of a real compiler: a middling figure where none has spoken.
    const unsigned registers = registersOf(*kernel);
    attributes->numRegs = static_cast<int>(registers ? registers : 32);
    attributes->ptxVersion = attributes->binaryVersion =
        static_cast<int>(deviceFact("major") * 10 + deviceFact("minor"));
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(std::max<uint64_t>(
        Registry::get().kernels[stub].maxDynamicSharedBytes,
        cuda::sharedBytesPerBlock -
            std::min<uint64_t>(kernel->staticSharedBytes, cuda::sharedBytesPerBlock)));
    attributes->preferredShmemCarveout = -1;
    return Error{cuda::success};
  });
}

KB_API Error cudaFuncSetAttribute(const void *stub, int attribute, int value) {
  return apiCall(__func__, [&](Session &session) {
    constexpr int maxDynamicShared = 8;
    const DeviceKernel *kernel = imageKernel(session, stub);
    if (!kernel)
      return Error{cuda::invalidDeviceFunction};
    if (attribute != maxDynamicShared)
      return Error{cuda::success}; // carve-outs and cluster policies: hints
    uint64_t most = deviceFact("sharedMemPerBlockOptin") - kernel->staticSharedBytes;
    if (value < 0 || static_cast<uint64_t>(value) > most)
      return Error{cuda::invalidValue};
    Registry::get().kernels[stub].maxDynamicSharedBytes = static_cast<uint64_t>(value);
    return Error{cuda::success};
  });
}

KB_API Error cudaFuncSetCacheConfig(const void *, int) {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}
KB_API Error cudaFuncSetSharedMemConfig(const void *, int) {
  return apiCall(__func__, [](Session &) { return Error{cuda::success}; });
}

KB_API Error cudaFuncGetName(const char **name, const void *stub) {
  return apiCall(__func__, [&](Session &) {
    auto found = Registry::get().kernels.find(stub);
    if (!name || found == Registry::get().kernels.end())
      return Error{name ? cuda::invalidDeviceFunction : cuda::invalidValue};
    *name = found->second.name.c_str();
    return Error{cuda::success};
  });
}

static Error activeBlocks(Session &session, int *count, const void *stub, int threads,
                          size_t dynamicBytes) {
  const DeviceKernel *kernel = imageKernel(session, stub);
  if (!count || threads <= 0)
    return cuda::invalidValue;
  if (!kernel)
    return cuda::invalidDeviceFunction;
  if (auto real = session.backend->activeBlocks(*kernel, threads, dynamicBytes)) {
    *count = *real;
    return cuda::success;
  }
  uint64_t warps = (static_cast<uint64_t>(threads) + 31) / 32;
  uint64_t byThreads = deviceFact("maxThreadsPerMultiProcessor") / (warps * 32);
  uint64_t shared =
      kernel->staticSharedBytes + dynamicBytes + deviceFact("reservedSharedMemPerBlock");
  uint64_t byShared = deviceFact("sharedMemPerMultiprocessor") / std::max<uint64_t>(shared, 1);
  uint64_t byBlocks = deviceFact("maxBlocksPerMultiProcessor");
  // A warp gets registers in portions of 256, from one of four parts of the multiprocessor.
  uint64_t perWarp = (uint64_t{registersOf(*kernel)} * 32 + 255) / 256 * 256;
  uint64_t byRegisters =
      perWarp ? deviceFact("regsPerMultiprocessor") / 4 / perWarp * 4 / warps : byBlocks;
  bool fits = static_cast<unsigned>(threads) <= cuda::maxThreadsPerBlock;
  *count = fits ? static_cast<int>(std::min({byThreads, byShared, byBlocks, byRegisters})) : 0;
  return cuda::success;
}

KB_API Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *count, const void *stub,
                                                           int threads, size_t dynamicBytes) {
  return apiCall(__func__, [&](Session &session) {
    return activeBlocks(session, count, stub, threads, dynamicBytes);
  });
}
KB_API Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *stub,
                                                                    int threads,
                                                                    size_t dynamicBytes, unsigned) {
  return apiCall(__func__, [&](Session &session) {
    return activeBlocks(session, count, stub, threads, dynamicBytes);
  });
}

KB_API Error cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *stub, int blocks,
                                                       int threads) {
  return apiCall(__func__, [&](Session &session) {
    const DeviceKernel *kernel = imageKernel(session, stub);
    if (!bytes || blocks <= 0 || threads <= 0)
      return Error{cuda::invalidValue};
    if (!kernel)
      return Error{cuda::invalidDeviceFunction};
    uint64_t share = deviceFact("sharedMemPerMultiprocessor") / static_cast<uint64_t>(blocks);
    uint64_t used = kernel->staticSharedBytes + deviceFact("reservedSharedMemPerBlock");
    *bytes = share > used ? share - used : 0;
    return Error{cuda::success};
  });
}
