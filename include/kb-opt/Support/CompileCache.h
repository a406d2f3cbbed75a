//===- CompileCache.h - What compilers made, kept on disk -------*- C++ -*-===//
//
// Owns the folder of kept compiles: one file per compile, named by what decides its outcome, read
// back only while every file that the compile read is as it was. What a compile is, and how it is
// run, is its user's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_COMPILECACHE_H
#define KBOPT_SUPPORT_COMPILECACHE_H

#include "kb-opt/Support/Digest.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <functional>
#include <map>
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
};

/// An outcome that is new, and what it rests on beside its key.
struct NewCompile {
  CompileOutcome outcome;
  /// The files that it read, as absolute paths, without those that its key describes.
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
/// A folder that cannot be written is reported once, by `onTrouble`, and done without.
class CompileCache {
public:
  struct Options {
    /// Made when the first entry is written.
    std::string folder;
    /// Entries that were not used for longest leave beyond this. 0: nothing is kept.
    uint64_t maxBytes = uint64_t(2) << 30;
    /// Receives one sentence at most.
    std::function<void(const std::string &)> onTrouble;
  };
  explicit CompileCache(Options options) : options(std::move(options)) {}

  /// The kept outcome of \p key, or that of \p compile, which is kept. Errors are \p compile's own
  /// and are not kept.
  llvm::Expected<CompileOutcome>
  getOrCompile(const Digest &key, llvm::function_ref<llvm::Expected<NewCompile>()> compile);

  /// For --time-passes and tests.
  unsigned hits() const { return hitCount; }
  unsigned misses() const { return missCount; }

private:
  void keep(const std::string &path, const NewCompile &made);
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
