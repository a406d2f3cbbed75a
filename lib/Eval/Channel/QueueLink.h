//===- QueueLink.h - A search's side of a database of jobs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the connections of one search to a database: one for statements, one for
// files, and one that hears of answers. It outlasts outages of the server, for a
// time.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CHANNEL_QUEUELINK_H
#define KBOPT_LIB_EVAL_CHANNEL_QUEUELINK_H

#include "kb-opt/Eval/QueueChannel.h"
#include "kbrt/WorkQueue.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace kbopt {

/// Thread-safe.
class QueueLink {
public:
  explicit QueueLink(QueueChannelOptions options);
  ~QueueLink();
  QueueLink(const QueueLink &) = delete;

  /// What \p statement gives, which is repeated through outages. It must mean the same when it is
  /// executed twice.
  template <typename T>
  llvm::Expected<T>
  ask(llvm::function_ref<std::optional<T>(kbrt::Database &, kbrt::DatabaseFailure &)> statement) {
    return patiently<T>(statements, [&](Connection &connection, kbrt::DatabaseFailure &failure) {
      return statement(connection.database, failure);
    });
  }
  /// Sees to it that the file \p digest with \p bytes is in the database.
  llvm::Error send(const std::string &digest, llvm::StringRef bytes);
  /// The bytes of a file; the latest ones are kept, because runs of equal programs have equal
  /// results.
  llvm::Expected<std::string> receive(const std::string &digest);
  /// Until the job \p name may have been answered, at most \p milliseconds.
  void await(const std::string &name, unsigned milliseconds);
  void tell(const std::string &text) {
    if (options.notice)
      options.notice(text);
  }
  const std::string &asker() const { return name; }
  llvm::Error errorOf(const kbrt::DatabaseFailure &failure) const;

private:
  struct Connection {
    explicit Connection(const std::string &url) : database(url), blobs(database) {}
    std::mutex mutex;
    kbrt::Database database;
    kbrt::BlobStore blobs;
  };
  template <typename T>
  llvm::Expected<T>
  patiently(Connection &connection,
            llvm::function_ref<std::optional<T>(Connection &, kbrt::DatabaseFailure &)> statement) {
    kbrt::DatabaseFailure failure;
    for (Outage outage;;) {
      std::optional<T> result;
      {
        std::lock_guard<std::mutex> lock(connection.mutex);
        result = statement(connection, failure);
      }
      if (result)
        return std::move(*result);
      if (llvm::Error error = survive(failure, outage))
        return std::move(error);
    }
  }
  struct Outage {
    double since = 0;
    unsigned pauseMs = 20;
    bool isTold = false;
  };
  /// Waits until another attempt makes sense; an error if it does not any more.
  llvm::Error survive(const kbrt::DatabaseFailure &failure, Outage &outage);
  void hear();

  const QueueChannelOptions options;
  const std::string name;
  Connection statements, files;
  std::mutex mutex; ///< of `answered`
  std::condition_variable changed;
  std::set<std::string> answered;
  std::mutex keptMutex;                                 ///< of the two below
  std::deque<std::pair<std::string, std::string>> kept; ///< digest and bytes, the latest first
  size_t keptBytes = 0;
  std::atomic<bool> ends = false;
  int wake[2] = {-1, -1}; ///< a pipe
  std::thread ear;        ///< last: it uses all the others
};

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_CHANNEL_QUEUELINK_H
