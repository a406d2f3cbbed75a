//===- ClusterCommand.h - kb-opt cluster -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the subcommand `cluster`: a database of jobs and its workers, as an
// administrator sees them (docs/Cluster.md).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_CLUSTERCOMMAND_H
#define KBOPT_LIB_DRIVER_CLUSTERCOMMAND_H

#include "kbrt/Database.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

int runClusterCommand(llvm::ArrayRef<const char *> arguments);

struct ClusterOptions {
  std::string verb, url;
  // init
  std::string blobFolder, blobBytes, keepBytes;
  // submit
  unsigned workers = 1, gpus = 1;
  std::string partition, account, time, kbRun, script;
  std::vector<std::string> sbatchWords; ///< more of its options
  bool sandbox = true;
  // status, stop
  bool json = false, watch = false;
  std::string host;
};

/// The script that sbatch gets; \p kbRun is its path on the nodes.
std::string slurmScript(const ClusterOptions &options, llvm::StringRef kbRun);
/// Writes the script, hands it to sbatch and keeps the number of the job in the database.
llvm::Error submitWorkers(const ClusterOptions &options, kbrt::Database &database);
/// Asks workers to stop after their job, and cancels what `submit` has started there.
llvm::Error stopCluster(const ClusterOptions &options, kbrt::Database &database);
/// Prints workers, queue and failures once, or again and again.
llvm::Error showCluster(const ClusterOptions &options, kbrt::Database &database);

/// An error about the database.
llvm::Error databaseError(const ClusterOptions &options, const kbrt::DatabaseFailure &failure);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_CLUSTERCOMMAND_H
