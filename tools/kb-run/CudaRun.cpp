//===- CudaRun.cpp - a job on a CUDA device -------------------------------===//
#include "Run.h"
#include "Turn.h"

#ifdef KBRUN_HAS_CUDA
#include <cmath>
#include <nlohmann/json.hpp>

namespace kbrun {

using namespace kbrt;
using namespace kbrt::cuda;
using Json = nlohmann::ordered_json;

namespace {

/// Opened by warmUpCuda.
std::unique_ptr<Device> warmDevice;

Json readingJson(const DeviceReading &reading) {
  Json o = {{"smMHz", reading.smMHz}, {"memoryMHz", reading.memoryMHz}};
  o["celsius"] = reading.celsius >= 0 ? Json(reading.celsius) : Json(nullptr);
  o["watts"] = reading.watts >= 0 ? Json(reading.watts) : Json(nullptr);
  o["utilisationPercent"] =
      reading.utilisationPercent >= 0 ? Json(reading.utilisationPercent) : Json(nullptr);
  o["otherProcesses"] = reading.otherProcesses;
  o["eccErrors"] = reading.eccErrors ? Json(*reading.eccErrors) : Json(nullptr);
  o["clockReasons"] = reading.clockReasons ? Json(*reading.clockReasons) : Json(nullptr);
  return o;
}

Json deviceJson(const Device &device, const DeviceReading &reading) {
  const DeviceFacts &facts = device.getFacts();
  Json o = {{"kind", "cuda"},
            {"index", facts.index},
            {"name", facts.name},
            {"arch", facts.arch()},
            {"uuid", facts.uuid},
            {"pciBusId", facts.pciBusId},
            {"driver", facts.driver},
            {"cudaVersion", facts.cudaVersion},
            {"multiprocessors", facts.multiprocessors},
            {"maxSmMHz", facts.maxSmMHz},
            {"l2Bytes", facts.l2Bytes},
            {"memoryBytes", facts.memoryBytes},
            {"freeBytes", facts.freeBytes},
            {"ecc", facts.ecc}};
  o["before"] = readingJson(reading);
  o["noise"] = device.noise(reading);
  return o;
}

Json kernelsJson(const Plan &plan, LoadedImage &image) {
  Json list = Json::array();
  std::vector<const LaunchStep *> seen;
  for (const Step &step : plan.steps) {
    auto *launch = std::get_if<LaunchStep>(&step);
    if (!launch)
      continue;
    bool isKnown = false;
    for (const LaunchStep *other : seen)
      isKnown |= other->kernel == launch->kernel && other->block == launch->block &&
                 other->sharedBytes == launch->sharedBytes;
    std::optional<KernelFacts> facts = isKnown ? std::nullopt : image.kernelFacts(launch->kernel);
    if (!facts)
      continue;
    seen.push_back(launch);
    list.push_back({{"kernel", launch->kernel},
                    {"block", {launch->block.x, launch->block.y, launch->block.z}},
                    {"dynamicSharedBytes", launch->sharedBytes},
                    {"registers", facts->registers},
                    {"localBytes", facts->localBytes},
                    {"staticSharedBytes", facts->staticSharedBytes},
                    {"maxThreads", facts->maxThreads},
                    {"binaryVersion", facts->binaryVersion},
                    {"blocksPerMultiprocessor",
                     image.blocksPerMultiprocessor(
                         launch->kernel, static_cast<unsigned>(launch->block.count()),
                         launch->sharedBytes)}});
  }
  return list;
}

Json findingJson(const RunFinding &finding) {
  Json o = {{"kind", finding.kind},       {"severity", "error"},      {"kernel", finding.kernel},
            {"message", finding.message}, {"buffer", finding.buffer}, {"offset", finding.offset}};
  if (finding.before)
    o["before"] = true;
  return o;
}

Json launchesJson(const Plan &plan, const RunResult &run) {
  Json list = Json::array();
  for (const RunLaunch &launch : run.launches) {
    const auto &step = std::get<LaunchStep>(plan.steps[launch.step]);
    list.push_back({{"step", launch.step},
                    {"repeats", 1},
                    {"kernel", step.kernel},
                    {"grid", {step.grid.x, step.grid.y, step.grid.z}},
                    {"block", {step.block.x, step.block.y, step.block.z}},
                    {"dynamicSharedBytes", step.sharedBytes},
                    {"status", "ok"},
                    {"message", ""},
                    {"wallSeconds", launch.us * 1e-6},
                    {"findings", Json::array()},
                    {"notes", Json::array()}});
  }
  return list;
}

Json summaryJson(const Summary &summary) {
  return {{"count", summary.count},   {"minUs", summary.min}, {"q1Us", summary.q1},
          {"medianUs", summary.median}, {"q3Us", summary.q3}, {"maxUs", summary.max},
          {"meanUs", summary.mean},   {"relativeDeviation", summary.relativeDeviation()}};
}

double rounded(double value, double step) { return std::round(value / step) * step; }

Json seriesJson(const TimingResult::Series &series, bool hasBaseline) {
  Json o = {{"stop", toString(series.stop)},
            {"seconds", series.seconds},
            {"usualMHz", series.clocks.usualMHz},
            {"discardedShare", series.clocks.discardedShare},
            {"candidate", summaryJson(series.candidate)}};
  if (hasBaseline) {
    o["baseline"] = summaryJson(series.baseline);
    o["decision"] = {{"comparison", toString(series.decision.comparison)},
                     {"ratio", series.decision.ratio},
                     {"lower", series.decision.lower},
                     {"upper", series.decision.upper},
                     {"reason", series.decision.reason}};
  }
  // Columns: thousands of samples make long files.
  Json samples = {{"block", Json::array()}, {"candidate", Json::array()}, {"us", Json::array()},
                  {"smMHz", Json::array()}, {"kept", Json::array()}};
  for (size_t i = 0; i < series.samples.size(); ++i) {
    const TimedSample &sample = series.samples[i];
    samples["block"].push_back(sample.block);
    samples["candidate"].push_back(sample.candidate ? 1 : 0);
    samples["us"].push_back(rounded(sample.us, 1e-3));
    samples["smMHz"].push_back(rounded(sample.smMHz, 1));
    samples["kept"].push_back(series.clocks.keep.size() > i && series.clocks.keep[i] ? 1 : 0);
  }
  o["samples"] = samples;
  return o;
}

Json timingJson(const TimingResult &timing, bool hasBaseline) {
  Json o = {{"status", toString(timing.status)},
            {"message", timing.message},
            {"instances", timing.instances},
            {"emptiesL2", timing.emptiesL2}};
  o["cold"] = seriesJson(timing.cold, hasBaseline);
  if (!timing.hot.samples.empty())
    o["hot"] = seriesJson(timing.hot, hasBaseline);
  auto outputs = [](const TimedOutputs &outputs) {
    return Json{{"checked", outputs.checked}, {"different", outputs.different}};
  };
  o["outputs"] = {{"candidate", outputs(timing.outputs[1])}};
  if (hasBaseline)
    o["outputs"]["baseline"] = outputs(timing.outputs[0]);
  if (timing.emptyKernelUs) {
    o["emptyKernelUs"] = *timing.emptyKernelUs;
    Json batched = Json::object();
    if (timing.batchedUs[0])
      batched["baseline"] = *timing.batchedUs[0];
    if (timing.batchedUs[1])
      batched["candidate"] = *timing.batchedUs[1];
    o["batchedUs"] = batched;
  }
  o["before"] = readingJson(timing.before);
  o["after"] = readingJson(timing.after);
  o["notes"] = timing.notes;
  return o;
}

Json profileJson(const Plan &plan, const ProfileResult &profile) {
  Json o = {{"status", toString(profile.status)},
            {"message", profile.message},
            {"chip", profile.chip},
            {"passes", profile.passes},
            {"isDegraded", !profile.degraded.empty()},
            {"degraded", profile.degraded},
            {"unknownMetrics", profile.unknownMetrics}};
  o["launches"] = Json::array();
  for (const LaunchProfile &launch : profile.launches)
    o["launches"].push_back({{"step", launch.step},
                             {"kernel", std::get<LaunchStep>(plan.steps[launch.step]).kernel},
                             {"metrics", launch.metrics}});
  return o;
}

/// The state of one job while its parts are done.
class CudaRun {
public:
  CudaRun(const Job &job, Progress &progress) : job(job), progress(progress) {}
  Outcome run();

private:
  bool prepare();
  bool verify();
  void time();
  void readCounters();
  /// Until nobody else uses the device.
  void waitAlone();
  bool fail(const Problem &problem) {
    status = problem.status;
    message = problem.message;
    note = problem.note;
    return false;
  }
  bool fail(const std::string &text) { return fail(Problem{LaunchStatus::Environment, text, ""}); }
  std::unique_ptr<LoadedImage> loadImage(const std::string &path);
  RunOptions runOptions() const;

  const Job &job;
  Progress &progress;
  std::unique_ptr<Device> device;
  std::optional<Turn> turn; ///< from the device on
  Inputs inputs, baselineInputs;
  std::unique_ptr<LoadedImage> image, baselineImage;
  LaunchStatus status = LaunchStatus::Ok;
  std::string message, note;
  std::string verified; ///< what the first execution's reads gave
  bool isClean = true;
  Json result = Json::object();
};

RunOptions CudaRun::runOptions() const {
  RunOptions options;
  options.poison = job.options.poison;
  options.wallSeconds = job.options.launch.wallSeconds;
  options.deviceBytes = job.options.deviceBytes;
  options.checkGuards = job.options.launch.checkGuards;
  options.checkConstInputs = job.options.checkConstInputs;
  options.constParameters = job.cuda.constParameters;
  return options;
}

std::unique_ptr<LoadedImage> CudaRun::loadImage(const std::string &path) {
  std::string error;
  std::optional<std::string> bytes = readFile(path, error);
  if (!bytes) {
    fail(error);
    return nullptr;
  }
  Problem problem;
  auto loaded = LoadedImage::load(*device, std::move(*bytes), path, problem);
  if (!loaded)
    fail(problem);
  return loaded;
}

bool CudaRun::prepare() {
  Problem problem;
  bool isWarm = warmDevice && job.cuda.arch.empty() && job.cuda.deviceIndex == 0;
  if (warmDevice && !isWarm && job.cuda.deviceIndex == 0)
    // A wrong architecture is to be said by the same words.
    isWarm = warmDevice->getFacts().arch() == job.cuda.arch;
  device = isWarm ? std::move(warmDevice)
                  : Device::open({job.cuda.deviceIndex, job.cuda.arch}, problem);
  if (!device)
    return fail(problem);
  progress.isWaiting = true;
  turn.emplace(device->getFacts().uuid);
  progress.isWaiting = false;
  result["device"] = deviceJson(*device, device->read());
  std::string error;
  if (!inputs.load(job.subject, job.blobs, job.overrides, error))
    return fail(error);
  if (job.cuda.baseline &&
      !baselineInputs.load(*job.cuda.baseline, job.blobs, job.overrides, error))
    return fail(error);
  image = loadImage(job.subject.image);
  if (image && job.cuda.baseline)
    baselineImage = loadImage(job.cuda.baseline->image);
  return image && (!job.cuda.baseline || baselineImage);
}

bool CudaRun::verify() {
  RunOptions options = runOptions();
  PlanInputs payloads = inputs.payloads;
  track(inputs.plan, progress, payloads);
  Subject subject{image.get(), &inputs.plan, &payloads};
  RunResult first;
  Json repetitions = {{"count", 0}, {"identical", true}};
  for (uint32_t i = 0; i < job.repetitions && status == LaunchStatus::Ok; ++i) {
    progress.repetition = i;
    // Every second run from another poison: a result that depends on it shows.
    options.poison = i % 2 ? static_cast<uint8_t>(~job.options.poison) : job.options.poison;
    RunResult run = execute(*device, subject, options);
    repetitions["count"] = i + 1;
    status = run.status;
    message = (i && run.status != LaunchStatus::Ok ? "repetition " + std::to_string(i) + ": " : "") +
              run.message;
    note = run.note;
    if (i > 0 && status == LaunchStatus::Ok && run.observables != first.observables) {
      repetitions["identical"] = false;
      repetitions["firstDifference"] = {{"repetition", i}};
      if (auto difference = firstDifference(inputs.plan, first.observables, run.observables)) {
        repetitions["firstDifference"]["read"] = difference->first;
        repetitions["firstDifference"]["step"] = difference->second;
      }
      isClean = false;
      break;
    }
    if (i == 0)
      first = std::move(run);
  }
  result["launches"] = launchesJson(inputs.plan, first);
  result["findings"] = Json::array();
  for (const RunFinding &finding : first.findings)
    result["findings"].push_back(findingJson(finding));
  isClean &= first.findings.empty() && status == LaunchStatus::Ok;
  result["notes"] = first.notes;
  result["observables"] = {{"bytes", first.observables.size()},
                           {"expectedBytes", observableBytes(inputs.plan)},
                           {"digest", digestOf(first.observables)}};
  result["repetitions"] = repetitions;
  result["peakDeviceBytes"] = first.peakDeviceBytes;
  result["wallSeconds"] = first.wallSeconds;
  std::string error;
  if (!writeOutputs(job, first.observables, error))
    return fail(error);
  verified = std::move(first.observables);
  return status == LaunchStatus::Ok;
}

void CudaRun::waitAlone() {
  progress.isWaiting = true;
  turn->alone();
  progress.isWaiting = false;
}

void CudaRun::time() {
  TimingOptions options = *job.cuda.timing;
  options.poison = job.options.poison;
  options.wallSeconds = job.options.launch.wallSeconds;
  options.observables = verified;
  Subject candidate{image.get(), &inputs.plan, &inputs.payloads}, baseline;
  if (baselineImage)
    baseline = {baselineImage.get(), &baselineInputs.plan, &baselineInputs.payloads};
  waitAlone();
  TimingResult timing = measure(*device, baseline, candidate, options);
  turn->shared();
  result["timing"] = timingJson(timing, baselineImage != nullptr);
  if (timing.status != LaunchStatus::Ok)
    fail({timing.status, "timing: " + timing.message, timing.note});
}

void CudaRun::readCounters() {
  ProfileOptions options = *job.cuda.profile;
  options.run = runOptions();
  Subject subject{image.get(), &inputs.plan, &inputs.payloads};
  waitAlone();
  ProfileResult profile = cuda::profile(*device, subject, options);
  turn->shared();
  result["profile"] = profileJson(inputs.plan, profile);
  if (profile.status != LaunchStatus::Ok)
    fail({profile.status, "profile: " + profile.message, profile.note});
}

Outcome CudaRun::run() {
  result["launches"] = Json::array();
  if (prepare()) {
    result["kernels"] = kernelsJson(inputs.plan, *image);
    if (verify() && job.cuda.timing)
      time();
    if (status == LaunchStatus::Ok && job.cuda.profile)
      readCounters();
  }
  Json whole = {{"version", 1},
                {"status", toString(status)},
                {"message", message},
                {"mode", nullptr}};
  if (!job.id.empty())
    whole["id"] = job.id;
  if (!note.empty())
    whole["note"] = note;
  whole.update(result);
  ExitStatus exit = status == LaunchStatus::Environment           ? exitEnvironment
                    : status == LaunchStatus::Ok && isClean ? exitOk
                                                            : exitDiagnostics;
  return {exit, whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

} // namespace

Outcome runOnCuda(const Job &job, Progress &progress) {
  // The context may be poisoned: nothing of it is taken down in order.
  auto *run = new CudaRun(job, progress);
  return run->run();
}

void warmUpCuda() {
  Problem problem;
  warmDevice = Device::open({}, problem);
}

} // namespace kbrun
#endif
