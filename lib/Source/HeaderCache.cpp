//===- HeaderCache.cpp - Precompiled headers on disk ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HeaderCache.h"

#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <filesystem>
#include <mutex>
#include <set>

using namespace kbopt;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Entries kept beside each other; one is 10 to 50 MB.
static constexpr size_t entriesKept = 16;

std::string kbopt::childOf(StringRef folder, StringRef name) {
  llvm::SmallString<128> result(folder);
  path::append(result, name);
  return result.str().str();
}

std::string kbopt::emptyProgram(StringRef folder) {
  std::string program = childOf(folder, "toolkit.cu");
  if (!fs::exists(program) && !fs::create_directories(folder))
    llvm::consumeError(realFileSystem().write(program, "\n"));
  return program;
}

/// Removes the entries of \p folder that were not used for longest, beyond `entriesKept`.
static void prune(StringRef folder) {
  std::vector<std::pair<llvm::sys::TimePoint<>, std::string>> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    fs::file_status status;
    if (!fs::status(it->path(), status))
      entries.emplace_back(status.getLastModificationTime(), it->path());
  }
  llvm::sort(entries);
  for (size_t i = 0; i + entriesKept < entries.size(); ++i)
    fs::remove_directories(entries[i].second);
}

bool kbopt::makeCacheEntry(StringRef entry, llvm::function_ref<bool(StringRef draft)> fill) {
  static std::mutex mutex;
  static std::set<std::string> failed;
  std::lock_guard<std::mutex> lock(mutex);
  if (fs::exists(entry)) {
    // The time of its last use, by which entries leave.
    std::error_code ignored;
    std::filesystem::last_write_time(entry.str(), std::filesystem::file_time_type::clock::now(),
                                     ignored);
    return true;
  }
  if (failed.count(entry.str()))
    return false;
  // Filled beside its place and moved there whole.
  std::string draft = entry.str() + ".draft" + llvm::utostr(llvm::sys::Process::getProcessId());
  if (!fs::create_directories(draft) && fill(draft))
    fs::rename(draft, entry);
  fs::remove_directories(draft);
  if (!fs::exists(entry)) {
    failed.insert(entry.str());
    return false;
  }
  prune(path::parent_path(entry));
  return true;
}
