//===- PlanExecutor.cpp - run a plan on the CPU device --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/PlanExecutor.h"
#include "OracleMatrices.h"
#include "OracleMemory.h"
#include "OracleSum.h"
#include "PlanTouches.h"
#include "Shadow.h"
#include "kbrt/Matmul.h"
#include "kbrt/RepeatedLaunches.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace kbrt {

namespace {

using Clock = std::chrono::steady_clock;

/// Of this thread, which executes all of a plan.
double processorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Execution : PlanWalk {
public:
  Execution(const Plan &plan, Image &image, const PlanOptions &options)
      : PlanWalk(plan, options.inputs), image(image), options(options) {
    if (image.getMode() == ImageMode::Check)
      touches.emplace(plan, image, address);
  }

  PlanResult run();

private:
  bool allocate(uint32_t id) override;
  void release(uint32_t id) override;
  uint64_t findSymbol(const Buffer &buffer) override;
  bool upload(uint64_t to, const Region &region, std::string_view payload) override;
  bool fill(uint64_t to, const Region &region, uint8_t value) override;
  bool copy(uint64_t to, const Region &toRegion, uint64_t from, const Region &fromRegion) override;
  bool launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments) override;
  bool read(uint64_t from, const Region &region, char *into) override;
  bool matmul(const MatmulStep &step, uint64_t a, uint64_t b, uint64_t c) override;
  bool performed(const Step &step) override;

  bool bindArguments(const LaunchStep &step, const KernelInfo &kernel,
                     std::vector<std::vector<uint8_t>> &bytes);
  void cleanUp();

  struct ConstInput {
    uint32_t parameter;
    const MemoryBuffer *buffer;
    uint64_t hash;
  };
  std::vector<ConstInput> constInputs(const KernelInfo &kernel) const;
  void checkConstInputs(const KernelInfo &kernel, const std::vector<ConstInput> &inputs,
                        LaunchResult &launched);

  Image &image;
  const PlanOptions &options;
  std::vector<void *> arguments;
  RepeatedLaunches repeated;
  void observeOracle(uint64_t from, const Region &region);
  bool hasOracle() const { return image.getMode() == ImageMode::Oracle; }

  std::optional<PlanTouches> touches; ///< of check images
  std::string oracleElements;         ///< of oracle images, in the place of observables
  std::unordered_map<std::string, size_t> launchOf; ///< key to index in result.launches
  Clock::time_point start = Clock::now();
  double processorStart = processorSeconds();
  PlanResult result;
};

char *pointer(uint64_t address) { return reinterpret_cast<char *>(address); }

bool Execution::allocate(uint32_t id) {
  const Buffer &buffer = plan.buffers[id];
  MemoryKind kind = buffer.kind == BufferKind::Device ? MemoryKind::Device : MemoryKind::Managed;
  DeviceMemory &memory = DeviceMemory::get();
  std::string name = "buffer " + std::to_string(id);
  bool hasPlace = isDeviceAddress(buffer.address) && buffer.address % DeviceMemory::pageBytes == 0;
  void *p = hasPlace ? memory.allocateAt(buffer.address, buffer.bytes, kind, name)
                     : memory.allocate(buffer.bytes, kind, name);
  if (!p)
    return fail(memory.getLiveBytes() + buffer.bytes > options.deviceBytes
                    ? LaunchStatus::OutOfMemory
                    : LaunchStatus::InvalidLaunch,
                name + ": " + memory.lastError());
  address[id] = reinterpret_cast<uint64_t>(p);
  if (touches)
    touches->allocated(id);
  return true;
}

void Execution::release(uint32_t id) { DeviceMemory::get().free(pointer(address[id])); }

uint64_t Execution::findSymbol(const Buffer &buffer) {
  const SymbolInfo *symbol = image.findSymbol(buffer.symbol);
  if (symbol && symbol->bytes >= buffer.bytes)
    return symbol->address;
  fail(LaunchStatus::InvalidLaunch, "the image has no variable '" + buffer.symbol + "' of " +
                                        std::to_string(buffer.bytes) +
                                        " bytes, which the plan uses");
  return 0;
}

bool Execution::upload(uint64_t to, const Region &region, std::string_view payload) {
  for (uint64_t row = 0; row < region.height; ++row)
    DeviceMemory::get().write(pointer(to + row * region.pitch), payload.data() + row * region.width,
                              region.width);
  return true;
}

bool Execution::fill(uint64_t to, const Region &region, uint8_t value) {
  for (uint64_t row = 0; row < region.height; ++row)
    DeviceMemory::get().fill(pointer(to + row * region.pitch), value, region.width);
  return true;
}

bool Execution::copy(uint64_t to, const Region &toRegion, uint64_t from, const Region &fromRegion) {
  for (uint64_t row = 0; row < toRegion.height; ++row) {
    uint64_t target = to + row * toRegion.pitch, source = from + row * fromRegion.pitch;
    memmove(pointer(target), pointer(source), toRegion.width);
    DeviceMemory::get().memoryChanged();
    shadow::onCopy(target, source, toRegion.width);
    if (hasOracle())
      oracle::copy(pointer(target), pointer(source), toRegion.width);
  }
  return true;
}

bool Execution::read(uint64_t from, const Region &region, char *into) {
  for (uint64_t row = 0; row < region.height; ++row)
    memcpy(into + row * region.width, pointer(from + row * region.pitch), region.width);
  if (hasOracle())
    observeOracle(from, region);
  return true;
}

void Execution::observeOracle(uint64_t from, const Region &region) {
  const ElementType type = elementOf(plan, region);
  const std::optional<FloatFormat> format = oracle::formatOf(type);
  if (!format)
    return;
  const unsigned width = elementBytes(type);
  for (uint64_t row = 0; row < region.height; ++row)
    for (uint64_t at = 0; at < region.width; at += width) {
      const OracleElement element = oracle::elementOf(
          oracle::load(pointer(from + row * region.pitch + at), *format), *format);
      oracleElements.append(reinterpret_cast<const char *>(&element), sizeof element);
    }
}

bool Execution::matmul(const MatmulStep &step, uint64_t a, uint64_t b, uint64_t c) {
  auto floats = [](uint64_t place) { return reinterpret_cast<float *>(place); };
  const MatmulPlaces places{floats(a), floats(b), floats(c)};
  const std::vector<OracleSum> sums =
      hasOracle() ? oracle::multiplyMatrices(step, places) : std::vector<OracleSum>();
  kbrt::matmul(step, places, repeated);
  if (hasOracle())
    oracle::keepMatrices(step, places, sums);
  return true;
}

bool Execution::bindArguments(const LaunchStep &step, const KernelInfo &kernel,
                              std::vector<std::vector<uint8_t>> &bytes) {
  if (bytes.size() != kernel.paramCount)
    return fail(LaunchStatus::InvalidLaunch,
                "the plan launches " + std::string(kernel.displayName) + " with " +
                    std::to_string(bytes.size()) + " arguments, it takes " +
                    std::to_string(kernel.paramCount));
  arguments.clear();
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i].size() != kernel.params[i].bytes)
      return fail(LaunchStatus::InvalidLaunch,
                  "argument " + std::to_string(i) + " of " + kernel.displayName + " has " +
                      std::to_string(bytes[i].size()) + " bytes in the plan, the kernel takes " +
                      std::to_string(kernel.params[i].bytes));
    arguments.push_back(bytes[i].data());
  }
  return true;
}

std::vector<Execution::ConstInput> Execution::constInputs(const KernelInfo &kernel) const {
  std::vector<ConstInput> inputs;
  if (!options.checkConstInputs)
    return inputs;
  auto bufferOf = [&](uint32_t i) -> const MemoryBuffer * {
    uint64_t p = 0;
    memcpy(&p, arguments[i], sizeof p);
    return DeviceMemory::get().find(p);
  };
  std::vector<const MemoryBuffer *> writable;
  for (uint32_t i = 0; i < kernel.paramCount; ++i)
    if (kernel.params[i].isPointer && !kernel.params[i].isConst && kernel.params[i].bytes == 8)
      writable.push_back(bufferOf(i));
  for (uint32_t i = 0; i < kernel.paramCount; ++i) {
    if (!kernel.params[i].isPointer || !kernel.params[i].isConst || kernel.params[i].bytes != 8)
      continue;
    const MemoryBuffer *buffer = bufferOf(i);
    if (!buffer || std::find(writable.begin(), writable.end(), buffer) != writable.end())
      continue;
    inputs.push_back(
        {i, buffer, contentHash(reinterpret_cast<void *>(buffer->address), buffer->bytes)});
  }
  return inputs;
}

void Execution::checkConstInputs(const KernelInfo &kernel, const std::vector<ConstInput> &inputs,
                                 LaunchResult &launched) {
  // Structs and variables may hold pointers, too: what they reach is not known to be constant.
  for (uint32_t i = 0; i < kernel.paramCount; ++i)
    if (kernel.params[i].isByValue && kernel.params[i].pointerCount)
      return;
  for (const ConstInput &input : inputs) {
    if (contentHash(reinterpret_cast<void *>(input.buffer->address), input.buffer->bytes) ==
        input.hash)
      continue;
    Finding finding;
    finding.kind = FindingKind::ConstInputChanged;
    finding.kernel = kernel.displayName;
    finding.array = kernel.params[input.parameter].name;
    finding.place.file = kernel.file ? kernel.file : "";
    finding.place.line = kernel.line;
    finding.address = input.buffer->address;
    finding.message = "the kernel takes " + (finding.array.empty() ? "a buffer" : finding.array) +
                      " by pointer to const only and changed it";
    launched.findings.push_back(std::move(finding));
  }
}

bool Execution::launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &bytes) {
  const KernelInfo *kernel = image.findKernel(step.kernel);
  if (!kernel)
    return fail(LaunchStatus::InvalidLaunch,
                "the image has no kernel '" + step.kernel + "', which the plan launches");
  if (!bindArguments(step, *kernel, bytes))
    return false;
  LaunchKey key{step.kernel, step.grid, step.block, step.sharedBytes, {}};
  for (const auto &argument : bytes)
    key.arguments.insert(key.arguments.end(), argument.begin(), argument.end());
  const bool isTouching = touches && touches->matters(index);
  const std::string keyText = key.text();
  if (repeated.changesNothing(key) && (!isTouching || touches->isKnown(keyText))) {
    if (isTouching)
      touches->repeatLaunch(keyText);
    ++result.launches[launchOf[keyText]].repeats;
    return true;
  }
  LaunchOptions launchOptions = options.launch;
  bool printed = false;
  launchOptions.print = [&](std::string_view text) {
    printed = true;
    options.launch.print ? options.launch.print(text)
                         : (void)fwrite(text.data(), 1, text.size(), stdout);
  };
  if (launchOptions.wallSeconds > 0)
    launchOptions.wallSeconds = std::max(1e-3, launchOptions.wallSeconds - secondsSince(start));
  std::vector<ConstInput> inputs = constInputs(*kernel);
  PlanLaunch &launched = result.launches.emplace_back();
  launched.step = index;
  launchOf[keyText] = result.launches.size() - 1;
  repeated.before(key);
  if (isTouching)
    touches->beginLaunch();
  launched.result = kbrt::launch(image, *kernel, arguments.data(), step.grid, step.block,
                                 step.sharedBytes, launchOptions);
  if (isTouching)
    touches->endLaunch(keyText);
  repeated.after(key, launched.result.status == LaunchStatus::Ok && !printed);
  checkConstInputs(*kernel, inputs, launched.result);
  if (launched.result.status != LaunchStatus::Ok)
    return fail(launched.result.status, launched.result.message);
  // What was read of shared memory may change nothing (lib/Eval/MaskedReads.cpp): what else the
  // program does is asked for.
  return !options.stopAtFinding ||
         std::none_of(launched.result.findings.begin(), launched.result.findings.end(),
                      [](const Finding &finding) {
                        return finding.severity == Severity::Error &&
                               finding.kind != FindingKind::UninitialisedShared;
                      });
}

bool Execution::performed(const Step &) {
  if (!touches)
    return true;
  bool isClean = true;
  for (Finding &finding : touches->performed(index)) {
    isClean &= finding.severity != Severity::Error;
    result.findings.push_back(std::move(finding));
  }
  result.orderUnknown = touches->unknown;
  return isClean || !options.stopAtFinding;
}

void Execution::cleanUp() {
  DeviceMemory &memory = DeviceMemory::get();
  result.peakDeviceBytes = memory.getPeakBytes();
  for (size_t i = 0; i < address.size(); ++i)
    if (address[i] && plan.buffers[i].kind != BufferKind::Symbol)
      memory.free(reinterpret_cast<void *>(address[i]));
  for (const MemoryBuffer *buffer : memory.liveBuffers())
    if (buffer->kind == MemoryKind::Heap)
      memory.free(reinterpret_cast<void *>(buffer->address));
  image.resetSymbols();
}

PlanResult Execution::run() {
  DeviceLock lock;
  DeviceMemory &memory = DeviceMemory::get();
  memory.setLimitBytes(options.deviceBytes);
  memory.setPoison(options.poison);
  memory.resetPeak();
  image.resetSymbols();
  oracle::reset();
  oracle::assumeIndependentErrors(!options.worstCaseErrors);
  if (walk() && oracle::isExhausted())
    fail(LaunchStatus::OutOfMemory,
         "the float64 shadows of what the program computes take more than " +
             std::to_string(oracle::mostBytes >> 20) + " MiB");
  cleanUp();
  result.status = status;
  result.message = std::move(message);
  result.observables = hasOracle() ? std::move(oracleElements) : std::move(observables);
  result.wallSeconds = secondsSince(start);
  result.processorSeconds = processorSeconds() - processorStart;
  return std::move(result);
}

} // namespace

PlanResult executePlan(const Plan &plan, Image &image, const PlanOptions &options) {
  return Execution(plan, image, options).run();
}

} // namespace kbrt
