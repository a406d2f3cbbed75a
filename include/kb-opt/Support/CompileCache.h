//===- CompileCache.h - What compilers made, kept on disk -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the folder of kept compiles: one file per compile, named by what decides its outcome, read
// back only while every file that the compile read is as it was. What a compile is, and how it is
// run, is its user's. Recorded runs of programs, whose outcomes are large, are kept in the same
// way: their large files are not copied but are one file under two names.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_COMPILECACHE_H
#define KBOPT_SUPPORT_COMPILECACHE_H

#include "kb-opt/Support/FileDigests.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// What one run of a compiler left.
struct CompileOutcome {
  /// 0, or the status with which the compiler refuses a program.
  int exitStatus = 0;
  /// What it printed.
  std::string messages;
  /// The files that it wrote, by a name of its user's; each is kept whole in memory.
  std::map<std::string, std::string> outputs;
  /// Names of the large files that it left in the folder of `getOrCompile`. They are not written to
  /// any more: they are shared with the cache, and with other runs.
  std::vector<std::string> files = {};
};

/// An outcome that is new, and what it rests on beside its key.
struct NewCompile {
  CompileOutcome outcome;
  /// The files that it read or looked for, as absolute paths, without those that its key describes.
  /// Of a folder the names in it count, and that a file is not there counts as well.
  std::vector<std::string> inputs;
  /// False where the outcome says nothing about the next time: a limit that was reached, a signal.
  bool isRepeatable = true;
};

/// A compiler as a part of a key: path, size and time of last change of each program of \p paths.
/// No process is started for it.
Digest toolIdentity(llvm::ArrayRef<std::string> paths);

/// The files that a dependency file in make's syntax, or a text with `# 1 "name"` line markers as a
/// preprocessor writes them, names; relative ones begin in \p directory. Sorted, without
/// repetition.
std::vector<std::string> inputsOfMakeRule(llvm::StringRef rule, llvm::StringRef directory);
std::vector<std::string> inputsOfPreprocessed(llvm::StringRef text, llvm::StringRef directory);

/// Thread-safe, and safe between processes: an entry is written whole or not at all, and of two
/// that are written at once either will do. A missing, changed or damaged entry is made again.
/// A folder that cannot be written is reported once, by `onTrouble`, and done without. Inputs of up
/// to 64 MiB are compared by their contents; larger ones by size, times and number of the file.
class CompileCache {
public:
  struct Options {
    /// Made when the first entry is written.
    std::string folder;
    /// Entries that were not used for longest leave beyond this. 0: nothing is kept.
    uint64_t maxBytes = uint64_t(2) << 30;
    /// Receives one sentence at most.
    std::function<void(const std::string &)> onTrouble;
    /// What is kept, in that sentence.
    std::string what = "compiles";
    /// Knows the digests of large files, and learns them; may be null.
    FileDigests *digests = nullptr;
  };
  explicit CompileCache(Options options) : options(std::move(options)) {}

  /// The kept outcome of \p key, or that of \p compile, which is kept. Errors are \p compile's own
  /// and are not kept.
  /// Large files are in \p folder afterwards, which exists. An outcome whose large files take more
  /// than half of `maxBytes` is not kept.
  llvm::Expected<CompileOutcome>
  getOrCompile(const Digest &key, llvm::function_ref<llvm::Expected<NewCompile>()> compile,
               llvm::StringRef folder = "");

  /// For --time-passes and tests.
  unsigned hits() const { return hitCount; }
  unsigned misses() const { return missCount; }

private:
  void keep(const std::string &path, const NewCompile &made, llvm::StringRef folder);
  /// The entry of \p path with its large files in \p folder, if all of it is there.
  std::optional<CompileOutcome> find(const std::string &path, llvm::StringRef folder);
  /// What \p file is named here by its content.
  llvm::Expected<std::string> nameOf(const std::string &file);
  void report(const std::string &message);
  Options options;
  std::atomic<unsigned> hitCount = 0, missCount = 0;
  std::atomic<bool> isReported = false;
};

/// \p compile by way of \p cache, or as it is where \p cache is null.
llvm::Expected<CompileOutcome>
compileThrough(CompileCache *cache, const Digest &key,
               llvm::function_ref<llvm::Expected<NewCompile>()> compile);

} // namespace kbopt

#endif // KBOPT_SUPPORT_COMPILECACHE_H
