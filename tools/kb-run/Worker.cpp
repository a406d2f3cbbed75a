//===- Worker.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Job.h"
#include "JobBlobs.h"
#include "Run.h"
#include "WorkerParts.h"
#include "kbrt/DatabaseSchema.h"
#include "kbrt/Plan.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kbrun {

using Clock = std::chrono::steady_clock;

namespace {

/// Attempts of a job whose server died: the first may have died of something else.
constexpr unsigned mostServers = 2;
/// Without a notification, which may be lost with a connection.
constexpr int longestWaitMs = 1000;
constexpr double tidySeconds = 60, keptSeconds = 24 * 3600;

class Worker {
public:
  Worker(const WorkerOptions &options, std::string folder)
      : options(options), folder(std::move(folder)),
        database(options.url, std::min(20.0, options.leaseSeconds)),
        server({this->folder, options.sandboxed}), blobs(this->folder, database) {}

  int serve();

private:
  using Outcome = kbrt::QueueAnswer;

  void work(const kbrt::TakenJob &job);
  std::optional<Outcome> execute(const kbrt::TakenJob &job);
  std::optional<Outcome> ask(const std::string &line, const kbrt::TakenJob &job);
  bool keepLease(const kbrt::TakenJob &job);
  bool patiently(const std::function<bool(kbrt::DatabaseFailure &)> &statement);
  Outcome plain(const char *status, const std::string &message) const {
    return {status, plainResult("job", status, message, "", nullptr), "", "", ""};
  }

  const WorkerOptions options;
  const std::string folder;
  kbrt::Database database;
  PipedServer server;
  JobBlobs blobs;
  std::optional<kbrt::WorkerQueue> queue;
  Clock::time_point greeted, tidied;
  bool isStopped = false; ///< by the database
  bool hasFailed = false; ///< for good
};

double secondsSince(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

/// Repeats \p statement through outages. False: it does not hold, or the worker ends.
bool Worker::patiently(const std::function<bool(kbrt::DatabaseFailure &)> &statement) {
  bool isTold = false;
  for (unsigned pause = 50;; pause = std::min(2 * pause, 1000u)) {
    kbrt::DatabaseFailure failure;
    if (statement(failure))
      return true;
    if (failure.message.empty()) // the answer is no
      return false;
    if (!failure.isOutage) {
      complain(failure);
      hasFailed = true;
      return false;
    }
    if (!isTold)
      fprintf(stderr, "kb-run: %s; trying again\n", failure.message.c_str());
    isTold = true;
    if (isStopAsked)
      return false;
    usleep(1000 * pause);
  }
}

/// Called several times a second while a job runs.
bool Worker::keepLease(const kbrt::TakenJob &job) {
  if (isStopAsked)
    return false;
  if (secondsSince(greeted) < options.leaseSeconds / 3)
    return true;
  greeted = Clock::now();
  kbrt::DatabaseFailure failure;
  if (!queue->renew(job, failure))
    return !failure.message.empty(); // an outage decides nothing: the answer is refused in the end
  queue->greet(isStopped, failure);
  return true;
}

/// Nothing where the job is another's, or the worker ends.
std::optional<Worker::Outcome> Worker::ask(const std::string &line, const kbrt::TakenJob &job) {
  std::string text;
  for (unsigned attempt = 1; attempt <= mostServers; ++attempt) {
    const double limit = job.seconds > 0 ? job.seconds + graceSeconds : 0;
    switch (server.ask(line, limit, job.memoryBytes, [&] { return keepLease(job); }, text)) {
    case PipedServer::Reply::Line: {
      nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
      std::string status = json.is_object() ? json.value("status", "") : "";
      if (status.empty())
        return plain("internal", "kb-run gave no result");
      return Outcome{status, text, "", "", ""};
    }
    case PipedServer::Reply::Late:
      return plain("timeout", "kb-run gave " + text);
    case PipedServer::Reply::GivenUp:
      return std::nullopt;
    case PipedServer::Reply::Ended:
      break;
    }
  }
  return plain("crash", "the job took down " + std::to_string(mostServers) +
                            " servers, the last one ended with " + text);
}

std::optional<Worker::Outcome> Worker::execute(const kbrt::TakenJob &job) {
  if (options.pretendSeconds >= 0) {
    usleep(useconds_t(1e6 * options.pretendSeconds));
    return keepLease(job) ? std::optional(plain("ok", "")) : std::nullopt;
  }
  nlohmann::json request = nlohmann::json::parse(job.request, nullptr, false);
  if (!request.is_object())
    return plain("usage", "the job is no JSON object");
  kbrt::DatabaseFailure failure;
  for (unsigned attempt = 1; !blobs.fetch(request, failure); ++attempt) {
    if (isStopAsked || !keepLease(job))
      return std::nullopt;
    if (!failure.isOutage || attempt == 5)
      return plain("environment",
                   failure.message + (failure.note.empty() ? "" : "; " + failure.note));
    usleep(200000);
  }
  const std::string outputs = "outputs/" + job.id;
  const bool wantsOutputs = request.contains("outputs");
  if (wantsOutputs)
    request["outputs"] = outputs;
  std::optional<Outcome> outcome =
      ask(request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), job);
  const std::string observables = folder + "/" + outputs + "/" + kbrt::observablesFileName;
  std::error_code code;
  if (outcome && wantsOutputs && fs::exists(observables, code)) {
    bool isStored = patiently([&](kbrt::DatabaseFailure &why) {
      if (!keepLease(job)) {
        why = {};
        return false;
      }
      std::optional<std::string> digest = blobs.keep(observables, why);
      if (digest)
        outcome->observables = *digest;
      else if (!why.isOutage) { // too large for this database: an answer, no end of the worker
        outcome = plain("environment", why.message + (why.note.empty() ? "" : "; " + why.note));
        return true;
      }
      return digest.has_value();
    });
    if (!isStored)
      outcome.reset();
  }
  fs::remove_all(folder + "/" + outputs, code);
  return outcome;
}

void Worker::work(const kbrt::TakenJob &job) {
  greeted = Clock::now();
  std::optional<Outcome> outcome = execute(job);
  if (!outcome) {
    kbrt::DatabaseFailure ignored; // else the lease runs out
    queue->giveBack(job, ignored);
    return;
  }
  patiently([&](kbrt::DatabaseFailure &failure) {
    if (queue->finish(job, *outcome, failure))
      return true;
    // What the database does not take is the job's fault, and no reason to end.
    if (!failure.isOutage && !failure.message.empty() && outcome->status != "internal") {
      outcome = plain("internal", "the answer cannot be stored: " + failure.message);
      failure.isOutage = true;
    }
    return false;
  });
}

int Worker::serve() {
  if (!patiently(
          [&](kbrt::DatabaseFailure &failure) { return checkDatabaseSchema(database, failure); }))
    return exitEnvironment;
  std::optional<kbrt::WorkerFacts> facts = factsOfWorker(options, server);
  if (!facts)
    return exitEnvironment;
  queue.emplace(database, *facts, options.leaseSeconds);
  database.listen("kbopt_jobs");
  patiently([&](kbrt::DatabaseFailure &failure) { return queue->announce(failure); });
  if (!hasFailed)
    fprintf(stderr, "kb-run: worker %s waits for jobs%s\n", facts->id.c_str(),
            facts->product.empty() ? "" : (" for the " + facts->product).c_str());
  while (!isStopAsked && !isStopped && !hasFailed) {
    std::optional<kbrt::TakenJob> job;
    patiently([&](kbrt::DatabaseFailure &failure) {
      if (secondsSince(greeted) > options.leaseSeconds / 3) {
        if (!queue->reclaim(failure) || !queue->greet(isStopped, failure))
          return false;
        greeted = Clock::now();
      }
      job = queue->take(failure);
      return failure.message.empty();
    });
    if (job) {
      work(*job);
      continue;
    }
    if (options.once)
      break;
    database.wait(std::min<int>(longestWaitMs, int(1e3 * options.leaseSeconds / 3)));
    if (secondsSince(tidied) > tidySeconds) {
      tidied = Clock::now();
      kbrt::DatabaseFailure ignored;
      for (const std::string &digest : queue->tidy(keptSeconds, ignored))
        blobs.forget(digest);
      blobs.tidy(options.mostBlobBytes);
    }
  }
  kbrt::DatabaseFailure ignored;
  queue->depart(ignored);
  return hasFailed ? exitEnvironment : exitOk;
}

} // namespace

int runWorker(const WorkerOptions &options, const std::string &folder) {
  return Worker(options, folder).serve();
}

} // namespace kbrun
