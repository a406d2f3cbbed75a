//===- CpuDevice.cpp - Images, jobs and results of the CPU device ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/CpuDevice.h"
#include "JobResult.h"
#include "kb-opt/Eval/CpuImage.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Installation.h"
#include "kbrt/Plan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace kbopt {
namespace {

/// Address space that kb-run needs before the first buffer: the arena of
/// device memory (docs/JobFormat.md asks for 80 GiB).
constexpr uint64_t reservedBytes = uint64_t(96) << 30;
/// Loading an image and writing results, beside the wall limit of the plan.
constexpr double overheadSeconds = 30;

/// What images for other machines are made for: Intel's since 2013, AMD's since 2015. Workers on
/// older ones do not offer the CPU device.
constexpr const char *portableCpu = "x86-64-v3";

Error toolError(const ProcessRequest &request, const ProcessResult &run, const Twine &message) {
  return make_error<ToolError>(message.str(), request.argv, run.exitStatus, run.errorTail());
}

/// What a job asks, without its files.
json::Object jobFor(const DeviceImage &image, const RunOptions &options) {
  json::Object job{{"mode", toString(image.mode)},
                   {"seed", static_cast<int64_t>(options.seed)},
                   {"memoryPoison", options.memoryPoison},
                   {"sharedPoison", options.sharedPoison},
                   {"rounding", toString(options.rounding)},
                   {"wallSeconds", options.wallSeconds},
                   {"deviceBytes", static_cast<int64_t>(options.memoryBytes)},
                   {"repetitions", static_cast<int64_t>(options.repetitions)},
                   {"sampledBlocks", static_cast<int64_t>(options.sampledBlocks)},
                   // One defect settles the verdict.
                   {"stopAtFinding", image.mode == RunMode::Check}};
  if (options.worstCaseErrors)
    job["worstCaseErrors"] = true;
  if (options.l1Bytes)
    job["l1Bytes"] = static_cast<int64_t>(options.l1Bytes);
  if (options.l2Bytes)
    job["l2Bytes"] = static_cast<int64_t>(options.l2Bytes);
  return job;
}

/// Removes a job's folder when the job is over.
struct JobFolder {
  std::string path;
  ~JobFolder() { (void)sys::fs::remove_directories(path); }
};

} // namespace

Expected<std::unique_ptr<CpuDevice>> CpuDevice::create(ProcessRunner &runner,
                                                       CpuDeviceOptions options) {
  if (options.kbRun.empty()) {
    std::optional<std::string> found = findKbRun();
    if (!found)
      return make_error<ToolError>("cannot find kb-run beside this program or in PATH",
                                   std::vector<std::string>{"kb-run"}, -1, "", "run scripts/build");
    options.kbRun = *found;
  }
  if (Error error = realFileSystem().createDirectories(options.directory))
    return std::move(error);
  return std::unique_ptr<CpuDevice>(new CpuDevice(runner, std::move(options)));
}

Expected<DeviceImage> CpuDevice::build(const ProgramArtefacts &program, RunMode mode) {
  Expected<std::string> bitcode = realFileSystem().read(program.bitcodePath);
  if (!bitcode)
    return bitcode.takeError();
  Digest digest = DigestBuilder().add(*bitcode).add(toString(mode)).finish();
  Expected<const DeviceImage &> built =
      images.get(digest, [&] { return buildImage(*bitcode, digest, mode); });
  if (!built)
    return built.takeError();
  DeviceImage image = *built;
  image.owner = digestOf(program.text);
  return image;
}

Expected<DeviceImage> CpuDevice::buildImage(StringRef bitcode, const Digest &digest, RunMode mode) {
  CpuImageOptions imageOptions;
  imageOptions.mode = mode == RunMode::Plain    ? kbrt::ImageMode::Plain
                      : mode == RunMode::Check  ? kbrt::ImageMode::Check
                      : mode == RunMode::Count  ? kbrt::ImageMode::Count
                      : mode == RunMode::Oracle ? kbrt::ImageMode::Oracle
                                                : kbrt::ImageMode::Search;
  imageOptions.hostCpu = options.openChannel ? portableCpu : "";
  imageOptions.timings = options.timings;
  imageOptions.compiles = options.compiles;
  TimedPart timed(options.timings, "CPU images", toString(mode).str());
  std::string path = options.directory + "/" + digest + ".so";
  FileSystem &files = realFileSystem();
  auto make = [&]() -> Expected<NewCompile> {
    Expected<CpuImage> built = buildCpuImage(bitcode, imageOptions, runner, path);
    if (!built)
      return built.takeError();
    Expected<std::string> bytes = files.read(path);
    if (!bytes)
      return bytes.takeError();
    NewCompile made;
    made.outcome.outputs["image"] = std::move(*bytes);
    std::vector<std::string> unsupported;
    for (const UnsupportedConstruct &construct : built->unsupported)
      unsupported.push_back(construct.describe());
    made.outcome.messages = join(unsupported, "\n");
    return made;
  };
  Digest key = DigestBuilder()
                   .add("CPU image")
                   .add(cpuImageBuilder())
                   .add(options.openChannel ? StringRef(portableCpu) : sys::getHostCPUName())
                   .add(digest)
                   .finish();
  Expected<CompileOutcome> outcome = compileThrough(options.compiles, key, make);
  if (!outcome)
    return outcome.takeError();
  if (!files.exists(path))
    if (Error error = files.write(path, outcome->outputs["image"]))
      return std::move(error);
  DeviceImage image;
  image.path = path;
  image.digest = digest;
  image.mode = mode;
  SmallVector<StringRef> unsupported;
  StringRef(outcome->messages).split(unsupported, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef construct : unsupported)
    image.unsupported.push_back(construct.str());
  return image;
}

Expected<DeviceIdentity> CpuDevice::identify(const DeviceImage &image) {
  Expected<std::string> harness = realFileSystem().read(options.kbRun);
  if (!harness)
    return harness.takeError();
  Expected<std::string> bytes = realFileSystem().read(image.path);
  if (!bytes)
    return bytes.takeError();
  return DeviceIdentity{digestOf(*harness), digestOf(*bytes)};
}

/// Seconds after which a job's process has to be gone; 0: no limit.
static double limitOf(const RunOptions &options) {
  return options.wallSeconds > 0 ? options.wallSeconds * options.repetitions + overheadSeconds : 0;
}

/// Address space of a job's process.
static uint64_t limitOfMemory(const CpuDeviceOptions &options, const RunOptions &runOptions) {
  return reservedBytes + options.hostBytes + runOptions.memoryBytes;
}

Expected<CpuDevice::Server> CpuDevice::takeServer(const Digest &owner, uint64_t memoryBytes) {
  std::lock_guard<std::mutex> lock(serversMutex);
  for (size_t i = idle.size(); i-- > 0;)
    if (idle[i].owner == owner && idle[i].memoryBytes == memoryBytes) {
      Server server = std::move(idle[i]);
      idle.erase(idle.begin() + i);
      return server;
    }
  if (options.openChannel)
    return Server{owner, memoryBytes, options.openChannel(memoryBytes)};
  ProcessChannelOptions channel;
  channel.directory = options.directory + "/server" + std::to_string(servers++);
  channel.kbRun = options.kbRun;
  channel.sandboxed = options.sandboxed;
  channel.seesGpus = false;
  channel.memoryBytes = memoryBytes;
  Expected<std::unique_ptr<JobChannel>> opened = createProcessChannel(std::move(channel));
  if (!opened)
    return opened.takeError();
  return Server{owner, memoryBytes, std::move(*opened)};
}

void CpuDevice::giveServerBack(Server server) {
  constexpr size_t mostIdle = 16;
  std::optional<Server> surplus; // ends outside of the lock
  std::lock_guard<std::mutex> lock(serversMutex);
  idle.push_back(std::move(server));
  if (idle.size() > mostIdle) {
    surplus = std::move(idle.front());
    idle.erase(idle.begin());
  }
}

Expected<RunResult> CpuDevice::runByServer(const DeviceImage &image, StringRef planFolder,
                                           const RunOptions &runOptions) {
  TimedPart timed(options.timings, "processes", ("kb-run " + toString(image.mode)).str());
  JobRequest request;
  request.fields = jobFor(image, runOptions);
  request.subject = {image.path, planFolder.str()};
  request.wantsOutputs = true;
  request.limitSeconds = limitOf(runOptions);
  Expected<Server> server = takeServer(image.owner, limitOfMemory(options, runOptions));
  if (!server)
    return server.takeError();
  Expected<JobAnswer> answer = server->channel->run(request);
  if (!answer)
    return answer.takeError();
  giveServerBack(std::move(*server));
  StringRef status = answer->result.getString("status").value_or("");
  if (status == "usage" || status == "internal" || status == "environment")
    return make_error<ToolError>("kb-run failed: " +
                                     answer->result.getString("message").value_or(status).str(),
                                 std::vector<std::string>{options.kbRun}, 3, "");
  RunResult result;
  json::Path::Root root("result");
  if (!readRunResult(json::Value(std::move(answer->result)), result, root))
    return make_error<ToolError>("kb-run's result is not understood: " +
                                     llvm::toString(root.getError()),
                                 std::vector<std::string>{options.kbRun}, 0, "",
                                 "kb-run and kb-opt must come from one build");
  if (result.status == RunStatus::Ok && result.defects().empty())
    if (Error error = cutOutputs(planFolder, image.mode, std::move(answer->observables), result))
      return std::move(error);
  return result;
}

Expected<RunResult> CpuDevice::run(const DeviceImage &image, StringRef planFolder,
                                   const RunOptions &runOptions) {
  if (options.staysRunning)
    return runByServer(image, planFolder, runOptions);
  JobFolder folder;
  folder.path = options.directory + "/job" + std::to_string(jobs++);
  FileSystem &files = realFileSystem();
  if (Error error = files.createDirectories(folder.path))
    return std::move(error);
  std::string jobFile = folder.path + "/job.json";
  json::Object job = jobFor(image, runOptions);
  job["version"] = 1;
  job["plan"] = planFolder;
  job["image"] = image.path;
  job["result"] = folder.path + "/result.json";
  job["outputs"] = folder.path;
  std::string text = formatv("{0:2}\n", json::Value(std::move(job)));
  if (Error error = files.write(jobFile, text))
    return std::move(error);

  ProcessRequest request;
  request.argv = {options.kbRun, jobFile};
  request.purpose = ("kb-run " + toString(image.mode)).str();
  request.wallSeconds = limitOf(runOptions);
  request.memoryBytes = limitOfMemory(options, runOptions);
  if (options.sandboxed) {
    StringRef tools = sys::path::parent_path(options.kbRun);
    // kb-run's library lies in ../lib; both may be below the home directory.
    request.sandbox = Sandbox{{planFolder.str(), options.directory}, {folder.path}};
    if (!tools.empty())
      request.sandbox->readable.push_back(sys::path::parent_path(tools).str());
  }
  Expected<ProcessResult> run = runner.run(request);
  if (!run)
    return run.takeError();
  RunResult result;
  if (run->timedOut) {
    result.status = RunStatus::Timeout;
    result.message = formatv("no end within {0:f0} s", runOptions.wallSeconds);
    return result;
  }
  if (run->exitStatus != 0 && run->exitStatus != 1)
    return toolError(request, *run, "kb-run failed with " + run->describe());
  Expected<std::string> resultText = files.read(folder.path + "/result.json");
  if (!resultText)
    return resultText.takeError();
  Expected<json::Value> value = json::parse(*resultText);
  if (!value)
    return toolError(request, *run, "kb-run wrote no JSON: " + llvm::toString(value.takeError()));
  json::Path::Root root("result");
  if (!readRunResult(*value, result, root))
    return toolError(request, *run, llvm::toString(root.getError()));
  // What was not run to its end has no results; nor has a run that stopped at a finding.
  if (result.status == RunStatus::Ok && result.defects().empty()) {
    Expected<std::string> bytes = files.read(folder.path + "/" + kbrt::observablesFileName);
    if (!bytes)
      return bytes.takeError();
    if (Error error = cutOutputs(planFolder, image.mode, std::move(*bytes), result))
      return std::move(error);
  }
  return result;
}

} // namespace kbopt
