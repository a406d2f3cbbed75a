//===- Worker.h - kb-run as a worker of a database ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the loop that takes jobs from a database and answers them
// (docs/Cluster.md). The jobs themselves run in a PipedServer.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_WORKER_H
#define KBRUN_WORKER_H

#include <cstdint>
#include <string>

namespace kbrun {

struct WorkerOptions {
  std::string url;
  bool once = false; ///< until no job waits
  bool sandboxed = true;
  /// A worker that is silent for so long has lost its job. It tells of itself three times as often.
  double leaseSeconds = 30;
  unsigned jobs = 1; ///< at once, each by a process of its own, which sees one GPU
  uint64_t mostBlobBytes = uint64_t(8) << 30; ///< of files kept for the next jobs
  /// For measuring the database: jobs are not run but answered after so long; below 0: they run.
  double pretendSeconds = -1;
  std::string cacheFolder; ///< of those; empty: a temporary one
};

/// Returns an exit status; until a signal, a request to stop, or an error that does not go away.
int serveDatabase(const WorkerOptions &options);

} // namespace kbrun

#endif // KBRUN_WORKER_H
