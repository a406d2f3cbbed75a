//===- OwnFolders.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OwnFolders.h"

#include "kb-opt/Support/Random.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <cstring>

using namespace kbopt;

/// Of programs, by the file hierarchy standard.
static constexpr const char *ownTemporary = "/tmp";
namespace fs = llvm::sys::fs;

namespace {

/// What is copied of a working directory, and how many entries it may have.
constexpr uint64_t mostFileBytes = 1 << 20, mostCopiedBytes = 16 << 20;
constexpr size_t mostEntries = 256;
/// The same of each folder in it.
constexpr uint64_t mostFolderBytes = 4 << 20;
constexpr size_t mostFolderEntries = 64;
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

/// Whether \p text holds what people write.
bool isText(llvm::StringRef text) {
  return llvm::all_of(text, [](unsigned char c) { return c >= ' ' || (c >= '\t' && c <= '\r'); });
}

/// \p text with other decimal fractions: of the same length, and of another last digits.
std::string withOtherFractions(llvm::StringRef text, Random &random) {
  std::string result = text.str();
  for (size_t i = 1; i < result.size(); ++i)
    if (result[i - 1] == '.' && llvm::isDigit(result[i]))
      for (; i < result.size() && llvm::isDigit(result[i]); ++i)
        result[i] = static_cast<char>('0' + random.below(10));
  return result;
}

/// \p bytes as float32 with other values; as they are where one is none that programs compute with.
std::string withOtherFloats(const std::string &bytes, Random &random) {
  std::string result = bytes;
  for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    constexpr float least = 1e-20f, most = 1e20f;
    if (value != 0 && !(std::fabs(value) > least && std::fabs(value) < most))
      return bytes;
    value *= static_cast<float>(0.5 + random.uniform());
    std::memcpy(result.data() + at, &value, sizeof value);
  }
  return result;
}

std::string withOtherNumbers(const std::string &content, uint64_t seed) {
  Random random(seed);
  if (isText(content))
    return withOtherFractions(content, random);
  return content.size() % sizeof(float) == 0 ? withOtherFloats(content, random) : content;
}

} // namespace

OwnFolders::OwnFolders(std::string base, std::string workingDirectory)
    : base(std::move(base)), workingDirectory(std::move(workingDirectory)) {
  for (const char *name : {"/here", ownTemporary})
    (void)fs::create_directories(this->base + name);
  hasOwn = copyEntries();
  noteCopies();
}

OwnFolders::~OwnFolders() { (void)fs::remove_directories(base, /*IgnoreErrors=*/true); }

bool OwnFolders::copyEntries() {
  if (llvm::sys::path::relative_path(workingDirectory).empty() || workingDirectory == ownTemporary)
    return false;
  Room room{mostCopiedBytes, mostEntries};
  return copyFolder(workingDirectory, base + "/here", room);
}

void OwnFolders::noteCopies() {
  std::error_code code;
  for (fs::recursive_directory_iterator entry(base + "/here", code, /*follow_symlinks=*/false), end;
       hasOwn && !code && entry != end; entry.increment(code))
    if (statusOf(entry->path()).type() == fs::file_type::regular_file)
      copies[entry->path()] = llvm::xxh3_64bits(contentOf(entry->path()));
}

bool OwnFolders::copyFolder(const std::string &folder, const std::string &copy, Room &room) {
  const size_t before = standins.size();
  std::error_code code;
  for (fs::directory_iterator entry(folder, code, /*follow_symlinks=*/false), end;
       !code && entry != end; entry.increment(code)) {
    if (!room.entries--) {
      standins.resize(before);
      return false;
    }
    const std::string &path = entry->path(), name = llvm::sys::path::filename(path).str();
    const fs::file_status status = statusOf(path);
    const bool isFile = status.type() == fs::file_type::regular_file,
               isFolder = status.type() == fs::file_type::directory_file;
    const std::string own = copy + "/" + name;
    if (isFile && status.getSize() <= std::min(mostFileBytes, room.bytes) &&
        !fs::copy_file(path, own)) {
      room.bytes -= status.getSize();
      continue;
    }
    Room inside{std::min(room.bytes, mostFolderBytes), std::min(room.entries, mostFolderEntries)};
    const Room given = inside;
    if (isFolder && !name.starts_with(".") && !fs::create_directory(own)) {
      if (copyFolder(path, own, inside)) {
        room.bytes -= given.bytes - inside.bytes;
        room.entries -= given.entries - inside.entries;
        continue;
      }
      (void)fs::remove_directories(own);
    }
    if (isFile || isFolder) // no links, pipes and the like
      standins.push_back({path, path});
  }
  return !code;
}

void OwnFolders::addTo(Sandbox &sandbox) const {
  sandbox.standins.push_back({base + ownTemporary, ownTemporary, /*isWritable=*/true});
  if (!hasOwn)
    return;
  sandbox.standins.push_back({base + "/here", workingDirectory, /*isWritable=*/true});
  llvm::append_range(sandbox.standins, standins);
}

void OwnFolders::varyNumbers(uint64_t seed) const {
  std::error_code code;
  for (fs::recursive_directory_iterator entry(base + "/here", code, /*follow_symlinks=*/false), end;
       !code && entry != end; entry.increment(code)) {
    const llvm::StringRef extension = llvm::sys::path::extension(entry->path());
    if (statusOf(entry->path()).type() != fs::file_type::regular_file ||
        llvm::is_contained({".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".c", ".yaml"}, extension))
      continue;
    std::error_code failure;
    const std::string varied = withOtherNumbers(contentOf(entry->path()), seed);
    llvm::raw_fd_ostream(entry->path(), failure) << varied;
  }
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
      collect(entry->path(), shown + name + "/", original.empty() ? "" : original + "/" + name,
              files, depth + 1);
    if (status.type() != fs::file_type::regular_file || files.size() >= mostWritten)
      continue;
    const bool isThere = llvm::any_of(standins, [&](const Sandbox::Standin &standin) {
      return !original.empty() && standin.path == original + "/" + name;
    });
    if (isThere) // the sandbox has the file itself
      continue;
    if (status.getSize() > mostWrittenBytes) {
      files[shown + name] = "file of " + std::to_string(status.getSize()) + " bytes";
      continue;
    }
    std::string content = contentOf(entry->path());
    auto copy = copies.find(entry->path());
    if (copy == copies.end() || copy->second != llvm::xxh3_64bits(content))
      files[shown + name] = std::move(content);
  }
}

std::map<std::string, std::string> OwnFolders::written() const {
  std::map<std::string, std::string> files;
  if (hasOwn)
    collect(base + "/here", "", workingDirectory, files, 0);
  collect(base + ownTemporary, std::string(ownTemporary) + "/", "", files, 0);
  return files;
}
