//===- Dependencies.cpp - --depfile: what a result depends on -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of what was read on the way to a result, for tools that keep results and must know
// when to ask again. As JSON:
//
//   {"files": {"/project/a.cu": "<SHA-256>", "/project/a.workload.yaml": null},
//    "lock": {"file": "/project/kbopt.lock", "entries": ["  - file: 'a.cu'\n..."]}}
//
// `null` says that there is no such file. "lock" is there with --lock alone: the texts of the
// entries that the lock has for the input.
//
//===----------------------------------------------------------------------===//
#include "LockEntries.h"
#include "Modes.h"
#include "Version.h"
#include "kb-opt/Lock/LockFile.h"
#include "kb-opt/Source/IncludedFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace kbopt;
using Paths = std::set<std::string>;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;
namespace path = llvm::sys::path;

static std::string absolute(llvm::StringRef file, llvm::StringRef folder = "") {
  llvm::SmallString<128> result(file);
  if (!folder.empty())
    path::make_absolute(folder, result);
  else
    fs::make_absolute(result);
  path::remove_dots(result, /*remove_dot_dot=*/true);
  return result.str().str();
}

static void addObjects(const CompileCommand &command, Paths &files) {
  for (llvm::StringRef flag : command.linkFlags)
    if (!flag.starts_with("-"))
      files.insert(absolute(flag, command.directory));
}

/// The user's files that compilers read for \p command, and the objects that are linked.
static llvm::Error addCommand(const CompileCommand &command, Paths &files) {
  std::vector<const CompileCommand *> all = command.deviceUnits();
  all.push_back(&command);
  for (const CompileCommand *each : all) {
    auto included = includedFiles(*each);
    if (!included)
      return included.takeError();
    files.insert(included->begin(), included->end());
  }
  addObjects(command, files);
  for (const CompileCommand &other : command.others)
    addObjects(other, files);
  return llvm::Error::success();
}

/// What says how the program of the build in \p folder is compiled and linked.
static void addBuild(llvm::StringRef folder, Paths &files) {
  for (llvm::StringRef name : {"compile_commands.json", ".kb-opt", "build.ninja",
                               "CMakeFiles/rules.ninja", "CTestTestfile.cmake"})
    files.insert(absolute(name, folder));
  std::error_code code;
  for (fs::directory_iterator it(folder + "/CMakeFiles", code), end; it != end && !code;
       it.increment(code))
    if (llvm::StringRef(it->path()).ends_with(".dir"))
      files.insert(it->path() + "/link.txt");
}

/// Files that the options name, and where a workload may lie.
static void addOptions(const Context &context, Paths &files) {
  const Options &options = context.options;
  for (const std::string &file : {options.workload, options.reply, options.llmConfig})
    if (!file.empty())
      files.insert(absolute(file));
  const llvm::StringRef input = context.command.file;
  for (llvm::StringRef stem : {input, input.rsplit('.').first})
    files.insert((stem + ".workload.yaml").str());
  std::error_code code;
  for (const std::string &folder : options.passFolders)
    for (fs::recursive_directory_iterator it(folder, code), end; it != end && !code;
         it.increment(code))
      if (fs::is_regular_file(it->path()))
        files.insert(absolute(it->path()));
}

static std::string sha256(llvm::StringRef bytes) {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

/// The digest of \p file; null where there is none. What has changed since kb-opt started may have
/// been read as it was before, and gets the digest of no file.
static json::Value stateOf(Context &context, const std::string &file) {
  fs::file_status status;
  if (fs::status(file, status) || status.type() != fs::file_type::regular_file)
    return nullptr;
  const bool isRewritten = context.options.fix && file == context.command.file;
  if (!isRewritten && status.getLastModificationTime() >= context.start)
    return "changed";
  auto bytes = context.files.read(file);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return nullptr;
  }
  return sha256(*bytes);
}

static llvm::Expected<json::Object> lockOf(Context &context) {
  const std::string file = absolute(lockPath(context));
  auto lock = readLock(context.files, file);
  if (!lock)
    return lock.takeError();
  json::Array entries;
  for (const LockEntry &entry : lock->entries)
    if (entry.file == nameInLock(context.command.file, file))
      entries.push_back(json::fixUTF8(entryText(entry)));
  return json::Object{{"file", json::fixUTF8(file)}, {"entries", std::move(entries)}};
}

llvm::Error kbopt::writeDependencies(Context &context) {
  Paths files;
  if (llvm::Error error = addCommand(context.command, files))
    return error;
  addOptions(context, files);
  if (!context.command.program.empty())
    addBuild(path::parent_path(context.command.database), files);
  for (const std::string &file : buildFiles())
    files.insert(file);
  files.insert(absolute("include/cuda.h", context.command.toolkit.root));
  json::Object states, all;
  for (const std::string &file : files)
    states[json::fixUTF8(file)] = stateOf(context, file);
  all["files"] = std::move(states);
  if (context.options.lock) {
    auto lock = lockOf(context);
    if (!lock)
      return lock.takeError();
    all["lock"] = std::move(*lock);
  }
  return context.files.write(context.options.depfile,
                             llvm::formatv("{0:2}\n", json::Value(std::move(all))).str());
}
