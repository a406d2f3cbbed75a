//===- FakeFileSystem.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

static llvm::Error diskIsFull(llvm::StringRef path) {
  return llvm::make_error<StoreError>(
      ("cannot write '" + path + "': no space left on device").str());
}

bool FakeFileSystem::exists(llvm::StringRef path) { return files.count(path.str()); }

llvm::Expected<std::string> FakeFileSystem::read(llvm::StringRef path) {
  auto it = files.find(path.str());
  if (it == files.end())
    return llvm::make_error<StoreError>(
        ("cannot read '" + path + "': no such file or directory").str());
  return it->second;
}

llvm::Error FakeFileSystem::write(llvm::StringRef path, llvm::StringRef bytes) {
  if (failWrites)
    return diskIsFull(path);
  files[path.str()] = bytes.str();
  return llvm::Error::success();
}

llvm::Error FakeFileSystem::appendLine(llvm::StringRef path, llvm::StringRef line) {
  if (failWrites)
    return diskIsFull(path);
  files[path.str()] += (line + "\n").str();
  return llvm::Error::success();
}

llvm::Error FakeFileSystem::createDirectories(llvm::StringRef path) {
  return failWrites ? diskIsFull(path) : llvm::Error::success();
}

llvm::Error FakeFileSystem::remove(llvm::StringRef path) {
  files.erase(path.str());
  return llvm::Error::success();
}

std::vector<std::string> FakeFileSystem::list(llvm::StringRef directory) {
  std::vector<std::string> names;
  for (const auto &[file, bytes] : files)
    if (llvm::sys::path::parent_path(file) == directory)
      names.push_back(llvm::sys::path::filename(file).str());
  return names;
}
