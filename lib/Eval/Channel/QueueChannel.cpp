//===- QueueChannel.cpp - Workers behind a database -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the asker's side of a database of jobs (docs/Cluster.md): which job is the
// same as another, which workers may do it, and when none will. The worker's
// side is tools/kb-run/Worker.cpp.
//
//===----------------------------------------------------------------------===//
#include "JobFiles.h"
#include "QueueLink.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/FileDigests.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Interrupt.h"
#include "kbrt/DatabaseSchema.h"
#include "kbrt/Plan.h"
#include "kbrt/Sha256.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace kbopt {

/// What the channels of one search share.
struct QueueChannelState {
  SentDigests digests;
  std::mutex mutex;                      ///< of what follows
  std::map<std::string, unsigned> asked; ///< how often, by content
  std::set<std::string> sent;            ///< digests of files
  kbrt::WorkerGpu gpu;                   ///< that all measurements of this search come from
};

namespace {

/// A notification that got lost costs so long.
constexpr unsigned longestWaitMs = 500;
/// Between two looks for workers, for a job that waits.
constexpr double lookSeconds = 5;
/// Attempts of a job that a machine, and not the job, kept from running.
constexpr unsigned mostAttempts = 3;

class QueueChannel : public JobChannel {
public:
  QueueChannel(std::shared_ptr<QueueLink> link, std::shared_ptr<QueueChannelState> state,
               QueueChannelOptions options, std::string device, uint64_t memoryBytes)
      : link(std::move(link)), state(std::move(state)), options(std::move(options)),
        device(std::move(device)), memoryBytes(memoryBytes) {}
  Expected<JobAnswer> run(const JobRequest &request) override;

private:
  Expected<std::string> sendFile(const std::string &path);
  Expected<SentSubject> send(const JobSubject &subject);
  Error sendAgain(const JobRequest &request);
  Error choosePlace(const JobRequest &request, kbrt::QueuedJob &job);
  std::string nameOf(const kbrt::QueuedJob &job, bool isOwn);
  Expected<kbrt::QueueAnswer> await(const kbrt::QueuedJob &job);
  Error checkWorkers(const kbrt::QueuedJob &job, double waited, bool &isTold);

  std::shared_ptr<QueueLink> link;
  std::shared_ptr<QueueChannelState> state;
  const QueueChannelOptions options;
  const std::string device;
  const uint64_t memoryBytes;
};

/// Puts the file at \p path into the database under its digest, which is returned.
Expected<std::string> QueueChannel::sendFile(const std::string &path) {
  Expected<std::string> digest = state->digests.get(path);
  if (!digest)
    return digest;
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    if (state->sent.count(*digest))
      return digest;
  }
  auto bytes = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return make_error<StoreError>("cannot read '" + path + "': " + bytes.getError().message());
  if (Error error = link->send(*digest, (*bytes)->getBuffer()))
    return std::move(error);
  std::lock_guard<std::mutex> lock(state->mutex);
  state->sent.insert(*digest);
  return digest;
}

Expected<SentSubject> QueueChannel::send(const JobSubject &subject) {
  SentSubject sent;
  if (subject.planFolder.empty() && subject.image.empty())
    return sent;
  Expected<std::string> image = sendFile(subject.image);
  if (!image)
    return image.takeError();
  sent.image = "blobs/" + *image;
  Expected<std::string> plan = sendFile(subject.planFolder + "/" + kbrt::planFileName);
  if (!plan)
    return plan.takeError();
  sent.plan = "plans/" + *plan;
  std::string data = subject.planFolder + "/" + kbrt::dataFileName;
  if (realFileSystem().exists(data)) {
    Expected<std::string> digest = sendFile(data);
    if (!digest)
      return digest.takeError();
    sent.dataSha256 = *digest;
  }
  return sent;
}

/// The files of \p request, also those that were there once.
Error QueueChannel::sendAgain(const JobRequest &request) {
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->sent.clear();
  }
  return sendSubjects(request, [&](const JobSubject &subject) { return send(subject); })
      .takeError();
}

/// What is measured comes from one GPU, everything else from any of its kind.
Error QueueChannel::choosePlace(const JobRequest &request, kbrt::QueuedJob &job) {
  if (device != "cuda")
    return Error::success();
  std::lock_guard<std::mutex> lock(state->mutex);
  if (state->gpu.uuid.empty()) {
    Expected<kbrt::WorkerGpu> gpu =
        link->ask<kbrt::WorkerGpu>([&](kbrt::Database &database, kbrt::DatabaseFailure &failure) {
          return kbrt::chooseGpu(database, "", failure);
        });
    if (!gpu)
      return gpu.takeError();
    state->gpu = *gpu;
  }
  job.product = state->gpu.product;
  if (request.fields.get("timing") || request.fields.get("profile") ||
      request.subject.image.empty())
    job.gpu = state->gpu.uuid;
  return Error::success();
}

/// Searches that ask the same are answered once, unless a question is of one search alone. The CPU
/// device says the same twice; of a GPU two questions want two answers.
std::string QueueChannel::nameOf(const kbrt::QueuedJob &job, bool isOwn) {
  std::string content = kbrt::sha256(job.request + "\n" + job.device + "\n" + job.product + "\n" +
                                     job.gpu + "\n" + std::to_string(job.memoryBytes) + "\n" +
                                     kbrt::queueRelease + "\n" + (isOwn ? link->asker() : ""))
                            .substr(0, 32);
  if (device != "cuda" && !isOwn)
    return content;
  std::lock_guard<std::mutex> lock(state->mutex);
  unsigned times = state->asked[content]++;
  return times ? content + "-" + std::to_string(times) : content;
}

/// A job that no worker will take is not waited for.
Error QueueChannel::checkWorkers(const kbrt::QueuedJob &job, double waited, bool &isTold) {
  Expected<kbrt::WorkerCounts> workers =
      link->ask<kbrt::WorkerCounts>([&](kbrt::Database &database, kbrt::DatabaseFailure &failure) {
        return kbrt::countWorkers(database, job, failure);
      });
  if (!workers)
    return workers.takeError();
  if (workers->able)
    return Error::success();
  std::string who = job.gpu.empty() ? "no worker has " + (job.device == "cpu"   ? "the CPU device"
                                                          : job.product.empty() ? "a GPU"
                                                                                : job.product)
                                    : "the worker with GPU " + job.gpu + " is gone";
  if (workers->otherRelease)
    who += formatv("; {0} of another release of kb-opt ({1} is needed)", workers->otherRelease,
                   kbrt::queueRelease);
  std::string next = "start 'kb-run serve " + options.url + "'" +
                     (job.device == "cuda" ? " where the GPU is" : "");
  if (waited > options.giveUpSeconds)
    return make_error<ToolError>(who + formatv(" for {0:f0} s", waited).str(),
                                 std::vector<std::string>{"kb-run", "serve", options.url}, -1, "",
                                 next + " and run the same command again");
  if (!isTold)
    link->tell(who + ": " + next);
  isTold = true;
  return Error::success();
}

Expected<kbrt::QueueAnswer> QueueChannel::await(const kbrt::QueuedJob &job) {
  Clock &clock = realClock();
  const double start = clock.monotonicSeconds();
  double looked = start, waiting = start;
  bool isTold = false;
  for (;;) {
    Expected<kbrt::JobState> found = link->ask<kbrt::JobState>(
        [&](kbrt::Database &database,
            kbrt::DatabaseFailure &failure) -> std::optional<kbrt::JobState> {
          std::optional<kbrt::JobState> now = kbrt::jobState(database, job.name, failure);
          if (!now || now->kind != kbrt::JobState::Missing)
            return now;
          if (!kbrt::submitJob(database, job, link->asker(), failure))
            return std::nullopt;
          return now;
        });
    if (!found)
      return found.takeError();
    if (found->kind == kbrt::JobState::Answered)
      return std::move(found->answer);
    if (interrupted())
      return interruption();
    const double now = clock.monotonicSeconds();
    if (found->kind == kbrt::JobState::Running)
      waiting = now;
    if (now - looked > lookSeconds && found->kind == kbrt::JobState::Waiting) {
      looked = now;
      if (Error error = checkWorkers(job, now - waiting, isTold))
        return std::move(error);
    }
    link->await(job.name, longestWaitMs);
  }
}

/// For people.
static std::string kindOf(const JobRequest &request) {
  for (const char *kind : {"compile", "timing", "profile", "audit", "sanitizer"})
    if (request.fields.get(kind))
      return kind;
  return request.subject.image.empty() ? "facts"
                                       : request.fields.getString("mode").value_or("run").str();
}

Expected<JobAnswer> QueueChannel::run(const JobRequest &request) {
  if (interrupted())
    return interruption();
  Expected<SentSubjects> sent =
      sendSubjects(request, [&](const JobSubject &subject) { return send(subject); });
  if (!sent)
    return sent.takeError();
  kbrt::QueuedJob job;
  if (Error error = choosePlace(request, job))
    return std::move(error);
  job.kind = kindOf(request);
  job.request = jobText(request, sent->subject, sent->baseline, "blobs",
                        request.wantsOutputs ? "outputs" : "");
  job.device = device;
  job.memoryBytes = memoryBytes;
  job.seconds = request.limitSeconds;
  bool isOwn = job.kind == "facts" || job.kind == "timing" || job.kind == "profile";
  for (unsigned attempt = 1;; ++attempt) {
    job.name = nameOf(job, isOwn);
    Expected<kbrt::QueueAnswer> answered = await(job);
    if (!answered)
      return answered.takeError();
    // Another worker may have what that one lacked, and a file may have been forgotten. A machine
    // in trouble at another time says nothing about now.
    StringRef status = answered->status;
    const bool isOthers = answered->asker != link->asker();
    if (attempt < mostAttempts && job.kind != "facts" &&
        (status == "environment" || (isOthers && (status == "timeout" || status == "crash")))) {
      if (Error error = sendAgain(request))
        return std::move(error);
      isOwn = true;
      continue;
    }
    Expected<json::Object> result = parseResult(answered->result, "worker " + answered->worker);
    if (!result)
      return result.takeError();
    JobAnswer answer;
    answer.result = std::move(*result);
    if (!answered->observables.empty()) {
      Expected<std::string> bytes = link->receive(answered->observables);
      if (!bytes && attempt < mostAttempts && !interrupted()) {
        consumeError(bytes.takeError()); // of an old answer, say: the file was forgotten
        isOwn = true;
        continue;
      }
      if (!bytes)
        return bytes.takeError();
      answer.observables = std::move(*bytes);
    }
    return std::move(answer);
  }
}

} // namespace

Expected<std::unique_ptr<QueueChannels>> QueueChannels::open(QueueChannelOptions options) {
  kbrt::DatabaseFailure failure;
  if (!kbrt::checkDatabaseUrl(options.url, failure))
    return make_error<UsageError>(failure.message, failure.note);
  auto channels = std::unique_ptr<QueueChannels>(new QueueChannels(options));
  Expected<bool> good = channels->link->ask<bool>(
      [](kbrt::Database &database, kbrt::DatabaseFailure &failure) -> std::optional<bool> {
        return kbrt::checkDatabaseSchema(database, failure) ? std::optional<bool>(true)
                                                            : std::nullopt;
      });
  if (!good)
    return good.takeError();
  return std::move(channels);
}

QueueChannels::QueueChannels(QueueChannelOptions options)
    : options(options), link(std::make_shared<QueueLink>(options)),
      state(std::make_shared<QueueChannelState>()) {}

QueueChannels::~QueueChannels() = default;

Expected<bool> QueueChannels::hasGpu() {
  Expected<kbrt::WorkerGpu> gpu =
      link->ask<kbrt::WorkerGpu>([](kbrt::Database &database, kbrt::DatabaseFailure &failure) {
        return kbrt::chooseGpu(database, "", failure);
      });
  if (!gpu)
    return gpu.takeError();
  return !gpu->uuid.empty();
}

Expected<bool> QueueChannels::has(StringRef device) {
  kbrt::QueuedJob job;
  job.device = device.str();
  Expected<kbrt::WorkerCounts> workers =
      link->ask<kbrt::WorkerCounts>([&](kbrt::Database &database, kbrt::DatabaseFailure &failure) {
        return kbrt::countWorkers(database, job, failure);
      });
  if (!workers)
    return workers.takeError();
  return workers->able > 0;
}

std::unique_ptr<JobChannel> QueueChannels::channel(StringRef device, uint64_t memoryBytes) {
  return std::make_unique<QueueChannel>(link, state, options, device.str(), memoryBytes);
}

} // namespace kbopt
