//===- CpuDevice.cpp - Images, jobs and results of the CPU device ---------===//
#include "kb-opt/Eval/CpuDevice.h"
#include "JobResult.h"
#include "kb-opt/Eval/CpuImage.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Installation.h"
#include "kbrt/Plan.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace kbopt {
namespace {

/// Address space that kb-run needs before the first buffer: the arena of
/// device memory (docs/JobFormat.md asks for 80 GiB).
constexpr uint64_t reservedBytes = uint64_t(96) << 30;
/// Loading an image and writing results, beside the wall limit of the plan.
constexpr double overheadSeconds = 30;

Error toolError(const ProcessRequest &request, const ProcessResult &run, const Twine &message) {
  return make_error<ToolError>(message.str(), request.argv, run.exitStatus, run.errorTail());
}

json::Value jobFor(const DeviceImage &image, StringRef planFolder, StringRef folder,
                   const RunOptions &options) {
  json::Object job{{"version", 1},
                   {"plan", planFolder},
                   {"image", image.path},
                   {"mode", toString(image.mode)},
                   {"result", (folder + "/result.json").str()},
                   {"outputs", folder},
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
                                   std::vector<std::string>{"kb-run"}, -1, "",
                                   "run scripts/build");
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
  return *built;
}

Expected<DeviceImage> CpuDevice::buildImage(StringRef bitcode, const Digest &digest, RunMode mode) {
  CpuImageOptions imageOptions;
  imageOptions.mode = mode == RunMode::Plain   ? kbrt::ImageMode::Plain
                      : mode == RunMode::Check ? kbrt::ImageMode::Check
                                               : kbrt::ImageMode::Count;
  imageOptions.timings = options.timings;
  TimedPart timed(options.timings, "CPU images", toString(mode).str());
  std::string path = options.directory + "/" + digest + ".so";
  Expected<CpuImage> built = buildCpuImage(bitcode, imageOptions, runner, path);
  if (!built)
    return built.takeError();
  DeviceImage image;
  image.path = built->path;
  image.digest = digest;
  image.mode = mode;
  for (const UnsupportedConstruct &construct : built->unsupported)
    image.unsupported.push_back(construct.describe());
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

Expected<RunResult> CpuDevice::run(const DeviceImage &image, StringRef planFolder,
                                   const RunOptions &runOptions) {
  JobFolder folder;
  folder.path = options.directory + "/job" + std::to_string(jobs++);
  FileSystem &files = realFileSystem();
  if (Error error = files.createDirectories(folder.path))
    return std::move(error);
  std::string jobFile = folder.path + "/job.json";
  std::string text = formatv("{0:2}\n", jobFor(image, planFolder, folder.path, runOptions));
  if (Error error = files.write(jobFile, text))
    return std::move(error);

  ProcessRequest request;
  request.argv = {options.kbRun, jobFile};
  request.purpose = ("kb-run " + toString(image.mode)).str();
  request.wallSeconds =
      runOptions.wallSeconds > 0 ? runOptions.wallSeconds * runOptions.repetitions + overheadSeconds : 0;
  request.memoryBytes = reservedBytes + options.hostBytes + runOptions.memoryBytes;
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
    if (Error error = cutOutputs(planFolder, std::move(*bytes), result))
      return std::move(error);
  }
  return result;
}

} // namespace kbopt
