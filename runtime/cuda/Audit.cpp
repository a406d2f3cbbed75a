//===- Audit.cpp - what the device really executed ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the use of CUPTI's activity trace, and the look at memory after a plan
// has ended. What the trace should have shown is the judge's business.
//
//===----------------------------------------------------------------------===//
#include "Cupti.h"
#include "Execution.h"
#include "HelperKernels.h"

#include <cstdlib>
#include <mutex>
#include <thread>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

constexpr size_t traceBufferBytes = 1 << 20;
/// Between the two looks at memory.
constexpr std::chrono::milliseconds patience(50);
constexpr CUpti_ActivityKind tracedKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

/// Every version since CUDA 9 starts with the fields that are read here and only appends: records
/// of an older or a newer library are understood, too.
using KernelRecord = CUpti_ActivityKernel9;

/// CUPTI's callbacks have no place for a pointer of ours: what they gather lies here.
struct Trace {
  std::mutex mutex;
  std::multimap<uint64_t, TracedLaunch> kernels; ///< by start
  uint64_t copies = 0, fills = 0;
  const Cupti *cupti = nullptr;
} trace;

void CUPTIAPI giveBuffer(uint8_t **buffer, size_t *bytes, size_t *mostRecords) {
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(64, traceBufferBytes));
  *bytes = *buffer ? traceBufferBytes : 0;
  *mostRecords = 0; // as many as fit
}

void CUPTIAPI takeBuffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t validBytes) {
  std::lock_guard lock(trace.mutex);
  CUpti_Activity *record = nullptr;
  while (validBytes &&
         trace.cupti->cuptiActivityGetNextRecord(buffer, validBytes, &record) == CUPTI_SUCCESS) {
    trace.copies += record->kind == CUPTI_ACTIVITY_KIND_MEMCPY;
    trace.fills += record->kind == CUPTI_ACTIVITY_KIND_MEMSET;
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
        record->kind != CUPTI_ACTIVITY_KIND_KERNEL)
      continue;
    auto *kernel = reinterpret_cast<const KernelRecord *>(record);
    auto size = [](int32_t n) { return static_cast<uint32_t>(n); };
    TracedLaunch launch;
    launch.kernel = kernel->name ? kernel->name : "";
    launch.grid = {size(kernel->gridX), size(kernel->gridY), size(kernel->gridZ)};
    launch.block = {size(kernel->blockX), size(kernel->blockY), size(kernel->blockZ)};
    launch.dynamicSharedBytes = size(kernel->dynamicSharedMemory);
    launch.stream = kernel->streamId;
    trace.kernels.emplace(kernel->start, std::move(launch));
  }
  std::free(buffer);
}

/// The activity trace from `start` to `stop`.
class Tracer {
public:
  explicit Tracer(Device::Handles &handles) : h(handles) {}

  /// False and \p why if nothing can be traced.
  bool start(std::string &why) {
    Problem problem;
    cupti = Cupti::get(Cupti::Activity, problem);
    if (!cupti) {
      why = problem.message;
      return false;
    }
    trace.kernels.clear();
    trace.copies = trace.fills = 0;
    trace.cupti = cupti;
    CUptiResult code = cupti->cuptiActivityRegisterCallbacks(giveBuffer, takeBuffer);
    for (CUpti_ActivityKind kind : tracedKinds)
      if (code == CUPTI_SUCCESS)
        code = cupti->cuptiActivityEnable(kind);
    if (code != CUPTI_SUCCESS)
      why = "CUPTI cannot trace: " + cupti->describe(code);
    return code == CUPTI_SUCCESS;
  }

  /// Moves what was seen into \p into; false and \p why if records were lost.
  bool stop(AuditResult &into, std::string &why) {
    cupti->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (CUpti_ActivityKind kind : tracedKinds)
      cupti->cuptiActivityDisable(kind);
    size_t dropped = 0;
    cupti->cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
    uint32_t ours = 0;
    CUptiResult code = cupti->cuptiGetStreamIdEx(h.context, h.stream, 0, &ours);
    std::lock_guard lock(trace.mutex);
    if (dropped || code != CUPTI_SUCCESS) {
      why = dropped ? "CUPTI lost " + std::to_string(dropped) + " records of the trace"
                    : "CUPTI does not know the stream: " + cupti->describe(code);
      return false;
    }
    for (auto &[start, launch] : trace.kernels) {
      launch.stream = launch.stream == ours ? 0 : launch.stream;
      into.launches.push_back(std::move(launch));
    }
    into.copies = trace.copies;
    into.fills = trace.fills;
    return true;
  }

private:
  Device::Handles &h;
  const Cupti *cupti = nullptr;
};

class AuditedRun : public Execution {
public:
  AuditedRun(Device &device, const Subject &subject, const SlabLayout &layout, const Slab &slab,
             const RunOptions &options, HelperKernels &helpers)
      : Execution(device, subject, layout, slab.base(), options.poison, options.wallSeconds),
        helpers(helpers) {}

  bool run() {
    snapshotSymbols();
    return walk() && wait("the end of the plan");
  }
  /// Hashes the buffers' memory, guard zones included, and the variables.
  std::optional<uint64_t> hash() {
    helpers.clearHashes();
    add(slabBase, layout.bytes, 0);
    for (auto &[name, symbol] : module.symbols)
      add(symbol.first, symbol.second.size(), symbol.first);
    if (!wait("the hash of the buffers"))
      return std::nullopt;
    return helpers.readHash(0);
  }
  bool settle() {
    std::this_thread::sleep_for(patience);
    return check(h.driver->cuCtxSynchronize(), "the device after the plan");
  }
  Problem problem() const { return {status, message, note}; }
  size_t hashLaunches = 0;

private:
  void add(uint64_t at, uint64_t bytes, uint64_t salt) {
    bool isInWords = at % 4 == 0 && bytes % 4 == 0;
    helpers.hash(at, bytes, salt, 0, isInWords);
    hashLaunches += bytes != 0;
  }
  HelperKernels &helpers;
};

/// The launches that hashing added: the last ones that bear the helpers' names.
void removeOwn(std::vector<TracedLaunch> &launches, size_t count) {
  for (size_t i = launches.size(); i-- > 0 && count > 0;)
    if (HelperKernels::isHash(launches[i].kernel) && launches[i].stream == 0) {
      launches.erase(launches.begin() + static_cast<ptrdiff_t>(i));
      --count;
    }
}

} // namespace

AuditResult kbrt::cuda::audit(Device &device, const Subject &subject, const RunOptions &options) {
  AuditResult result;
  Problem problem;
  auto fail = [&] {
    result.status = problem.status;
    result.message = problem.message;
    result.note = problem.note;
    return result;
  };
  SlabLayout layout = SlabLayout::of(*subject.plan);
  Slab slab;
  auto helpers = HelperKernels::of(device, problem);
  if (!helpers || !slab.allocate(device.getHandles(), layout.bytes, 0, problem) ||
      !subject.image->reload(problem))
    return fail();
  slab.wipe(options.poison);
  Tracer tracer(device.getHandles());
  bool isTraced = tracer.start(result.degraded);
  AuditedRun run(device, subject, layout, slab, options, *helpers);
  if (run.run()) {
    std::optional<uint64_t> atReturn = run.hash();
    std::optional<uint64_t> later = atReturn && run.settle() ? run.hash() : std::nullopt;
    result.changedAfterReturn = later && *later != *atReturn;
  }
  problem = run.problem();
  if (isTraced && tracer.stop(result, result.degraded))
    removeOwn(result.launches, run.hashLaunches);
  if (result.degraded.empty() && canLaunchFromDevice(subject.image->getModule().bytes))
    result.degraded = "the image can launch kernels from the device, which CUPTI's trace does not "
                      "show on this architecture";
  return problem ? fail() : result;
}
