//===- JobBlobs.h - The files of a database's jobs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a folder with the files that jobs name by their digest, as a spool folder
// has them (docs/JobFormat.md), fetched from a database.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_JOBBLOBS_H
#define KBRUN_JOBBLOBS_H

#include "kbrt/WorkQueue.h"
#include <nlohmann/json_fwd.hpp>

namespace kbrun {

class JobBlobs {
public:
  /// \p folder: private to the worker.
  JobBlobs(std::string folder, kbrt::Database &database)
      : folder(std::move(folder)), store(database) {}
  /// Fetches what \p job names and is not here.
  bool fetch(const nlohmann::json &job, kbrt::DatabaseFailure &failure);
  /// Stores the file at \p path; its digest, or nothing with \p failure.
  std::optional<std::string> keep(const std::string &path, kbrt::DatabaseFailure &failure);
  /// Removes the files that were not used for longest, until all have at most \p mostBytes.
  void tidy(uint64_t mostBytes);
  void forget(const std::string &digest) { store.forget(digest); }

private:
  bool fetchTo(const std::string &path, const std::string &digest, kbrt::DatabaseFailure &failure);
  bool fetchSubject(const nlohmann::json &subject, kbrt::DatabaseFailure &failure);

  std::string folder;
  kbrt::BlobStore store;
};

} // namespace kbrun

#endif // KBRUN_JOBBLOBS_H
