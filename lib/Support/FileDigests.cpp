//===- FileDigests.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/FileDigests.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <sys/stat.h>

using namespace kbopt;

/// Files up to this size are always read.
static constexpr uint64_t rereadBytes = uint64_t(64) << 20;

/// What changes when \p path is written to; empty if it cannot be told.
static std::string stampOf(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return "";
  return llvm::formatv("{0} {1} {2} {3}.{4}", status.st_dev, status.st_ino, status.st_size,
                       status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

llvm::Expected<Digest> FileDigests::get(const std::string &path) {
  std::string stamp = stampOf(path);
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto known = large.find(stamp);
    if (known != large.end())
      return known->second;
  }
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::make_error<StoreError>("cannot read '" + path + "': " + file.getError().message());
  Digest digest = digestOf((*file)->getBuffer());
  if ((*file)->getBufferSize() > rereadBytes && !stamp.empty()) {
    std::lock_guard<std::mutex> lock(mutex);
    large[stamp] = digest;
  }
  return digest;
}
