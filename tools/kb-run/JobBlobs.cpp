//===- JobBlobs.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "JobBlobs.h"
#include "Job.h"
#include "kbrt/Plan.h"
#include "kbrt/Sha256.h"
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace fs = std::filesystem;

namespace kbrun {

bool JobBlobs::fetchTo(const std::string &path, const std::string &digest,
                       kbrt::DatabaseFailure &failure) {
  if (utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0)
    return true;
  std::optional<std::string> bytes = store.get(digest, failure);
  if (!bytes)
    return false;
  std::error_code code;
  fs::create_directories(fs::path(path).parent_path(), code);
  std::string error;
  if (writeFile(path, *bytes, error))
    return true;
  failure = {true, error, "make room in the worker's --cache folder"};
  return false;
}

/// The digest in a path such as blobs/DIGEST.
static std::string digestIn(const nlohmann::json &subject, const char *name) {
  const std::string path =
      subject.contains(name) && subject[name].is_string() ? subject[name].get<std::string>() : "";
  return path.substr(path.find('/') + 1);
}

bool JobBlobs::fetchSubject(const nlohmann::json &subject, kbrt::DatabaseFailure &failure) {
  const std::string image = digestIn(subject, "image"), plan = digestIn(subject, "plan"),
                    data = digestIn(subject, "dataSha256");
  const std::string blobs = folder + "/blobs/";
  return (image.empty() || fetchTo(blobs + image, image, failure)) &&
         (plan.empty() ||
          fetchTo(folder + "/plans/" + plan + "/" + kbrt::planFileName, plan, failure)) &&
         (data.empty() || fetchTo(blobs + data, data, failure));
}

bool JobBlobs::fetch(const nlohmann::json &job, kbrt::DatabaseFailure &failure) {
  if (!fetchSubject(job, failure))
    return false;
  const auto timing = job.find("timing");
  return timing == job.end() || !timing->contains("baseline") ||
         fetchSubject((*timing)["baseline"], failure);
}

std::optional<std::string> JobBlobs::keep(const std::string &path, kbrt::DatabaseFailure &failure) {
  std::string error;
  std::optional<std::string> bytes = readFile(path, error);
  if (!bytes) {
    failure = {false, error, ""};
    return std::nullopt;
  }
  std::string digest = kbrt::sha256(*bytes);
  std::optional<bool> isThere = store.has(digest, failure);
  if (!isThere || (!*isThere && !store.put(digest, *bytes, failure)))
    return std::nullopt;
  return digest;
}

void JobBlobs::tidy(uint64_t mostBytes) {
  struct Entry {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  uint64_t bytes = 0;
  std::error_code code;
  for (const auto &entry : fs::directory_iterator(folder + "/blobs", code)) {
    std::error_code ignored;
    entries.push_back({entry.last_write_time(ignored), entry.file_size(ignored), entry.path()});
    bytes += entries.back().bytes;
  }
  std::sort(entries.begin(), entries.end(), [](auto &a, auto &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (bytes <= mostBytes)
      return;
    fs::remove(entry.path, code);
    bytes -= entry.bytes;
  }
}

} // namespace kbrun
