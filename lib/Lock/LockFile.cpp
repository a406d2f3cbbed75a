//===- LockFile.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Lock/LockFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace kbopt;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static auto keyOf(const LockEntry &entry) {
  return std::tie(entry.file, entry.flags, entry.architectures);
}

void LockFile::put(LockEntry entry) {
  llvm::erase_if(entries, [&](const LockEntry &other) { return keyOf(other) == keyOf(entry); });
  auto place = llvm::lower_bound(
      entries, entry, [](const LockEntry &a, const LockEntry &b) { return keyOf(a) < keyOf(b); });
  entries.insert(place, std::move(entry));
}

llvm::Expected<LockFile> kbopt::readLock(FileSystem &files, llvm::StringRef path) {
  if (!files.exists(path))
    return LockFile();
  auto text = files.read(path);
  if (!text)
    return text.takeError();
  return parseLock(*text, path);
}

namespace {

/// Held while a lock is read, changed and written. The file beside it is empty and stays in the
/// temporary folder: nothing appears in the user's repository.
class Exclusive {
public:
  explicit Exclusive(llvm::StringRef path) {
    llvm::SmallString<128> file;
    path::system_temp_directory(/*ErasedOnReboot=*/true, file);
    path::append(file, "kb-opt-" + std::to_string(::getuid()) + "-" + digestOf(path) + ".guard");
    descriptor = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor >= 0)
      ::flock(descriptor, LOCK_EX);
  }
  ~Exclusive() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

private:
  int descriptor = -1;
};

} // namespace

llvm::Error kbopt::putIntoLock(FileSystem &files, llvm::StringRef path, const LockEntry &entry) {
  Exclusive exclusive(path);
  auto lock = readLock(files, path);
  if (!lock)
    return lock.takeError();
  lock->put(entry);
  return files.write(path, lock->text());
}

std::string kbopt::findLock(llvm::StringRef file, llvm::StringRef project) {
  llvm::StringRef repository;
  for (llvm::StringRef folder = path::parent_path(file); !folder.empty();
       folder = path::parent_path(folder)) {
    llvm::SmallString<128> lock(folder), git(folder);
    path::append(lock, lockFileName);
    path::append(git, ".git");
    if (fs::exists(lock))
      return lock.str().str();
    if (repository.empty() && fs::exists(git))
      repository = folder;
  }
  const bool isInProject = !project.empty() && file.starts_with((project + "/").str());
  llvm::SmallString<128> place(isInProject ? project : repository);
  if (place.empty()) {
    fs::current_path(place);
    if (!file.starts_with((place + "/").str()))
      place = path::parent_path(file);
  }
  path::append(place, lockFileName);
  return place.str().str();
}

std::string kbopt::nameInLock(llvm::StringRef file, llvm::StringRef lock) {
  llvm::SmallString<128> absoluteFile(file), folder(lock);
  fs::make_absolute(absoluteFile);
  fs::make_absolute(folder);
  path::remove_dots(absoluteFile, true);
  path::remove_dots(folder, true);
  path::remove_filename(folder);
  auto a = path::begin(absoluteFile), aEnd = path::end(absoluteFile);
  auto b = path::begin(folder), bEnd = path::end(folder);
  while (a != aEnd && b != bEnd && *a == *b)
    ++a, ++b;
  llvm::SmallString<128> name;
  for (; b != bEnd; ++b)
    if (*b != ".")
      path::append(name, "..");
  for (; a != aEnd; ++a)
    path::append(name, *a);
  return name.str().str();
}
