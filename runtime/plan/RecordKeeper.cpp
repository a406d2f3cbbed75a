//===- RecordKeeper.cpp - A recording in a folder ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/RecordKeeper.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

using namespace kbrt;

RecordKeeper::~RecordKeeper() = default;

/// The pieces of the recording \p folder, whose observables take \p storedBytes.
static std::optional<std::deque<StoredPiece>> piecesOf(const std::string &folder,
                                                       uint64_t storedBytes, std::string &error) {
  std::ifstream file(folder + "/" + piecesFileName);
  if (!file)
    return std::deque<StoredPiece>{{0, storedBytes}};
  std::deque<StoredPiece> pieces;
  for (StoredPiece piece; file >> piece.place >> piece.bytes;) {
    if (piece.place > storedBytes || piece.bytes > storedBytes - piece.place)
      file.setstate(std::ios::badbit);
    pieces.push_back(piece);
  }
  if (file.eof() && !file.bad())
    return pieces;
  error = folder + "/" + piecesFileName + ": is no list of places in " + observablesFileName;
  return std::nullopt;
}

std::optional<std::string> kbrt::readObservables(const std::string &folder, std::string &error) {
  std::ifstream file(folder + "/" + observablesFileName, std::ios::binary | std::ios::ate);
  const auto bytes = file ? static_cast<int64_t>(file.tellg()) : -1;
  std::optional<std::deque<StoredPiece>> pieces;
  if (bytes >= 0)
    pieces = piecesOf(folder, static_cast<uint64_t>(bytes), error);
  else
    error = folder + "/" + observablesFileName + ": cannot be read";
  if (!pieces)
    return std::nullopt;
  std::string all;
  for (const StoredPiece &piece : *pieces) {
    const size_t at = all.size();
    all.resize(at + piece.bytes);
    file.seekg(static_cast<std::streamoff>(piece.place));
    if (!file.read(all.data() + at, static_cast<std::streamsize>(piece.bytes))) {
      error = folder + "/" + observablesFileName + ": ends too early";
      return std::nullopt;
    }
  }
  return all;
}

std::unique_ptr<FolderKeeper> FolderKeeper::create(const std::string &folder, bool hasObservables,
                                                   const std::string &oracleFolder,
                                                   std::string &error) {
  std::unique_ptr<FolderKeeper> keeper(new FolderKeeper);
  keeper->folder = folder;
  keeper->oracleFolder = oracleFolder;
  auto open = [&](std::FILE *&file, const std::string &path, const char *mode) {
    file = std::fopen(path.c_str(), mode);
    if (!file)
      error = path + ": " + std::strerror(errno);
    return file != nullptr;
  };
  if (!open(keeper->data, folder + "/" + dataFileName, "w+be") ||
      (hasObservables && !open(keeper->observables, folder + "/" + observablesFileName, "w+be")))
    return nullptr;
  if (oracleFolder.empty())
    return keeper;
  auto oracle = readPlan(oracleFolder, error);
  if (!oracle || !open(keeper->oracleFile, oracleFolder + "/" + observablesFileName, "rbe"))
    return nullptr;
  struct stat status = {};
  if (fstat(fileno(keeper->oracleFile), &status) != 0)
    return nullptr;
  auto pieces = piecesOf(oracleFolder, static_cast<uint64_t>(status.st_size), error);
  if (!pieces)
    return nullptr;
  keeper->unanswered = std::move(*pieces);
  for (const Step &step : oracle->steps)
    if (auto *read = std::get_if<ReadStep>(&step)) {
      ++keeper->size.reads;
      keeper->size.bytes += read->from.bytes();
    }
  return keeper;
}

FolderKeeper::~FolderKeeper() {
  for (std::FILE *file : {data, observables, oracleFile})
    if (file)
      std::fclose(file);
}

bool FolderKeeper::append(Payload payload, const void *bytes, uint64_t count) {
  std::FILE *file = payload == Payload::Data ? data : observables;
  if (!file || isFinished) {
    errno = EBADF;
    return false;
  }
  const bool isWritten = payload == Payload::Observables
                             ? appendObservables(bytes, count)
                             : count == 0 || std::fwrite(bytes, 1, count, file) == count;
  if (!isWritten && !failed)
    failed = errno;
  return isWritten;
}

/// Whether \p count bytes at \p place of \p file are those at \p bytes.
static bool holdsAt(std::FILE *data, uint64_t place, const void *bytes, uint64_t count) {
  char piece[1 << 16];
  if (std::fflush(data) != 0)
    return false;
  for (uint64_t done = 0; done < count;) {
    size_t wanted = std::min<uint64_t>(count - done, sizeof piece);
    ssize_t got = pread(fileno(data), piece, wanted, static_cast<off_t>(place + done));
    if (got <= 0 ||
        std::memcmp(piece, static_cast<const char *>(bytes) + done, static_cast<size_t>(got)) != 0)
      return false;
    done += static_cast<uint64_t>(got);
  }
  return true;
}

bool FolderKeeper::holds(uint64_t place, const void *bytes, uint64_t count) {
  return holdsAt(data, place, bytes, count);
}

/// A program that repeats its work reads the same result many times.
bool FolderKeeper::appendObservables(const void *bytes, uint64_t count) {
  constexpr uint64_t sharedBytes = 4096; // less is not looked for
  StoredPiece piece{storedBytes, count};
  uint64_t hash = 0;
  bool isKnown = false;
  if (count >= sharedBytes) {
    hash = std::hash<std::string_view>()({static_cast<const char *>(bytes), count});
    auto [first, last] = contents.equal_range(hash);
    for (; first != last && !isKnown; ++first)
      if (first->second.bytes == count && holdsAt(observables, first->second.place, bytes, count)) {
        piece = first->second;
        isKnown = true;
      }
  }
  if (!isKnown) {
    if (std::fwrite(bytes, 1, count, observables) != count)
      return false;
    storedBytes += count;
    if (count >= sharedBytes)
      contents.emplace(hash, piece);
  }
  if (!pieces.empty() && pieces.back().place + pieces.back().bytes == piece.place)
    pieces.back().bytes += count;
  else
    pieces.push_back(piece);
  return true;
}

bool FolderKeeper::writePieces() const {
  const std::string path = folder + "/" + piecesFileName;
  if (pieces.size() < 2) // nothing is shared
    return std::remove(path.c_str()) == 0 || errno == ENOENT;
  std::ofstream file(path);
  for (const StoredPiece &piece : pieces)
    file << piece.place << ' ' << piece.bytes << '\n';
  return file.flush().good();
}

bool FolderKeeper::answer(void *to, uint64_t count) {
  if (!oracleFile || count > size.bytes - answered) {
    errno = ENODATA;
    return false;
  }
  answered += count;
  for (auto *at = static_cast<char *>(to); count && !unanswered.empty();) {
    StoredPiece &piece = unanswered.front();
    const uint64_t wanted = std::min(count, piece.bytes);
    const ssize_t got =
        wanted ? pread(fileno(oracleFile), at, wanted, static_cast<off_t>(piece.place)) : 0;
    if (wanted && got <= 0)
      return false;
    at += got;
    count -= static_cast<uint64_t>(got);
    piece.place += static_cast<uint64_t>(got);
    piece.bytes -= static_cast<uint64_t>(got);
    if (piece.bytes == 0)
      unanswered.pop_front();
  }
  return count == 0;
}

std::string FolderKeeper::oracleDevice() {
  std::ifstream file(oracleFolder + "/" + deviceFactsFileName);
  std::string facts;
  if (!oracleFolder.empty())
    std::getline(file, facts);
  return facts;
}

bool FolderKeeper::keepDevice(const std::string &facts) {
  std::ofstream file(folder + "/" + deviceFactsFileName);
  file << facts << '\n';
  return file.good();
}

bool FolderKeeper::noteStep(uint64_t digest) {
  if (isFinished)
    return false;
  steps.push_back(digest);
  return true;
}

bool FolderKeeper::noteFile(const std::string &path) {
  constexpr size_t mostFiles = 10000;
  if (path.empty() || (notedFiles && notedFiles->size() >= mostFiles))
    notedFiles.reset();
  if (notedFiles)
    notedFiles->push_back(path);
  return !isFinished;
}

bool FolderKeeper::flush() {
  if (std::fflush(data) == 0 && (!observables || std::fflush(observables) == 0))
    return true;
  if (!failed)
    failed = errno;
  return false;
}

bool FolderKeeper::replace(const void *bytes, uint64_t count, std::vector<char> &others) {
  if (!onUpload)
    return false;
  auto replaced = onUpload({static_cast<const char *>(bytes), count}, answered || storedBytes);
  if (!replaced || replaced->size() != count)
    return false;
  others.assign(replaced->begin(), replaced->end());
  return true;
}

bool FolderKeeper::draft(const std::string &plan) {
  if (isFinished || !flush())
    return false;
  if (onDraft)
    onDraft(plan);
  return true;
}

bool FolderKeeper::finish(const std::string &plan) {
  if (isFinished || !flush() || (observables && !writePieces()))
    return false;
  isFinished = true;
  std::string path = folder + "/" + planFileName, temporary = path + ".tmp";
  std::FILE *file = std::fopen(temporary.c_str(), "wbe");
  if (!file)
    return false;
  bool good = std::fwrite(plan.data(), 1, plan.size(), file) == plan.size();
  return std::fclose(file) == 0 && good && std::rename(temporary.c_str(), path.c_str()) == 0;
}

bool FolderKeeper::fits(const Plan &plan, std::string &why) const {
  bool isSame = plan.steps.size() == steps.size();
  for (size_t i = 0; isSame && i < steps.size(); ++i)
    isSame = stepDigest(plan.steps[i]) == steps[i];
  uint64_t read = 0;
  for (const Step &step : plan.steps)
    if (auto *one = std::get_if<ReadStep>(&step))
      read += one->from.bytes();
  if (!isSame)
    why = "its plan is not what it called";
  else if (answered > read)
    why = "it took " + std::to_string(answered) + " bytes of the original's results for reads of " +
          std::to_string(read);
  return why.empty();
}
