//===- Sequence.cpp ---------------------------------------------------------===//
#include "Sequence.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace kbrt;

bool PayloadFile::open(const std::string &path) {
  file = std::fopen(path.c_str(), "wb");
  return file != nullptr;
}

bool PayloadFile::append(const void *bytes, size_t count) {
  if (count && std::fwrite(bytes, 1, count, file) != count)
    return false;
  written += count;
  return true;
}

bool PayloadFile::flush() { return !file || std::fflush(file) == 0; }

bool Sequence::open(const std::string &oracleFolder, std::string &error) {
  if (!recording())
    return true;
  if (!data.open(folder + "/" + dataFileName) ||
      !observables.open(folder + "/" + observablesFileName)) {
    error = "cannot write the recording to '" + folder + "': " + std::strerror(errno);
    return false;
  }
  if (mode != Mode::Oracle)
    return true;
  auto oracle = readPlan(oracleFolder, error);
  if (!oracle)
    return false;
  for (const Step &step : oracle->steps)
    if (auto *read = std::get_if<ReadStep>(&step))
      oracleReads.push_back(*read);
  std::string path = oracleFolder + "/" + observablesFileName;
  oracleFile = std::fopen(path.c_str(), "rb");
  if (!oracleFile)
    error = path + ": " + std::strerror(errno);
  return oracleFile != nullptr;
}

void Sequence::add(Step step) {
  if (recording())
    plan.steps.push_back(std::move(step));
}

void Sequence::append(PayloadFile &file, const void *bytes, uint64_t count, const char *what) {
  if (file.size() + count > fileBytesLimit)
    stop(Ending::TooLarge, std::string(what) + " of the recording exceeds its limit of " +
                               std::to_string(fileBytesLimit >> 20) + " MiB");
  if (!file.append(bytes, count))
    stop(Ending::TooLarge, std::string("cannot write ") + what + " of the recording to '" + folder +
                               "': " + std::strerror(errno));
}

void Sequence::upload(const Region &region, const void *source, uint64_t sourcePitch,
                      uint32_t stream) {
  if (!recording())
    return;
  add(UploadStep{region, data.size(), stream});
  auto *row = static_cast<const char *>(source);
  for (uint64_t y = 0; y < region.height; ++y, row += sourcePitch)
    append(data, row, region.width, "the uploaded data");
}

void Sequence::read(const Region &region, const void *memory, void *target, uint64_t targetPitch,
                    uint32_t stream, bool implicit) {
  if (recording())
    add(ReadStep{region, observables.size(), stream, implicit});
  if (mode == Mode::Oracle) {
    answer(region, target, targetPitch);
  } else if (memory != target) {
    auto *to = static_cast<char *>(target);
    auto *from = static_cast<const char *>(memory);
    for (uint64_t y = 0; y < region.height; ++y, to += targetPitch, from += region.pitch)
      std::memmove(to, from, region.width);
  }
  if (!recording())
    return;
  auto *row = static_cast<const char *>(target);
  for (uint64_t y = 0; y < region.height; ++y, row += targetPitch)
    append(observables, row, region.width, "what the host reads");
}

void Sequence::answer(const Region &region, void *target, uint64_t targetPitch) {
  std::string which = "read " + std::to_string(nextRead + 1);
  if (nextRead == oracleReads.size())
    stop(Ending::Mismatch, which + " has no answer: the original program reads " +
                               std::to_string(oracleReads.size()) + " times");
  const ReadStep &oracle = oracleReads[nextRead++];
  if (oracle.from.bytes() != region.bytes())
    stop(Ending::Mismatch, which + " asks for " + std::to_string(region.bytes()) +
                               " bytes where the original program reads " +
                               std::to_string(oracle.from.bytes()));
  bool good = std::fseek(oracleFile, static_cast<long>(oracle.observable), SEEK_SET) == 0;
  auto *row = static_cast<char *>(target);
  for (uint64_t y = 0; y < region.height && good; ++y, row += targetPitch)
    good = std::fread(row, 1, region.width, oracleFile) == region.width;
  if (!good)
    stop(Ending::Mismatch, which + ": the original's observables.bin ends too early");
}

bool Sequence::noteStoredPointers() {
  if (!data.size())
    return true;
  int fd = ::open((folder + "/" + dataFileName).c_str(), O_RDONLY | O_CLOEXEC);
  void *bytes =
      fd < 0 ? MAP_FAILED : mmap(nullptr, data.size(), PROT_READ, MAP_PRIVATE, fd, 0);
  if (fd >= 0)
    close(fd);
  if (bytes == MAP_FAILED)
    return false;
  kbrt::noteStoredPointers(plan, {static_cast<const char *>(bytes), data.size()});
  munmap(bytes, data.size());
  return true;
}
