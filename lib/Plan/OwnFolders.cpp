//===- OwnFolders.cpp -----------------------------------------------------===//
#include "OwnFolders.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
namespace fs = llvm::sys::fs;

namespace {

/// What is copied of a working directory, and how many entries it may have.
constexpr uint64_t mostFileBytes = 1 << 20, mostCopiedBytes = 16 << 20;
constexpr size_t mostEntries = 256;
/// What is looked at of what a program wrote.
constexpr uint64_t mostWrittenBytes = uint64_t{256} << 20;
constexpr size_t mostWritten = 1000;
constexpr unsigned mostDepth = 8;

/// Kind and size of what lies at \p path; links are not followed.
fs::file_status statusOf(const std::string &path) {
  fs::file_status status;
  (void)fs::status(path, status, /*follow=*/false);
  return status;
}

std::string contentOf(const std::string &path) {
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

} // namespace

OwnFolders::OwnFolders(std::string base, std::string workingDirectory)
    : base(std::move(base)), workingDirectory(std::move(workingDirectory)) {
  for (const char *name : {"/here", "/tmp"})
    (void)fs::create_directories(this->base + name);
  hasOwn = copyEntries();
}

OwnFolders::~OwnFolders() { (void)fs::remove_directories(base, /*IgnoreErrors=*/true); }

/// False if the working directory stays as it is.
bool OwnFolders::copyEntries() {
  if (llvm::sys::path::relative_path(workingDirectory).empty() || workingDirectory == "/tmp")
    return false;
  uint64_t copied = 0;
  size_t entries = 0;
  std::error_code code;
  for (fs::directory_iterator entry(workingDirectory, code, /*follow_symlinks=*/false), end;
       !code && entry != end; entry.increment(code)) {
    if (++entries > mostEntries)
      return false;
    const std::string &path = entry->path(), name = llvm::sys::path::filename(path).str();
    const fs::file_status status = statusOf(path);
    const bool isSmall = status.type() == fs::file_type::regular_file &&
                         status.getSize() <= mostFileBytes &&
                         copied + status.getSize() <= mostCopiedBytes;
    if (isSmall && !fs::copy_file(path, base + "/here/" + name)) {
      copied += status.getSize();
      continue;
    }
    if (status.type() != fs::file_type::regular_file &&
        status.type() != fs::file_type::directory_file)
      continue; // links, pipes and the like
    standins.push_back({path, path});
    readOnly.insert(name);
  }
  return !code;
}

void OwnFolders::addTo(Sandbox &sandbox) const {
  sandbox.standins.push_back({base + "/tmp", "/tmp", /*isWritable=*/true});
  if (!hasOwn)
    return;
  sandbox.standins.push_back({base + "/here", workingDirectory, /*isWritable=*/true});
  llvm::append_range(sandbox.standins, standins);
}

void OwnFolders::collect(const std::string &folder, const std::string &shown,
                         const std::string &original, std::map<std::string, std::string> &files,
                         unsigned depth) const {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code, /*follow_symlinks=*/false), end;
       !code && entry != end; entry.increment(code)) {
    const std::string name = llvm::sys::path::filename(entry->path()).str();
    const fs::file_status status = statusOf(entry->path());
    if (status.type() == fs::file_type::directory_file && depth < mostDepth)
      collect(entry->path(), shown + name + "/", "", files, depth + 1);
    if (status.type() != fs::file_type::regular_file || files.size() >= mostWritten)
      continue;
    if (!original.empty() && readOnly.count(name)) // where the sandbox has the file itself
      continue;
    if (status.getSize() > mostWrittenBytes) {
      files[shown + name] = "file of " + std::to_string(status.getSize()) + " bytes";
      continue;
    }
    std::string content = contentOf(entry->path());
    if (original.empty() || !fs::exists(original + "/" + name) ||
        contentOf(original + "/" + name) != content)
      files[shown + name] = std::move(content);
  }
}

std::map<std::string, std::string> OwnFolders::written() const {
  std::map<std::string, std::string> files;
  if (hasOwn)
    collect(base + "/here", "", workingDirectory, files, 0);
  collect(base + "/tmp", "/tmp/", "", files, 0);
  return files;
}
