//===- Serve.cpp - kb-run as a server -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Serve.h"
#include "Child.h"
#include "Compile.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kbrun {

using Json = nlohmann::json;

namespace {

/// A claim without a sign of life for so long belongs to no server.
constexpr double staleSeconds = 30;
/// A job that took so many servers down is answered instead of tried again.
constexpr unsigned mostAttempts = 3;

/// Between two looks at the folder: a client that asks something often asks more.
constexpr int firstWaitMs = 10, mostWaitMs = 200;
/// After so long without a job no client is in the middle of something.
constexpr double restSeconds = 5;
/// A file that was not sent for so long may go.
constexpr double keptSeconds = 600;

volatile sig_atomic_t stopAsked = 0;
void onStop(int) { stopAsked = 1; }

/// Processes with a device opened in advance, and ones that wait for their session's next job. A
/// context takes a quarter of a second to open and half a gigabyte of the device.
constexpr size_t mostSpares = 1, mostSessions = 2;

/// Runs jobs one after the other, each in its own process but for those of one session.
class Server {
public:
  Outcome answer(const std::string &text, const std::string &name, const std::string &folder,
                 const std::function<void()> &whileWaiting = {}) {
    if (isCompileJob(text))
      return compileJob(text);
    std::string error;
    std::optional<Job> job = parseJob(text, name, folder, error);
    if (!job)
      return {exitUsage, plainResult(idOf(text), "usage", error, "", nullptr)};
    std::erase_if(ending, [](auto &child) { return child->hasEnded(); });
    Outcome outcome = runOnce(*job, text, name, folder, whileWaiting);
    if (!job->isCuda || outcome.status == exitOk)
      return outcome;
    // A process that waits with an opened device has a part of its memory. And a process that had
    // waited may have died of something else than this job.
    std::string status = statusOf(outcome.json);
    if ((status == "out-of-memory" || (status == "crash" && hadWaited)) && giveUpOthers())
      outcome = runOnce(*job, text, name, folder, whileWaiting);
    return outcome;
  }

  /// No job has come for a while: sessions give the device's memory back.
  void rest() {
    for (Session &session : sessions) {
      session.child->stop();
      ending.push_back(std::move(session.child));
    }
    sessions.clear();
    std::erase_if(ending, [](auto &child) { return child->hasEnded(); });
  }

  static std::string idOf(const std::string &text) { return textField(text, "id"); }

private:
  static std::string statusOf(const std::string &text) { return textField(text, "status"); }
  static std::string textField(const std::string &text, const char *name) {
    Json json = Json::parse(text, nullptr, false);
    return json.is_object() && json.contains(name) && json[name].is_string()
               ? json[name].get<std::string>()
               : "";
  }

  Outcome runOnce(const Job &job, const std::string &text, const std::string &name,
                  const std::string &folder, const std::function<void()> &whileWaiting) {
    std::unique_ptr<Child> child = !job.isCuda        ? Child::start(false)
                                   : job.cuda.profile ? takeForCounters(job)
                                                      : take(job.session);
    if (!child)
      return {exitEnvironment,
              plainResult(job.id, "environment",
                          std::string("cannot start a process: ") + strerror(errno), "", nullptr)};
    Outcome outcome = child->run(job, text, name, folder, whileWaiting);
    if (outcome.mayGoOn && job.cuda.profile)
      counting = std::move(child);
    else if (outcome.mayGoOn)
      keep(job.session, std::move(child));
    else if (outcome.status == exitOk)
      ending.push_back(std::move(child));
    return outcome; // what went wrong is gone before the next job comes
  }

  /// The session's process, or a new one.
  std::unique_ptr<Child> take(const std::string &session) {
    auto known = std::find_if(sessions.begin(), sessions.end(), [&](const Session &each) {
      return !session.empty() && each.name == session;
    });
    std::unique_ptr<Child> child;
    hadWaited = known != sessions.end();
    if (hadWaited) {
      child = std::move(known->child);
      sessions.erase(known);
      if (!child->hasEnded())
        return child;
    }
    hadWaited = !spares.empty();
    if (hadWaited) {
      child = std::move(spares.front());
      spares.erase(spares.begin());
    } else {
      child = Child::start(false);
    }
    // The next ones open their device while this job runs; they do not while it measures.
    while (spares.size() < mostSpares) {
      std::unique_ptr<Child> spare = Child::start(true);
      if (!spare)
        break;
      spares.push_back(std::move(spare));
    }
    return child;
  }

  /// A process for counters alone, of all sessions: CUPTI would be in the way of their other jobs,
  /// and its tables take longer to load than the counters of a small kernel.
  std::unique_ptr<Child> takeForCounters(const Job &job) {
    const std::string &sets = job.cuda.profile->sets;
    hadWaited = counting && countedSets == sets && !counting->hasEnded();
    std::unique_ptr<Child> child = hadWaited ? std::move(counting) : Child::start(false);
    counting.reset();
    countedSets = sets;
    return child;
  }

  void keep(const std::string &session, std::unique_ptr<Child> child) {
    sessions.push_back({session, std::move(child)});
    if (sessions.size() <= mostSessions)
      return;
    sessions.front().child->stop();
    ending.push_back(std::move(sessions.front().child));
    sessions.erase(sessions.begin());
  }

  /// Ends all processes that wait; whether there were any.
  bool giveUpOthers() {
    bool any = !spares.empty() || !sessions.empty() || !ending.empty() || counting;
    spares.clear();
    counting.reset();
    sessions.clear();
    ending.clear();
    return any;
  }

  struct Session {
    std::string name;
    std::unique_ptr<Child> child;
  };
  std::vector<Session> sessions; ///< the one that waits longest comes first
  std::vector<std::unique_ptr<Child>> spares;
  std::unique_ptr<Child>
      counting; ///< read counters, those of `countedSets`, and waits for the next job that does
  std::string countedSets;
  bool hadWaited = false;                     ///< the process of the job that runs
  std::vector<std::unique_ptr<Child>> ending; ///< they take their devices' contexts down
};

/// The folders of a spool and the moves between them. Every move is a rename.
class Spool {
public:
  Spool(std::string folder, std::string owner) : root(std::move(folder)), owner(std::move(owner)) {}

  bool open(std::string &error) {
    for (const char *name : {"jobs", "claims", "results", "blobs"}) {
      std::error_code code;
      fs::create_directories(root / name, code);
      if (code) {
        error = (root / name).string() + ": " + code.message();
        return false;
      }
    }
    return true;
  }

  /// Takes the oldest job, by name; nothing if there is none.
  std::optional<std::string> claim() {
    std::vector<std::string> names;
    std::error_code code;
    for (const auto &entry : fs::directory_iterator(root / "jobs", code))
      if (entry.path().extension() == ".json")
        names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    for (const std::string &name : names) {
      if (fs::exists(resultPath(name))) { // answered, and its server died before it tidied up
        fs::remove(root / "jobs" / (name + ".json"), code);
        continue;
      }
      // The sign of life comes first: a claim is never old at birth.
      touch(root / "jobs" / (name + ".json"));
      if (rename((root / "jobs" / (name + ".json")).c_str(), claimPath(name).c_str()) != 0)
        continue; // another server was faster
      writeOwner(name);
      return name;
    }
    return std::nullopt;
  }

  void heartbeat(const std::string &name) { touch(claimPath(name)); }

  /// Writes the result, then gives up the claim.
  bool finish(const std::string &name, const std::string &json, std::string &error) {
    if (!writeFile(resultPath(name).string(), json, error))
      return false;
    std::error_code code;
    fs::remove(claimPath(name), code);
    fs::remove(ownerPath(name), code);
    return true;
  }

  /// Puts jobs back whose server has gone. What is answered already is only tidied up.
  void reclaim() {
    // Clocks of machines differ, the file system's does not: compare with a file of our own.
    fs::path mine = root / "claims" / (".now-" + owner);
    std::string error;
    writeFile(mine.string(), "", error);
    touch(mine);
    double now = lastSign(mine);
    std::error_code code;
    fs::remove(mine, code);
    for (const auto &entry : fs::directory_iterator(root / "claims", code)) {
      if (entry.path().extension() != ".json")
        continue;
      std::string name = entry.path().stem().string();
      if (fs::exists(resultPath(name))) {
        std::error_code ignored;
        fs::remove(claimPath(name), ignored);
        fs::remove(ownerPath(name), ignored);
        continue;
      }
      double sign = lastSign(entry.path());
      if (sign <= 0 || now - sign < staleSeconds)
        continue;
      if (attempts(name) >= mostAttempts)
        finish(name,
               plainResult(name, "crash",
                           "the job took down " + std::to_string(mostAttempts) + " servers", "",
                           nullptr),
               error);
      else
        rename(claimPath(name).c_str(), (root / "jobs" / (name + ".json")).c_str());
    }
  }

  /// Removes the files that were not sent for longest, until all have at most \p mostBytes. What an
  /// open job names stays.
  void tidy(uint64_t mostBytes) {
    struct Entry {
      double sent;
      uint64_t bytes;
      fs::path path;
    };
    std::vector<Entry> entries;
    uint64_t bytes = 0;
    std::error_code code;
    for (const char *kind : {"blobs", "plans"})
      for (const auto &entry : fs::directory_iterator(root / kind, code)) {
        fs::path file = entry.is_directory() ? entry.path() / "plan.json" : entry.path();
        std::error_code ignored;
        uintmax_t size = fs::file_size(file, ignored);
        entries.push_back({lastSign(file), ignored ? 0 : size, entry.path()});
        bytes += entries.back().bytes;
      }
    if (bytes <= mostBytes)
      return;
    std::set<std::string> named;
    std::string error;
    for (const char *kind : {"jobs", "claims"})
      for (const auto &entry : fs::directory_iterator(root / kind, code))
        addNames(Json::parse(readFile(entry.path().string(), error).value_or(""), nullptr, false),
                 named);
    std::sort(entries.begin(), entries.end(), [](auto &a, auto &b) { return a.sent < b.sent; });
    double now = double(std::time(nullptr));
    for (const Entry &entry : entries) {
      if (bytes <= mostBytes || now - entry.sent < keptSeconds)
        return;
      if (named.count(entry.path.filename().string()))
        continue;
      fs::remove_all(entry.path, code);
      bytes -= entry.bytes;
    }
  }

  fs::path claimPath(const std::string &name) const { return root / "claims" / (name + ".json"); }
  const fs::path &folder() const { return root; }

private:
  fs::path resultPath(const std::string &name) const { return root / "results" / (name + ".json"); }
  fs::path ownerPath(const std::string &name) const { return root / "claims" / (name + ".owner"); }

  /// Adds each part of the paths that are values in \p json, at any depth.
  static void addNames(const Json &json, std::set<std::string> &names) {
    if (json.is_string())
      for (const fs::path &part : fs::path(json.get<std::string>()))
        names.insert(part.string());
    else if (json.is_structured())
      for (const Json &each : json)
        addNames(each, names);
  }
  static void touch(const fs::path &path) { utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }
  /// 0 if the file is gone.
  static double lastSign(const fs::path &path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0)
      return 0;
    return double(status.st_mtim.tv_sec) + 1e-9 * double(status.st_mtim.tv_nsec);
  }
  unsigned attempts(const std::string &name) const {
    std::string error;
    std::optional<std::string> text = readFile(ownerPath(name).string(), error);
    Json json = Json::parse(text.value_or(""), nullptr, false);
    return json.is_object() ? json.value("attempt", 0u) : 0;
  }
  void writeOwner(const std::string &name) {
    std::string error;
    Json json = {{"owner", owner}, {"attempt", attempts(name) + 1}, {"since", std::time(nullptr)}};
    writeFile(ownerPath(name).string(), json.dump() + "\n", error);
  }

  fs::path root;
  std::string owner;
};

} // namespace

int servePipe() {
  Server server;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    Outcome outcome = server.answer(line, "job", ".");
    Json json = Json::parse(outcome.json, nullptr, false);
    json["exitStatus"] = int(outcome.status);
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout) != 0)
      return exitEnvironment; // no reader is left
  }
  return exitOk;
}

int serveSpool(const std::string &folder, bool once, uint64_t mostBlobBytes) {
  struct sigaction action = {};
  action.sa_handler = onStop;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) // as nohup sets it
    sigaction(SIGHUP, &action, nullptr);
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  Spool spool(folder, std::string(host) + "-" + std::to_string(getpid()));
  std::string error;
  if (!spool.open(error)) {
    fprintf(stderr, "kb-run: error: %s\n", error.c_str());
    return exitEnvironment;
  }
  Server server;
  int waitMs = firstWaitMs;
  double idleSeconds = 0;
  while (!stopAsked) {
    spool.reclaim();
    std::optional<std::string> name = spool.claim();
    if (!name) {
      if (once)
        break;
      poll(nullptr, 0, waitMs);
      idleSeconds += waitMs / 1e3;
      if (idleSeconds > restSeconds) {
        idleSeconds = 0;
        server.rest();
        spool.tidy(mostBlobBytes);
      }
      waitMs = std::min(2 * waitMs, mostWaitMs);
      continue;
    }
    waitMs = firstWaitMs;
    idleSeconds = 0;
    std::optional<std::string> text = readFile(spool.claimPath(*name).string(), error);
    if (!text)
      continue; // taken from us: the claim had looked dead
    Outcome outcome =
        server.answer(*text, *name, spool.folder().string(), [&] { spool.heartbeat(*name); });
    if (!spool.finish(*name, outcome.json, error)) {
      fprintf(stderr, "kb-run: error: %s\n", error.c_str());
      return exitEnvironment; // the claim goes stale and the job to another server
    }
  }
  spool.tidy(mostBlobBytes);
  return exitOk;
}

int showDevices() {
  std::unique_ptr<Child> child = Child::start(false);
  Job job;
  if (!child)
    return exitEnvironment;
  Outcome outcome = child->run(job, R"({"version": 1, "device": "cuda", "plan": "", "image": ""})",
                               "devices", ".");
  Json json = Json::parse(outcome.json, nullptr, false);
  if (json.is_object() && json.contains("device")) {
    printf("%s\n", json["device"].dump(1).c_str());
    return exitOk;
  }
  fprintf(stderr, "kb-run: error: %s\n", json.value("message", "no device").c_str());
  if (json.contains("note"))
    fprintf(stderr, "kb-run: note: %s\n", json.value("note", "").c_str());
  return exitEnvironment;
}

} // namespace kbrun
