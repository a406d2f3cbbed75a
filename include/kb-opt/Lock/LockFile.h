//===- LockFile.h - What was proven, as a file to commit --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns kbopt.lock as a value, its YAML and where it lies. It decides nothing:
// whether an entry is fresh is asked of Closure.h and LockFlags.h.
// docs/Lock.md explains every field.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LOCK_LOCKFILE_H
#define KBOPT_LOCK_LOCKFILE_H

#include "kb-opt/Support/Digest.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

inline constexpr llvm::StringLiteral lockFileName = "kbopt.lock";

/// Machine code for one architecture.
struct LockedCode {
  std::string arch; ///< "sm_90"
  Digest digest;    ///< of the rewritten kernels
  bool operator==(const LockedCode &) const = default;
};

/// How long the program's kernels took, and where the figures come from.
struct LockedTime {
  std::string source; ///< "modelled" or "measured"
  std::string chip;
  double originalUs = 0, rewrittenUs = 0;
  double ratio = 0;
  double atLeast = 0; ///< lower end of the ratio's interval; 0: modelled, so there is none
};

/// One proven rewrite of one file under one set of flags.
struct LockEntry {
  std::string file;                 ///< relative to the lock's folder, with '/'
  std::vector<std::string> kernels; ///< sorted
  std::string pipeline;
  std::string target;                     ///< the program of the build that was run; empty: none
  Digest closure;                         ///< of the original (Closure.h)
  Digest output;                          ///< of the same declarations after the pipeline
  std::vector<std::string> flags;         ///< those that decide what the kernels mean (LockFlags.h)
  std::vector<std::string> architectures; ///< sorted
  std::vector<LockedCode> code;           ///< sorted by architecture
  std::string promise;                    ///< "bitwise", "reassociates" or "lower-precision"
  std::vector<std::string> gates;         ///< that passed
  std::vector<std::string> shapes;        ///< the cases that were compared
  LockedTime time;
  std::string tool;     ///< version of kb-opt
  std::string evidence; ///< name of the evidence record; empty: none
};

struct LockFile {
  std::vector<LockEntry> entries; ///< by file, flags and architectures

  /// Replaces the entry of the same file, flags and architectures, or adds \p entry in its place.
  void put(LockEntry entry);
  std::string text() const;
};

/// \p entry as it stands in a lock.
std::string entryText(const LockEntry &entry);

/// Reads \p text, which stands in \p path. A file of a newer version, of another shape or with
/// unknown keys is a `UsageError` that names the place.
llvm::Expected<LockFile> parseLock(llvm::StringRef text, llvm::StringRef path);
/// An empty lock if there is no file.
llvm::Expected<LockFile> readLock(FileSystem &files, llvm::StringRef path);
/// Puts \p entry into the file \p path as it is now, under a file lock: searches that end at once
/// lose nothing.
llvm::Error putIntoLock(FileSystem &files, llvm::StringRef path, const LockEntry &entry);

/// The nearest kbopt.lock above \p file (absolute). Without one the place for a new one: the folder
/// \p project if \p file lies below it, else the folder of the repository, else the current folder
/// if
/// \p file lies below it, else that of \p file.
std::string findLock(llvm::StringRef file, llvm::StringRef project = "");
/// \p file as entries of the lock \p path name it.
std::string nameInLock(llvm::StringRef file, llvm::StringRef path);

} // namespace kbopt

#endif // KBOPT_LOCK_LOCKFILE_H
