//===- Recorder.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/Recorder.h"
#include "KeeperThread.h"
#include "OwnFolders.h"
#include "ReplacedUploads.h"
#include "kb-opt/Plan/PlanTransform.h"

#include "kb-opt/Support/Digest.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/ShownNames.h"
#include "kb-opt/Support/TurnsFolder.h"
#include "kbrt/CubinTable.h"
#include "kbrt/Memory.h"
#include "kbrt/RecordKeeper.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <cstdlib>
#include <cstring>

using namespace kbopt;
using kbrt::Ending;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace path = llvm::sys::path;

/// In the message of a program that failed and printed its usage, and of one that failed.
static constexpr llvm::StringLiteral saysHowToCallIt = "says how to call it",
                                     failsByItself = "fails by itself";

StringRef kbopt::adviceOnProgram(StringRef reason) {
  if (reason.contains(saysHowToCallIt))
    return "give it arguments in a workload: program: {arguments: [\"...\"]}";
  if (reason.contains(failsByItself))
    return "a workload says how to run it: program: {arguments: [\"...\"], working-directory: DIR}";
  if (reason.contains("no end within"))
    return "give it smaller arguments, more time or fewer launches in a workload: program: "
           "{limits: "
           "{seconds: 600, launches: 100}}";
  return "";
}

llvm::StringRef kbopt::toString(RecordStatus status) {
  constexpr StringRef names[] = {"good",         "program-failed", "crashed",
                                 "kernel-fault", "timed-out",      "out-of-memory",
                                 "unsupported",  "mismatch",       "no-device"};
  return names[static_cast<size_t>(status)];
}

Expected<std::string> Recording::observables() const {
  std::string error;
  auto bytes = kbrt::readObservables(folder, error);
  if (!bytes)
    return llvm::make_error<StoreError>(error);
  return std::move(*bytes);
}

bool kbopt::hasEndedByItself(const Recording &recording) {
  return recording.status == RecordStatus::Good ||
         (recording.status == RecordStatus::ProgramFailed &&
          recording.plan.outcome.ending == Ending::Exit);
}

Error Recording::asError() const {
  if (status == RecordStatus::Good)
    return Error::success();
  if (status == RecordStatus::NoDevice)
    return llvm::make_error<ToolError>(message, std::vector<std::string>{}, exitStatus, "", note);
  return llvm::make_error<UsageError>(message, note, ExitStatus::Diagnostics);
}

Expected<std::string> kbopt::findRecordLibrary() {
  static int anchor;
  llvm::SmallString<256> self(llvm::sys::fs::getMainExecutable(nullptr, &anchor));
  llvm::sys::fs::real_path(self, self);
  // Beside the tool, and in the lib folder of every folder above it: bin/../lib
  // when installed, build/lib for build/bin and for the tests' folders.
  for (StringRef folder = llvm::sys::path::parent_path(self); !folder.empty();
       folder = llvm::sys::path::parent_path(folder))
    for (StringRef below : {"", "lib", "lib/kb-opt"}) {
      llvm::SmallString<256> candidate(folder);
      llvm::sys::path::append(candidate, below, "libkbrecord.so");
      if (llvm::sys::fs::exists(candidate))
        return candidate.str().str();
    }
  return llvm::make_error<ToolError>("cannot find libkbrecord.so near '" + self.str().str() + "'",
                                     std::vector<std::string>{}, -1, "",
                                     "build it with: scripts/build");
}

Expected<bool> kbopt::mayCall(StringRef executable, llvm::ArrayRef<StringRef> names) {
  auto bytes = llvm::MemoryBuffer::getFile(executable, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return llvm::make_error<StoreError>(executable.str() + ": " + bytes.getError().message());
  // As its table of strings has them, for the dynamic linker.
  return llvm::any_of(names, [&](StringRef name) {
    return (*bytes)->getBuffer().contains(std::string(1, '\0') + name.str());
  });
}

namespace {

enum class Mode { Record, Oracle, Run };

/// Whether kernels run on a GPU.
bool runsOnGpu(const RecordRequest &request, Mode mode) {
  if (mode == Mode::Oracle || request.image.empty())
    return false;
  auto head = llvm::MemoryBuffer::getFileSlice(request.image, 64, 0);
  return head && kbrt::isCubin((*head)->getBuffer());
}

/// The arena is reserved whole; what is used of it is limited elsewhere.
constexpr uint64_t reservedBytes = kbrt::arenaBytes + (uint64_t{4} << 30);

std::string absolute(StringRef path) {
  llvm::SmallString<256> full(path);
  llvm::sys::fs::make_absolute(full);
  llvm::sys::path::remove_dots(full, /*remove_dot_dot=*/true);
  return full.str().str();
}

std::string parent(StringRef path) { return llvm::sys::path::parent_path(path).str(); }

Expected<ProcessRequest> makeProcess(const RecordRequest &request, Mode mode,
                                     const KeeperThread &keeper) {
  auto library = findRecordLibrary();
  if (!library)
    return library.takeError();
  ProcessRequest process;
  std::string executable = absolute(request.executable),
              image = request.image.empty() ? "" : absolute(request.image);
  constexpr StringRef modes[] = {"record", "oracle", "run"};
  process.argv = {executable};
  process.purpose = ("program, " + modes[static_cast<size_t>(mode)]).str();
  process.argv.insert(process.argv.end(), request.arguments.begin(), request.arguments.end());
  process.workingDirectory =
      request.workingDirectory.empty() ? absolute(".") : request.workingDirectory;
  process.standardInput = request.standardInput;
  // Programs upload memory that they never wrote, and a candidate's uploads are compared with the
  // original's: fresh memory of glibc's heap is zero (255 is written inverted). That touches every
  // page, and large pages come several times as fast.
  process.environment = {
      "GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.tcache_count=0:glibc.malloc.hugetlb=1"};
  llvm::append_range(process.environment, request.environment);
  auto set = [&](StringRef name, const llvm::Twine &value) {
    process.environment.push_back((name + "=" + value).str());
  };
  std::string libraries = parent(*library);
  if (auto inherited = std::getenv("LD_LIBRARY_PATH"); inherited && *inherited)
    libraries += std::string(":") + inherited;
  set("LD_LIBRARY_PATH", libraries);
  set("KBRECORD_MODE", modes[static_cast<size_t>(mode)]);
  set("KBRECORD_IMAGE", image);
  set("KBRECORD_SOCKET", keeper.socketPath());
  set("KBRECORD_DEVICE_BYTES", llvm::Twine(request.limits.deviceBytes));
  set("KBRECORD_FILE_BYTES", llvm::Twine(request.limits.fileBytes));
  set("KBRECORD_LAUNCHES", llvm::Twine(request.limits.launches));
  set("KBRECORD_DEVICE_INDEX", llvm::Twine(request.deviceIndex));
  if (const char *runtime = std::getenv("XDG_RUNTIME_DIR")) // where turns are agreed upon
    set("XDG_RUNTIME_DIR", runtime);
  set("KBRECORD_QUIET_MILLISECONDS",
      llvm::Twine(static_cast<uint64_t>(1000 * request.quietSeconds)));
  if (request.onDraft)
    set("KBRECORD_DRAFTS", "1");
  set("KBRECORD_ROUNDING", request.rounding);
  set("KBRECORD_TYPES", kbrt::kernelTypesText(request.kernelTypes));
  if (request.elsewhere) {
    set("KBRECORD_DEVICE", request.elsewhere->facts);
    set("KBRECORD_SKEW", llvm::Twine(request.elsewhere->skewBytes));
  }
  if (request.isDry)
    set("KBRECORD_DRY", "1");
  if (request.replacement)
    set("KBRECORD_REPLACES", "1");
  if (request.otherSources)
    set("KBRECORD_SOURCES", llvm::Twine(request.otherSources));
  if (mode != Mode::Record)
    set("KBRECORD_CLOCK_PACE", llvm::Twine(request.clockPace));
  if (!request.registers.empty()) {
    std::string text;
    for (const auto &[kernel, count] : request.registers)
      text += kernel + "=" + std::to_string(count) + ";";
    set("KBRECORD_REGISTERS", text);
  }
  process.wallSeconds = request.limits.wallSeconds;
  bool isOnGpu = runsOnGpu(request, mode);
  if (!isOnGpu)
    process.memoryBytes = reservedBytes + request.limits.hostBytes;
  // Room for the message about the limit: the recorder keeps to it by itself.
  process.fileBytes = request.limits.fileBytes + (uint64_t{64} << 20);
  process.outputBytes = request.limits.outputBytes;
  process.sandbox = request.sandbox;
  if (process.sandbox) {
    Sandbox &sandbox = *process.sandbox;
    sandbox.seesGpus = isOnGpu;
    if (std::optional<std::string> turns = isOnGpu ? turnsFolder() : std::nullopt)
      sandbox.writable.push_back(*turns);
    sandbox.readable.push_back(parent(*library));
    sandbox.readable.push_back(parent(executable));
    if (!image.empty())
      sandbox.readable.push_back(parent(image));
    sandbox.readable.push_back(keeper.socketFolder()); // folders of recordings are not there
  }
  return process;
}

std::string programName(const RecordRequest &request) {
  StringRef name = request.name;
  return ("'" + (name.empty() ? llvm::sys::path::filename(request.executable) : name) + "'").str();
}

std::string gibibytes(uint64_t bytes) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g GiB",
                                                 static_cast<double>(bytes) / (1u << 30));
  return text;
}

void set(Recording &recording, RecordStatus status, std::string message, std::string note = "") {
  recording.status = status;
  recording.message = std::move(message);
  recording.note = std::move(note);
}

/// The last error that a call returned to the program, if any.
const kbrt::ErrorStep *lastError(const kbrt::Plan &plan) {
  for (const kbrt::Step &step : llvm::reverse(plan.steps))
    if (auto *error = std::get_if<kbrt::ErrorStep>(&step))
      return error;
  return nullptr;
}

bool ranOutOfDeviceMemory(const kbrt::Plan &plan) {
  const kbrt::ErrorStep *error = lastError(plan);
  return error && error->name == "cudaErrorMemoryAllocation";
}

std::string lastLine(StringRef text) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : llvm::reverse(lines)) // rulers and blank lines say nothing
    if (llvm::any_of(line, [](char c) { return llvm::isAlpha(c) || llvm::isDigit(c); }))
      return line.trim().str();
  return "";
}

/// How the process of \p result ended, after the last line that it printed to stderr or, if there
/// is none, to \p out.
std::string endOf(const ProcessResult &result, StringRef out) {
  std::string line = lastLine(result.err);
  if (line.empty())
    line = lastLine(out);
  return result.describe() + (line.empty() ? "" : ", after it printed '" + line + "'");
}

/// The line in which a program says how it wants to be called; empty if it does not.
std::string usageLine(const ProcessResult &result, StringRef out, const std::string &executable) {
  for (StringRef text : {StringRef(result.err), out}) {
    llvm::SmallVector<StringRef> lines;
    text.split(lines, '\n');
    for (StringRef line : lines)
      if (line.contains_insensitive("usage"))
        return withShownName(line.trim(), executable, path::filename(executable));
  }
  return "";
}

/// What the end of the process and the plan's own outcome mean together.
void judge(Recording &recording, const RecordRequest &request, const ProcessResult &result,
           bool wrotePlan, bool isOnGpu) {
  const kbrt::Outcome &outcome = recording.plan.outcome;
  std::string name = programName(request);
  if (result.timedOut)
    return set(recording, RecordStatus::TimedOut,
               "program " + name + ": " + result.describe() +
                   (isOnGpu ? " on the GPU" : " on the CPU device"),
               adviceOnProgram(result.describe()).str());
  switch (wrotePlan ? outcome.ending : Ending::Running) {
  case Ending::Unsupported:
    return set(recording, RecordStatus::Unsupported, "program " + name + ": " + outcome.message);
  case Ending::Mismatch:
    return set(recording, RecordStatus::Mismatch, "program " + name + ": " + outcome.message);
  case Ending::NoDevice: {
    // The recorder has the next step behind a semicolon.
    auto [message, note] = StringRef(outcome.message).split("; ");
    return set(recording, RecordStatus::NoDevice,
               ("cannot record program " + name + " on a GPU: " + message).str(), note.str());
  }
  case Ending::TooLarge:
    return set(recording, RecordStatus::OutOfMemory, "program " + name + ": " + outcome.message,
               "give it smaller arguments or more memory in a workload: program: {limits: "
               "{gibibytes: 16}}");
  case Ending::Fault:
    return set(recording, RecordStatus::KernelFault,
               "program " + name + " goes wrong by itself: " + outcome.message,
               "compute-sanitizer reports such faults on a GPU");
  default:
    break;
  }
  bool allocationFailed = StringRef(result.err).contains("std::bad_alloc") ||
                          (wrotePlan && ranOutOfDeviceMemory(recording.plan));
  bool failed = !result.succeeded();
  if (failed && allocationFailed)
    return set(recording, RecordStatus::OutOfMemory,
               "program " + name + " asks for more memory than it may have (" +
                   gibibytes(request.limits.hostBytes) + " on the host, " +
                   gibibytes(request.limits.deviceBytes) + " on the device)",
               "give it smaller arguments or more memory in a workload: program: {limits: "
               "{gibibytes: 16}}");
  if (result.signal && result.signal != SIGABRT)
    return set(recording, RecordStatus::Crashed,
               "program " + name + " crashes by itself: " + endOf(result, recording.out));
  if (std::string usage =
          failed ? usageLine(result, recording.out, absolute(request.executable)) : "";
      !usage.empty())
    return set(recording, RecordStatus::ProgramFailed,
               "program " + name + " ends with status " + std::to_string(result.exitStatus) +
                   " and " + saysHowToCallIt.str() + ": " + usage,
               adviceOnProgram(saysHowToCallIt).str());
  if (failed)
    return set(recording, RecordStatus::ProgramFailed,
               "program " + name + " " + failsByItself.str() + ": " + endOf(result, recording.out),
               adviceOnProgram(failsByItself).str());
  if (!wrotePlan)
    return set(recording, RecordStatus::ProgramFailed,
               "program " + name + " ended without leaving a recording",
               "it may end by _exit or replace itself by exec, which the recorder does not see");
}

/// The plan as the program left it, with the pointers in what it uploaded; none if it left none. \p
/// why: it is not what the program called.
Expected<std::optional<kbrt::Plan>> takePlan(const kbrt::FolderKeeper &keeper,
                                             const std::string &folder, std::string &why) {
  if (!realFileSystem().exists(folder + "/" + kbrt::planFileName))
    return std::nullopt;
  std::string error;
  auto plan = kbrt::readPlan(folder, error);
  if (!plan) {
    why = "what it left is no plan: " + error;
    return std::nullopt;
  }
  if (!keeper.fits(*plan, why))
    return std::move(plan);
  auto data = llvm::MemoryBuffer::getFile(folder + "/" + kbrt::dataFileName, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!data)
    return llvm::make_error<StoreError>(folder + "/" + kbrt::dataFileName + ": " +
                                        data.getError().message());
  kbrt::noteStoredPointers(*plan, {(*data)->getBufferStart(), (*data)->getBufferSize()});
  return std::move(plan);
}

/// Whether a program in \p sandbox sees of \p path what this process does.
bool isSeen(const std::string &path, const Sandbox &sandbox) {
  llvm::SmallString<256> full(path), home;
  llvm::sys::path::remove_dots(full, /*remove_dot_dot=*/true);
  auto liesIn = [&](StringRef folder) {
    folder = folder.rtrim('/');
    return !folder.empty() && full.str().starts_with(folder) &&
           (full.size() == folder.size() || full[folder.size()] == '/');
  };
  for (const std::string &folder : sandbox.readable) {
    llvm::SmallString<256> real; // it is mounted there
    if (liesIn(folder) || (!llvm::sys::fs::real_path(folder, real) && liesIn(real)))
      return true;
  }
  const bool hasHome = llvm::sys::path::home_directory(home) && home != "/";
  return !liesIn("/tmp") && !liesIn("/dev/shm") && !(hasHome && liesIn(home)) &&
         !(!sandbox.seesGpus && liesIn("/run"));
}

/// Recording::inputs of a program that \p process ran, which noted \p files.
std::optional<std::vector<std::string>>
inputsOf(const std::optional<std::vector<std::string>> &files, const RecordRequest &request,
         const ProcessRequest &process) {
  if (!files)
    return std::nullopt;
  std::vector<std::string> inputs;
  const std::string executable = absolute(request.executable), image = absolute(request.image);
  for (const std::string &file : *files)
    if (file != executable && file != image && (!process.sandbox || isSeen(file, *process.sandbox)))
      inputs.push_back(file);
  return inputs;
}

/// A folder with the plan \p text, whose data stand in the recording \p folder; empty if it cannot
/// be made.
std::string writeDraft(const std::string &folder, const std::string &text) {
  std::string error;
  auto plan = kbrt::planFromJson(text, kbrt::planFileName, error);
  auto data = llvm::MemoryBuffer::getFile(folder + "/" + kbrt::dataFileName, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!plan || !data)
    return "";
  kbrt::noteStoredPointers(*plan, {(*data)->getBufferStart(), (*data)->getBufferSize()});
  const std::string draft = folder + "-draft";
  if (Error failure = writePlanWithData(*plan, folder, draft)) {
    llvm::consumeError(std::move(failure));
    return "";
  }
  return draft;
}

Expected<Recording> run(ProcessRunner &runner, const RecordRequest &request, Mode mode,
                        StringRef oracle) {
  FileSystem &files = realFileSystem();
  if (Error error = files.createDirectories(request.folder))
    return std::move(error);
  std::string planPath = request.folder + "/" + kbrt::planFileName;
  if (files.exists(planPath)) // of an earlier run
    if (Error error = files.remove(planPath))
      return std::move(error);
  ReplacedUploads replaced;
  if (request.replacement)
    if (Error error = replaced.read(*request.replacement))
      return std::move(error);
  auto keeper =
      KeeperThread::start(request.folder, mode == Mode::Record, oracle,
                          request.limits.fileBytes + (uint64_t{64} << 20)); // and the plan
  if (!keeper)
    return keeper.takeError();
  if (mode == Mode::Record && request.onDraft)
    (*keeper)->setOnDraft([&request](const std::string &text) {
      if (std::string folder = writeDraft(request.folder, text); !folder.empty())
        request.onDraft(folder);
    });
  if (request.replacement)
    (*keeper)->setOnUpload(
        [&](StringRef bytes, bool hasRead) { return replaced.take(bytes, hasRead); });
  auto process = makeProcess(request, mode, **keeper);
  if (!process)
    return process.takeError();
  OwnFolders own(absolute(request.folder) + "/own", absolute(process->workingDirectory));
  if (request.otherSources)
    own.varyNumbers(request.otherSources);
  if (process->sandbox)
    own.addTo(*process->sandbox);
  auto result = runner.run(*process);
  if (!result)
    return result.takeError();

  std::string why;
  const kbrt::FolderKeeper &kept = (*keeper)->finish();
  if (int failure = kept.failure())
    return llvm::make_error<StoreError>("cannot write the recording of program " +
                                            programName(request) + " to '" + request.folder +
                                            "': " + std::strerror(failure),
                                        "free some space, or name another folder with TMPDIR");
  auto plan = takePlan(kept, request.folder, why);
  if (!plan)
    return plan.takeError();
  Recording recording;
  recording.folder = request.folder;
  recording.out = std::move(result->out);
  recording.err = result->err;
  recording.exitStatus = result->exitStatus;
  if (process->sandbox && mode == Mode::Run)
    recording.written = own.written();
  recording.hasUnknownUpload = replaced.hasUnknown();
  recording.wallSeconds = result->wallSeconds;
  recording.peakMemoryBytes = result->peakMemoryBytes;
  const bool wrotePlan = plan->has_value();
  if (wrotePlan) {
    recording.plan = std::move(**plan);
    recording.plan.outcome.exitStatus = recording.exitStatus;
    recording.plan.outcome.stdoutDigest = digestOf(recording.out);
    if (std::string error; !kbrt::writePlan(recording.plan, request.folder, error))
      return llvm::make_error<StoreError>(error);
  }
  if (!why.empty())
    set(recording, RecordStatus::Mismatch,
        "program " + programName(request) + " meddles with its recording: " + why);
  else
    judge(recording, request, *result, wrotePlan, runsOnGpu(request, mode));
  if (recording.status == RecordStatus::Good)
    recording.inputs = inputsOf(kept.files(), request, *process);
  return recording;
}

} // namespace

Expected<Recording> kbopt::recordProgram(ProcessRunner &runner, const RecordRequest &request) {
  return run(runner, request, Mode::Record, "");
}

Expected<Recording> kbopt::recordOracleFed(ProcessRunner &runner, const RecordRequest &request,
                                           StringRef oracleFolder) {
  return run(runner, request, Mode::Oracle, oracleFolder);
}

Expected<Recording> kbopt::executeProgram(ProcessRunner &runner, const RecordRequest &request) {
  return run(runner, request, Mode::Run, "");
}
