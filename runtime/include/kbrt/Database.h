//===- Database.h - A connection to PostgreSQL ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way of a statement to a PostgreSQL server and of its rows back: libpq,
// which is loaded when it is first needed, time limits, and which failures are
// worth another try. What is stored there is the business of others (WorkQueue.h).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_DATABASE_H
#define KBRT_DATABASE_H

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kbrt {

/// Why a statement has no rows.
struct DatabaseFailure {
  /// The server, the network or the disk failed, not the statement: the same statement may succeed
  /// later.
  bool isOutage = false;
  std::string message; ///< as the server or libpq words it, without a password
  std::string note;    ///< what to do; may be empty
};

/// What stands for $1, $2, … in a statement. The bytes must outlive the call.
struct DatabaseValue {
  /*implicit*/ DatabaseValue(std::string_view text) : bytes(text) {}
  /*implicit*/ DatabaseValue(const std::string &text) : bytes(text) {}
  /*implicit*/ DatabaseValue(const char *text) : bytes(text) {}
  /*implicit*/ DatabaseValue(std::nullopt_t) : isNull(true) {}
  /// NULL where \p text is empty.
  static DatabaseValue orNull(const std::string &text) {
    return text.empty() ? DatabaseValue(std::nullopt) : DatabaseValue(text);
  }
  /// For a column of type bytea.
  static DatabaseValue binary(std::string_view bytes) {
    DatabaseValue value(bytes);
    value.isBinary = true;
    return value;
  }

  std::string_view bytes;
  bool isNull = false, isBinary = false;
};

/// A column is nothing where it is NULL. Statements select text and bytea alone ("count(*)::text").
using DatabaseRow = std::vector<std::optional<std::string>>;
using DatabaseRows = std::vector<DatabaseRow>;

/// Not thread-safe. Connects when it is first used, and again after a failure.
class Database {
public:
  /// \p url: postgresql://… or a connection string, as libpq reads it; passwords come from
  /// PGPASSWORD, PGPASSFILE and ~/.pgpass. A statement fails when
  /// nothing comes or goes for \p statementSeconds.
  explicit Database(std::string url, double statementSeconds = 20);
  ~Database();
  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;

  /// One attempt at one statement, or at several without values.
  std::optional<DatabaseRows> run(const std::string &sql,
                                  std::initializer_list<DatabaseValue> values,
                                  DatabaseFailure &failure);
  /// Tries again after an outage, later and later up to a second, until it is over or \p mayGoOn,
  /// which gets the failure and the seconds since the first one, says no. The statement must mean
  /// the same when it is executed twice, because an outage may hide that it succeeded.
  std::optional<DatabaseRows>
  runPatiently(const std::string &sql, std::initializer_list<DatabaseValue> values,
               const std::function<bool(const DatabaseFailure &, double seconds)> &mayGoOn,
               DatabaseFailure &failure);

  /// Notifications of \p channel are collected from now on, also after another connection.
  void listen(std::string channel);
  /// Waits until there is a notification, for at most \p milliseconds, and returns (channel,
  /// payload) of all. Fewer may come than were sent where the connection was lost. \p wake: a file
  /// descriptor that ends the wait when it is readable; -1: none.
  std::vector<std::pair<std::string, std::string>> wait(int milliseconds, int wake = -1);
  /// Of the server: the next statement connects anew.
  void disconnect();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Whether \p text names a PostgreSQL database (postgresql:// or postgres://).
bool isDatabaseUrl(std::string_view text);
/// Whether libpq can be loaded and reads \p url, and \p url has no password: every user of the
/// machine could read it there, and it would stand in logs. If not, \p failure says why.
bool checkDatabaseUrl(const std::string &url, DatabaseFailure &failure);

} // namespace kbrt

#endif // KBRT_DATABASE_H
