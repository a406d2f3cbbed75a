//===- Journal.h - Every outside effect, kept ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the memory that answers a request it has seen before: a compile, a
// recording, a measurement. It lies in a SQLite file, or in a database. A killed run, started
// again, asks the same requests and is answered from here. It does not know what the bytes mean.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_STORE_JOURNAL_H
#define KBOPT_STORE_JOURNAL_H

#include "kb-opt/Support/Digest.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace kbopt {

/// Thread-safe. Several processes may use one file at once: an answer that any
/// of them stored is seen by all, and the first answer to a request stays.
/// Requests must carry in their digest whatever the answer depends on, the
/// versions of the tools among it.
class Journal {
public:
  /// Opens or creates \p path with its folders, or opens the database that it is the address of.
  /// Errors are `StoreError`s that name \p path: it cannot be created or written, it was written by
  /// a newer version, another process holds it longer than \p busyMilliseconds, or it is corrupt; a
  /// corrupt file is renamed to `PATH.corrupt-N` first, so that nothing is lost and the next open
  /// starts afresh.
  static llvm::Expected<std::unique_ptr<Journal>> open(llvm::StringRef path,
                                                       unsigned busyMilliseconds = 20000);
  /// Keeps everything in memory and nothing on disk: for `--no-journal`.
  static std::unique_ptr<Journal> inMemory();
  ~Journal();
  Journal(const Journal &) = delete;
  Journal &operator=(const Journal &) = delete;

  /// The stored answer to \p request of \p kind ("parse", "compile", "judge").
  llvm::Expected<std::optional<std::string>> find(llvm::StringRef kind, const Digest &request);
  /// Stores \p response; on return it survives a kill and a power cut. If the
  /// request is answered already, the old answer stays.
  llvm::Error put(llvm::StringRef kind, const Digest &request, llvm::StringRef response);
  /// The stored answer, or \p compute's, stored. Threads that ask the same
  /// request at once wait for one computation. An error of \p compute is
  /// returned and not stored, nor is an answer that an interrupt (Ctrl-C) may have
  /// spoilt.
  llvm::Expected<std::string>
  getOrCompute(llvm::StringRef kind, const Digest &request,
               llvm::function_ref<llvm::Expected<std::string>()> compute);

  /// Answers found and computed by this object, by kind.
  struct Counts {
    uint64_t found = 0, computed = 0;
  };
  std::map<std::string, Counts> counts() const;
  /// Whether another process had the journal open when this one opened it.
  bool sharedWithAnotherRun() const;

private:
  struct Impl;
  explicit Journal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace kbopt

#endif // KBOPT_STORE_JOURNAL_H
