//===- SqliteJournal.cpp - A journal in a SQLite file ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Store/JournalStore.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <mutex>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

using namespace kbopt;

namespace {

constexpr int applicationId = 0x6b626f70; // "kbop"
constexpr int schemaVersion = 1;
constexpr uint64_t largestCheckedBytes = 64u << 20;
const char *const otherFolder =
    "name a file in a folder you can write to, or change the permissions";

const char *const schema =
    "CREATE TABLE answers(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, request TEXT NOT NULL,"
    " response BLOB NOT NULL, digest TEXT NOT NULL, UNIQUE(kind, request)) STRICT;";

/// The primary result code: SQLite adds details in the upper bits.
int primary(int code) { return code & 0xff; }
bool isCorrupt(int code) {
  return primary(code) == SQLITE_CORRUPT || primary(code) == SQLITE_NOTADB;
}

llvm::Error storeError(const llvm::Twine &what, const llvm::Twine &note = "") {
  return llvm::make_error<StoreError>(what.str(), note.str());
}

/// An owner of one statement.
class Statement {
public:
  Statement(sqlite3 *db, const char *sql) {
    code = sqlite3_prepare_v2(db, sql, -1, &handle, nullptr);
  }
  ~Statement() { sqlite3_finalize(handle); }
  Statement(const Statement &) = delete;
  void text(int index, llvm::StringRef value) {
    sqlite3_bind_text(handle, index, value.data(), value.size(), SQLITE_STATIC);
  }
  void blob(int index, llvm::StringRef value) {
    // A null pointer would bind NULL, not an empty blob.
    sqlite3_bind_blob64(handle, index, value.empty() ? "" : value.data(), value.size(),
                        SQLITE_STATIC);
  }
  int step() { return code == SQLITE_OK ? sqlite3_step(handle) : code; }
  int64_t integer(int column) { return sqlite3_column_int64(handle, column); }
  std::string bytes(int column) {
    const void *data = sqlite3_column_blob(handle, column);
    return data ? std::string(static_cast<const char *>(data), sqlite3_column_bytes(handle, column))
                : "";
  }

private:
  sqlite3_stmt *handle = nullptr;
  int code = SQLITE_OK;
};

class SqliteJournal : public JournalStore {
public:
  explicit SqliteJournal(llvm::StringRef path) : path(path.str()) {}
  ~SqliteJournal() override {
    sqlite3_close(db);
    if (lock >= 0)
      ::close(lock);
  }
  llvm::Error openFile(unsigned busyMilliseconds);
  void openInMemory();
  llvm::Expected<std::optional<std::string>> find(llvm::StringRef kind,
                                                  const Digest &request) override;
  llvm::Expected<bool> insert(llvm::StringRef kind, const Digest &request,
                              llvm::StringRef response) override;
  bool isShared() const override { return shared; }

private:
  llvm::Error failure(int code, llvm::StringRef doing);
  llvm::Error lockFile();
  llvm::Error prepareSchema();
  llvm::Error checkSchema();
  llvm::Error moveAside(llvm::StringRef reason);
  llvm::Error execute(const char *sql, llvm::StringRef doing) {
    int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? llvm::Error::success() : failure(code, doing);
  }
  llvm::Error number(const char *sql, int64_t &value) {
    Statement statement(db, sql);
    int code = statement.step();
    if (code != SQLITE_ROW)
      return failure(code, "read");
    value = statement.integer(0);
    return llvm::Error::success();
  }

  const std::string path;
  std::mutex database; ///< held around every use of `db`
  sqlite3 *db = nullptr;
  int lock = -1;
  bool shared = false;
};

} // namespace

llvm::Error SqliteJournal::failure(int code, llvm::StringRef doing) {
  std::string reason = db ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  if (isCorrupt(code))
    return moveAside(reason);
  std::string what = "cannot " + doing.str() + " journal '" + path + "': ";
  switch (primary(code)) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return storeError("journal '" + path + "' is held by another run",
                      "wait until that run has ended, then run the same command again");
  case SQLITE_FULL:
    return storeError(what + "the disk is full",
                      "free some space, then run the same command again: it goes on from here");
  case SQLITE_READONLY:
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
    return storeError(what + reason, otherFolder);
  default:
    return storeError(what + reason,
                      "what was stored before is intact; run the same command again");
  }
}

/// Renames the file and what SQLite keeps beside it. Only with no other process in
/// it, whose answers would go to the renamed file.
llvm::Error SqliteJournal::moveAside(llvm::StringRef reason) {
  std::string what = "journal '" + path + "' is corrupt: " + reason.str();
  if (shared)
    return storeError(what,
                      "another run has it open: end that run, then run the same command again");
  std::string target;
  for (unsigned number = 1; target.empty() || llvm::sys::fs::exists(target); ++number)
    target = path + ".corrupt-" + std::to_string(number);
  // Before the database is closed, which would write into it.
  if (std::error_code error = llvm::sys::fs::rename(path, target))
    return storeError(what, "it could not be renamed: " + error.message());
  for (const char *suffix : {"-wal", "-shm"})
    if (llvm::sys::fs::exists(path + suffix))
      llvm::sys::fs::rename(path + suffix, target + suffix);
  return storeError(what, "it is kept as '" + target +
                              "'; run the same command again to start a new one");
}

llvm::Error SqliteJournal::lockFile() {
  std::string name = path + ".lock";
  lock = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0)
    return storeError("cannot write journal '" + path +
                          "': " + std::error_code(errno, std::generic_category()).message(),
                      otherFolder);
  // The first process checks the file alone; that takes a moment at most.
  shared = ::flock(lock, LOCK_EX | LOCK_NB) != 0;
  if (shared && ::flock(lock, LOCK_SH) != 0)
    return storeError("cannot lock journal '" + path + "'");
  return llvm::Error::success();
}

llvm::Error SqliteJournal::openFile(unsigned busyMilliseconds) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(folder))
      return storeError("cannot create folder '" + folder + "' of the journal: " + error.message(),
                        otherFolder);
  if (llvm::Error error = lockFile())
    return error;
  int code =
      sqlite3_open_v2(path.c_str(), &db,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  if (code != SQLITE_OK)
    return failure(code, "open");
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, static_cast<int>(busyMilliseconds));
  if (llvm::Error error = prepareSchema())
    return error;
  if (llvm::Error error = checkSchema())
    return error;
  if (!shared && ::flock(lock, LOCK_SH) != 0)
    return storeError("cannot lock journal '" + path + "'");
  return llvm::Error::success();
}

llvm::Error SqliteJournal::prepareSchema() {
  // FULL: what `put` has returned for survives a power cut, too.
  if (llvm::Error error = execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;", "open"))
    return error;
  if (llvm::Error error = execute("BEGIN IMMEDIATE", "open"))
    return error;
  int64_t tables = 0;
  if (llvm::Error error = number("SELECT count(*) FROM sqlite_schema", tables))
    return error;
  if (tables == 0) {
    std::string create = std::string(schema) +
                         "PRAGMA application_id=" + std::to_string(applicationId) +
                         "; PRAGMA user_version=" + std::to_string(schemaVersion) + ";";
    if (llvm::Error error = execute(create.c_str(), "create"))
      return error;
  }
  return execute("COMMIT", "create");
}

llvm::Error SqliteJournal::checkSchema() {
  int64_t id = 0, version = 0;
  if (llvm::Error error = number("PRAGMA application_id", id))
    return error;
  if (llvm::Error error = number("PRAGMA user_version", version))
    return error;
  if (id != applicationId)
    return storeError("'" + path + "' is no journal of kb-opt but another SQLite database",
                      "name another file");
  if (version > schemaVersion)
    return storeError("journal '" + path + "' was written by a newer kb-opt (version " +
                          llvm::Twine(version) + ", this one reads " + llvm::Twine(schemaVersion) +
                          ")",
                      "name another file, or use the newer kb-opt");
  uint64_t bytes = 0;
  if (shared || llvm::sys::fs::file_size(path, bytes) || bytes > largestCheckedBytes)
    return llvm::Error::success();
  std::string result;
  {
    Statement check(db, "PRAGMA quick_check(1)");
    int code = check.step();
    if (code != SQLITE_ROW)
      return failure(code, "check");
    result = check.bytes(0);
  }
  return result == "ok" ? llvm::Error::success() : moveAside(result);
}

llvm::Expected<std::optional<std::string>> SqliteJournal::find(llvm::StringRef kind,
                                                               const Digest &request) {
  std::lock_guard<std::mutex> guard(database);
  std::string response, digest;
  {
    Statement statement(db, "SELECT response, digest FROM answers WHERE kind=?1 AND request=?2");
    statement.text(1, kind);
    statement.text(2, request);
    int code = statement.step();
    if (code == SQLITE_DONE)
      return std::nullopt;
    if (code != SQLITE_ROW)
      return failure(code, "read");
    response = statement.bytes(0);
    digest = statement.bytes(1);
  }
  if (digest == digestOf(response))
    return response;
  // A damaged answer is no answer: it is computed again.
  Statement statement(db, "DELETE FROM answers WHERE kind=?1 AND request=?2 AND digest=?3");
  statement.text(1, kind);
  statement.text(2, request);
  statement.text(3, digest);
  int code = statement.step();
  if (code != SQLITE_DONE)
    return failure(code, "write");
  return std::nullopt;
}

llvm::Expected<bool> SqliteJournal::insert(llvm::StringRef kind, const Digest &request,
                                           llvm::StringRef response) {
  std::lock_guard<std::mutex> guard(database);
  Digest digest = digestOf(response);
  Statement statement(
      db, "INSERT OR IGNORE INTO answers(kind, request, response, digest) VALUES(?1, ?2, ?3, ?4)");
  statement.text(1, kind);
  statement.text(2, request);
  statement.blob(3, response);
  statement.text(4, digest);
  int code = statement.step();
  if (code != SQLITE_DONE)
    return failure(code, "write");
  return sqlite3_changes(db) > 0;
}

void SqliteJournal::openInMemory() {
  int code = sqlite3_open(":memory:", &db);
  if (code == SQLITE_OK)
    code = sqlite3_exec(db, schema, nullptr, nullptr, nullptr);
  assert(code == SQLITE_OK && "a database in memory needs nothing but memory");
  (void)code;
}

llvm::Expected<std::unique_ptr<JournalStore>> kbopt::openSqliteJournal(llvm::StringRef path,
                                                                       unsigned busyMilliseconds) {
  auto journal = std::make_unique<SqliteJournal>(path);
  if (llvm::Error error = journal->openFile(busyMilliseconds))
    return std::move(error);
  return std::move(journal);
}

std::unique_ptr<JournalStore> kbopt::openJournalInMemory() {
  auto journal = std::make_unique<SqliteJournal>(":memory:");
  journal->openInMemory();
  return journal;
}
