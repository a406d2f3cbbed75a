//===- DatabaseJournal.cpp - A journal in a PostgreSQL database -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Store/JournalStore.h"
#include "kb-opt/Support/Error.h"
#include "kbrt/DatabaseSchema.h"
#include <mutex>

using namespace kbopt;

namespace {

/// Seconds that a database which cannot be reached is waited for.
constexpr double mostOutageSeconds = 600;

class DatabaseJournal : public JournalStore {
public:
  explicit DatabaseJournal(llvm::StringRef url) : url(url.str()), database(this->url) {}

  llvm::Error open() {
    kbrt::DatabaseFailure failure;
    if (kbrt::checkDatabaseUrl(url, failure) && checkDatabaseSchema(database, failure))
      return llvm::Error::success();
    return errorOf(failure);
  }

  llvm::Expected<std::optional<std::string>> find(llvm::StringRef kind,
                                                  const Digest &request) override {
    std::lock_guard<std::mutex> lock(mutex);
    kbrt::DatabaseFailure failure;
    auto rows =
        database.runPatiently("SELECT response, digest FROM kbopt.answers WHERE kind = $1 AND"
                              " request = $2",
                              {kind.str(), request}, mayGoOn, failure);
    if (!rows)
      return errorOf(failure);
    // A damaged answer is no answer: it is computed again.
    if (rows->empty() || digestOf(rows->front()[0].value_or("")) != rows->front()[1].value_or(""))
      return std::nullopt;
    return rows->front()[0].value_or("");
  }

  llvm::Expected<bool> insert(llvm::StringRef kind, const Digest &request,
                              llvm::StringRef response) override {
    std::lock_guard<std::mutex> lock(mutex);
    kbrt::DatabaseFailure failure;
    auto rows = database.runPatiently(
        "INSERT INTO kbopt.answers (kind, request, response, digest) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT DO NOTHING RETURNING kind",
        {kind.str(), request,
         kbrt::DatabaseValue::binary(std::string_view(response.data(), response.size())),
         digestOf(response)},
        mayGoOn, failure);
    if (!rows)
      return errorOf(failure);
    return !rows->empty();
  }

private:
  static bool mayGoOn(const kbrt::DatabaseFailure &, double seconds) {
    return seconds < mostOutageSeconds;
  }
  llvm::Error errorOf(const kbrt::DatabaseFailure &failure) const {
    return llvm::make_error<StoreError>("journal in database '" + url + "': " + failure.message,
                                        failure.note);
  }

  const std::string url;
  std::mutex mutex;
  kbrt::Database database;
};

} // namespace

llvm::Expected<std::unique_ptr<JournalStore>> kbopt::openDatabaseJournal(llvm::StringRef url) {
  auto journal = std::make_unique<DatabaseJournal>(url);
  if (llvm::Error error = journal->open())
    return std::move(error);
  return std::move(journal);
}
