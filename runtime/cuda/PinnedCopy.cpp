//===- PinnedCopy.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PinnedCopy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <future>
#include <unistd.h>

using namespace kbrt;
using namespace kbrt::cuda;

/// errno of what went wrong, else 0.
static int writeAt(int file, const char *bytes, uint64_t count, uint64_t offset) {
  while (count) {
    ssize_t written = pwrite(file, bytes, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return written < 0 ? errno : EIO;
    bytes += written;
    offset += static_cast<uint64_t>(written);
    count -= static_cast<uint64_t>(written);
  }
  return 0;
}

PinnedCopy *PinnedCopy::of(Device::Handles &handles, Problem &problem) {
  std::shared_ptr<PinnedCopy> &known = handles.pinned;
  if (known)
    return known.get();
  std::shared_ptr<PinnedCopy> made(new PinnedCopy(handles));
  for (char *&piece : made->memory) {
    void *place = nullptr;
    if (CUresult code = handles.driver->cuMemHostAlloc(&place, pieceBytes, 0);
        code != CUDA_SUCCESS) {
      problem = {LaunchStatus::Environment,
                 "no page-locked memory for results: " + describe(*handles.driver, code),
                 adviceFor(code)};
      return nullptr;
    }
    piece = static_cast<char *>(place);
  }
  known = std::move(made);
  return known.get();
}

PinnedCopy::~PinnedCopy() {
  if (h.isLost)
    return;
  for (char *piece : memory)
    if (piece)
      h.driver->cuMemFreeHost(piece);
}

bool PinnedCopy::toFile(uint64_t from, uint64_t bytes, const std::string &path, Problem &problem) {
  // A process that died before this one may have begun it.
  int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    problem = {LaunchStatus::Environment, "cannot write " + path + ": " + strerror(errno), ""};
    return false;
  }
  std::future<int> written[pieces];
  int failure = 0;
  CUresult code = CUDA_SUCCESS;
  for (uint64_t at = 0, turn = 0; at < bytes && !failure && code == CUDA_SUCCESS;
       at += pieceBytes, ++turn) {
    const size_t which = turn % pieces;
    if (written[which].valid())
      failure = written[which].get();
    const uint64_t count = std::min(pieceBytes, bytes - at);
    code = h.driver->cuMemcpyDtoHAsync(memory[which], from + at, count, h.stream);
    if (code == CUDA_SUCCESS)
      code = h.driver->cuStreamSynchronize(h.stream);
    if (code == CUDA_SUCCESS && !failure)
      written[which] = std::async(std::launch::async, writeAt, file, memory[which], count, at);
  }
  for (std::future<int> &each : written)
    if (each.valid())
      if (int reason = each.get(); !failure)
        failure = reason;
  if (close(file) != 0 && !failure)
    failure = errno;
  if (!failure && code == CUDA_SUCCESS)
    return true;
  unlink(path.c_str());
  problem = failure
                ? Problem{LaunchStatus::Environment,
                          "cannot write " + path + ": " + strerror(failure), ""}
                : Problem{statusOf(code), "a read: " + describe(*h.driver, code), adviceFor(code)};
  return false;
}
