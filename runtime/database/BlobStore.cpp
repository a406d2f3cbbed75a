//===- BlobStore.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Sha256.h"
#include "kbrt/WorkQueue.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kbrt {

static constexpr uint64_t defaultMostBytes = uint64_t(1) << 20;
/// PostgreSQL takes no value beyond 1 GiB, and copies it several times.
static constexpr uint64_t mostWithoutFolder = uint64_t(256) << 20;

bool BlobStore::readSettings(DatabaseFailure &failure) {
  if (isKnown)
    return true;
  auto rows = database.run("SELECT name, value FROM kbopt.settings", {}, failure);
  if (!rows)
    return false;
  mostBytes = defaultMostBytes;
  for (const DatabaseRow &row : *rows) {
    if (row[0] == "blob-folder")
      folder = row[1].value_or("");
    if (row[0] == "blob-bytes")
      mostBytes = std::strtoull(row[1].value_or("0").c_str(), nullptr, 10);
  }
  isKnown = true;
  return true;
}

std::string BlobStore::pathOf(const std::string &digest) const {
  return folder + "/" + digest.substr(0, 2) + "/" + digest;
}

std::optional<bool> BlobStore::has(const std::string &digest, DatabaseFailure &failure) {
  if (!readSettings(failure))
    return std::nullopt;
  auto rows = database.run("UPDATE kbopt.blobs SET used = now() WHERE digest = $1"
                           " RETURNING (content IS NULL)::text",
                           {digest}, failure);
  if (!rows)
    return std::nullopt;
  std::error_code code;
  return !rows->empty() && (rows->front()[0] != "true" || fs::exists(pathOf(digest), code));
}

/// Whole or not at all: readers on other machines see the name when the bytes are there.
static bool writeWhole(const std::string &path, std::string_view bytes, std::string &why) {
  std::error_code code;
  fs::create_directories(fs::path(path).parent_path(), code);
  const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream file(temporary, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  if (file)
    fs::rename(temporary, path, code);
  if (file && !code)
    return true;
  why = code ? code.message() : strerror(errno);
  fs::remove(temporary, code);
  return false;
}

bool BlobStore::put(const std::string &digest, std::string_view bytes, DatabaseFailure &failure) {
  if (!readSettings(failure))
    return false;
  const bool isOutside = !folder.empty() && bytes.size() >= mostBytes;
  std::string why;
  if (isOutside && !writeWhole(pathOf(digest), bytes, why)) {
    failure = {true, "cannot write to the folder '" + folder + "': " + why,
               "make room there, and see that every machine can write to it"};
    return false;
  }
  if (!isOutside && bytes.size() > mostWithoutFolder) {
    failure = {false,
               "a file of " + std::to_string(bytes.size() >> 20) +
                   " MiB is too large for the database",
               "name a folder that all machines see: kb-opt cluster init --blobs=FOLDER"};
    return false;
  }
  return database
      .run("INSERT INTO kbopt.blobs (digest, bytes, content) VALUES ($1, $2::bigint, $3)"
           " ON CONFLICT (digest) DO NOTHING",
           {digest, std::to_string(bytes.size()),
            isOutside ? DatabaseValue(std::nullopt) : DatabaseValue::binary(bytes)},
           failure)
      .has_value();
}

std::optional<std::string> BlobStore::get(const std::string &digest, DatabaseFailure &failure) {
  if (!readSettings(failure))
    return std::nullopt;
  auto rows = database.run("SELECT content FROM kbopt.blobs WHERE digest = $1", {digest}, failure);
  if (!rows)
    return std::nullopt;
  std::optional<std::string> bytes;
  if (!rows->empty())
    bytes = std::move(rows->front()[0]);
  if (!rows->empty() && !bytes) {
    std::ifstream file(pathOf(digest), std::ios::binary);
    if (file)
      bytes.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (bytes && sha256(*bytes) == digest)
    return bytes;
  failure = {false,
             (bytes ? "the bytes of file " : "there is no file ") + digest +
                 (bytes ? " are not those of its name" : ""),
             folder.empty() ? "" : "see that '" + folder + "' is the same on every machine"};
  return std::nullopt;
}

void BlobStore::forget(const std::string &digest) {
  DatabaseFailure ignored;
  std::error_code code;
  if (readSettings(ignored) && !folder.empty())
    fs::remove(pathOf(digest), code);
}

} // namespace kbrt
