//===- RecordKeeper.cpp - A recording in a folder ---------------------------===//
#include "kbrt/RecordKeeper.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace kbrt;

RecordKeeper::~RecordKeeper() = default;

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
  return count == 0 || std::fwrite(bytes, 1, count, file) == count;
}

bool FolderKeeper::holds(uint64_t place, const void *bytes, uint64_t count) {
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

bool FolderKeeper::answer(void *to, uint64_t count) {
  if (!oracleFile || count > size.bytes - answered) {
    errno = ENODATA;
    return false;
  }
  answered += count;
  return std::fread(to, 1, count, oracleFile) == count;
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
  return std::fflush(data) == 0 && (!observables || std::fflush(observables) == 0);
}

bool FolderKeeper::finish(const std::string &plan) {
  if (isFinished || !flush())
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
