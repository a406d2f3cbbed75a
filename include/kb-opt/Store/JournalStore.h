//===- JournalStore.h - Where a journal keeps its answers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface between the journal and a store of (kind, request) and
// response: a SQLite file, memory, or a PostgreSQL database.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_STORE_JOURNALSTORE_H
#define KBOPT_STORE_JOURNALSTORE_H

#include "kb-opt/Support/Digest.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>

namespace kbopt {

/// Thread-safe. Errors are `StoreError`s that name the store.
class JournalStore {
public:
  virtual ~JournalStore();
  virtual llvm::Expected<std::optional<std::string>> find(llvm::StringRef kind,
                                                          const Digest &request) = 0;
  /// False if the request was answered already; then the old answer stays.
  virtual llvm::Expected<bool> insert(llvm::StringRef kind, const Digest &request,
                                      llvm::StringRef response) = 0;
  /// Whether another process had it open when this one opened it.
  virtual bool isShared() const { return false; }
};

/// See `Journal::open` for the errors.
llvm::Expected<std::unique_ptr<JournalStore>> openSqliteJournal(llvm::StringRef path,
                                                                unsigned busyMilliseconds);
std::unique_ptr<JournalStore> openJournalInMemory();
/// \p url: the address of a database that `kb-opt cluster init` has prepared.
llvm::Expected<std::unique_ptr<JournalStore>> openDatabaseJournal(llvm::StringRef url);

} // namespace kbopt

#endif // KBOPT_STORE_JOURNALSTORE_H
