//===- Worker.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Worker.h"
#include "Job.h"
#include "JobBlobs.h"
#include "PipedServer.h"
#include "Run.h"
#include "kbrt/DatabaseSchema.h"
#include "kbrt/Plan.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/prctl.h>
#include <sys/wait.h>
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
/// Beside a job's own limit, after which a server counts as hung.
constexpr double graceSeconds = 60;

volatile sig_atomic_t stopAsked = 0;
void onStop(int) { stopAsked = 1; }

void complain(const kbrt::DatabaseFailure &failure) {
  fprintf(stderr, "kb-run: error: %s\n", failure.message.c_str());
  if (!failure.note.empty())
    fprintf(stderr, "kb-run: note: %s\n", failure.note.c_str());
}

std::string hostName() {
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  return host;
}

class Worker {
public:
  Worker(const WorkerOptions &options, std::string folder)
      : options(options), folder(std::move(folder)),
        database(options.url, std::min(20.0, options.leaseSeconds)),
        server({this->folder, options.sandboxed}), blobs(this->folder, database) {}

  int serve();

private:
  using Outcome = kbrt::QueueAnswer;

  kbrt::WorkerFacts look();
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
    if (stopAsked)
      return false;
    usleep(1000 * pause);
  }
}

/// Whether this processor has what kb-opt's images for other machines use (x86-64-v3).
bool runsCpuImages() {
#if defined(KBRUN_HAS_CPU) && defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

/// What this machine can do.
kbrt::WorkerFacts Worker::look() {
  kbrt::WorkerFacts facts;
  facts.host = hostName();
  facts.process = getpid();
  facts.id = facts.host + "-" + std::to_string(getpid()) + "-" +
             std::to_string(std::random_device()() % 100000);
  if (runsCpuImages())
    facts.devices.push_back("cpu");
  if (options.pretendSeconds >= 0)
    return facts;
  std::string text;
  const char *job = R"({"version": 1, "device": "cuda", "plan": "", "image": ""})";
  if (server.ask(
          job, graceSeconds, 0, [] { return !stopAsked; }, text) != PipedServer::Reply::Line) {
    fprintf(stderr, "kb-run: error: no job can run here: %s\n", text.c_str());
    if (options.sandboxed)
      fprintf(stderr, "kb-run: note: install the package 'bubblewrap', or pass "
                      "--unsafe-no-sandbox where the worker's account is a wall of its own\n");
    hasFailed = true;
    return facts;
  }
  nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  if (server.ask(
          R"({"version": 1, "compile": null})", graceSeconds, 0, [] { return !stopAsked; }, text) ==
      PipedServer::Reply::Line) {
    nlohmann::json compiler = nlohmann::json::parse(text, nullptr, false);
    if (compiler.is_object() && compiler.contains("nvrtc")) {
      const std::string version = compiler.value("nvrtc", "");
      facts.devices.push_back("compile:" + version);
      facts.compilers = "NVRTC " + version;
    }
  }
  if (!answer.is_object() || !answer.contains("device"))
    return facts;
  const nlohmann::json &device = answer["device"];
  facts.devices.push_back("cuda");
  facts.gpu = device.value("uuid", "");
  if (facts.gpu.empty()) { // no NVML
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    facts.gpu = facts.host + "/" + (visible ? visible : "0");
  }
  facts.product = device.value("name", "");
  facts.arch = device.value("arch", "");
  facts.driver = device.value("driver", "");
  return facts;
}

/// Called several times a second while a job runs.
bool Worker::keepLease(const kbrt::TakenJob &job) {
  if (stopAsked)
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
    if (stopAsked || !keepLease(job))
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
  kbrt::WorkerFacts facts = look();
  if (hasFailed)
    return exitEnvironment;
  if (facts.devices.empty()) {
    fprintf(stderr, "kb-run: error: this kb-run has neither a CPU device nor a GPU\n");
    return exitEnvironment;
  }
  queue.emplace(database, facts, options.leaseSeconds);
  database.listen("kbopt_jobs");
  patiently([&](kbrt::DatabaseFailure &failure) { return queue->announce(failure); });
  if (!hasFailed)
    fprintf(stderr, "kb-run: worker %s waits for jobs%s\n", facts.id.c_str(),
            facts.product.empty() ? "" : (" for the " + facts.product).c_str());
  while (!stopAsked && !isStopped && !hasFailed) {
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

/// One worker in this process.
int serveHere(const WorkerOptions &options) {
  std::string folder = options.cacheFolder;
  std::error_code code;
  if (folder.empty()) {
    folder = (fs::temp_directory_path(code) / "kb-run-XXXXXX").string();
    if (!mkdtemp(folder.data())) {
      fprintf(stderr, "kb-run: error: cannot make a folder '%s': %s\n", folder.c_str(),
              strerror(errno));
      return exitEnvironment;
    }
  } else {
    folder += "/" + std::to_string(getpid());
  }
  for (const char *part : {"blobs", "plans", "outputs"})
    fs::create_directories(folder + "/" + part, code);
  if (code) {
    fprintf(stderr, "kb-run: error: cannot make folders in '%s': %s\n", folder.c_str(),
            code.message().c_str());
    return exitEnvironment;
  }
  int status = Worker(options, fs::absolute(folder)).serve();
  fs::remove_all(folder, code);
  return status;
}

/// The GPUs of this process as CUDA_VISIBLE_DEVICES names them; none where it sees none.
std::vector<std::string> visibleGpus() {
  std::vector<std::string> names;
  if (const char *given = getenv("CUDA_VISIBLE_DEVICES")) {
    std::string rest = given;
    for (size_t at = 0; !rest.empty(); rest.erase(0, at)) {
      at = rest.find(',');
      names.push_back(rest.substr(0, at));
      at = at == std::string::npos ? rest.size() : at + 1;
    }
    return names;
  }
  std::error_code code;
  while (fs::exists("/dev/nvidia" + std::to_string(names.size()), code))
    names.push_back(std::to_string(names.size()));
  return names;
}

void takeSignals() {
  struct sigaction action = {};
  action.sa_handler = onStop;
  for (int signal : {SIGTERM, SIGINT, SIGUSR1}) // the last is Slurm's warning before a limit
    sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

} // namespace

int serveDatabase(const WorkerOptions &options) {
  kbrt::DatabaseFailure failure;
  if (!kbrt::checkDatabaseUrl(options.url, failure)) {
    complain(failure);
    return exitEnvironment;
  }
  takeSignals();
  if (options.jobs <= 1)
    return serveHere(options);
  std::vector<pid_t> workers;
  const pid_t parent = getpid();
  const std::vector<std::string> gpus = visibleGpus();
  for (unsigned i = 0; i != options.jobs; ++i) {
    pid_t worker = fork();
    if (worker == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (!gpus.empty())
        setenv("CUDA_VISIBLE_DEVICES", gpus[i % gpus.size()].c_str(), 1);
      _exit(getppid() == parent ? serveHere(options) : exitEnvironment);
    }
    if (worker > 0)
      workers.push_back(worker);
  }
  int worst = workers.size() == options.jobs ? exitOk : exitEnvironment;
  while (!workers.empty()) {
    int status = 0;
    pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) {
      for (pid_t worker : workers)
        kill(worker, SIGTERM);
      continue;
    }
    std::erase(workers, ended);
    if (status != 0)
      worst = exitEnvironment;
  }
  return worst;
}

} // namespace kbrun
