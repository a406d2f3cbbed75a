//===- Run.cpp - a plan executed once, with every check -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns guard zones, inputs that must not change, and the time of each launch.
//
//===----------------------------------------------------------------------===//
#include "MemoryState.h"
#include "PinnedCopy.h"
#include "ReadHash.h"

#include <algorithm>
#include <cstring>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Hashing costs a few microseconds per launch and buffer.
constexpr size_t mostHashedLaunches = 256;
/// Each is looked at a few times, which takes as long as reading all memory.
constexpr size_t mostRepetitions = 64;

class CheckedRun : public Execution {
public:
  CheckedRun(Device &device, const Subject &subject, const SlabLayout &layout, uint64_t base,
             const RunOptions &options, HelperKernels *helpers, RunResult &result)
      : Execution(device, subject, layout, base, options.poison, options.wallSeconds),
        options(options), helpers(helpers), resting(subject.resting), result(result) {
    keepsObservables = !options.memory && (options.reads == Reads::Kept || !helpers);
    if (options.memory) {
      lentUploads.use(options.memory->uploads);
      staging = &lentUploads;
    }
    if (helpers && options.leavesOutRepeats && inputs.overrides.empty()) {
      repetitions = findRepetitions(plan);
      if (repetitions.size() > mostRepetitions)
        repetitions.clear();
    }
    if (!helpers && !resting.empty()) {
      repetitions = findRepetitions(plan);
      std::erase_if(repetitions, [&](const Repetition &found) { return !restsAfter(found); });
    }
  }

  void run() {
    snapshotSymbols();
    if (helpers && !repetitions.empty())
      memoryState.emplace(*helpers, module, slabBase, layout.bytes);
    bool isDone = walk() && wait("the end of the plan");
    if (isDone && options.checkGuards && !options.separateBuffers)
      for (uint32_t id = 0; id < plan.buffers.size() && status == LaunchStatus::Ok; ++id)
        if (address[id] && plan.buffers[id].kind != BufferKind::Symbol)
          checkGuards(id);
    result.status = status;
    result.message = std::move(message);
    result.note = std::move(note);
    result.observables = std::move(observables);
  }

private:
  bool launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments) override;
  /// \p inputs: the buffers that it must not change.
  bool launchChecked(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments,
                     const std::vector<uint32_t> &inputs);
  bool allocate(uint32_t id) override;
  void release(uint32_t id) override;
  bool read(uint64_t from, const Region &region, char *into) override;
  bool endsAfter(const Repetition &repetition, size_t periods) override;
  /// Periods after which \p repetition is known to rest; 0: it is not.
  size_t restsAfter(const Repetition &repetition) const {
    auto known = std::find_if(resting.begin(), resting.end(), [&](const RestingRepetition &each) {
      return each.repetition == repetition;
    });
    return known == resting.end() ? 0 : known->periods;
  }
  bool repeat(size_t step, size_t like) override;

  /// Writes the region to the file \p path.
  bool writeContent(uint64_t from, const Region &region, const std::string &path);
  void checkGuards(uint32_t id);
  void checkZone(uint32_t id, uint64_t at, uint64_t bytes, bool before);
  bool beforeHostWork() override {
    options.ends();
    return true;
  }
  std::vector<uint32_t> constBuffers(const LaunchStep &step);
  std::vector<uint64_t> hashAll(const std::vector<uint32_t> &buffers);

  const RunOptions &options;
  HelperKernels *helpers;                        ///< null: nothing is hashed, and reads are kept
  const std::vector<RestingRepetition> &resting; ///< what to leave out without a look at memory
  RunResult &result;
  Staging lentUploads;
  size_t hashedLaunches = 0;
  std::optional<MemoryState> memoryState; ///< where the plan repeats itself
  struct Read {
    size_t step;
    uint64_t hash; ///< where reads are hashed
  };
  std::vector<Read> reads; ///< so far
};

bool CheckedRun::endsAfter(const Repetition &repetition, size_t periods) {
  if (!helpers)
    return periods >= restsAfter(repetition);
  if (!memoryState->isKnown())
    return false;
  takeTurn(options.begins);
  if (!memoryState->isAtRest(repetition, periods) || !wait("the hash of the buffers"))
    return false;
  RestingRepetition found{repetition, 0, periods};
  for (const RunLaunch &launch : result.launches)
    if (launch.step + repetition.period >= index)
      found.periodUs += launch.us;
  result.resting.push_back(found);
  return true;
}

bool CheckedRun::repeat(size_t step, size_t like) {
  auto isBefore = [](const auto &entry, size_t at) { return entry.step < at; };
  if (std::holds_alternative<LaunchStep>(plan.steps[step])) {
    auto launch = std::lower_bound(result.launches.begin(), result.launches.end(), like, isBefore);
    if (launch != result.launches.end() && launch->step == like)
      ++launch->repeats;
    return true;
  }
  auto *read = std::get_if<ReadStep>(&plan.steps[step]);
  if (!read)
    return true;
  const size_t number =
      std::lower_bound(reads.begin(), reads.end(), like, isBefore) - reads.begin();
  const uint64_t hash = reads[number].hash;
  reads.push_back({step, hash});
  if (options.memory) {
    const LentMemory &memory = *options.memory;
    const uint64_t from = memory.results + memory.reads[number];
    return check(h.driver->cuMemcpyDtoDAsync(memory.results + memory.reads[keptReads++], from,
                                             read->from.bytes(), h.stream),
                 "the read of step " + std::to_string(step));
  }
  if (!keepsObservables) {
    result.readHash += shareOfRead(hash, step);
    result.contents.push_back(result.contents[number]);
  }
  return true;
}

bool CheckedRun::allocate(uint32_t id) {
  if (!options.separateBuffers)
    return Execution::allocate(id);
  CUdeviceptr place = 0;
  if (!check(h.driver->cuMemAlloc(&place, std::max<uint64_t>(plan.buffers[id].bytes, 1)),
             "buffer " + std::to_string(id)))
    return false;
  address[id] = place;
  return true;
}

void CheckedRun::release(uint32_t id) {
  if (options.separateBuffers)
    check(h.driver->cuMemFree(address[id]), "buffer " + std::to_string(id));
  else if (options.checkGuards)
    checkGuards(id);
}

bool CheckedRun::read(uint64_t from, const Region &region, char *into) {
  reads.push_back({index, 0});
  if (options.memory)
    return keepRead(*options.memory, from, region);
  if (keepsObservables)
    return Execution::read(from, region, into);
  takeTurn(options.begins); // hashes keep the device from others as launches do
  constexpr unsigned readSlot = 0, contentSlots[] = {1, 2};
  const ReadContents none, &contents = options.contents ? *options.contents : none;
  helpers->clearHashes();
  addReadHash(*helpers, plan, from, region, readSlot);
  for (unsigned i = 0; i < 2; ++i)
    addContentHash(*helpers, plan, from, region, contents.salts[i], contentSlots[i]);
  if (!wait("the hash of step " + std::to_string(index)))
    return false;
  reads.back().hash = helpers->readHash(readSlot);
  result.readHash += shareOfRead(reads.back().hash, index);
  const std::string digest = contentDigest(helpers->readHash(contentSlots[0]),
                                           helpers->readHash(contentSlots[1]), region.bytes());
  const bool isNew =
      !contents.folder.empty() && !contents.known.count(digest) &&
      std::find(result.contents.begin(), result.contents.end(), digest) == result.contents.end();
  result.contents.push_back(digest);
  return !isNew || (beforeHostWork() && writeContent(from, region, contents.folder + "/" + digest));
}

bool CheckedRun::writeContent(uint64_t from, const Region &region, const std::string &path) {
  Problem problem;
  PinnedCopy *pinned = PinnedCopy::of(h, problem);
  CUdeviceptr rows = 0;
  const bool isWhole = region.pitch == region.width || region.height <= 1;
  const std::string what = "the read of step " + std::to_string(index);
  if (!isWhole) {
    // Rows that lie apart are put together on the device.
    if (!check(h.driver->cuMemAlloc(&rows, std::max<uint64_t>(region.bytes(), 1)), what) ||
        !moveRows(CU_MEMORYTYPE_DEVICE, rows, region.width, CU_MEMORYTYPE_DEVICE, from,
                  region.pitch, region.width, region.height) ||
        !wait(what))
      return false;
    from = rows;
  }
  const bool isDone = pinned && pinned->toFile(from, region.bytes(), path, problem);
  if (rows)
    h.driver->cuMemFree(rows);
  if (isDone)
    return true;
  note = problem.note;
  return fail(problem.status, problem.message);
}

void CheckedRun::checkZone(uint32_t id, uint64_t at, uint64_t bytes, bool before) {
  std::vector<uint8_t> zone(bytes);
  if (!check(h.driver->cuMemcpyDtoHAsync(zone.data(), at, bytes, h.stream), "a guard zone") ||
      !wait("a guard zone"))
    return;
  auto isBad = [](uint8_t byte) { return byte != guardPattern; };
  uint64_t offset;
  if (before) {
    auto last = std::find_if(zone.rbegin(), zone.rend(), isBad);
    if (last == zone.rend())
      return;
    offset = static_cast<uint64_t>(last - zone.rbegin()) + 1;
  } else {
    auto first = std::find_if(zone.begin(), zone.end(), isBad);
    if (first == zone.end())
      return;
    offset = plan.buffers[id].bytes + static_cast<uint64_t>(first - zone.begin());
  }
  RunFinding finding;
  finding.kind = "guard-zone-changed";
  finding.buffer = id;
  finding.offset = offset;
  finding.before = before;
  finding.message = "memory outside buffer " + std::to_string(id) + " (" +
                    std::to_string(plan.buffers[id].bytes) + " bytes) was overwritten, " +
                    (before ? std::to_string(offset) + " byte(s) before it"
                            : "at byte " + std::to_string(offset));
  result.findings.push_back(std::move(finding));
}

void CheckedRun::checkGuards(uint32_t id) {
  uint64_t bytes = plan.buffers[id].bytes;
  checkZone(id, address[id] - guardBytes, guardBytes, true);
  checkZone(id, address[id] + bytes, SlabLayout::guardAfter(bytes), false);
}

std::vector<uint32_t> CheckedRun::constBuffers(const LaunchStep &step) {
  if (!helpers || !options.checkConstInputs)
    return {};
  std::vector<bool> isConst;
  if (auto given = options.constParameters.find(step.kernel);
      given != options.constParameters.end())
    isConst = given->second;
  else if (auto types = constPointerParameters(step.kernel))
    isConst = *types;
  std::vector<uint32_t> inputs, writable;
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const Argument &argument = step.arguments[i];
    bool constPointer = i < isConst.size() && isConst[i] && argument.bytes.size() == 8;
    for (const PointerWord &word : argument.pointers)
      (constPointer ? inputs : writable).push_back(word.target.buffer);
    // Structures may hold pointers that nothing is known of.
    if (argument.bytes.size() > 8 && !argument.pointers.empty())
      return {};
  }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  std::erase_if(inputs, [&](uint32_t id) {
    return std::find(writable.begin(), writable.end(), id) != writable.end() || !address[id];
  });
  return inputs;
}

std::vector<uint64_t> CheckedRun::hashAll(const std::vector<uint32_t> &buffers) {
  std::vector<uint64_t> hashes;
  for (uint32_t id : buffers) {
    helpers->clearHashes();
    helpers->hash(address[id], plan.buffers[id].bytes, id, 0, plan.buffers[id].bytes % 4 == 0);
    if (!wait("the hash of buffer " + std::to_string(id)))
      return hashes;
    hashes.push_back(helpers->readHash(0));
  }
  return hashes;
}

bool CheckedRun::launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments) {
  std::vector<uint32_t> inputs;
  if (hashedLaunches < mostHashedLaunches)
    inputs = constBuffers(step);
  else if (hashedLaunches == mostHashedLaunches && helpers && options.checkConstInputs)
    result.notes.push_back("const inputs were checked for the first " +
                           std::to_string(mostHashedLaunches) + " launches only");
  ++hashedLaunches;
  takeTurn(options.begins);
  return launchChecked(step, arguments, inputs);
}

bool CheckedRun::launchChecked(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments,
                               const std::vector<uint32_t> &inputs) {
  std::vector<uint64_t> before = hashAll(inputs);
  if (status != LaunchStatus::Ok)
    return false;
  CUevent begin = nullptr, end = nullptr;
  const Driver &driver = *h.driver;
  std::string what = "kernel " + step.kernel + " (step " + std::to_string(index) + ")";
  bool isDone = check(driver.cuEventCreate(&begin, 0), what) &&
                check(driver.cuEventCreate(&end, 0), what) &&
                check(driver.cuEventRecord(begin, h.stream), what) && queue(step, arguments) &&
                check(driver.cuEventRecord(end, h.stream), what) && wait(what);
  if (isDone) {
    float milliseconds = 0;
    driver.cuEventElapsedTime(&milliseconds, begin, end);
    result.launches.push_back({index, 1e3 * milliseconds});
  }
  if (begin)
    driver.cuEventDestroy(begin);
  if (end)
    driver.cuEventDestroy(end);
  if (!isDone)
    return false;
  std::vector<uint64_t> after = hashAll(inputs);
  for (size_t i = 0; i < inputs.size() && i < after.size(); ++i)
    if (before[i] != after[i])
      result.findings.push_back({"const-input-changed",
                                 "the kernel takes buffer " + std::to_string(inputs[i]) +
                                     " by pointer to const only and changed it",
                                 step.kernel, inputs[i], 0, false});
  return status == LaunchStatus::Ok;
}

} // namespace

void kbrt::cuda::wipeResults(Device &device, const LentMemory &memory, uint8_t poison) {
  Device::Handles &h = device.getHandles();
  h.driver->cuMemsetD8Async(memory.results, poison, memory.resultBytes, h.stream);
}

RunResult kbrt::cuda::execute(Device &device, const Subject &subject, const RunOptions &options) {
  using namespace std::chrono;
  auto start = steady_clock::now();
  RunResult result;
  Problem problem;
  auto fail = [&] {
    result.status = problem.status;
    result.message = problem.message;
    result.note = problem.note;
    return result;
  };
  SlabLayout layout = SlabLayout::of(*subject.plan);
  result.peakDeviceBytes = layout.peakBytes;
  if (layout.peakBytes > options.deviceBytes) {
    problem = {LaunchStatus::OutOfMemory,
               "the plan needs " + std::to_string(layout.peakBytes) +
                   " bytes of device memory at once, the job allows " +
                   std::to_string(options.deviceBytes),
               "raise deviceBytes, or use a smaller workload"};
    return fail();
  }
  HelperKernels *helpers = nullptr;
  Slab slab;
  const bool mayRepeat = options.leavesOutRepeats && !findRepetitions(*subject.plan).empty();
  bool isReady = options.separateBuffers || options.memory ||
                 slab.allocate(device.getHandles(), layout.bytes, 0, problem);
  if (options.memory)
    slab.use(device.getHandles(), options.memory->work, options.memory->workBytes);
  if (isReady &&
      (options.checkConstInputs || mayRepeat ||
       (options.reads == Reads::Hashed && !options.memory)) &&
      !options.separateBuffers) {
    helpers = HelperKernels::of(device, problem);
    isReady = helpers != nullptr;
  }
  if (!isReady || !subject.image->reload(problem))
    return fail();
  // Also between and behind the buffers nothing is left of an earlier execution.
  if (!options.separateBuffers) {
    options.begins();
    slab.wipe(options.poison);
    if (options.memory)
      wipeResults(device, *options.memory, options.poison);
    device.getHandles().driver->cuStreamSynchronize(device.getHandles().stream);
    options.ends();
  }
  CheckedRun run(device, subject, layout, slab.base(), options, helpers, result);
  run.run();
  options.ends();
  result.wallSeconds = duration<double>(steady_clock::now() - start).count();
  for (const Step &step : subject.plan->steps)
    if (auto *launch = std::get_if<LaunchStep>(&step); launch && launch->stream) {
      result.notes.push_back("the plan's streams were put in order on one");
      break;
    }
  return result;
}
