//===- KeptRecording.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/KeptRecording.h"

#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Secrets.h"
#include "kbrt/RecordKeeper.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"
#include <unistd.h>

using namespace kbopt;
using llvm::Expected;
using llvm::StringRef;

/// Those of a terminal, a login or a shell's last command: they differ from run to run, and no
/// program computes with them.
static bool isOfSession(StringRef name) {
  for (StringRef prefix : {"SSH_", "XDG_SESSION", "GNOME_TERMINAL", "TERM_PROGRAM", "TMUX", "VTE_"})
    if (name.starts_with(prefix))
      return true;
  return llvm::is_contained({"_", "SHLVL", "PWD", "OLDPWD", "TMPDIR", "TERM", "TERM_SESSION_ID",
                             "WINDOWID", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "COLORTERM",
                             "LS_COLORS", "DBUS_SESSION_BUS_ADDRESS"},
                            name);
}

/// The variables that the program sees, sorted.
static std::vector<std::string> environmentOf(const RecordRequest &request) {
  std::map<std::string, std::string> seen;
  auto add = [&](StringRef entry) {
    auto [name, value] = entry.split('=');
    if (!isSecretVariable(name) && !isOfSession(name))
      seen[name.str()] = value.str();
  };
  for (char **entry = environ; entry && *entry; ++entry)
    add(*entry);
  for (const std::string &entry : request.environment) // these are never of a session
    seen[StringRef(entry).split('=').first.str()] = StringRef(entry).split('=').second.str();
  std::vector<std::string> entries;
  for (const auto &[name, value] : seen)
    entries.push_back(name + "=" + value);
  return entries;
}

/// All that decides what a recording is, but for the files that the program looks at.
static Expected<Digest> keyOf(const RecordRequest &request, FileDigests &digests,
                              StringRef machine) {
  static int anchor;
  auto library = findRecordLibrary();
  if (!library)
    return library.takeError();
  auto executable = digests.get(request.executable);
  if (!executable)
    return executable.takeError();
  auto image = request.image.empty() ? Expected<Digest>("") : digests.get(request.image);
  if (!image)
    return image.takeError();
  DigestBuilder key;
  key.add("recording").add(*executable).add(*image).add(machine);
  key.add(llvm::sys::getHostCPUName());
  key.add(toolIdentity({*library, llvm::sys::fs::getMainExecutable(nullptr, &anchor)}));
  auto addAll = [&](StringRef name, llvm::ArrayRef<std::string> values) {
    key.add(name).add(values.size());
    for (const std::string &value : values)
      key.add(value);
  };
  addAll("arguments", request.arguments);
  addAll("environment", environmentOf(request));
  llvm::SmallString<128> here;
  if (request.workingDirectory.empty())
    (void)llvm::sys::fs::current_path(here);
  key.add(request.standardInput).add(here).add(request.workingDirectory);
  const RecordLimits &limits = request.limits;
  for (uint64_t limit : {limits.hostBytes, limits.deviceBytes, limits.fileBytes, limits.outputBytes,
                         limits.launches})
    key.add(limit);
  key.add(uint64_t(request.deviceIndex)).add(request.rounding);
  key.add(kbrt::kernelTypesText(request.kernelTypes));
  key.add(uint64_t(request.otherSources)).add(uint64_t(request.registers.size()));
  for (const auto &[kernel, count] : request.registers)
    key.add(kernel).add(uint64_t(count));
  key.add(uint64_t(request.sandbox.has_value()));
  return key.finish();
}

/// The large files of a recording, and the small ones, whose contents are part of its entry.
static constexpr StringRef largeFiles[] = {kbrt::dataFileName, kbrt::observablesFileName},
                           smallFiles[] = {kbrt::planFileName, kbrt::deviceFactsFileName,
                                           kbrt::piecesFileName};

static std::string inFolder(const RecordRequest &request, StringRef name) {
  return request.folder + "/" + name.str();
}

static Expected<NewCompile> entryOf(const Recording &recording, const RecordRequest &request) {
  NewCompile made;
  made.isRepeatable = recording.status == RecordStatus::Good && recording.inputs.has_value();
  if (!made.isRepeatable)
    return made;
  made.inputs = *recording.inputs;
  FileSystem &files = realFileSystem();
  for (StringRef name : smallFiles)
    if (files.exists(inFolder(request, name))) {
      auto text = files.read(inFolder(request, name));
      if (!text)
        return text.takeError();
      made.outcome.outputs[name.str()] = std::move(*text);
    }
  for (StringRef name : largeFiles)
    if (files.exists(inFolder(request, name)))
      made.outcome.files.push_back(name.str());
  made.outcome.outputs["out"] = recording.out;
  made.outcome.outputs["err"] = recording.err;
  made.outcome.outputs["seconds"] = std::to_string(recording.wallSeconds);
  made.outcome.outputs["memory"] = std::to_string(recording.peakMemoryBytes);
  return made;
}

/// The recording that \p outcome, an earlier run's, describes; its large files are in their folder.
static Expected<Recording> recordingOf(CompileOutcome outcome, const RecordRequest &request) {
  for (StringRef name : smallFiles)
    if (auto text = outcome.outputs.find(name.str()); text != outcome.outputs.end())
      if (llvm::Error error = realFileSystem().write(inFolder(request, name), text->second))
        return std::move(error);
  std::string problem;
  auto plan = kbrt::readPlan(request.folder, problem);
  if (!plan)
    return llvm::make_error<StoreError>(problem);
  Recording recording;
  recording.folder = request.folder;
  recording.plan = std::move(*plan);
  recording.exitStatus = recording.plan.outcome.exitStatus;
  recording.out = std::move(outcome.outputs["out"]);
  recording.err = std::move(outcome.outputs["err"]);
  (void)StringRef(outcome.outputs["seconds"]).getAsDouble(recording.wallSeconds);
  (void)StringRef(outcome.outputs["memory"]).getAsInteger(10, recording.peakMemoryBytes);
  return recording;
}

Expected<Recording> kbopt::recordOrReuse(ProcessRunner &runner, const RecordRequest &request,
                                         CompileCache *kept, FileDigests &digests,
                                         StringRef machine) {
  if (!kept || request.replacement)
    return recordProgram(runner, request);
  if (llvm::Error error = realFileSystem().createDirectories(request.folder))
    return std::move(error);
  auto key = keyOf(request, digests, machine);
  if (!key)
    return key.takeError();
  std::optional<Recording> recorded;
  auto outcome = kept->getOrCompile(
      *key,
      [&]() -> Expected<NewCompile> {
        auto recording = recordProgram(runner, request);
        if (!recording)
          return recording.takeError();
        recorded = std::move(*recording);
        return entryOf(*recorded, request);
      },
      request.folder);
  if (!outcome)
    return outcome.takeError();
  if (recorded)
    return std::move(*recorded);
  return recordingOf(std::move(*outcome), request);
}
