//===- PlanExecutor.cpp - run a plan on the CPU device --------------------===//
#include "kbrt/PlanExecutor.h"
#include "Shadow.h"
#include "kbrt/Matmul.h"
#include "kbrt/RepeatedLaunches.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace kbrt {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Execution {
public:
  Execution(const Plan &plan, Image &image, const PlanOptions &options)
      : plan(plan), image(image), options(options), address(plan.buffers.size(), 0) {}

  PlanResult run();

private:
  bool fail(LaunchStatus status, std::string message) {
    result.status = status;
    result.message = std::move(message);
    return false;
  }
  bool perform(const AllocStep &step);
  bool perform(const FreeStep &step);
  bool perform(const UploadStep &step);
  bool perform(const FillStep &step);
  bool perform(const CopyStep &step);
  bool perform(const LaunchStep &step);
  bool perform(const ReadStep &step);
  bool perform(const SyncStep &) { return true; }
  bool perform(const EventStep &) { return true; }
  bool perform(const WaitStep &) { return true; }
  bool perform(const ErrorStep &) { return true; }
  bool perform(const MatmulStep &step);

  /// Where the region's first byte is, or null with the reason in `result`.
  char *resolve(const Region &region);
  bool bindArguments(const LaunchStep &step, const KernelInfo &kernel);
  void cleanUp();

  struct ConstInput {
    uint32_t parameter;
    const MemoryBuffer *buffer;
    uint64_t hash;
  };
  std::vector<ConstInput> constInputs(const KernelInfo &kernel) const;
  void checkConstInputs(const KernelInfo &kernel, const std::vector<ConstInput> &inputs,
                        LaunchResult &launched);

  const Plan &plan;
  Image &image;
  const PlanOptions &options;
  std::vector<uint64_t> address; ///< of each buffer; 0 while it does not live
  std::vector<std::vector<uint8_t>> argumentBytes;
  std::vector<void *> arguments;
  RepeatedLaunches repeated;
  std::unordered_map<std::string, size_t> launchOf; ///< key to index in result.launches
  size_t index = 0;
  Clock::time_point start = Clock::now();
  PlanResult result;
};

bool Execution::perform(const AllocStep &step) {
  const Buffer &buffer = plan.buffers[step.buffer];
  MemoryKind kind = buffer.kind == BufferKind::Device ? MemoryKind::Device : MemoryKind::Managed;
  DeviceMemory &memory = DeviceMemory::get();
  std::string name = "buffer " + std::to_string(step.buffer);
  bool hasPlace = isDeviceAddress(buffer.address) && buffer.address % DeviceMemory::pageBytes == 0;
  void *p = hasPlace ? memory.allocateAt(buffer.address, buffer.bytes, kind, name)
                     : memory.allocate(buffer.bytes, kind, name);
  if (!p)
    return fail(memory.getLiveBytes() + buffer.bytes > options.deviceBytes
                    ? LaunchStatus::OutOfMemory
                    : LaunchStatus::InvalidLaunch,
                name + ": " + memory.lastError());
  address[step.buffer] = reinterpret_cast<uint64_t>(p);
  return true;
}

bool Execution::perform(const FreeStep &step) {
  if (address[step.buffer])
    DeviceMemory::get().free(reinterpret_cast<void *>(address[step.buffer]));
  address[step.buffer] = 0;
  return true;
}

char *Execution::resolve(const Region &region) {
  uint32_t id = region.at.buffer;
  if (!address[id] && plan.buffers[id].kind == BufferKind::Symbol) {
    const SymbolInfo *symbol = image.findSymbol(plan.buffers[id].symbol);
    if (!symbol || symbol->bytes < plan.buffers[id].bytes) {
      fail(LaunchStatus::InvalidLaunch, "the image has no variable '" + plan.buffers[id].symbol +
                                            "' of " + std::to_string(plan.buffers[id].bytes) +
                                            " bytes, which the plan uses");
      return nullptr;
    }
    address[id] = symbol->address;
  }
  if (!address[id]) {
    fail(LaunchStatus::InvalidLaunch,
         "the plan uses buffer " + std::to_string(id) + " while it is not allocated");
    return nullptr;
  }
  return reinterpret_cast<char *>(address[id] + region.at.offset);
}

bool Execution::perform(const UploadStep &step) {
  char *to = resolve(step.to);
  if (!to)
    return false;
  std::string_view payload;
  auto it = std::find_if(options.overrides.begin(), options.overrides.end(),
                         [&](const auto &entry) { return entry.first == index; });
  if (it != options.overrides.end())
    payload = it->second;
  else if (step.data + step.to.bytes() <= options.data.size())
    payload = options.data.substr(step.data, step.to.bytes());
  if (payload.size() != step.to.bytes())
    return fail(LaunchStatus::InvalidLaunch,
                "step " + std::to_string(index) + " uploads " + std::to_string(step.to.bytes()) +
                    " bytes, its data has " + std::to_string(payload.size()));
  for (uint64_t row = 0; row < step.to.height; ++row) {
    DeviceMemory::get().write(to + row * step.to.pitch, payload.data() + row * step.to.width,
                              step.to.width);
  }
  return true;
}

bool Execution::perform(const FillStep &step) {
  char *to = resolve(step.to);
  for (uint64_t row = 0; to && row < step.to.height; ++row)
    DeviceMemory::get().fill(to + row * step.to.pitch, step.value, step.to.width);
  return to != nullptr;
}

bool Execution::perform(const CopyStep &step) {
  char *to = resolve(step.to), *from = to ? resolve(step.from) : nullptr;
  for (uint64_t row = 0; from && row < step.to.height; ++row) {
    char *target = to + row * step.to.pitch, *source = from + row * step.from.pitch;
    memmove(target, source, step.to.width);
    DeviceMemory::get().memoryChanged();
    shadow::onCopy(reinterpret_cast<uint64_t>(target), reinterpret_cast<uint64_t>(source),
                   step.to.width);
  }
  return from != nullptr;
}

bool Execution::perform(const ReadStep &step) {
  char *from = resolve(step.from);
  if (!from)
    return false;
  uint64_t end = step.observable + step.from.bytes();
  if (result.observables.size() < end)
    result.observables.resize(end);
  for (uint64_t row = 0; row < step.from.height; ++row)
    memcpy(result.observables.data() + step.observable + row * step.from.width,
           from + row * step.from.pitch, step.from.width);
  return true;
}

bool Execution::perform(const MatmulStep &step) {
  char *places[3];
  for (auto [operand, place] :
       {std::pair(&step.a, &places[0]), {&step.b, &places[1]}, {&step.c, &places[2]}})
    if (!(*place = resolve({operand->at, 0, 0, 0})))
      return false;
  auto floats = [](char *place) { return reinterpret_cast<float *>(place); };
  matmul(step, {floats(places[0]), floats(places[1]), floats(places[2])}, repeated);
  return true;
}

bool Execution::bindArguments(const LaunchStep &step, const KernelInfo &kernel) {
  if (step.arguments.size() != kernel.paramCount)
    return fail(LaunchStatus::InvalidLaunch,
                "the plan launches " + std::string(kernel.displayName) + " with " +
                    std::to_string(step.arguments.size()) + " arguments, it takes " +
                    std::to_string(kernel.paramCount));
  argumentBytes.assign(step.arguments.size(), {});
  arguments.clear();
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const Argument &argument = step.arguments[i];
    argumentBytes[i] = argument.bytes;
    if (argument.bytes.size() != kernel.params[i].bytes)
      return fail(LaunchStatus::InvalidLaunch, "argument " + std::to_string(i) + " of " +
                                                   kernel.displayName + " has " +
                                                   std::to_string(argument.bytes.size()) +
                                                   " bytes in the plan, the kernel takes " +
                                                   std::to_string(kernel.params[i].bytes));
    for (const PointerWord &word : argument.pointers) {
      char *target = resolve({word.target, 0, 0, 0});
      if (!target)
        return false;
      if (word.at + sizeof target > argumentBytes[i].size())
        return fail(LaunchStatus::InvalidLaunch, "a pointer of the plan lies outside its argument");
      memcpy(argumentBytes[i].data() + word.at, &target, sizeof target);
    }
    arguments.push_back(argumentBytes[i].data());
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

bool Execution::perform(const LaunchStep &step) {
  const KernelInfo *kernel = image.findKernel(step.kernel);
  if (!kernel)
    return fail(LaunchStatus::InvalidLaunch,
                "the image has no kernel '" + step.kernel + "', which the plan launches");
  if (!bindArguments(step, *kernel))
    return false;
  LaunchKey key{step.kernel, step.grid, step.block, step.sharedBytes, {}};
  for (const auto &bytes : argumentBytes)
    key.arguments.insert(key.arguments.end(), bytes.begin(), bytes.end());
  if (repeated.changesNothing(key)) {
    ++result.launches[launchOf[key.text()]].repeats;
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
  launchOf[key.text()] = result.launches.size() - 1;
  repeated.before(key);
  launched.result = launch(image, *kernel, arguments.data(), step.grid, step.block,
                           step.sharedBytes, launchOptions);
  repeated.after(key, launched.result.status == LaunchStatus::Ok && !printed);
  checkConstInputs(*kernel, inputs, launched.result);
  if (launched.result.status != LaunchStatus::Ok)
    return fail(launched.result.status, launched.result.message);
  return !options.stopAtFinding ||
         std::none_of(launched.result.findings.begin(), launched.result.findings.end(),
                      [](const Finding &finding) { return finding.severity == Severity::Error; });
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
  for (index = 0; index < plan.steps.size(); ++index) {
    if (options.onStep)
      options.onStep(index);
    if (!std::visit([&](const auto &step) { return perform(step); }, plan.steps[index]))
      break;
  }
  cleanUp();
  result.wallSeconds = secondsSince(start);
  return std::move(result);
}

} // namespace

PlanResult executePlan(const Plan &plan, Image &image, const PlanOptions &options) {
  return Execution(plan, image, options).run();
}

} // namespace kbrt
