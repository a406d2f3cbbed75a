//===- CudaDevice.cpp - Jobs for a GPU and their answers ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/CudaDevice.h"
#include "../JobResult.h"
#include "GpuRecords.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/Plan.h"
#include "kbrt/Statistics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace kbopt {

/// Launches whose counters are read at most; each pass of them runs the plan so far.
static constexpr unsigned mostProfiledLaunches = 32;

/// How many launches from the first on hold one of every kernel and shape of \p plan.
static int64_t launchesToProfile(const kbrt::Plan &plan) {
  std::set<std::string> seen;
  int64_t launches = 0, needed = 1;
  for (const kbrt::Step &step : plan.steps) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    if (!launch || ++launches > mostProfiledLaunches)
      continue;
    DigestBuilder builder;
    builder.add(launch->kernel).add(launch->sharedBytes);
    for (const kbrt::Dim3 &dim : {launch->grid, launch->block})
      builder.add(dim.x).add(dim.y).add(dim.z);
    if (seen.insert(builder.finish()).second)
      needed = launches;
  }
  return needed;
}
/// Plan executions that each part of a job may take as long as.
static constexpr double runSeconds = 60;

static Error badAnswer(json::Path::Root &root) {
  return make_error<ToolError>("kb-run's result is not understood: " + toString(root.getError()),
                               std::vector<std::string>{"kb-run"}, 0, "",
                               "kb-run and kb-opt must come from one build");
}

/// The machine cannot; \p result says why and what to do.
static Error environmentError(const json::Object &result) {
  return make_error<ToolError>(
      result.getString("message").value_or("the device does not answer").str(),
      std::vector<std::string>{"kb-run"}, 3, "",
      result.getString("note").value_or("try 'kb-run devices' there").str());
}

static StringRef statusOf(const JobAnswer &answer) {
  return answer.result.getString("status").value_or("");
}

/// Status and words of \p result in \p record, which has them as a RunResult has.
template <typename Record> static bool endedWell(const json::Object &result, Record &record) {
  StringRef status = result.getString("status").value_or("");
  record.status =
      status == "lost" ? RunStatus::Lost : parseRunStatus(status).value_or(RunStatus::Fault);
  record.message = result.getString("message").value_or("").str();
  if (record.status != RunStatus::Ok && record.message.empty())
    record.message = status.str();
  return record.status == RunStatus::Ok;
}

Expected<DeviceImage> CudaDevice::build(const ProgramArtefacts &program, RunMode mode) {
  if (mode != RunMode::Plain)
    return make_error<ToolError>(("a GPU builds no image for mode '" + toString(mode) + "'").str(),
                                 std::vector<std::string>{"nvcc"}, -1, "");
  Expected<DeviceCode> code = compiler.compileFor(program);
  if (!code)
    return code.takeError();
  if (code->cubinPath.empty())
    return make_error<ToolError>("a GPU needs machine code, which nvcc makes",
                                 std::vector<std::string>{"nvcc"}, -1, "",
                                 "set CUDA_PATH to a CUDA toolkit");
  DeviceImage image;
  image.path = code->cubinPath;
  image.digest = code->digest;
  return image;
}

Expected<DeviceIdentity> CudaDevice::identify(const DeviceImage &image) {
  Expected<GpuFacts> device = facts();
  if (!device)
    return device.takeError();
  Expected<Digest> bytes = files.get(image.path);
  if (!bytes)
    return bytes.takeError();
  return DeviceIdentity{DigestBuilder().add(device->name).add(device->driver).finish(), *bytes};
}

Expected<JobRequest> CudaDevice::request(const GpuSubject &subject, StringRef apart,
                                         const Digest &owner) const {
  JobRequest request;
  request.fields = json::Object{{"device", "cuda"}, {"wallSeconds", runSeconds}};
  if (!options.arch.empty())
    request.fields["arch"] = options.arch;
  request.subject = {subject.cubinPath, subject.planFolder};
  request.limitSeconds = 2 * runSeconds;
  if (!subject.cubinPath.empty()) {
    Expected<Digest> image = owner.empty() ? files.get(subject.cubinPath) : Expected<Digest>(owner);
    if (!image)
      return image.takeError();
    request.fields["session"] = apart.empty() ? *image : (*image + " " + apart).str();
  }
  return request;
}

Expected<JobAnswer> CudaDevice::send(StringRef kind, const JobRequest &request) {
  TimedPart timed(options.timings, "jobs of the GPU", kind.str());
  Expected<JobAnswer> answer = channel->run(request);
  if (answer && options.timings)
    if (const json::Object *seconds = answer->result.getObject("seconds"))
      for (const auto &[part, value] : *seconds)
        options.timings->add("inside kb-run", (kind + ": " + StringRef(part)).str(),
                             value.getAsNumber().value_or(0));
  return answer;
}

Expected<GpuFacts> CudaDevice::askFacts() {
  Expected<JobAnswer> answer = send("facts", cantFail(request({})));
  if (!answer)
    return answer.takeError();
  const json::Value *device = answer->result.get("device");
  if (!device)
    return environmentError(answer->result);
  GpuFacts facts;
  json::Path::Root root("device");
  if (!fromJSON(*device, facts, root))
    return badAnswer(root);
  return facts;
}

void CudaDevice::tellNoise(const GpuFacts &facts) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const std::string &sentence : facts.noise) {
    // The same sentence with another number is no news.
    std::string kind = sentence;
    llvm::erase_if(kind, [](char c) { return llvm::isDigit(c); });
    if (told.insert(kind).second && options.notice)
      options.notice("times may be unsteady: " + sentence);
  }
}

/// Figures of two kinds of GPU cannot be compared.
Error CudaDevice::checkSame(const GpuFacts &facts) {
  std::lock_guard<std::mutex> lock(mutex);
  if (productName.empty())
    productName = facts.name;
  if (productName == facts.name)
    return Error::success();
  return make_error<ToolError>(
      "the device was a '" + productName + "' and is a '" + facts.name + "' now",
      std::vector<std::string>{"kb-run"}, 3, "", "let servers with one kind of GPU answer");
}

Expected<GpuFacts> CudaDevice::facts() {
  Expected<const GpuFacts &> found = known.get(0, [&] { return askFacts(); });
  if (!found)
    return found.takeError();
  if (Error error = checkSame(*found))
    return std::move(error);
  tellNoise(*found);
  return *found;
}

Expected<JobAnswer> CudaDevice::ask(StringRef kind, const JobRequest &request) {
  Expected<JobAnswer> answer = send(kind, request);
  if (!answer)
    return answer;
  if (statusOf(*answer) == "environment") {
    // A process goes with its first failure: what was left of a lost device is gone.
    if (Expected<GpuFacts> alive = askFacts(); !alive)
      return alive.takeError();
    std::string first = answer->result.getString("message").value_or("").str();
    answer = send(kind, request);
    if (!answer)
      return answer;
    if (statusOf(*answer) == "environment") {
      if (Expected<GpuFacts> alive = askFacts(); !alive)
        return alive.takeError();
      // Without this a file was missing, and the job never came to its kernels.
      if (!answer->result.getArray("kernels"))
        return environmentError(answer->result);
      answer->result["status"] = "lost";
    }
  }
  if (statusOf(*answer) == "usage" || statusOf(*answer) == "internal")
    return make_error<ToolError>(
        "kb-run refuses a job: " + answer->result.getString("message").value_or("").str(),
        std::vector<std::string>{"kb-run"}, 2, "", "kb-run and kb-opt must come from one build");
  if (const json::Value *device = answer->result.get("device")) {
    GpuFacts facts;
    json::Path::Root root("device");
    if (!fromJSON(*device, facts, root))
      return badAnswer(root);
    if (Error error = checkSame(facts))
      return std::move(error);
    tellNoise(facts);
  }
  return answer;
}

Expected<RunResult> CudaDevice::run(const DeviceImage &image, StringRef planFolder,
                                    const RunOptions &runOptions) {
  Expected<JobRequest> made = request({image.path, planFolder.str()}, "", image.owner);
  if (!made)
    return made.takeError();
  JobRequest &job = *made;
  job.fields["memoryPoison"] = runOptions.memoryPoison;
  job.fields["wallSeconds"] = runOptions.wallSeconds;
  job.fields["deviceBytes"] = static_cast<int64_t>(runOptions.memoryBytes);
  job.fields["repetitions"] = static_cast<int64_t>(runOptions.repetitions);
  job.wantsOutputs = true;
  job.limitSeconds = runOptions.wallSeconds * runOptions.repetitions;
  const KnownContents::Held held = contents.hold();
  if (channel->takesContents())
    job.fields["contents"] = contents.field(held);
  Expected<JobAnswer> answer = ask("run", job);
  if (!answer)
    return answer.takeError();
  RunResult result;
  if (!endedWell(answer->result, result))
    return result;
  json::Path::Root root("result");
  const json::Value whole(std::move(answer->result));
  if (!readRunResult(whole, result, root))
    return badAnswer(root);
  if (const json::Array *digests = whole.getAsObject()->getArray("contents")) {
    Expected<std::vector<SharedBytes>> outputs = contents.take(*digests, held, answer->contents);
    if (!outputs)
      return outputs.takeError();
    result.outputs = std::move(*outputs);
    return result;
  }
  if (Error error = cutOutputs(planFolder, RunMode::Plain, std::move(answer->observables), result))
    return std::move(error);
  return result;
}

/// Everything that decides what is executed.
static Error addSubject(const GpuSubject &subject, FileDigests &files, DigestBuilder &builder) {
  for (const std::string &path : {subject.cubinPath, subject.planFolder + "/" + kbrt::planFileName,
                                  subject.planFolder + "/" + kbrt::dataFileName}) {
    if (StringRef(path).ends_with(kbrt::dataFileName) && !realFileSystem().exists(path))
      continue;
    Expected<Digest> digest = files.get(path);
    if (!digest)
      return digest.takeError();
    builder.add(*digest);
  }
  return Error::success();
}

Expected<TimingReport> CudaDevice::measure(const GpuSubject &candidate, const GpuSubject &baseline,
                                           const TimingRequest &timing) {
  DigestBuilder builder;
  if (Error error = addSubject(candidate, files, builder))
    return std::move(error);
  if (Error error = addSubject(baseline, files, builder))
    return std::move(error);
  builder.add(formatv("{0} {1} {2} {3} {4} {5} {6} {7}", timing.minSamples, timing.minSeconds,
                      timing.maxSeconds, timing.warmUpSeconds, timing.hot, timing.batches,
                      timing.apartRatio, timing.seed)
                  .str());
  Expected<const TimingReport &> report =
      timings.get(builder.finish(), [&] { return measureNow(candidate, baseline, timing); });
  if (!report)
    return report.takeError();
  return *report;
}

Expected<TimingReport> CudaDevice::measureNow(const GpuSubject &candidate,
                                              const GpuSubject &baseline,
                                              const TimingRequest &timing) {
  // Another seed is another, independent measurement.
  Expected<JobRequest> made =
      request(candidate, timing.seed == TimingRequest().seed ? "" : std::to_string(timing.seed));
  if (!made)
    return made.takeError();
  JobRequest &job = *made;
  job.baseline = {baseline.cubinPath, baseline.planFolder};
  job.fields["timing"] = json::Object{{"minSamples", timing.minSamples},
                                      {"minSeconds", timing.minSeconds},
                                      {"maxSeconds", timing.maxSeconds},
                                      {"warmUpSeconds", timing.warmUpSeconds},
                                      {"hot", timing.hot},
                                      {"apartRatio", timing.apartRatio},
                                      {"seed", static_cast<int64_t>(timing.seed)}};
  if (!timing.batches)
    job.fields.getObject("timing")->try_emplace("batchBelowUs", 0);
  job.limitSeconds += 2 * kbrt::StopRule().patience * timing.maxSeconds + timing.warmUpSeconds;
  Expected<JobAnswer> answer = ask("timing", job);
  if (!answer)
    return answer.takeError();
  TimingReport report;
  if (!endedWell(answer->result, report))
    return report;
  json::Path::Root root("result");
  if (!readTiming(answer->result, report, root))
    return badAnswer(root);
  return report;
}

Expected<GpuProfile> CudaDevice::profile(const GpuSubject &subject, StringRef sets,
                                         bool sampleLines) {
  Expected<JobRequest> made = request(subject);
  if (!made)
    return made.takeError();
  JobRequest &job = *made;
  std::string problem;
  std::optional<kbrt::Plan> plan = kbrt::readPlan(subject.planFolder, problem);
  if (!plan)
    return make_error<StoreError>(problem);
  json::Object wanted{{"sets", sets}, {"launches", launchesToProfile(*plan)}};
  if (sampleLines)
    wanted["pcSampling"] = true;
  job.fields["profile"] = std::move(wanted);
  job.limitSeconds += 2 * runSeconds;
  Expected<JobAnswer> answer = ask("profile", job);
  if (!answer)
    return answer.takeError();
  GpuProfile profile;
  if (!endedWell(answer->result, profile))
    return profile;
  json::Path::Root root("result");
  if (!readProfile(answer->result, profile, root))
    return badAnswer(root);
  return profile;
}

Expected<ExecutionAudit> CudaDevice::audit(const GpuSubject &subject) {
  Expected<JobRequest> made = request(subject);
  if (!made)
    return made.takeError();
  JobRequest &job = *made;
  job.fields["audit"] = true;
  Expected<JobAnswer> answer = ask("audit", job);
  if (!answer)
    return answer.takeError();
  ExecutionAudit audit;
  if (!endedWell(answer->result, audit))
    return audit;
  json::Path::Root root("result");
  if (!readAudit(answer->result, audit, root))
    return badAnswer(root);
  return audit;
}

Expected<SanitizerReport> CudaDevice::sanitize(const GpuSubject &subject, ArrayRef<StringRef> tools,
                                               double seconds) {
  Expected<JobRequest> made = request(subject);
  if (!made)
    return made.takeError();
  JobRequest &job = *made;
  json::Array names;
  for (StringRef tool : tools)
    names.push_back(tool);
  job.fields["sanitizer"] = std::move(names);
  job.fields["sanitizerSeconds"] = seconds;
  job.limitSeconds += 2 * runSeconds * tools.size();
  Expected<JobAnswer> answer = ask("sanitizer", job);
  if (!answer)
    return answer.takeError();
  SanitizerReport report;
  struct {
    RunStatus status;
    std::string message;
  } ended;
  json::Path::Root root("result");
  // What the sanitizer found may have ended the run.
  if (answer->result.getObject("sanitizer")) {
    if (!readSanitizer(answer->result, report, root))
      return badAnswer(root);
  } else if (endedWell(answer->result, ended)) {
    (void)readSanitizer(answer->result, report, root);
    return badAnswer(root);
  } else {
    report.degraded = "the job ended before the sanitizer did: " + ended.message;
  }
  return report;
}

} // namespace kbopt
