//===- WorkQueue.h - Jobs, workers and large files in a database -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the life of a job between the search that asks and the worker that answers
// (docs/Cluster.md): it waits, runs under a lease, and is answered once. What a
// job says is that of docs/JobFormat.md, with the files named by their digest.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_WORKQUEUE_H
#define KBRT_WORKQUEUE_H

#include "kbrt/Database.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kbrt {

/// A worker takes jobs of its own release alone: images are made for one runtime, and verdicts
/// compare what one runtime does.
inline constexpr const char *queueRelease = "0.1.0, jobs 1";
/// A job that took so many workers down is answered with "crash".
inline constexpr unsigned mostJobAttempts = 3;
/// Workers tell that they are there more often than that.
inline constexpr unsigned workerSilenceSeconds = 60;

struct QueuedJob {
  std::string name, kind, request;
  std::string device;       ///< "cpu", "cuda" or "compile"
  std::string product, gpu; ///< "NVIDIA H200", and a GPU's UUID (or host/number); empty: any
  uint64_t memoryBytes = 0;
  double seconds = 0; ///< the worker ends the job after that; 0: no limit
};

struct QueueAnswer {
  std::string status, result, worker;
  std::string asker;       ///< whose question it is
  std::string observables; ///< digest of a file; empty: none
};

/// What a search sees of its job.
struct JobState {
  enum Kind { Missing, Waiting, Running, Answered } kind = Missing;
  QueueAnswer answer;
};

/// \p jobs without the names that are there already; their askers are told on the channel
/// kbopt_ASKER, with the name, when they are answered (of a long name the first 63 bytes, which is
/// what PostgreSQL takes).
bool submitJob(Database &database, const QueuedJob &job, const std::string &asker,
               DatabaseFailure &failure);
/// A GPU of a worker that is there, the one with the fewest open jobs of its own; nothing with a
/// failure, empty columns where no worker has one. \p product: of that kind alone, unless empty.
struct WorkerGpu {
  std::string uuid, product;
};
std::optional<WorkerGpu> chooseGpu(Database &database, const std::string &product,
                                   DatabaseFailure &failure);
/// How many workers that are there could take such a job; \p others: those that could not.
struct WorkerCounts {
  unsigned able = 0, others = 0, otherRelease = 0;
};
std::optional<WorkerCounts> countWorkers(Database &database, const QueuedJob &job,
                                         DatabaseFailure &failure);
std::optional<JobState> jobState(Database &database, const std::string &name,
                                 DatabaseFailure &failure);

struct WorkerFacts {
  std::string id, host;
  int64_t process = 0;
  std::vector<std::string> devices; ///< what it does: "cpu", "cuda", "compile"
  std::string gpu, product, arch, driver, compilers;
};

struct TakenJob {
  std::string id, name, kind, request, attempt;
  uint64_t memoryBytes = 0;
  double seconds = 0;
};

/// The worker's side. `run`s its statements once: the caller decides about outages.
class WorkerQueue {
public:
  WorkerQueue(Database &database, WorkerFacts facts, double leaseSeconds)
      : database(database), facts(std::move(facts)), leaseSeconds(leaseSeconds) {}

  /// Also where it was announced before. False with \p failure.
  bool announce(DatabaseFailure &failure);
  /// Tells that the worker is there. \p isStopped: the database was asked it to stop.
  bool greet(bool &isStopped, DatabaseFailure &failure);
  bool depart(DatabaseFailure &failure);
  /// The oldest job that this worker can do; nothing if there is none, or with a failure's message.
  std::optional<TakenJob> take(DatabaseFailure &failure);
  /// False where the job is no longer this worker's (then \p failure has no message).
  bool renew(const TakenJob &job, DatabaseFailure &failure);
  /// The same; the answer is kept only while the job is this worker's.
  bool finish(const TakenJob &job, const QueueAnswer &answer, DatabaseFailure &failure);
  /// The worker stops in the middle: another may start, as if this one had not.
  bool giveBack(const TakenJob &job, DatabaseFailure &failure);
  /// Jobs whose lease ran out wait again, and are answered at the last attempt. Returns how many.
  std::optional<unsigned> reclaim(DatabaseFailure &failure);
  /// Forgets what was answered or waits, and files that were not used, for \p seconds; of the
  /// others those not used for longest, for ten minutes at least, until all have the bytes of the
  /// setting "keep-bytes" (64 GiB). Returns the digests of files whose content is not in the
  /// database.
  std::vector<std::string> tidy(double seconds, DatabaseFailure &failure);

private:
  Database &database;
  WorkerFacts facts;
  double leaseSeconds;
};

/// Everything that `kb-opt cluster status` shows, as a JSON object (docs/Cluster.md).
std::optional<std::string> queueStatus(Database &database, DatabaseFailure &failure);
/// Asks the workers of \p host (all, where it is empty) to stop after their job; how many.
std::optional<unsigned> stopWorkers(Database &database, const std::string &host,
                                    DatabaseFailure &failure);

/// Large files by the SHA-256 of their content: those below a limit in the database, others in a
/// folder that all machines see.
class BlobStore {
public:
  explicit BlobStore(Database &database) : database(database) {}
  /// Whether the file is there; marks it as used.
  std::optional<bool> has(const std::string &digest, DatabaseFailure &failure);
  /// Stores \p bytes, which are those of \p digest.
  bool put(const std::string &digest, std::string_view bytes, DatabaseFailure &failure);
  /// The bytes, which are checked against \p digest.
  std::optional<std::string> get(const std::string &digest, DatabaseFailure &failure);
  /// Removes the file of a blob that the database has forgotten.
  void forget(const std::string &digest);

private:
  bool readSettings(DatabaseFailure &failure);
  std::string pathOf(const std::string &digest) const;

  Database &database;
  bool isKnown = false; ///< what follows, from the table of settings
  std::string folder;
  uint64_t mostBytes = 0; ///< of a file in the database, where there is a folder
};

/// The settings by name: "blob-folder" (an absolute path), "blob-bytes" (from which size on files
/// go there; 1 MiB) and "keep-bytes" (of all files).
bool setQueueSetting(Database &database, const std::string &name, const std::string &value,
                     DatabaseFailure &failure);

} // namespace kbrt

#endif // KBRT_WORKQUEUE_H
