//===- BuildTarget.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/BuildTarget.h"
#include "ClangFlags.h"
#include "Database.h"
#include "LinkSteps.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::StringRef;
namespace path = llvm::sys::path;

namespace {

/// What a program of a build consists of.
class Build {
public:
  Build(const CompileCommand &main, ProcessRunner &runner) : main(main), runner(runner) {}
  llvm::Error read();
  std::vector<BuildTarget> targets();
  llvm::Expected<std::vector<std::string>> cudaFiles(StringRef program);

private:
  /// \p file and, of a library that the build makes, what it consists of.
  void addObjects(const std::string &file, std::vector<std::string> &objects);
  /// Fails where \p step cannot be followed.
  llvm::Error fill(const LinkStep &step, llvm::ArrayRef<std::string> objects, BuildTarget &target);
  /// The flags of \p step for a link without the CUDA files.
  llvm::Error addFlags(const LinkStep &step, BuildTarget &target);
  llvm::Error addFile(const std::string &file, const LinkStep &step, BuildTarget &target);
  bool isCuda(StringRef object) const {
    auto entry = entries.find(object);
    return entry != entries.end() && entry->second.isCuda;
  }

  const CompileCommand &main;
  ProcessRunner &runner;
  llvm::StringMap<DatabaseEntry> entries; ///< by object
  std::vector<LinkStep> steps;
  llvm::StringMap<const LinkStep *> makers; ///< by output
};

} // namespace

llvm::Error Build::read() {
  auto all = readDatabase(main.database);
  if (!all)
    return all.takeError();
  for (DatabaseEntry &entry : *all)
    entries[entry.object] = std::move(entry);
  auto read = readLinkSteps(path::parent_path(main.database), runner);
  if (!read)
    return read.takeError();
  steps = std::move(*read);
  for (const LinkStep &step : steps)
    makers[step.output] = &step;
  return llvm::Error::success();
}

void Build::addObjects(const std::string &file, std::vector<std::string> &objects) {
  if (llvm::is_contained(objects, file))
    return;
  objects.push_back(file);
  if (auto maker = makers.find(file); maker != makers.end())
    for (const std::string &input : maker->second->objects)
      addObjects(input, objects);
}

std::vector<BuildTarget> Build::targets() {
  std::vector<BuildTarget> all;
  for (const LinkStep &step : steps) {
    if (step.kind != LinkStep::Kind::Program)
      continue;
    std::vector<std::string> objects;
    for (const std::string &input : step.objects)
      addObjects(input, objects);
    const bool hasMain = llvm::any_of(objects, [&](const std::string &object) {
      auto entry = entries.find(object);
      return entry != entries.end() && entry->second.file == main.file &&
             (main.object.empty() || object == main.object);
    });
    if (!hasMain)
      continue;
    BuildTarget &found = all.emplace_back();
    found.program = step.output;
    llvm::Error failed = fill(step, objects, found);
    llvm::handleAllErrors(std::move(failed), [&](const KbError &why) {
      found.problem = why.message;
      found.next = why.note;
    });
  }
  return all;
}

static llvm::Error cannotFollow(const LinkStep &step, const llvm::Twine &why,
                                const llvm::Twine &next) {
  return llvm::make_error<UsageError>(
      ("program '" + path::filename(step.output) + "': " + why).str(), next.str(),
      ExitStatus::Diagnostics);
}

llvm::Error Build::addFile(const std::string &file, const LinkStep &step, BuildTarget &target) {
  if (isCuda(file))
    return llvm::Error::success();
  auto maker = makers.find(file);
  if (maker != makers.end() && maker->second->kind == LinkStep::Kind::DeviceLink)
    return llvm::Error::success(); // the recorder has the device code itself
  if (maker == makers.end() || maker->second->kind == LinkStep::Kind::Archive) {
    // Of an archive the linker takes what is missing: the CUDA files are not.
    const bool isAllCuda =
        maker != makers.end() &&
        llvm::all_of(maker->second->objects, [&](StringRef object) { return isCuda(object); });
    if (isAllCuda)
      return llvm::Error::success();
    if (!llvm::sys::fs::exists(file))
      return cannotFollow(step, "'" + file + "' is missing",
                          "build it first: cmake --build " + path::parent_path(main.database));
    target.linkFlags.push_back(file);
    return llvm::Error::success();
  }
  // A shared library has a CUDA runtime of its own: its objects go into the program.
  for (const std::string &object : maker->second->objects)
    if (llvm::Error error = addFile(object, step, target))
      return error;
  return llvm::Error::success();
}

/// Whether \p file belongs to CUDA, which the recorder stands for.
static bool isCudaLibrary(StringRef file) {
  const StringRef name = path::filename(file);
  return name.starts_with("libcudart") || name.starts_with("libcudadevrt") ||
         name.starts_with("libcuda.");
}

llvm::Error Build::addFlags(const LinkStep &step, BuildTarget &target) {
  CompileCommand flags;
  flags.directory = step.folder;
  size_t next = 0;
  for (size_t i = 0; i < step.words.size(); ++i) {
    const StringRef word = step.words[i];
    const bool hasValue = i + 1 < step.words.size();
    if (word == "-o") {
      ++i;
    } else if (word.starts_with("-l")) {
      takeLibrary("-l", word.drop_front(2), flags);
    } else if (word.starts_with("-Wl,") || word == "-pthread" || word == "-rdynamic" ||
               (word.starts_with("-L") && word.size() > 2)) {
      flags.linkFlags.push_back(word.str());
    } else if ((word == "-L" || word == "-Xlinker") && hasValue) {
      llvm::append_range(flags.linkFlags, std::vector<std::string>{word.str(), step.words[++i]});
    } else if (next < step.objects.size() && !word.starts_with("-") &&
               StringRef(step.objects[next]).ends_with(path::filename(word))) {
      const std::string &object = step.objects[next++];
      if (isCudaLibrary(object))
        continue;
      target.linkFlags.swap(flags.linkFlags);
      llvm::Error error = addFile(object, step, target);
      target.linkFlags.swap(flags.linkFlags);
      if (error)
        return error;
    }
  }
  target.linkFlags = std::move(flags.linkFlags);
  return llvm::Error::success();
}

llvm::Error Build::fill(const LinkStep &step, llvm::ArrayRef<std::string> objects,
                        BuildTarget &target) {
  llvm::StringSet<> seen;
  const bool linksDeviceCode = llvm::any_of(objects, [&](const std::string &object) {
    auto maker = makers.find(object);
    return maker != makers.end() && maker->second->kind == LinkStep::Kind::DeviceLink;
  });
  for (const std::string &object : objects) {
    auto entry = entries.find(object);
    if (entry == entries.end() || !entry->second.isCuda || entry->second.file == main.file ||
        !seen.insert(entry->second.file).second)
      continue;
    auto unit = commandOf(entry->second, main.toolkit);
    if (!unit)
      return unit.takeError();
    unit->arch = main.arch;
    if (linksDeviceCode)
      unit->makeRelocatable();
    target.units.push_back(std::move(*unit));
  }
  // One file's device code is whole by itself.
  target.linksDeviceCode = linksDeviceCode && !target.units.empty();
  return addFlags(step, target);
}

llvm::Expected<std::vector<BuildTarget>> kbopt::findTargets(const CompileCommand &command,
                                                            ProcessRunner &runner) {
  if (command.database.empty())
    return std::vector<BuildTarget>();
  Build build(command, runner);
  if (llvm::Error error = build.read())
    return std::move(error);
  return build.targets();
}

llvm::Expected<std::vector<std::string>> Build::cudaFiles(StringRef program) {
  std::string others;
  for (const LinkStep &step : steps) {
    if (step.kind != LinkStep::Kind::Program)
      continue;
    if (path::filename(step.output) != program && step.output != program) {
      others += (others.empty() ? "" : ", ") + path::filename(step.output).str();
      continue;
    }
    std::vector<std::string> objects, files;
    for (const std::string &input : step.objects)
      addObjects(input, objects);
    for (const std::string &object : objects)
      if (isCuda(object) && !llvm::is_contained(files, entries[object].file))
        files.push_back(entries[object].file);
    return files;
  }
  return llvm::make_error<UsageError>(
      "the build in '" + path::parent_path(main.database).str() + "' links no program '" +
          program.str() + "'",
      others.empty() ? "ninja, make by CMake, or a file .kb-opt in that folder say what is linked"
                     : "it links " + others);
}

llvm::Expected<std::vector<std::string>> kbopt::filesOfTarget(StringRef folder, StringRef program,
                                                              ProcessRunner &runner) {
  llvm::SmallString<128> here;
  llvm::sys::fs::current_path(here);
  CompileCommand main;
  if (!folder.empty())
    main.database = absolutePath((folder + "/compile_commands.json").str(), here);
  else if (std::vector<std::string> nearest = databasesAbove(here); !nearest.empty())
    main.database = nearest.front();
  else
    return llvm::make_error<UsageError>("no compile_commands.json here or above",
                                        "name the build folder with -p");
  Build build(main, runner);
  if (llvm::Error error = build.read())
    return std::move(error);
  return build.cudaFiles(program);
}
