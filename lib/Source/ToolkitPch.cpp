//===- ToolkitPch.cpp - CUDA's headers compiled once ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ToolkitPch.h"

#include "CompatHeader.h"
#include "HeaderCache.h"
#include "UserMacros.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace kbopt;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Raised when what an entry holds changes.
static constexpr uint64_t formatVersion = 1;

std::string kbopt::overlayOf(llvm::ArrayRef<VirtualFile> files) {
  std::map<std::string, llvm::json::Array> folders;
  for (const VirtualFile &file : files)
    folders[path::parent_path(file.name).str()].push_back(
        llvm::json::Object{{"name", path::filename(file.name)},
                           {"type", "file"},
                           {"external-contents", file.realPath}});
  llvm::json::Array roots;
  for (auto &[folder, contents] : folders)
    roots.push_back(llvm::json::Object{
        {"name", folder}, {"type", "directory"}, {"contents", std::move(contents)}});
  // JSON is YAML.
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Object{{"version", 0},
                         {"case-sensitive", "true"},
                         {"use-external-names", "false"},
                         {"roots", std::move(roots)}});
  return text;
}

namespace {
/// A header of CompatHeader.h or UserMacros.h in an entry.
struct EntryHeader {
  VirtualFile file;
  std::string text;
};
} // namespace

static std::vector<EntryHeader> headersIn(StringRef entry, const CompileCommand &command,
                                          llvm::ArrayRef<std::string> includes) {
  std::vector<EntryHeader> headers;
  auto add = [&](StringRef name, StringRef text) {
    headers.push_back({{childOf(compatFolder, name), childOf(entry, name)}, text.str()});
  };
  for (const CompatHeader &header : compatHeaders())
    add(header.name, header.text);
  if (!includes.empty())
    add(macrosHeader, userMacrosText(command));
  return headers;
}

static std::vector<VirtualFile> filesOf(llvm::ArrayRef<EntryHeader> headers) {
  std::vector<VirtualFile> files;
  for (const EntryHeader &header : headers)
    files.push_back(header.file);
  return files;
}

/// The name of the entry: everything that the precompiled header depends on.
/// Headers are not in it; clang compares their sizes and times itself.
static Digest entryName(const CompileCommand &command, llvm::ArrayRef<std::string> arguments,
                        llvm::ArrayRef<EntryHeader> headers, StringRef clang) {
  DigestBuilder builder;
  builder.add(formatVersion).add(clang).add(command.toolkit.version);
  // Where relative folders of the user's begin. Those of compatArguments() and
  // the toolkit are absolute.
  if (!withoutUserMacros(command.clangFlags).empty())
    builder.add(command.directory);
  fs::file_status status;
  if (!fs::status(clang, status))
    builder.add(status.getSize())
        .add(uint64_t(status.getLastModificationTime().time_since_epoch().count()));
  for (const EntryHeader &header : headers)
    builder.add(header.file.name).add(header.text);
  for (const std::string &argument : arguments)
    builder.add(argument);
  return builder.finish();
}

/// Fills the folder \p entry with \p headers and what clang makes of them; false if it cannot be
/// done.
static bool build(ProcessRunner &runner, const CompileLimits &limits, const CompileCommand &command,
                  llvm::ArrayRef<std::string> arguments, StringRef clang, StringRef input,
                  StringRef entry, llvm::ArrayRef<EntryHeader> headers) {
  std::string overlay = childOf(entry, "overlay.yaml");
  std::vector<std::pair<std::string, std::string>> contents{{overlay, overlayOf(filesOf(headers))}};
  for (const EntryHeader &header : headers)
    contents.emplace_back(header.file.realPath, header.text);
  for (const auto &[name, text] : contents)
    if (llvm::Error error = realFileSystem().write(name, text)) {
      llvm::consumeError(std::move(error));
      return false;
    }
  ProcessRequest request;
  request.purpose = "clang toolkit headers";
  request.argv = {clang.str(), "-vfsoverlay", overlay};
  request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
  // Templates that the headers use are instantiated here, once.
  for (StringRef argument :
       {"-Xclang", "-emit-pch", "-Xclang", "-fpch-instantiate-templates", "-c"})
    request.argv.push_back(argument.str());
  request.argv.insert(request.argv.end(), {input.str(), "-o", childOf(entry, "toolkit.pch")});
  request.workingDirectory = command.directory;
  request.wallSeconds = limits.wallSeconds;
  request.memoryBytes = limits.memoryBytes;
  llvm::Expected<ProcessResult> result = runner.run(request);
  if (!result) {
    llvm::consumeError(result.takeError());
    return false;
  }
  return result->succeeded() && fs::exists(childOf(entry, "toolkit.pch"));
}

std::optional<ToolkitPch> kbopt::findToolkitPch(ProcessRunner &runner, const CompileLimits &limits,
                                                const CompileCommand &command,
                                                llvm::ArrayRef<std::string> arguments,
                                                llvm::ArrayRef<std::string> includes) {
  // A header of the user's own that stands before everything would be in it,
  // and an edit of that header need not change its size.
  if (llvm::any_of(arguments, [](StringRef argument) {
        return argument.starts_with("-include") || argument.starts_with("-imacros");
      }))
    return std::nullopt;
  llvm::Expected<std::string> clang = findClang();
  if (!clang) {
    llvm::consumeError(clang.takeError());
    return std::nullopt;
  }
  std::vector<std::string> all = compatArguments();
  if (!includes.empty())
    llvm::append_range(all, macroArguments());
  llvm::append_range(all, arguments);
  for (const std::string &name : includes)
    all.insert(all.end(), {"-include", name});
  std::string folder = limits.cacheFolder.empty() ? userCacheDirectory() : limits.cacheFolder;
  std::string input = emptyProgram(folder);
  std::string entry = childOf(childOf(folder, "cuda-headers"),
                              entryName(command, all, headersIn("", command, includes), *clang));

  bool made = makeCacheEntry(entry, [&](StringRef draft) {
    return build(runner, limits, command, all, *clang, input, draft,
                 headersIn(draft, command, includes));
  });
  if (!made)
    return std::nullopt;
  return ToolkitPch{childOf(entry, "toolkit.pch"), filesOf(headersIn(entry, command, includes))};
}

void kbopt::forgetToolkitPch(const ToolkitPch &pch) {
  fs::remove_directories(path::parent_path(pch.file));
}
