//===- Serve.cpp - kb-run as a server -------------------------------------===//
#include "Serve.h"
#include "Child.h"

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
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kbrun {

using Json = nlohmann::json;

namespace {

/// A claim without a sign of life for so long belongs to nobody.
constexpr double staleSeconds = 30;
/// A job that took so many servers down is answered instead of tried again.
constexpr unsigned mostAttempts = 3;

volatile sig_atomic_t stopAsked = 0;
void onStop(int) { stopAsked = 1; }

/// Runs jobs one after the other, each in its own process. The process for the next CUDA job is
/// started, and its device opened, while nothing is measured.
class Server {
public:
  Outcome answer(const std::string &text, const std::string &name, const std::string &folder,
                 const std::function<void()> &whileWaiting = {}) {
    std::string error;
    std::optional<Job> job = parseJob(text, name, folder, error);
    if (!job)
      return {exitUsage, plainResult(idOf(text), "usage", error, "", nullptr)};
    std::unique_ptr<Child> child = job->isCuda ? std::move(spare) : nullptr;
    if (!child)
      child = Child::start(false);
    if (!child)
      return {exitEnvironment, plainResult(job->id, "environment",
                                           std::string("cannot start a process: ") +
                                               strerror(errno),
                                           "", nullptr)};
    Outcome outcome = child->run(*job, text, name, folder, whileWaiting);
    if (job->isCuda)
      spare = Child::start(true);
    return outcome;
  }

  static std::string idOf(const std::string &text) {
    Json json = Json::parse(text, nullptr, false);
    return json.is_object() && json.contains("id") && json["id"].is_string()
               ? json["id"].get<std::string>()
               : "";
  }

private:
  std::unique_ptr<Child> spare;
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

  fs::path claimPath(const std::string &name) const { return root / "claims" / (name + ".json"); }
  const fs::path &folder() const { return root; }

private:
  fs::path resultPath(const std::string &name) const { return root / "results" / (name + ".json"); }
  fs::path ownerPath(const std::string &name) const { return root / "claims" / (name + ".owner"); }

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
      return exitEnvironment; // nobody listens
  }
  return exitOk;
}

int serveSpool(const std::string &folder, bool once) {
  struct sigaction action = {};
  action.sa_handler = onStop;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  Spool spool(folder, std::string(host) + "-" + std::to_string(getpid()));
  std::string error;
  if (!spool.open(error)) {
    fprintf(stderr, "kb-run: error: %s\n", error.c_str());
    return exitEnvironment;
  }
  Server server;
  while (!stopAsked) {
    spool.reclaim();
    std::optional<std::string> name = spool.claim();
    if (!name) {
      if (once)
        break;
      poll(nullptr, 0, 200);
      continue;
    }
    std::optional<std::string> text = readFile(spool.claimPath(*name).string(), error);
    if (!text)
      continue; // taken from us: the claim had looked dead
    Outcome outcome = server.answer(*text, *name, spool.folder().string(),
                                    [&] { spool.heartbeat(*name); });
    if (!spool.finish(*name, outcome.json, error)) {
      fprintf(stderr, "kb-run: error: %s\n", error.c_str());
      return exitEnvironment; // the claim goes stale and the job to another server
    }
  }
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
