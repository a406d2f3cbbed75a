//===- FileSystem.h - File effects behind an interface ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns every write that kb-opt makes to disk, so that the engine is tested
// with a fake, and nothing is ever half-written.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_FILESYSTEM_H
#define KBOPT_SUPPORT_FILESYSTEM_H

#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

/// Thread-safe. Errors are `StoreError`s that name the path.
class FileSystem {
public:
  virtual ~FileSystem();
  virtual bool exists(llvm::StringRef path) = 0;
  virtual llvm::Expected<std::string> read(llvm::StringRef path) = 0;
  /// Writes a temporary file beside \p path and renames it.
  virtual llvm::Error write(llvm::StringRef path, llvm::StringRef bytes) = 0;
  /// Appends one line (a newline is added) in one write under a file lock.
  virtual llvm::Error appendLine(llvm::StringRef path, llvm::StringRef line) = 0;
  virtual llvm::Error createDirectories(llvm::StringRef path) = 0;
  virtual llvm::Error remove(llvm::StringRef path) = 0;
  /// Names of the entries of \p directory, sorted; empty if it does not exist.
  virtual std::vector<std::string> list(llvm::StringRef directory) = 0;
};

FileSystem &realFileSystem();

/// Files in a map; `failWrites` stands for a full disk.
class FakeFileSystem : public FileSystem {
public:
  std::map<std::string, std::string> files;
  bool failWrites = false;

  bool exists(llvm::StringRef path) override;
  llvm::Expected<std::string> read(llvm::StringRef path) override;
  llvm::Error write(llvm::StringRef path, llvm::StringRef bytes) override;
  llvm::Error appendLine(llvm::StringRef path, llvm::StringRef line) override;
  llvm::Error createDirectories(llvm::StringRef path) override;
  llvm::Error remove(llvm::StringRef path) override;
  std::vector<std::string> list(llvm::StringRef directory) override;
};

/// A private directory that is removed with everything in it.
class TemporaryDirectory {
public:
  static llvm::Expected<TemporaryDirectory> create(llvm::StringRef prefix);
  TemporaryDirectory(TemporaryDirectory &&other) noexcept;
  TemporaryDirectory &operator=(TemporaryDirectory &&other) noexcept;
  ~TemporaryDirectory();
  llvm::StringRef path() const { return root; }
  /// \p name inside the directory.
  std::string file(llvm::StringRef name) const;

private:
  explicit TemporaryDirectory(std::string root) : root(std::move(root)) {}
  std::string root;
};

/// `$XDG_DATA_HOME/kb-opt` or `~/.local/share/kb-opt`.
std::string userDataDirectory();
/// `$XDG_CACHE_HOME/kb-opt` or `~/.cache/kb-opt`.
std::string userCacheDirectory();
/// Where recordings of programs are kept: a folder of `userCacheDirectory` that no program in a
/// sandbox sees, because the results of originals are in it.
std::string recordingsDirectory();

} // namespace kbopt

#endif // KBOPT_SUPPORT_FILESYSTEM_H
