//===- QueueLink.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "QueueLink.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <fcntl.h>
#include <random>
#include <unistd.h>

using namespace llvm;

namespace kbopt {

/// An outage that is over sooner is not told.
static constexpr double tellSeconds = 3;

/// Of files that were received.
static constexpr size_t mostKeptBytes = size_t(256) << 20;

static std::string newName() {
  char host[128] = "host";
  gethostname(host, sizeof host - 1);
  // A channel of PostgreSQL has 63 bytes at most.
  return formatv("{0}-{1}-{2}", StringRef(host).take_front(32), getpid(),
                 std::random_device()() % 1000000)
      .str();
}

QueueLink::QueueLink(QueueChannelOptions wanted)
    : options(std::move(wanted)), name(newName()), statements(options.url), files(options.url) {
  if (pipe2(wake, O_CLOEXEC) != 0)
    wake[0] = wake[1] = -1; // `await` looks once in a while
  ear = std::thread([this] { hear(); });
}

QueueLink::~QueueLink() {
  ends = true;
  if (wake[1] >= 0)
    close(wake[1]);
  ear.join();
  if (wake[0] >= 0)
    close(wake[0]);
}

void QueueLink::hear() {
  kbrt::Database database(options.url);
  database.listen("kbopt_" + name);
  while (!ends) {
    auto heard = database.wait(/*milliseconds=*/500, wake[0]);
    if (heard.empty())
      continue;
    {
      std::lock_guard<std::mutex> lock(mutex);
      for (auto &[channel, job] : heard)
        answered.insert(job);
    }
    changed.notify_all();
  }
}

void QueueLink::await(const std::string &job, unsigned milliseconds) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait_for(lock, std::chrono::milliseconds(milliseconds),
                   [&] { return answered.count(job) || interrupted(); });
  answered.erase(job);
}

Error QueueLink::errorOf(const kbrt::DatabaseFailure &failure) const {
  return make_error<StoreError>("database '" + options.url + "': " + failure.message, failure.note);
}

Error QueueLink::survive(const kbrt::DatabaseFailure &failure, Outage &outage) {
  if (!failure.isOutage)
    return errorOf(failure);
  if (interrupted())
    return interruption();
  double now = realClock().monotonicSeconds();
  outage.since = outage.since == 0 ? now : outage.since;
  if (now - outage.since > options.giveUpSeconds)
    return make_error<StoreError>(
        formatv("database '{0}' has not answered for {1:f0} s: {2}", options.url,
                now - outage.since, failure.message)
            .str(),
        "run the same command again when it is there: finished effects are kept");
  if (!outage.isTold && now - outage.since > tellSeconds) {
    tell("the database fails (" + failure.message + "); trying again");
    outage.isTold = true;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(outage.pauseMs));
  outage.pauseMs = std::min(1000u, 2 * outage.pauseMs);
  return Error::success();
}

Error QueueLink::send(const std::string &digest, StringRef bytes) {
  auto put = [&](Connection &connection, kbrt::DatabaseFailure &failure) -> std::optional<bool> {
    std::optional<bool> isThere = connection.blobs.has(digest, failure);
    if (!isThere)
      return std::nullopt;
    if (!*isThere &&
        !connection.blobs.put(digest, std::string_view(bytes.data(), bytes.size()), failure))
      return std::nullopt;
    return true;
  };
  return patiently<bool>(files, put).takeError();
}

Expected<std::string> QueueLink::receive(const std::string &digest) {
  {
    std::lock_guard<std::mutex> lock(keptMutex);
    for (const auto &[name, bytes] : kept)
      if (name == digest)
        return bytes;
  }
  Expected<std::string> received =
      patiently<std::string>(files, [&](Connection &connection, kbrt::DatabaseFailure &failure) {
        return connection.blobs.get(digest, failure);
      });
  if (received && received->size() < mostKeptBytes / 4) {
    std::lock_guard<std::mutex> lock(keptMutex);
    kept.emplace_front(digest, *received);
    for (keptBytes += received->size(); keptBytes > mostKeptBytes; kept.pop_back())
      keptBytes -= kept.back().second.size();
  }
  return received;
}

} // namespace kbopt
