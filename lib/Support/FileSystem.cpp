//===- FileSystem.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace kbopt;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

FileSystem::~FileSystem() = default;

static llvm::Error storeError(const llvm::Twine &what, llvm::StringRef file, std::error_code code) {
  std::string note;
  if (code == std::errc::no_space_on_device)
    note = "free some space or name another folder, then run the same command again";
  else if (code == std::errc::permission_denied || code == std::errc::read_only_file_system)
    note = "name a path you can write to with -o, or change the permissions";
  return llvm::make_error<StoreError>((what + " '" + file + "': " + code.message()).str(), note);
}

static std::error_code lastError() { return std::error_code(errno, std::generic_category()); }

static std::error_code writeAll(int descriptor, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return lastError();
    bytes = bytes.drop_front(written);
  }
  return {};
}

namespace {
class RealFileSystem : public FileSystem {
public:
  bool exists(llvm::StringRef file) override { return fs::exists(file); }

  llvm::Expected<std::string> read(llvm::StringRef file) override {
    auto buffer =
        llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      return storeError("cannot read", file, buffer.getError());
    return (*buffer)->getBuffer().str();
  }

  llvm::Error write(llvm::StringRef file, llvm::StringRef bytes) override {
    // What a link names is replaced, not the link; a device or a pipe not at all.
    llvm::SmallString<128> target, temporary;
    if (fs::real_path(file, target))
      target = file;
    fs::file_status status;
    bool exists = !fs::status(target, status);
    if (exists && status.type() != fs::file_type::regular_file)
      return writeInto(file, bytes);
    int descriptor;
    if (std::error_code code = fs::createUniqueFile(target + ".%%%%%%%%.tmp", descriptor, temporary,
                                                    fs::OF_None, fs::all_read | fs::owner_write))
      return storeError("cannot write", file, code);
    std::error_code code = writeAll(descriptor, bytes);
    if (!code && exists)
      code = fs::setPermissions(descriptor, status.permissions());
    if (::close(descriptor) != 0 && !code)
      code = lastError();
    if (!code)
      code = fs::rename(temporary, target);
    if (!code)
      return llvm::Error::success();
    fs::remove(temporary);
    return storeError("cannot write", file, code);
  }

  llvm::Error appendLine(llvm::StringRef file, llvm::StringRef line) override {
    int descriptor = ::open(file.str().c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor < 0)
      return storeError("cannot append to", file, lastError());
    std::error_code code;
    if (::flock(descriptor, LOCK_EX) != 0)
      code = lastError();
    off_t end = ::lseek(descriptor, 0, SEEK_END);
    if (!code)
      code = writeAll(descriptor, (line + "\n").str());
    // A line cut short by a full disk would spoil the one after it.
    if (code && end >= 0)
      (void)!::ftruncate(descriptor, end);
    ::close(descriptor);
    return code ? storeError("cannot append to", file, code) : llvm::Error::success();
  }

  llvm::Error createDirectories(llvm::StringRef directory) override {
    if (std::error_code code = fs::create_directories(directory))
      return storeError("cannot create folder", directory, code);
    return llvm::Error::success();
  }

  llvm::Error remove(llvm::StringRef file) override {
    if (std::error_code code = fs::remove(file))
      return storeError("cannot remove", file, code);
    return llvm::Error::success();
  }

  std::vector<std::string> list(llvm::StringRef directory) override {
    std::vector<std::string> names;
    std::error_code code;
    for (fs::directory_iterator it(directory, code), end; it != end && !code; it.increment(code))
      names.push_back(path::filename(it->path()).str());
    std::sort(names.begin(), names.end());
    return names;
  }

private:
  static llvm::Error writeInto(llvm::StringRef file, llvm::StringRef bytes) {
    int descriptor = ::open(file.str().c_str(), O_WRONLY | O_CLOEXEC);
    std::error_code code = descriptor < 0 ? lastError() : writeAll(descriptor, bytes);
    if (descriptor >= 0 && ::close(descriptor) != 0 && !code)
      code = lastError();
    return code ? storeError("cannot write", file, code) : llvm::Error::success();
  }
};
} // namespace

FileSystem &kbopt::realFileSystem() {
  static RealFileSystem instance;
  return instance;
}

llvm::Expected<TemporaryDirectory> TemporaryDirectory::create(llvm::StringRef prefix) {
  llvm::SmallString<128> root;
  if (std::error_code code = fs::createUniqueDirectory(prefix, root))
    return storeError("cannot create temporary folder", prefix, code);
  return TemporaryDirectory(root.str().str());
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory &&other) noexcept
    : root(std::exchange(other.root, {})) {}

TemporaryDirectory &TemporaryDirectory::operator=(TemporaryDirectory &&other) noexcept {
  std::swap(root, other.root);
  return *this;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!root.empty())
    fs::remove_directories(root);
}

std::string TemporaryDirectory::file(llvm::StringRef name) const {
  llvm::SmallString<128> result(root);
  path::append(result, name);
  return result.str().str();
}

static std::string xdgDirectory(llvm::StringRef variable, llvm::StringRef fallback) {
  llvm::SmallString<128> result;
  if (auto base = llvm::sys::Process::GetEnv(variable); base && path::is_absolute(*base)) {
    result = *base;
  } else {
    path::home_directory(result);
    path::append(result, fallback);
  }
  path::append(result, "kb-opt");
  return result.str().str();
}

std::string kbopt::userDataDirectory() { return xdgDirectory("XDG_DATA_HOME", ".local/share"); }
std::string kbopt::userCacheDirectory() { return xdgDirectory("XDG_CACHE_HOME", ".cache"); }
std::string kbopt::recordingsDirectory() { return userCacheDirectory() + "/recordings"; }
