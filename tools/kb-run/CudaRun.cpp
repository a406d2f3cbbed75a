//===- CudaRun.cpp - a job on a CUDA device -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CudaResult.h"
#include "Run.h"
#include "Watch.h"
#include "kbrt/Turn.h"

#ifdef KBRUN_HAS_CUDA
#include <chrono>
#include <nlohmann/json.hpp>

namespace kbrun {

using namespace kbrt;
using namespace kbrt::cuda;
using Json = OrderedJson;

namespace {

/// Opened by warmUpCuda, or left by the session's last job.
std::unique_ptr<Device> warmDevice;
/// Of the device, by this process's last job that needed one.
std::optional<DeviceReading> lastReading;

/// The state of one job while its parts are done.
class CudaRun {
public:
  CudaRun(const Job &job, Progress &progress) : job(job), progress(progress) {}
  Outcome run();
  /// The device, where another job of the session may have it.
  std::unique_ptr<Device> giveDevice() { return std::move(device); }

private:
  bool prepare();
  bool openDevice();
  bool mayGoOn() const;
  bool verify();
  void time();
  void audit();
  void readCounters();
  void sanitize();
  /// Until no other process uses the device.
  void waitAlone() { wait(&Turn::alone); }
  void wait(void (Turn::*how)());
  bool fail(const Problem &problem) {
    status = problem.status;
    message = problem.message;
    note = problem.note;
    return false;
  }
  bool fail(const std::string &text) { return fail(Problem{LaunchStatus::Environment, text, ""}); }
  std::unique_ptr<LoadedImage> loadImage(const std::string &path);
  RunOptions runOptions();
  /// The baseline with what rests of its plan, for timing; false after `fail`.
  bool prepareBaseline(Subject &baseline);

  const Job &job;
  Progress &progress;
  std::unique_ptr<Device> device;
  std::optional<Turn> turn; ///< from the device on
  std::chrono::steady_clock::time_point turnBegan;
  Inputs inputs, baselineInputs;
  std::unique_ptr<LoadedImage> image, baselineImage;
  LaunchStatus status = LaunchStatus::Ok;
  std::string message, note;
  uint64_t verified = 0;                  ///< hash of what the first execution read
  std::vector<RunLaunch> timedLaunches;   ///< of the first execution
  std::vector<RestingRepetition> resting; ///< likewise
  bool isClean = true, hasCounters = false;
  Json result = Json::object();
};

RunOptions CudaRun::runOptions() {
  RunOptions options;
  options.poison = job.options.poison;
  options.wallSeconds = job.options.launch.wallSeconds;
  options.deviceBytes = job.options.deviceBytes;
  options.checkGuards = job.options.launch.checkGuards;
  options.checkConstInputs = job.options.checkConstInputs;
  options.constParameters = job.cuda.constParameters;
  options.separateBuffers = job.cuda.separateBuffers;
  options.begins = [this] { wait(&Turn::sharedOn); };
  options.ends = [this] { turn->leave(); };
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

bool CudaRun::openDevice() {
  Watch watch(result, "device");
  Problem problem;
  bool isWarm = warmDevice && job.cuda.arch.empty() && job.cuda.deviceIndex == 0;
  if (warmDevice && !isWarm && job.cuda.deviceIndex == 0)
    // A wrong architecture is to be said by the same words.
    isWarm = warmDevice->getFacts().arch() == job.cuda.arch;
  device =
      isWarm ? std::move(warmDevice) : Device::open({job.cuda.deviceIndex, job.cuda.arch}, problem);
  if (!device)
    return fail(problem);
  turn.emplace(device->getFacts().uuid);
  Watch reading(result, "reading");
  // NVML takes its time; where figures are taken, it is asked again.
  if (!lastReading)
    lastReading = device->read();
  result["device"] = deviceJson(*device, *lastReading);
  return true;
}

bool CudaRun::prepare() {
  if (!openDevice())
    return false;
  Watch watch(result, "load");
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
  Watch watch(result, "run");
  RunOptions options = runOptions();
  ReadContents contents = job.cuda.contents.value_or(ReadContents());
  // Bytes that are not asked for stay on the device.
  options.reads = job.outputs.empty() || job.cuda.contents ? Reads::Hashed : Reads::Kept;
  options.contents = &contents;
  contents.folder = job.cuda.contents ? job.outputs : "";
  std::string error;
  if (!contents.folder.empty() && !makeFolder(contents.folder, error))
    return fail(error);
  PlanInputs payloads = inputs.payloads;
  track(inputs.plan, progress, payloads);
  Subject subject{image.get(), &inputs.plan, &payloads, job.cuda.resting};
  RunResult first;
  Json repetitions = {{"count", 0}, {"identical", true}};
  for (uint32_t i = 0; i < job.repetitions && status == LaunchStatus::Ok; ++i) {
    progress.repetition = i;
    // Every second run from another poison: a result that depends on it shows.
    options.poison = i % 2 ? static_cast<uint8_t>(~job.options.poison) : job.options.poison;
    RunResult run = execute(*device, subject, options);
    repetitions["count"] = i + 1;
    status = run.status;
    message =
        (i && run.status != LaunchStatus::Ok ? "repetition " + std::to_string(i) + ": " : "") +
        run.message;
    note = run.note;
    if (i > 0 && status == LaunchStatus::Ok &&
        (run.observables != first.observables || run.contents != first.contents)) {
      repetitions["identical"] = false;
      repetitions["firstDifference"] = {{"repetition", i}};
      if (auto difference =
              run.contents != first.contents
                  ? firstDifference(inputs.plan, first.contents, run.contents)
                  : firstDifference(inputs.plan, first.observables, run.observables)) {
        repetitions["firstDifference"]["read"] = difference->first;
        repetitions["firstDifference"]["step"] = difference->second;
      }
      isClean = false;
      break;
    }
    if (i == 0)
      first = std::move(run);
    contents.folder.clear(); // outputs are the first execution's
  }
  result["launches"] = launchesJson(inputs.plan, first);
  result["findings"] = Json::array();
  for (const RunFinding &finding : first.findings)
    result["findings"].push_back(findingJson(finding));
  isClean &= first.findings.empty() && status == LaunchStatus::Ok;
  result["notes"] = first.notes;
  const bool isKept = !first.observables.empty() || first.contents.empty();
  result["observables"] = {
      {"bytes", isKept ? first.observables.size() : readBytes(inputs.plan, first.contents.size())},
      {"expectedBytes", observableBytes(inputs.plan)},
      {"digest", isKept ? digestOf(first.observables) : digestText(first.readHash)}};
  if (job.cuda.contents)
    result["contents"] = first.contents;
  result["repetitions"] = repetitions;
  result["peakDeviceBytes"] = first.peakDeviceBytes;
  result["wallSeconds"] = first.wallSeconds;
  {
    Watch writing(result, "outputs");
    if (options.reads == Reads::Kept && !writeOutputs(job, first.observables, error))
      return fail(error);
  }
  verified = isKept ? hashOfReads(inputs.plan, first.observables) : first.readHash;
  timedLaunches = std::move(first.launches);
  resting = std::move(first.resting);
  return status == LaunchStatus::Ok;
}

void CudaRun::wait(void (Turn::*how)()) {
  Watch watch(result, "turn");
  progress.isWaiting = true;
  ((*turn).*how)();
  progress.isWaiting = false;
  turnBegan = std::chrono::steady_clock::now();
}

bool CudaRun::prepareBaseline(Subject &baseline) {
  if (!baselineImage)
    return true;
  baseline = {baselineImage.get(), &baselineInputs.plan, &baselineInputs.payloads};
  if (findRepetitions(baselineInputs.plan).empty())
    return true;
  RunOptions options = runOptions();
  options.checkGuards = options.checkConstInputs = false;
  options.reads = Reads::Hashed;
  RunResult run = execute(*device, baseline, options);
  if (run.status != LaunchStatus::Ok)
    return fail({run.status, "timing: " + run.message, run.note});
  baseline.resting = std::move(run.resting);
  return true;
}

void CudaRun::time() {
  TimingOptions options = *job.cuda.timing;
  options.poison = job.options.poison;
  options.wallSeconds = job.options.launch.wallSeconds;
  options.outputHash = verified;
  Subject candidate{image.get(), &inputs.plan, &inputs.payloads, resting}, baseline;
  options.begins = [&] { waitAlone(); };
  options.between = [&] {
    if (std::chrono::steady_clock::now() - turnBegan > Turn::longest)
      waitAlone(); // behind those that came in the meantime
  };
  options.ends = [&] { turn->leave(); };
  Watch watch(result, "timing");
  if (!prepareBaseline(baseline))
    return;
  TimingResult timing = measure(*device, baseline, candidate, options);
  lastReading = timing.before;
  result["device"] = deviceJson(*device, timing.before);
  result["timing"] = timingJson(timing, baselineImage != nullptr);
  if (timing.status != LaunchStatus::Ok)
    fail({timing.status, "timing: " + timing.message, timing.note});
}

void CudaRun::audit() {
  wait(&Turn::shared);
  Watch watch(result, "audit");
  Subject subject{image.get(), &inputs.plan, &inputs.payloads};
  AuditResult audit = cuda::audit(*device, subject, runOptions());
  turn->leave();
  result["audit"] = auditJson(audit);
  isClean &= !audit.changedAfterReturn;
  if (audit.status != LaunchStatus::Ok)
    fail({audit.status, "audit: " + audit.message, audit.note});
}

void CudaRun::readCounters() {
  ProfileOptions options = *job.cuda.profile;
  options.run = runOptions();
  Subject subject{image.get(), &inputs.plan, &inputs.payloads};
  options.begins = [&] { wait(&Turn::aloneOn); };
  options.ends = [&] { turn->rest(); };
  Watch watch(result, "profile");
  ProfileResult profile = cuda::profile(*device, subject, options);
  turn->leave(); // a launch that fails ends nothing
  hasCounters = profile.degraded.empty();
  // Without counters the events of the verified execution tell the shares of the time.
  if (!profile.degraded.empty() && profile.status == LaunchStatus::Ok) {
    profile.launches.clear();
    for (const RunLaunch &launch : timedLaunches)
      if (profile.launches.size() < options.launches)
        profile.launches.push_back({launch.step, launch.us, {}});
  }
  Json json = profileJson(inputs.plan, profile);
  Problem problem{profile.status, profile.message, profile.note};
  if (options.pcSampling && !problem) {
    double expectedUs = 0;
    for (const RunLaunch &launch : timedLaunches)
      expectedUs += launch.us * static_cast<double>(launch.repeats);
    waitAlone();
    LineSamples samples = sampleLines(*device, subject, options.run, expectedUs);
    addLines(json, samples);
    turn->leave();
    problem = {samples.status, samples.message, samples.note};
  }
  result["profile"] = json;
  if (problem)
    fail({problem.status, "profile: " + problem.message, problem.note});
}

void CudaRun::sanitize() {
  // The process under the tool takes turns of its own. It would wait for one that waits for this
  // one.
  if (turn)
    turn->leave();
  Watch watch(result, "sanitizer");
  SanitizerReport report = runSanitizer(job, resting);
  result["sanitizer"] = sanitizerJson(report);
  isClean &= report.findings.empty();
}

/// A process that found something is not trusted. CUPTI leaves its traces in a process: one that
/// read counters may read others, and do nothing else.
bool CudaRun::mayGoOn() const {
  const bool isCounting = job.cuda.profile && hasCounters && !job.cuda.profile->pcSampling;
  return !job.session.empty() && device && status == LaunchStatus::Ok && isClean &&
         !job.cuda.audit && (!job.cuda.profile || isCounting) && job.cuda.sanitizer.empty();
}

Outcome CudaRun::run() {
  result["launches"] = Json::array();
  if (prepare()) {
    result["kernels"] = kernelsJson(inputs.plan, *image);
    if (verify() && job.cuda.timing)
      time();
    if (status == LaunchStatus::Ok && job.cuda.audit)
      audit();
    if (status == LaunchStatus::Ok && job.cuda.profile)
      readCounters();
    // A watched execution names the place of a fault, too.
    if (status != LaunchStatus::Environment && !job.cuda.sanitizer.empty())
      sanitize();
  }
  Json whole = {
      {"version", 1}, {"status", toString(status)}, {"message", message}, {"mode", nullptr}};
  if (!job.id.empty())
    whole["id"] = job.id;
  if (!note.empty())
    whole["note"] = note;
  whole.update(result);
  ExitStatus exit = status == LaunchStatus::Environment     ? exitEnvironment
                    : status == LaunchStatus::Ok && isClean ? exitOk
                                                            : exitDiagnostics;
  return {exit, whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n", mayGoOn()};
}

} // namespace

Outcome runOnCuda(const Job &job, Progress &progress) {
  // The context may be poisoned: then nothing of it is taken down in order.
  auto *run = new CudaRun(job, progress);
  Outcome outcome = run->run();
  if (outcome.mayGoOn) {
    warmDevice = run->giveDevice();
    delete run;
  }
  return outcome;
}

void warmUpCuda() {
  Problem problem;
  warmDevice = Device::open({0, ""}, problem);
  if (warmDevice)
    warmUp(*warmDevice);
}

} // namespace kbrun
#endif
