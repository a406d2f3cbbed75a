//===- Database.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Database.h"
#include "kb-opt/Source/NvccFlags.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "clang/Tooling/CompilationDatabase.h"
#include "clang/Tooling/JSONCompilationDatabase.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::StringRef;
namespace path = llvm::sys::path;

std::string kbopt::absolutePath(StringRef file, StringRef directory) {
  llvm::SmallString<128> result(file);
  if (path::is_relative(result)) {
    result = directory;
    path::append(result, file);
  }
  path::remove_dots(result, /*remove_dot_dot=*/true);
  return result.str().str();
}

std::vector<std::string> kbopt::databasesAbove(StringRef folder) {
  std::vector<std::string> all;
  for (; !folder.empty(); folder = path::parent_path(folder))
    for (StringRef below : {"", "build"}) {
      llvm::SmallString<128> json(folder);
      path::append(json, below, "compile_commands.json");
      if (llvm::sys::fs::exists(json))
        all.push_back(json.str().str());
    }
  return all;
}

bool kbopt::isClang(StringRef compiler) {
  StringRef name = path::filename(compiler);
  return name.contains("clang") && !name.contains("nvcc");
}

llvm::Error kbopt::translateFlags(llvm::ArrayRef<std::string> arguments, bool forClang,
                                  CompileCommand &command) {
  command.original.assign(arguments.begin(), arguments.end());
  llvm::Expected<std::vector<std::string>> inputs =
      forClang ? translateClangFlags(arguments, command) : translateNvccFlags(arguments, command);
  if (!inputs)
    return inputs.takeError();
  for (const std::string &input : *inputs) {
    if (absolutePath(input, command.directory) == command.file)
      continue;
    command.ignored.push_back({input, "kb-opt works on one translation unit at a time"});
  }
  return llvm::Error::success();
}

/// Where the compiler stands in \p words: launchers of any name may stand before it, with options
/// of their own.
static size_t compilerIn(llvm::ArrayRef<std::string> words) {
  for (auto [index, word] : llvm::enumerate(words)) {
    StringRef name = path::filename(word);
    if (StringRef(word).starts_with("-") || path::extension(name).starts_with(".cu"))
      continue;
    if (name.contains("nvcc") || isClang(word))
      return index;
  }
  size_t last = 0; // of the words before the first option
  while (last + 1 < words.size() && !StringRef(words[last + 1]).starts_with("-") &&
         !path::extension(words[last + 1]).starts_with(".c"))
    ++last;
  return last;
}

static llvm::Expected<std::unique_ptr<clang::tooling::CompilationDatabase>>
loadDatabase(StringRef json) {
  auto fail = [&](const std::string &problem) {
    return llvm::make_error<UsageError>("cannot read '" + json.str() + "': " + problem,
                                        "give the flags after --, or another folder with -p");
  };
  auto buffer = llvm::MemoryBuffer::getFile(json);
  if (!buffer)
    return fail(buffer.getError().message());
  // clang's own reader prints what it dislikes.
  llvm::Expected<llvm::json::Value> checked = llvm::json::parse((*buffer)->getBuffer());
  if (!checked)
    return fail(llvm::toString(checked.takeError()));
  std::string problem;
  auto database = clang::tooling::JSONCompilationDatabase::loadFromBuffer(
      (*buffer)->getBuffer(), problem, clang::tooling::JSONCommandLineSyntax::AutoDetect);
  if (!database)
    return fail(problem);
  return std::unique_ptr<clang::tooling::CompilationDatabase>(std::move(database));
}

/// The object that \p entry makes, as it says, as its compiler is told, or as compilers name it.
static std::string objectOf(const clang::tooling::CompileCommand &entry) {
  if (!entry.Output.empty())
    return absolutePath(entry.Output, entry.Directory);
  for (size_t i = 0; i + 1 < entry.CommandLine.size(); ++i)
    if (entry.CommandLine[i] == "-o")
      return absolutePath(entry.CommandLine[i + 1], entry.Directory);
  return absolutePath((path::stem(entry.Filename) + ".o").str(), entry.Directory);
}

static DatabaseEntry entryOf(const clang::tooling::CompileCommand &entry) {
  DatabaseEntry own;
  own.directory = entry.Directory;
  own.file = absolutePath(entry.Filename, entry.Directory);
  own.object = objectOf(entry);
  own.commandLine = entry.CommandLine;
  own.isCuda = path::extension(own.file) == ".cu" || path::extension(own.file) == ".cuh" ||
               llvm::is_contained(entry.CommandLine, "cu") ||
               llvm::is_contained(entry.CommandLine, "cuda");
  return own;
}

llvm::Expected<std::vector<DatabaseEntry>> kbopt::readDatabase(StringRef json) {
  auto database = loadDatabase(json);
  if (!database)
    return database.takeError();
  std::vector<DatabaseEntry> entries;
  for (const clang::tooling::CompileCommand &entry : (*database)->getAllCompileCommands())
    if (!entry.CommandLine.empty())
      entries.push_back(entryOf(entry));
  return entries;
}

llvm::Error kbopt::takeEntry(const DatabaseEntry &entry, CompileCommand &command) {
  command.directory = entry.directory;
  const size_t compilerAt = compilerIn(entry.commandLine);
  return translateFlags(llvm::ArrayRef(entry.commandLine).drop_front(compilerAt + 1),
                        isClang(entry.commandLine[compilerAt]), command);
}

llvm::Expected<bool> kbopt::takeFromDatabase(StringRef json, CompileCommand &command) {
  auto database = loadDatabase(json);
  if (!database)
    return database.takeError();
  std::vector<clang::tooling::CompileCommand> entries =
      (*database)->getCompileCommands(command.file);
  auto chosen = llvm::find_if(entries, [&](const clang::tooling::CompileCommand &entry) {
    return command.object.empty() || objectOf(entry) == command.object;
  });
  if (chosen == entries.end() || chosen->CommandLine.empty())
    return false;
  command.database = json.str();
  if (llvm::Error error = takeEntry(entryOf(*chosen), command))
    return std::move(error);
  return true;
}

llvm::Expected<CompileCommand> kbopt::commandOf(const DatabaseEntry &entry,
                                                const CudaToolkit &toolkit) {
  CompileCommand command;
  command.toolkit = toolkit;
  command.file = command.shownFile = entry.file;
  if (llvm::Error error = takeEntry(entry, command))
    return std::move(error);
  return command;
}

std::string kbopt::sourceFolderOf(StringRef database) {
  llvm::SmallString<128> real; // projects link to the database of their build
  if (database.empty() || llvm::sys::fs::real_path(database, real))
    return "";
  auto cache =
      realFileSystem().read((llvm::sys::path::parent_path(real) + "/CMakeCache.txt").str());
  if (!cache) {
    llvm::consumeError(cache.takeError());
    return "";
  }
  const StringRef rest = StringRef(*cache).split("\nCMAKE_HOME_DIRECTORY:INTERNAL=").second;
  return rest.split('\n').first.trim().str();
}
