//===- Execution.cpp - a plan's steps on a GPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Execution.h"
#include "Matmul.h"

#include <cstdio>
#include <cstring>
#include <ctime>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// A block may use this much dynamic shared memory without asking.
constexpr uint64_t sharedWithoutOptIn = 48 << 10;
/// What memory is mapped in.
constexpr uint64_t devicePage = 2 << 20;

} // namespace

CUfunction LoadedImage::Module::function(const std::string &name) {
  auto [entry, isNew] = functions.try_emplace(name, nullptr);
  if (!isNew ||
      h->driver->cuModuleGetFunction(&entry->second, handle, name.c_str()) == CUDA_SUCCESS)
    return entry->second;
  const CubinKernel *kernel = getTable().findKernel(name);
  if (!kernel ||
      h->driver->cuModuleGetFunction(&entry->second, handle, kernel->name.c_str()) != CUDA_SUCCESS)
    entry->second = nullptr;
  return entry->second;
}

bool LoadedImage::Module::findVariable(const std::string &name, CUdeviceptr &place, size_t &bytes) {
  if (h->driver->cuModuleGetGlobal(&place, &bytes, handle, name.c_str()) == CUDA_SUCCESS)
    return true;
  const CubinVariable *variable = getTable().findVariable(name);
  return variable && h->driver->cuModuleGetGlobal(&place, &bytes, handle, variable->name.c_str()) ==
                         CUDA_SUCCESS;
}

const CubinTable &LoadedImage::Module::getTable() {
  if (!table) {
    std::string error; // PTX has no table
    table = readCubin(bytes, error).value_or(CubinTable{});
  }
  return *table;
}

Slab::~Slab() {
  if (address && !isLent && !h->isLost)
    h->driver->cuMemFree(address);
}

Slab &Slab::operator=(Slab &&other) noexcept {
  std::swap(h, other.h);
  std::swap(address, other.address);
  std::swap(bytes, other.bytes);
  std::swap(shift, other.shift);
  std::swap(isLent, other.isLent);
  return *this;
}

bool Slab::allocate(Device::Handles &handles, uint64_t count, uint64_t offset, Problem &problem) {
  h = &handles;
  shift = offset;
  // All of the pages that the driver maps for it, so that `wipe` reaches what a kernel can.
  bytes = std::max<uint64_t>(count, slabAlignment) + shift;
  bytes = (bytes + devicePage - 1) / devicePage * devicePage;
  CUresult code = h->driver->cuMemAlloc(&address, bytes);
  if (code == CUDA_SUCCESS)
    return true;
  address = 0;
  size_t free = 0, total = 0;
  h->driver->cuMemGetInfo(&free, &total);
  problem = {statusOf(code),
             "the plan needs " + std::to_string(bytes >> 20) + " MiB of device memory at once, " +
                 std::to_string(free >> 20) + " of " + std::to_string(total >> 20) +
                 " MiB are free: " + describe(*h->driver, code),
             adviceFor(code)};
  return false;
}

void Slab::use(Device::Handles &handles, uint64_t place, uint64_t count) {
  h = &handles;
  address = place;
  bytes = count;
  isLent = true;
}

void Slab::wipe(uint8_t value) { h->driver->cuMemsetD8Async(address, value, bytes, h->stream); }

Staging::~Staging() {
  if (h && !h->isLost)
    for (auto &[step, address] : copies)
      h->driver->cuMemFree(address);
}

Staging &Staging::operator=(Staging &&other) noexcept {
  std::swap(h, other.h);
  std::swap(copies, other.copies);
  return *this;
}

void Staging::add(Device::Handles &handles, const Subject &subject, uint64_t budget) {
  h = &handles;
  const Plan &plan = *subject.plan;
  const PlanInputs &inputs = *subject.inputs;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    auto *upload = std::get_if<UploadStep>(&plan.steps[i]);
    if (!upload || !upload->to.bytes() || upload->to.bytes() > budget)
      continue;
    std::string_view payload;
    for (auto &[step, bytes] : inputs.overrides)
      if (step == i)
        payload = bytes;
    if (payload.empty() && upload->data + upload->to.bytes() <= inputs.data.size())
      payload = inputs.data.substr(upload->data, upload->to.bytes());
    CUdeviceptr copy = 0;
    if (payload.size() != upload->to.bytes() ||
        h->driver->cuMemAlloc(&copy, payload.size()) != CUDA_SUCCESS)
      continue;
    h->driver->cuMemcpyHtoDAsync(copy, payload.data(), payload.size(), h->stream);
    copies[i] = copy;
    budget -= payload.size();
  }
}

void Staging::use(const std::map<size_t, uint64_t> &lent) { copies = {lent.begin(), lent.end()}; }

CUdeviceptr Staging::find(size_t step) const {
  auto copy = copies.find(step);
  return copy == copies.end() ? 0 : copy->second;
}

Execution::Execution(Device &device, const Subject &subject, const SlabLayout &layout,
                     uint64_t slabBase, uint8_t poison, double wallSeconds)
    : PlanWalk(*subject.plan, *subject.inputs), h(device.getHandles()),
      module(subject.image->getModule()), layout(layout), slabBase(slabBase), poison(poison),
      wallSeconds(wallSeconds) {
  keepsObservables = false;
}

bool Execution::check(CUresult code, const std::string &what) {
  if (code == CUDA_SUCCESS)
    return true;
  note = adviceFor(code);
  h.isLost |= statusOf(code) == LaunchStatus::Fault || statusOf(code) == LaunchStatus::Assert ||
              statusOf(code) == LaunchStatus::Timeout ||
              statusOf(code) == LaunchStatus::Environment;
  return fail(statusOf(code), what + ": " + describe(*h.driver, code));
}

void Execution::takeTurn(const std::function<void()> &begins) {
  auto before = std::chrono::steady_clock::now();
  begins();
  start += std::chrono::steady_clock::now() - before;
}

bool Execution::wait(const std::string &what) {
  using namespace std::chrono;
  for (unsigned looks = 0;; ++looks) {
    CUresult code = h.driver->cuStreamQuery(h.stream);
    if (code != CUDA_ERROR_NOT_READY)
      return check(code, what);
    if (wallSeconds > 0 && duration<double>(steady_clock::now() - start).count() > wallSeconds) {
      h.isLost = true;
      char text[32];
      snprintf(text, sizeof text, "%g", wallSeconds);
      return fail(LaunchStatus::Timeout, what + " was still running after " + text + " seconds");
    }
    // Short waits spin, long ones leave the processor to others.
    if (looks > 20000) {
      timespec pause = {0, 200'000};
      nanosleep(&pause, nullptr);
    }
  }
}

bool Execution::allocate(uint32_t id) {
  if (!beforeHostWork())
    return false;
  address[id] = slabBase + layout.offset[id];
  uint64_t bytes = plan.buffers[id].bytes, after = SlabLayout::guardAfter(bytes);
  std::string what = "buffer " + std::to_string(id);
  auto set = [&](uint64_t at, uint8_t value, uint64_t count) {
    return !count || check(h.driver->cuMemsetD8Async(at, value, count, h.stream), what);
  };
  return set(address[id] - guardBytes, guardPattern, guardBytes) &&
         set(address[id], poison, bytes) && set(address[id] + bytes, guardPattern, after);
}

void Execution::snapshotSymbols() {
  for (const Buffer &buffer : plan.buffers) {
    if (buffer.kind != BufferKind::Symbol || module.symbols.count(buffer.symbol))
      continue;
    CUdeviceptr place = 0;
    size_t bytes = 0;
    if (!module.findVariable(buffer.symbol, place, bytes))
      continue; // an error only if the plan uses it
    std::string initial(bytes, 0);
    if (check(h.driver->cuMemcpyDtoH(initial.data(), place, bytes),
              "variable '" + buffer.symbol + "'"))
      module.symbols[buffer.symbol] = {place, std::move(initial)};
  }
}

uint64_t Execution::findSymbol(const Buffer &buffer) {
  auto entry = module.symbols.find(buffer.symbol);
  if (entry != module.symbols.end() && entry->second.second.size() >= buffer.bytes)
    return entry->second.first;
  fail(LaunchStatus::InvalidLaunch, "the image has no variable '" + buffer.symbol + "' of " +
                                        std::to_string(buffer.bytes) +
                                        " bytes, which the plan uses");
  return 0;
}

bool Execution::moveRows(CUmemorytype toType, uint64_t to, uint64_t toPitch, CUmemorytype fromType,
                         uint64_t from, uint64_t fromPitch, uint64_t width, uint64_t height) {
  if (!width || !height)
    return true;
  std::string what = "the copy of step " + std::to_string(index);
  // Long rows and many rows exceed what a two-dimensional copy takes.
  if (height == 1 || (toPitch == width && fromPitch == width)) {
    uint64_t bytes = width * height;
    if (toType == CU_MEMORYTYPE_HOST)
      return check(h.driver->cuMemcpyDtoHAsync(reinterpret_cast<void *>(to), from, bytes, h.stream),
                   what);
    if (fromType == CU_MEMORYTYPE_HOST)
      return check(
          h.driver->cuMemcpyHtoDAsync(to, reinterpret_cast<const void *>(from), bytes, h.stream),
          what);
    return check(h.driver->cuMemcpyDtoDAsync(to, from, bytes, h.stream), what);
  }
  CUDA_MEMCPY2D move = {};
  move.dstMemoryType = toType;
  move.srcMemoryType = fromType;
  if (toType == CU_MEMORYTYPE_HOST)
    move.dstHost = reinterpret_cast<void *>(to);
  else
    move.dstDevice = to;
  if (fromType == CU_MEMORYTYPE_HOST)
    move.srcHost = reinterpret_cast<const void *>(from);
  else
    move.srcDevice = from;
  move.dstPitch = toPitch;
  move.srcPitch = fromPitch;
  move.WidthInBytes = width;
  move.Height = height;
  return check(h.driver->cuMemcpy2DAsync(&move, h.stream), what);
}

bool Execution::upload(uint64_t to, const Region &region, std::string_view payload) {
  if (!beforeHostWork())
    return false;
  // What holds pointers was put right for this place, and is no copy of the staged bytes.
  bool hasPointers = !std::get<UploadStep>(plan.steps[index]).pointers.empty();
  if (staging && !hasPointers)
    if (CUdeviceptr staged = staging->find(index))
      return moveRows(CU_MEMORYTYPE_DEVICE, to, region.pitch, CU_MEMORYTYPE_DEVICE, staged,
                      region.width, region.width, region.height);
  return moveRows(CU_MEMORYTYPE_DEVICE, to, region.pitch, CU_MEMORYTYPE_HOST,
                  reinterpret_cast<uint64_t>(payload.data()), region.width, region.width,
                  region.height) &&
         wait("the upload of step " + std::to_string(index));
}

bool Execution::fill(uint64_t to, const Region &region, uint8_t value) {
  if (!beforeDeviceWork(false) || !region.bytes())
    return status == LaunchStatus::Ok;
  std::string what = "the fill of step " + std::to_string(index);
  if (region.height == 1 || region.pitch == region.width)
    return check(h.driver->cuMemsetD8Async(to, value, region.bytes(), h.stream), what);
  return check(
      h.driver->cuMemsetD2D8Async(to, region.pitch, value, region.width, region.height, h.stream),
      what);
}

bool Execution::copy(uint64_t to, const Region &toRegion, uint64_t from, const Region &fromRegion) {
  if (!beforeDeviceWork(false))
    return false;
  return moveRows(CU_MEMORYTYPE_DEVICE, to, toRegion.pitch, CU_MEMORYTYPE_DEVICE, from,
                  fromRegion.pitch, toRegion.width, toRegion.height);
}

bool Execution::read(uint64_t from, const Region &region, char *into) {
  return beforeHostWork() &&
         (!into ||
          moveRows(CU_MEMORYTYPE_HOST, reinterpret_cast<uint64_t>(into), region.width,
                   CU_MEMORYTYPE_DEVICE, from, region.pitch, region.width, region.height)) &&
         wait("the read of step " + std::to_string(index));
}

bool Execution::keepRead(const LentMemory &memory, uint64_t from, const Region &region) {
  const uint64_t to = memory.results + memory.reads[keptReads++];
  return beforeHostWork() &&
         moveRows(CU_MEMORYTYPE_DEVICE, to, region.width, CU_MEMORYTYPE_DEVICE, from, region.pitch,
                  region.width, region.height) &&
         wait("the read of step " + std::to_string(index));
}

bool Execution::matmul(const MatmulStep &step, uint64_t a, uint64_t b, uint64_t c) {
  return beforeDeviceWork(true) && check(queueMatmul(h, step, a, b, c),
                                         "the matrix product of step " + std::to_string(index));
}

bool Execution::queue(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments) {
  CUfunction function = module.function(step.kernel);
  if (!function)
    return fail(LaunchStatus::InvalidLaunch,
                "the image has no kernel '" + step.kernel + "', which the plan launches");
  std::vector<void *> pointers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    size_t at = 0, bytes = 0;
    if (h.driver->cuFuncGetParamInfo &&
        (h.driver->cuFuncGetParamInfo(function, i, &at, &bytes) != CUDA_SUCCESS ||
         bytes != arguments[i].size()))
      return fail(LaunchStatus::InvalidLaunch,
                  "argument " + std::to_string(i) + " of " + step.kernel + " has " +
                      std::to_string(arguments[i].size()) +
                      " bytes in the plan, the kernel takes " +
                      (bytes ? std::to_string(bytes) : "no such argument"));
    pointers.push_back(arguments[i].data());
  }
  size_t at = 0, bytes = 0;
  if (h.driver->cuFuncGetParamInfo &&
      h.driver->cuFuncGetParamInfo(function, arguments.size(), &at, &bytes) == CUDA_SUCCESS)
    return fail(LaunchStatus::InvalidLaunch, "the plan launches " + step.kernel + " with " +
                                                 std::to_string(arguments.size()) +
                                                 " arguments, it takes more");
  if (step.sharedBytes > sharedWithoutOptIn &&
      !check(h.driver->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          static_cast<int>(step.sharedBytes)),
             "kernel " + step.kernel + " with " + std::to_string(step.sharedBytes) +
                 " bytes of dynamic shared memory"))
    return false;
  return check(h.driver->cuLaunchKernel(function, step.grid.x, step.grid.y, step.grid.z,
                                        step.block.x, step.block.y, step.block.z,
                                        static_cast<unsigned>(step.sharedBytes), h.stream,
                                        pointers.data(), nullptr),
               "the launch of " + step.kernel + " (step " + std::to_string(index) + ")");
}

bool Execution::launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments) {
  return beforeDeviceWork(true) && queue(step, arguments);
}
