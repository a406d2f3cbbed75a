//===- Profile.cpp - counters of a plan's launches by CUPTI ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the use of CUPTI's range profiler: one range per launch. CUPTI replays
// each launch as often as the metrics need or, where much memory would have to be
// put back, the plan is run as often. Without permission or library the profile
// is degraded, which is no failure.
//
//===----------------------------------------------------------------------===//
#include "Cupti.h"
#include "Execution.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Of more memory CUPTI's own replay takes longer than running the plan for each pass: around each
/// pass of each launch it puts back what a kernel may have written.
constexpr uint64_t mostMemoryPutBack = 64 << 20;

/// Read whatever the sets: shares of the time need it.
const std::string durationMetric = "gpu__time_duration.sum";

/// The host half: which metrics, how many passes, and values from raw counters. No device needed.
class MetricConfig {
public:
  explicit MetricConfig(const Cupti &cupti) : cupti(cupti) {}
  ~MetricConfig() {
    if (host)
      close(host);
  }

  /// Takes the metrics that the chip has; the others go to \p unknown.
  CUptiResult create(const std::string &chip, const std::vector<std::string> &wanted,
                     std::vector<std::string> &unknown) {
    CUpti_Profiler_Host_Object *probe = nullptr;
    if (CUptiResult code = open(chip, probe); code != CUPTI_SUCCESS)
      return code;
    close(probe);
    findUnknown(chip, wanted, unknown);
    for (const std::string &name : wanted)
      if (std::find(unknown.begin(), unknown.end(), name) == unknown.end())
        names.push_back(name);
    for (const std::string &name : names)
      pointers.push_back(name.c_str());
    CUptiResult code = open(chip, host);
    // In one call: what is added together shares passes.
    return code == CUPTI_SUCCESS ? add(host, pointers) : code;
  }

  CUptiResult finish() {
    auto size = KBRT_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize);
    size.pHostObject = host;
    if (CUptiResult code = cupti.cuptiProfilerHostGetConfigImageSize(&size); code != CUPTI_SUCCESS)
      return code;
    image.resize(size.configImageSize);
    auto get = KBRT_PARAMETERS(CUpti_Profiler_Host_GetConfigImage);
    get.pHostObject = host;
    get.configImageSize = image.size();
    get.pConfigImage = image.data();
    if (CUptiResult code = cupti.cuptiProfilerHostGetConfigImage(&get); code != CUPTI_SUCCESS)
      return code;
    auto count = KBRT_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses);
    count.configImageSize = image.size();
    count.pConfigImage = image.data();
    CUptiResult code = cupti.cuptiProfilerHostGetNumOfPasses(&count);
    passes = count.numOfPasses;
    return code;
  }

  std::map<std::string, double> values(const std::vector<uint8_t> &counters, size_t range) {
    std::vector<double> numbers(names.size(), NAN);
    auto p = KBRT_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues);
    p.pHostObject = host;
    p.pCounterDataImage = counters.data();
    p.counterDataImageSize = counters.size();
    p.rangeIndex = range;
    p.ppMetricNames = pointers.data();
    p.numMetrics = pointers.size();
    p.pMetricValues = numbers.data();
    cupti.cuptiProfilerHostEvaluateToGpuValues(&p);
    std::map<std::string, double> result;
    for (size_t i = 0; i < names.size(); ++i)
      if (std::isfinite(numbers[i]))
        result[names[i]] = numbers[i];
    return result;
  }

  std::vector<std::string> names;
  std::vector<const char *> pointers;
  std::vector<uint8_t> image;
  size_t passes = 0;

private:
  CUptiResult open(const std::string &chip, CUpti_Profiler_Host_Object *&object) {
    auto p = KBRT_PARAMETERS(CUpti_Profiler_Host_Initialize);
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    p.pChipName = chip.c_str();
    CUptiResult code = cupti.cuptiProfilerHostInitialize(&p);
    object = code == CUPTI_SUCCESS ? p.pHostObject : nullptr;
    return code;
  }
  void close(CUpti_Profiler_Host_Object *object) {
    auto p = KBRT_PARAMETERS(CUpti_Profiler_Host_Deinitialize);
    p.pHostObject = object;
    cupti.cuptiProfilerHostDeinitialize(&p);
  }
  CUptiResult add(CUpti_Profiler_Host_Object *object, std::vector<const char *> &metrics) {
    if (metrics.empty())
      return CUPTI_SUCCESS;
    auto p = KBRT_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics);
    p.pHostObject = object;
    p.ppMetricNames = metrics.data();
    p.numMetrics = metrics.size();
    return cupti.cuptiProfilerHostConfigAddMetrics(&p);
  }
  /// A name that the chip lacks spoils the object it is added to, and the answer does not say which
  /// one it was: halve.
  void findUnknown(const std::string &chip, std::span<const std::string> wanted,
                   std::vector<std::string> &unknown) {
    CUpti_Profiler_Host_Object *probe = nullptr;
    if (wanted.empty() || open(chip, probe) != CUPTI_SUCCESS)
      return;
    std::vector<const char *> metrics;
    for (const std::string &name : wanted)
      metrics.push_back(name.c_str());
    bool isKnown = add(probe, metrics) == CUPTI_SUCCESS;
    close(probe);
    if (isKnown)
      return;
    if (wanted.size() == 1) {
      unknown.push_back(wanted.front());
      return;
    }
    findUnknown(chip, wanted.first(wanted.size() / 2), unknown);
    findUnknown(chip, wanted.subspan(wanted.size() / 2), unknown);
  }

  const Cupti &cupti;
  CUpti_Profiler_Host_Object *host = nullptr;
};

/// What was configured last in this process: loading CUPTI's tables takes longer than replaying a
/// small kernel.
struct Prepared {
  std::string chip;
  std::vector<std::string> wanted, unknown;
  std::unique_ptr<MetricConfig> config;
};
/// Never destroyed: at the end of a process CUPTI may have gone first.
Prepared &prepared = *new Prepared;

std::vector<std::string> wantedMetrics(const std::string &sets, const std::string &chip) {
  std::vector<std::string> wanted = metricNames(sets, chip);
  if (std::find(wanted.begin(), wanted.end(), durationMetric) == wanted.end())
    wanted.push_back(durationMetric);
  return wanted;
}

/// Configures the metrics of \p sets; on failure \p what names the part.
CUptiResult prepare(const Cupti &cupti, const Device &device, const std::string &sets,
                    const char *&what) {
  auto chip = KBRT_PARAMETERS(CUpti_Device_GetChipName);
  chip.deviceIndex = device.getFacts().index;
  what = "CUPTI does not know the chip";
  if (CUptiResult code = cupti.cuptiDeviceGetChipName(&chip); code != CUPTI_SUCCESS)
    return code;
  std::vector<std::string> wanted = wantedMetrics(sets, chip.pChipName);
  if (prepared.config && prepared.chip == chip.pChipName && prepared.wanted == wanted)
    return CUPTI_SUCCESS;
  prepared = {chip.pChipName, std::move(wanted), {}, nullptr};
  auto config = std::make_unique<MetricConfig>(cupti);
  what = "CUPTI has no counters for the chip";
  if (CUptiResult code = config->create(prepared.chip, prepared.wanted, prepared.unknown);
      code != CUPTI_SUCCESS)
    return code;
  what = "CUPTI cannot configure the metrics";
  if (CUptiResult code = config->finish(); code != CUPTI_SUCCESS)
    return code;
  prepared.config = std::move(config);
  return CUPTI_SUCCESS;
}

/// The device half.
class RangeProfiler {
public:
  RangeProfiler(const Cupti &cupti, MetricConfig &config) : cupti(cupti), config(config) {}
  ~RangeProfiler() {
    if (!object)
      return;
    auto p = KBRT_PARAMETERS(CUpti_RangeProfiler_Disable);
    p.pRangeProfilerObject = object;
    cupti.cuptiRangeProfilerDisable(&p);
  }

  CUptiResult configure(CUcontext context, size_t ranges, CUpti_ProfilerReplayMode replay) {
    auto enable = KBRT_PARAMETERS(CUpti_RangeProfiler_Enable);
    enable.ctx = context;
    if (CUptiResult code = cupti.cuptiRangeProfilerEnable(&enable); code != CUPTI_SUCCESS)
      return code;
    object = enable.pRangeProfilerObject;
    auto size = KBRT_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize);
    size.pRangeProfilerObject = object;
    size.pMetricNames = config.pointers.data();
    size.numMetrics = config.pointers.size();
    size.maxNumOfRanges = ranges;
    size.maxNumRangeTreeNodes = static_cast<uint32_t>(ranges);
    if (CUptiResult code = cupti.cuptiRangeProfilerGetCounterDataSize(&size); code != CUPTI_SUCCESS)
      return code;
    counters.resize(size.counterDataSize);
    auto clear = KBRT_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize);
    clear.pRangeProfilerObject = object;
    clear.counterDataSize = counters.size();
    clear.pCounterData = counters.data();
    if (CUptiResult code = cupti.cuptiRangeProfilerCounterDataImageInitialize(&clear);
        code != CUPTI_SUCCESS)
      return code;
    auto set = KBRT_PARAMETERS(CUpti_RangeProfiler_SetConfig);
    set.pRangeProfilerObject = object;
    set.configSize = config.image.size();
    set.pConfig = config.image.data();
    set.counterDataImageSize = counters.size();
    set.pCounterDataImage = counters.data();
    set.range = CUPTI_AutoRange;
    set.replayMode = replay;
    set.maxRangesPerPass = ranges;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    return cupti.cuptiRangeProfilerSetConfig(&set);
  }

  CUptiResult start() {
    auto begin = KBRT_PARAMETERS(CUpti_RangeProfiler_Start);
    begin.pRangeProfilerObject = object;
    return cupti.cuptiRangeProfilerStart(&begin);
  }

  CUptiResult stop() {
    auto end = KBRT_PARAMETERS(CUpti_RangeProfiler_Stop);
    end.pRangeProfilerObject = object;
    CUptiResult code = cupti.cuptiRangeProfilerStop(&end);
    hasAllPasses = end.isAllPassSubmitted;
    return code;
  }

  CUptiResult decode() {
    auto decode = KBRT_PARAMETERS(CUpti_RangeProfiler_DecodeData);
    decode.pRangeProfilerObject = object;
    return cupti.cuptiRangeProfilerDecodeData(&decode);
  }

  size_t ranges() const {
    auto p = KBRT_PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo);
    p.pCounterDataImage = counters.data();
    p.counterDataImageSize = counters.size();
    return cupti.cuptiRangeProfilerGetCounterDataInfo(&p) == CUPTI_SUCCESS ? p.numTotalRanges : 0;
  }

  std::vector<uint8_t> counters;
  bool hasAllPasses = false;

private:
  const Cupti &cupti;
  MetricConfig &config;
  CUpti_RangeProfiler_Object *object = nullptr;
};

/// Of the free device memory, for staged uploads.
constexpr uint64_t memoryShare = 4;

/// Runs the plan up to the last of the launches that are wanted.
class ProfiledRun : public Execution {
public:
  ProfiledRun(Device &device, const Subject &subject, const SlabLayout &layout, uint64_t base,
              const ProfileOptions &options, const Staging &stagedUploads, RangeProfiler &profiler)
      : Execution(device, subject, layout, base, options.run.poison, options.run.wallSeconds),
        options(options), profiler(profiler) {
    staging = &stagedUploads;
  }

  bool run() {
    snapshotSymbols();
    return (walk() || isEnough) && wait("the end of the plan") && stop();
  }

  std::vector<size_t> steps;
  CUptiResult stopCode = CUPTI_SUCCESS;
  Problem problem() const { return {status, message, note}; }

private:
  bool stop() {
    if (!isStopped)
      stopCode = profiler.stop();
    isStopped = true;
    return true;
  }
  bool launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &arguments) override {
    // What follows is like what was read.
    if (steps.size() == options.launches) {
      isEnough = true;
      return false;
    }
    // Copies of uploads may still be on their way.
    if (!wait("the uploads before " + step.kernel))
      return false;
    takeTurn(options.begins);
    if (!queue(step, arguments) || !wait("kernel " + step.kernel))
      return false;
    options.ends();
    steps.push_back(index);
    return true;
  }

  const ProfileOptions &options;
  RangeProfiler &profiler;
  bool isStopped = false, isEnough = false;
};

} // namespace

std::optional<MetricCheck> kbrt::cuda::checkMetrics(const std::string &chip,
                                                    const std::vector<std::string> &names,
                                                    Problem &problem) {
  const Cupti *cupti = Cupti::get(Cupti::Counters, problem);
  if (!cupti)
    return std::nullopt;
  MetricConfig config(*cupti);
  MetricCheck check;
  CUptiResult code = config.create(chip, names, check.unknown);
  if (code == CUPTI_SUCCESS)
    code = config.finish();
  check.passes = config.passes;
  if (code == CUPTI_SUCCESS)
    return check;
  problem = {LaunchStatus::Environment,
             "CUPTI cannot configure metrics for " + chip + ": " + cupti->describe(code), ""};
  return std::nullopt;
}

ProfileResult kbrt::cuda::profile(Device &device, const Subject &subject,
                                  const ProfileOptions &options) {
  ProfileResult result;
  Problem problem;
  auto fail = [&] {
    result.status = problem.status;
    result.message = problem.message;
    result.note = problem.note;
    return result;
  };
  const Cupti *cupti = Cupti::get(Cupti::Counters, problem);
  if (!cupti) {
    result.degraded = problem.message;
    return result;
  }
  auto degrade = [&](const char *what, CUptiResult code) {
    result.degraded = std::string(what) + ": " + cupti->describe(code);
    return result;
  };
  auto start = KBRT_PARAMETERS(CUpti_Profiler_Initialize);
  if (CUptiResult code = cupti->cuptiProfilerInitialize(&start); code != CUPTI_SUCCESS)
    return degrade("CUPTI does not start", code);
  const char *what = nullptr;
  CUptiResult known = prepare(*cupti, device, options.sets, what);
  result.chip = prepared.chip;
  result.unknownMetrics = prepared.unknown;
  if (known != CUPTI_SUCCESS)
    return degrade(what, known);
  MetricConfig &config = *prepared.config;
  result.passes = config.passes;

  SlabLayout layout = SlabLayout::of(*subject.plan);
  Slab slab;
  if (!slab.allocate(device.getHandles(), layout.bytes, 0, problem) ||
      !subject.image->reload(problem))
    return fail();
  size_t free = 0, total = 0;
  device.getHandles().driver->cuMemGetInfo(&free, &total);
  Staging staging;
  staging.add(device.getHandles(), subject, free / memoryShare);
  RangeProfiler profiler(*cupti, config);
  const auto replay = layout.bytes > mostMemoryPutBack ? CUPTI_UserReplay : CUPTI_KernelReplay;
  CUptiResult code = profiler.configure(device.getHandles().context, options.launches, replay);
  std::vector<size_t> steps;
  const size_t runs = replay == CUPTI_UserReplay ? config.passes : 1;
  for (size_t pass = 0; code == CUPTI_SUCCESS && !profiler.hasAllPasses && pass < runs; ++pass) {
    if (pass > 0 && !subject.image->reload(problem))
      return fail();
    if (code = profiler.start(); code != CUPTI_SUCCESS)
      break;
    ProfiledRun run(device, subject, layout, slab.base(), options, staging, profiler);
    if (!run.run()) {
      problem = run.problem();
      return fail();
    }
    code = run.stopCode;
    steps = std::move(run.steps);
  }
  if (code == CUPTI_SUCCESS)
    code = profiler.decode();
  if (code != CUPTI_SUCCESS)
    return degrade("CUPTI could not read the counters", code);
  size_t ranges = std::min(profiler.ranges(), steps.size());
  for (size_t i = 0; i < ranges; ++i) {
    LaunchProfile launch{steps[i], std::nullopt, config.values(profiler.counters, i)};
    if (auto time = launch.metrics.find(durationMetric); time != launch.metrics.end())
      launch.us = time->second * 1e-3; // CUPTI's is in nanoseconds
    result.launches.push_back(std::move(launch));
  }
  return result;
}
