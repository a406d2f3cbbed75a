//===- Inputs.cpp - plans and payloads of a job ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Run.h"
#include "kbrt/Sha256.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace kbrt;

namespace kbrun {

Inputs::~Inputs() {
  if (mapping)
    munmap(mapping, mappedBytes);
}

bool Inputs::map(const std::string &path, std::string &error) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    error = path + ": " + strerror(errno);
    if (fd >= 0)
      close(fd);
    return false;
  }
  mappedBytes = static_cast<size_t>(status.st_size);
  void *p = mappedBytes ? mmap(nullptr, mappedBytes, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  int reason = errno;
  close(fd);
  if (p == MAP_FAILED) {
    error = path + ": " + strerror(reason);
    return false;
  }
  mapping = p;
  payloads.data = {static_cast<const char *>(p), mappedBytes};
  return true;
}

bool Inputs::loadData(const JobSubject &subject, const std::string &blobs, std::string &error) {
  std::string path = subject.plan + "/" + dataFileName;
  bool isBeside = std::filesystem::exists(path);
  if (subject.dataSha256.empty())
    return !isBeside || map(path, error);
  if (!isBeside)
    path = blobs + "/" + subject.dataSha256;
  if (!map(path, error))
    return false;
  if (sha256(payloads.data) == subject.dataSha256)
    return true;
  error = path + ": has another content than the job's dataSha256 says";
  return false;
}

bool Inputs::load(const JobSubject &subject, const std::string &blobs,
                  const std::vector<Override> &wanted, std::string &error) {
  std::optional<Plan> read = readPlan(subject.plan, error);
  if (!read)
    return false;
  plan = std::move(*read);
  if (!loadData(subject, blobs, error))
    return false;
  overrides.reserve(wanted.size()); // views of the strings are kept
  for (const Override &override : wanted) {
    const UploadStep *step = override.step < plan.steps.size()
                                 ? std::get_if<UploadStep>(&plan.steps[override.step])
                                 : nullptr;
    if (!step) {
      error = "overrides: step " + std::to_string(override.step) + " of the plan is no upload";
      return false;
    }
    std::optional<std::string> file = readFile(override.file, error);
    if (!file)
      return false;
    if (override.offset + step->to.bytes() > file->size()) {
      error = override.file + ": has no " + std::to_string(step->to.bytes()) + " bytes at offset " +
              std::to_string(override.offset) + ", which step " + std::to_string(override.step) +
              " uploads";
      return false;
    }
    overrides.push_back(file->substr(override.offset, step->to.bytes()));
    payloads.overrides.emplace_back(override.step, overrides.back());
  }
  return true;
}

void track(const Plan &plan, Progress &progress, PlanInputs &inputs) {
  inputs.onStep = [&plan, &progress](size_t index) {
    progress.step = index;
    auto *launch = std::get_if<LaunchStep>(&plan.steps[index]);
    snprintf(progress.kernel, sizeof progress.kernel, "%s", launch ? launch->kernel.c_str() : "");
  };
}

std::string digestOf(std::string_view bytes) {
  constexpr uint64_t prime = 1099511628211ull;
  constexpr size_t lanes = 8, word = sizeof(uint64_t);
  uint64_t lane[lanes];
  for (size_t i = 0; i < lanes; ++i)
    lane[i] = 14695981039346656037ull + i;
  size_t whole = bytes.size() / (lanes * word) * (lanes * word);
  for (size_t at = 0; at < whole; at += lanes * word)
    for (size_t i = 0; i < lanes; ++i) {
      uint64_t next;
      memcpy(&next, bytes.data() + at + i * word, word);
      lane[i] = (lane[i] ^ next) * prime;
      lane[i] ^= lane[i] >> 32; // a product's low bits know nothing of a word's high ones
    }
  uint64_t hash = bytes.size();
  for (uint64_t each : lane)
    hash = (hash ^ each) * prime;
  for (unsigned char c : bytes.substr(whole))
    hash = (hash ^ c) * prime;
  return digestText(hash);
}

std::string digestText(uint64_t hash) {
  char text[17];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::optional<std::pair<size_t, size_t>> firstDifference(const Plan &plan, const std::string &a,
                                                         const std::string &b) {
  size_t read = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    auto *step = std::get_if<ReadStep>(&plan.steps[i]);
    if (!step)
      continue;
    uint64_t bytes = step->from.bytes(), end = step->observable + bytes;
    if (end > a.size() || end > b.size() ||
        memcmp(a.data() + step->observable, b.data() + step->observable, bytes) != 0)
      return std::pair{read, i};
    ++read;
  }
  return std::nullopt;
}

std::optional<std::pair<size_t, size_t>> firstDifference(const Plan &plan,
                                                         const std::vector<std::string> &a,
                                                         const std::vector<std::string> &b) {
  size_t read = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (!std::holds_alternative<ReadStep>(plan.steps[i]))
      continue;
    if (read >= a.size() || read >= b.size() || a[read] != b[read])
      return std::pair{read, i};
    ++read;
  }
  return std::nullopt;
}

uint64_t readBytes(const Plan &plan, size_t reads) {
  uint64_t bytes = 0;
  for (const Step &step : plan.steps)
    if (auto *read = std::get_if<ReadStep>(&step); read && reads) {
      bytes += read->from.bytes();
      --reads;
    }
  return bytes;
}

bool makeFolder(const std::string &path, std::string &error) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code)
    error = "cannot make the folder " + path + ": " + code.message();
  return !code;
}

bool writeOutputs(const Job &job, const std::string &observables, std::string &error) {
  if (job.outputs.empty())
    return true;
  return makeFolder(job.outputs, error) &&
         writeFile(job.outputs + "/" + observablesFileName, observables, error);
}

} // namespace kbrun
