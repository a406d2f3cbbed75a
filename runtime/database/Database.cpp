//===- Database.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Database.h"
#include "Libpq.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <thread>

namespace kbrt {

using Clock = std::chrono::steady_clock;

/// For the connection itself, in seconds.
static constexpr const char *connectSeconds = "10";
static const char *const libraryNote = "install the package 'libpq5'";

struct Database::Impl {
  std::string url;
  double statementSeconds;
  const pq::Library *library = nullptr;
  pq::Connection *connection = nullptr;
  std::vector<std::string> channels;

  bool connect(DatabaseFailure &failure);
  bool send(const std::string &sql, std::initializer_list<DatabaseValue> values);
  bool await(bool &isLate);
  std::optional<DatabaseRows> receive(DatabaseFailure &failure);
  std::optional<DatabaseRows> runOnce(const std::string &sql,
                                      std::initializer_list<DatabaseValue> values,
                                      DatabaseFailure &failure);
  DatabaseFailure lost(const std::string &what) const;
  void disconnect() {
    if (connection)
      library->finish(connection);
    connection = nullptr;
  }
};

static std::string firstLine(const char *text) {
  std::string line = text ? text : "";
  return line.substr(0, line.find('\n'));
}

/// libpq connects again and again; what a role may not do stays forbidden, and so does a server
/// whose certificate is not trusted.
static bool isLasting(const std::string &message) {
  auto says = [&](const char *part) { return message.find(part) != std::string::npos; };
  for (const char *part : {"certificate", "does not match host name", "SSL was required",
                           "authentication failed", "no password supplied", "permission denied",
                           "invalid connection option", "invalid sslmode value", "pg_hba.conf"})
    if (says(part))
      return true;
  return says("does not exist") && !says("No such file"); // of a socket whose server starts
}

/// Classes of SQLSTATE that are the machine's fault: connections, resources (a full disk among
/// them), an operator's shutdown, a transaction that others rolled back, the system.
static bool isOutage(const std::string &state) {
  for (const char *kind : {"08", "53", "57", "40", "58"})
    if (state.compare(0, 2, kind) == 0)
      return state != "57014"; // cancelled: a limit of the server's own
  return false;
}

DatabaseFailure Database::Impl::lost(const std::string &what) const {
  std::string reason = connection ? firstLine(library->errorMessage(connection)) : "";
  return {true, what + (reason.empty() ? "" : ": " + reason), ""};
}

bool Database::Impl::connect(DatabaseFailure &failure) {
  if (connection && library->status(connection) == pq::connectionOk)
    return true;
  disconnect();
  std::string error;
  library = pq::Library::get(error);
  if (!library) {
    failure = {false, error, libraryNote};
    return false;
  }
  const char *const keywords[] = {"connect_timeout", "dbname", "fallback_application_name",
                                  nullptr};
  const char *const values[] = {connectSeconds, url.c_str(), "kb-opt", nullptr};
  connection = library->connect(keywords, values, /*expand=*/1);
  if (!connection || library->status(connection) != pq::connectionOk) {
    failure = lost("cannot connect to the database");
    failure.isOutage = !isLasting(failure.message);
    disconnect();
    return false;
  }
  library->setNonBlocking(connection, 1);
  for (const std::string &channel : channels)
    if (!runOnce("LISTEN \"" + channel + "\"", {}, failure)) {
      disconnect();
      return false;
    }
  return true;
}

bool Database::Impl::send(const std::string &sql, std::initializer_list<DatabaseValue> values) {
  if (values.size() == 0)
    return library->sendQuery(connection, sql.c_str());
  std::vector<std::string> held;
  std::vector<const char *> bytes;
  std::vector<int> lengths, formats;
  held.reserve(values.size());
  for (const DatabaseValue &value : values) {
    held.emplace_back(value.isBinary ? "" : value.bytes); // libpq wants text to end with a zero
    bytes.push_back(value.isNull     ? nullptr
                    : value.isBinary ? (value.bytes.empty() ? "" : value.bytes.data())
                                     : held.back().c_str());
    lengths.push_back(int(value.bytes.size()));
    formats.push_back(value.isBinary);
  }
  // The binary format of text is the text, and that of bytea needs no escapes.
  return library->sendQueryParams(connection, sql.c_str(), int(bytes.size()), nullptr, bytes.data(),
                                  lengths.data(), formats.data(), /*resultFormat=*/1);
}

/// Until there is a result. The server is late if nothing moves for `statementSeconds`: large files
/// may take longer in all.
bool Database::Impl::await(bool &isLate) {
  const auto patience = std::chrono::milliseconds(static_cast<long long>(1e3 * statementSeconds));
  Clock::time_point end = Clock::now() + patience;
  for (;;) {
    int rest = library->flush(connection);
    if (rest < 0 || !library->consumeInput(connection))
      return false;
    if (rest == 0 && !library->isBusy(connection))
      return true;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    isLate = left <= 0;
    if (isLate)
      return false;
    pollfd file = {library->socket(connection), short(POLLIN | (rest ? POLLOUT : 0)), 0};
    if (poll(&file, 1, int(std::min<long long>(left, 1000))) > 0)
      end = Clock::now() + patience;
  }
}

static DatabaseRows rowsOf(const pq::Library &library, const pq::Result *result) {
  DatabaseRows rows(library.rows(result));
  const int columns = library.columns(result);
  for (int row = 0; row != int(rows.size()); ++row)
    for (int column = 0; column != columns; ++column)
      rows[row].push_back(library.isNull(result, row, column)
                              ? std::nullopt
                              : std::optional<std::string>(std::in_place,
                                                           library.value(result, row, column),
                                                           library.length(result, row, column)));
  return rows;
}

/// The rows of the last statement.
std::optional<DatabaseRows> Database::Impl::receive(DatabaseFailure &failure) {
  std::optional<DatabaseRows> rows;
  bool isGood = true, isLate = false;
  for (;;) {
    if (!await(isLate)) {
      failure =
          lost(isLate ? "the database does not answer" : "the connection to the database is lost");
      disconnect();
      return std::nullopt;
    }
    pq::Result *result = library->getResult(connection);
    if (!result)
      break;
    const int status = library->resultStatus(result);
    if (isGood && (status == pq::commandOk || status == pq::tuplesOk)) {
      rows = rowsOf(*library, result);
    } else if (isGood) {
      const char *state = library->resultErrorField(result, pq::stateField);
      // Without a state the library itself speaks: of a connection that was lost.
      failure = {!state || isOutage(state), firstLine(library->resultErrorMessage(result)), ""};
      isGood = false;
    }
    library->clear(result);
  }
  return isGood ? rows : std::nullopt;
}

std::optional<DatabaseRows> Database::Impl::runOnce(const std::string &sql,
                                                    std::initializer_list<DatabaseValue> values,
                                                    DatabaseFailure &failure) {
  if (!send(sql, values)) {
    failure = lost("the connection to the database is lost");
    disconnect();
    return std::nullopt;
  }
  return receive(failure);
}

Database::Database(std::string url, double statementSeconds) : impl(std::make_unique<Impl>()) {
  impl->url = std::move(url);
  impl->statementSeconds = statementSeconds;
}

Database::~Database() { impl->disconnect(); }

void Database::disconnect() { impl->disconnect(); }

std::optional<DatabaseRows> Database::run(const std::string &sql,
                                          std::initializer_list<DatabaseValue> values,
                                          DatabaseFailure &failure) {
  return impl->connect(failure) ? impl->runOnce(sql, values, failure) : std::nullopt;
}

std::optional<DatabaseRows>
Database::runPatiently(const std::string &sql, std::initializer_list<DatabaseValue> values,
                       const std::function<bool(const DatabaseFailure &, double)> &mayGoOn,
                       DatabaseFailure &failure) {
  const Clock::time_point start = Clock::now();
  std::chrono::milliseconds pause(20);
  for (;;) {
    std::optional<DatabaseRows> rows = run(sql, values, failure);
    if (rows || !failure.isOutage ||
        !mayGoOn(failure, std::chrono::duration<double>(Clock::now() - start).count()))
      return rows;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(1000));
  }
}

void Database::listen(std::string channel) {
  impl->channels.push_back(std::move(channel));
  impl->disconnect(); // the next connection listens
}

std::vector<std::pair<std::string, std::string>> Database::wait(int milliseconds, int wake) {
  std::vector<std::pair<std::string, std::string>> received;
  DatabaseFailure failure;
  const bool isConnected = impl->connect(failure);
  auto collect = [&] {
    while (pq::Notification *each = impl->library->notifies(impl->connection)) {
      received.emplace_back(each->channel, each->payload);
      impl->library->freeMemory(each);
    }
  };
  if (isConnected)
    collect();
  if (!received.empty())
    return received;
  pollfd files[] = {{isConnected ? impl->library->socket(impl->connection) : -1, POLLIN, 0},
                    {wake, POLLIN, 0}};
  poll(files, 2, milliseconds);
  if (!isConnected || !files[0].revents)
    return received;
  if (!impl->library->consumeInput(impl->connection))
    impl->disconnect();
  else
    collect();
  return received;
}

bool isDatabaseUrl(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

bool checkDatabaseUrl(const std::string &url, DatabaseFailure &failure) {
  std::string error;
  const pq::Library *library = pq::Library::get(error);
  if (!library) {
    failure = {false, error, libraryNote};
    return false;
  }
  char *why = nullptr;
  pq::Option *options = library->parse(url.c_str(), &why);
  if (!options) {
    failure = {false, "cannot read the address of the database: " + firstLine(why),
               "write it as postgresql://user@host:port/name"};
    library->freeMemory(why);
    return false;
  }
  bool isGood = true;
  for (pq::Option *option = options; option->keyword; ++option)
    if (std::strcmp(option->keyword, "password") == 0 && option->value && *option->value)
      isGood = false;
  library->freeOptions(options);
  if (!isGood)
    failure = {false, "the address of the database contains a password",
               "put it into ~/.pgpass or PGPASSFILE, which others cannot read"};
  return isGood;
}

} // namespace kbrt
