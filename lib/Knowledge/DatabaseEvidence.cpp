//===- DatabaseEvidence.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DatabaseEvidence.h"
#include "kb-opt/Support/Error.h"
#include "kbrt/DatabaseSchema.h"

using namespace kbopt;

/// Seconds that a database which cannot be reached is waited for: what was learnt would be lost.
static constexpr double mostOutageSeconds = 120;

static llvm::Error errorOf(llvm::StringRef url, const kbrt::DatabaseFailure &failure) {
  return llvm::make_error<StoreError>(
      "evidence in database '" + url.str() + "': " + failure.message, failure.note);
}

static bool mayGoOn(const kbrt::DatabaseFailure &, double seconds) {
  return seconds < mostOutageSeconds;
}

llvm::Expected<EvidenceSet> kbopt::readDatabaseEvidence(llvm::StringRef url,
                                                        std::vector<BadLine> &bad) {
  kbrt::DatabaseFailure failure;
  kbrt::Database database(url.str());
  if (!kbrt::checkDatabaseUrl(url.str(), failure) || !checkDatabaseSchema(database, failure))
    return errorOf(url, failure);
  auto rows =
      database.runPatiently("SELECT line FROM kbopt.evidence ORDER BY id", {}, mayGoOn, failure);
  if (!rows)
    return errorOf(url, failure);
  EvidenceSet set;
  for (auto [number, row] : llvm::enumerate(*rows)) {
    llvm::Expected<Record> record = parseRecord(row.front().value_or(""));
    if (record)
      set.insert(std::move(*record));
    else
      bad.push_back({url.str(), unsigned(number + 1), llvm::toString(record.takeError())});
  }
  return set;
}

template <typename T>
static llvm::Error append(llvm::StringRef url, kbrt::Database &database,
                          llvm::ArrayRef<T> records) {
  for (const T &record : records) {
    kbrt::DatabaseFailure failure;
    if (!database.runPatiently("INSERT INTO kbopt.evidence AS e (id, made, line) VALUES ($1,"
                               " $2, $3) ON CONFLICT (id) DO UPDATE SET made = excluded.made, line"
                               " = excluded.line WHERE excluded.made COLLATE \"C\" < e.made",
                               {record.id(), record.time, record.toLine()}, mayGoOn, failure))
      return errorOf(url, failure);
  }
  return llvm::Error::success();
}

llvm::Error kbopt::appendDatabaseEvidence(llvm::StringRef url, llvm::ArrayRef<Evidence> records,
                                          llvm::ArrayRef<Finding> findings) {
  for (const Finding &finding : findings)
    if (llvm::Error error = finding.check())
      return error;
  kbrt::DatabaseFailure failure;
  kbrt::Database database(url.str());
  if (!kbrt::checkDatabaseUrl(url.str(), failure) || !checkDatabaseSchema(database, failure))
    return errorOf(url, failure);
  if (llvm::Error error = append(url, database, records))
    return error;
  return append(url, database, findings);
}
